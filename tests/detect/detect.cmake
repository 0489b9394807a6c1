# Detectors against numpy, scikit-learn and cleanlab, which RER_PYTHON needs.
add_executable(test.detect.run_detector ${CMAKE_CURRENT_LIST_DIR}/run_detector.c)
target_link_libraries(test.detect.run_detector PRIVATE rer_static)
foreach(name neighbors)
    add_test(NAME detect.${name} COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
    set_tests_properties(detect.${name} PROPERTIES ENVIRONMENT
        "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_RUN_DETECTOR=$<TARGET_FILE:test.detect.run_detector>")
endforeach()
