# The installed library as a stranger uses it, and the interface that programs rely on.
if(NOT RER_SANITIZE)
    add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_install.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                  ${RER_PYTHON})
    add_test(NAME install.interface COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_interface.sh ${PROJECT_SOURCE_DIR}
                                            ${PROJECT_BINARY_DIR})
    set_tests_properties(install install.interface PROPERTIES LABELS once)
    # Where libraries are missing, one message names all of them and the command.
    add_test(NAME install.missing COMMAND ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -S ${PROJECT_SOURCE_DIR}
             -B ${PROJECT_BINARY_DIR}/missing -DRER_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -DLBFGS_INCLUDE_DIR=
             -DOPENBLAS_LIBRARY=)
    set_tests_properties(install.missing PROPERTIES LABELS once PASS_REGULAR_EXPRESSION
        "not there: zlib, liblbfgs, OpenBLAS.*    apt-get install zlib1g-dev liblbfgs-dev libopenblas-serial-dev\n")
    # Builds the library with debugging information, which Release has not: minutes.
    add_test(NAME install.abi COMMAND ${PROJECT_SOURCE_DIR}/scripts/abi.sh compare)
    set_tests_properties(install.abi PROPERTIES LABELS "once;slow" SKIP_RETURN_CODE 77 TIMEOUT 1800)
    add_test(NAME install.dist COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_dist.sh ${PROJECT_SOURCE_DIR})
    add_test(NAME install.deb COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_deb.sh ${PROJECT_SOURCE_DIR})
    set_tests_properties(install.dist install.deb PROPERTIES LABELS "once;slow")
endif()
