# The descriptor against plain numpy. Without numpy this test fails: a skipped check looks like a
# passed one. Point RER_PYTHON at an interpreter that has it.
set(RER_PYTHON python3 CACHE STRING "Python interpreter, with numpy, that the tests use")
add_executable(describe_pictures embed/describe_pictures.c)
target_link_libraries(describe_pictures PRIVATE rer_static)
add_test(NAME embed.hog_reference COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/embed/compare_hog.py
                                          $<TARGET_FILE:describe_pictures>)

# Pictures as an encoder wants them, against Pillow and numpy.
add_executable(prepare_pictures embed/prepare_pictures.c)
target_link_libraries(prepare_pictures PRIVATE rer_static)
add_test(NAME embed.pictures COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/embed/test_pictures.py
                                     $<TARGET_FILE:prepare_pictures>)
# Models made on the spot, by way of OpenVINO, against onnxruntime: packages that only make test-all installs.
set(RER_EMBED_PYTHON ${RER_PYTHON} CACHE STRING "Python interpreter with openvino, onnx, onnxruntime, pillow and numpy")
foreach(name models text_models)
    add_test(NAME embed.${name} COMMAND ${RER_EMBED_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/embed/test_${name}.py)
    set_tests_properties(embed.${name} PROPERTIES LABELS "slow;once" ENVIRONMENT "RER_COMMAND=$<TARGET_FILE:rer_command>")
endforeach()
# The same against transformers and torch, with weights of random numbers and trained ones.
add_test(NAME embed.transformers COMMAND ${CMAKE_CURRENT_LIST_DIR}/embed/transformers.sh ${PROJECT_BINARY_DIR})
set_tests_properties(embed.transformers PROPERTIES LABELS "slow;once" ENVIRONMENT "RER_COMMAND=$<TARGET_FILE:rer_command>")
