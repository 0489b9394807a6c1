# The installed library as a stranger uses it, and the interface that programs rely on.
if(NOT RER_SANITIZE)
    add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_install.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                  ${RER_PYTHON})
    add_test(NAME install.interface COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_interface.sh ${PROJECT_SOURCE_DIR}
                                            ${PROJECT_BINARY_DIR})
    set_tests_properties(install install.interface PROPERTIES LABELS once)
    # Builds the library with debugging information, which Release has not: minutes.
    add_test(NAME install.abi COMMAND ${PROJECT_SOURCE_DIR}/scripts/abi.sh compare)
    set_tests_properties(install.abi PROPERTIES LABELS "once;slow" SKIP_RETURN_CODE 77 TIMEOUT 1800)
    add_test(NAME install.dist COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_dist.sh ${PROJECT_SOURCE_DIR})
    add_test(NAME install.deb COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_deb.sh ${PROJECT_SOURCE_DIR})
    set_tests_properties(install.dist install.deb PROPERTIES LABELS "once;slow")
endif()
