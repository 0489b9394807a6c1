# Numbers of other people's software stand in reference.json; make_reference.py makes them.
foreach(name graph against_keras)
    target_compile_definitions(test.autoencoder.${name} PRIVATE
        RER_REFERENCE="${CMAKE_CURRENT_LIST_DIR}/reference.json")
    target_link_libraries(test.autoencoder.${name} PRIVATE PkgConfig::JANSSON)
endforeach()
add_test(NAME autoencoder.settings COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_settings.py)
set_tests_properties(autoencoder.settings PROPERTIES ENVIRONMENT
    "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SCHEMA=${PROJECT_SOURCE_DIR}/docs/summary.schema.json")
