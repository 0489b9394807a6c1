# The Python package as users install it: python.install makes a Python of its own with what the
# tests import and installs the package there; each test_*.py then is one test. Once is enough.
if(NOT RER_SANITIZE)
    set(RER_PACKAGE_VENV ${PROJECT_BINARY_DIR}/venv-package CACHE PATH "where the tests install the Python package")
    add_test(NAME python.install COMMAND ${CMAKE_CURRENT_LIST_DIR}/install.sh ${RER_PACKAGE_VENV} ${PROJECT_BINARY_DIR})
    set_tests_properties(python.install PROPERTIES FIXTURES_SETUP python_package LABELS once)
    file(GLOB python_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
    foreach(path ${python_tests})
        string(REGEX REPLACE ".*/test_(.*)\\.py$" "python.\\1" name ${path})
        add_test(NAME ${name} COMMAND ${RER_PACKAGE_VENV}/bin/python -B -m pytest -q -rs -p no:cacheprovider
                                      -m "not slow" ${path})
        set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED python_package LABELS once ENVIRONMENT
            "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR};RER_PLAIN_PLUGIN=$<TARGET_FILE:plain_device>")
    endforeach()
    add_test(NAME python.slow COMMAND ${RER_PACKAGE_VENV}/bin/python -B -m pytest -q -rs -p no:cacheprovider -m slow
                                      ${CMAKE_CURRENT_LIST_DIR})
    set_tests_properties(python.slow PROPERTIES FIXTURES_REQUIRED python_package LABELS "once;slow" ENVIRONMENT
        "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR}")
    # The wheel on every Python that is here; versions: with the tests that need little.
    add_test(NAME python.wheel COMMAND ${CMAKE_CURRENT_LIST_DIR}/wheel.sh ${RER_PACKAGE_VENV} ${PROJECT_BINARY_DIR})
    add_test(NAME python.versions COMMAND ${CMAKE_CURRENT_LIST_DIR}/wheel.sh ${RER_PACKAGE_VENV} ${PROJECT_BINARY_DIR}
                                          test_analyze.py test_inputs.py test_studies.py test_process.py)
    add_test(NAME python.sdist COMMAND ${CMAKE_CURRENT_LIST_DIR}/sdist.sh ${RER_PACKAGE_VENV} ${PROJECT_BINARY_DIR})
    set_tests_properties(python.wheel python.sdist python.versions PROPERTIES FIXTURES_REQUIRED python_package
        RESOURCE_LOCK package_build ENVIRONMENT
        "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR}")
    set_tests_properties(python.wheel python.sdist PROPERTIES LABELS "once;slow")
    add_test(NAME python.fiftyone_app COMMAND ${CMAKE_CURRENT_LIST_DIR}/fiftyone.sh ${RER_PACKAGE_VENV}
                                              ${PROJECT_BINARY_DIR})
    set_tests_properties(python.fiftyone_app PROPERTIES FIXTURES_REQUIRED python_package LABELS "once;slow"
        RESOURCE_LOCK package_build SKIP_RETURN_CODE 77 ENVIRONMENT
        "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR}")
    set_tests_properties(python.versions PROPERTIES LABELS "once;slow")
endif()
