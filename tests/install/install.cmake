# The installed library as a stranger uses it.
if(NOT RER_SANITIZE)
    add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_install.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                  ${RER_PYTHON})
    set_tests_properties(install PROPERTIES LABELS once)
endif()
