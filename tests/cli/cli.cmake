# The command as users see it. RER_PYTHON needs numpy and jsonschema: without them these tests fail,
# since a skipped check looks like a passed one.
set(RER_PYTHON python3 CACHE STRING "Python interpreter, with numpy, that the tests use")
set(RER_SERVER_TESTS review review_decisions review_taught review_strangers)
if(NOT MICROHTTPD_INCLUDE_DIR)
    foreach(name ${RER_SERVER_TESTS})
        add_test(NAME cli.${name} COMMAND sh -c "echo 'Skipped: libmicrohttpd is not there'; exit 77")
        set_tests_properties(cli.${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
    set(RER_SERVER_TESTS)
endif()
foreach(name ${RER_SERVER_TESTS} usage outputs places terminal failures signals sweep noise apply scale details compare bench outliers clusters duplicates groups opinion extremes hdf5 completions photos)
    add_test(NAME cli.${name} COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
    set_tests_properties(cli.${name} PROPERTIES ENVIRONMENT
        "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SCHEMA=${PROJECT_SOURCE_DIR}/docs/summary.schema.json")
endforeach()
set_tests_properties(cli.bench cli.hdf5 PROPERTIES LABELS once) # sanitizers see the same code in bench.* and source.*
# Killed at a thousand moments, in place of thirty.
add_test(NAME cli.kills COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_signals.py Signals.test_killed)
set_tests_properties(cli.kills PROPERTIES LABELS "slow;once" ENVIRONMENT
    "RER_KILLS=1000;RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SCHEMA=${PROJECT_SOURCE_DIR}/docs/summary.schema.json")
# Thousands of decisions and of hostile requests, in place of hundreds.
if(MICROHTTPD_INCLUDE_DIR)
    add_test(NAME cli.review_many_decisions COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_review_decisions.py
             Decisions.test_two_reviewers_while_the_server_is_killed)
    add_test(NAME cli.review_many_strangers COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_review_strangers.py
             Strangers.test_hostile_requests)
    set_tests_properties(cli.review_many_decisions cli.review_many_strangers PROPERTIES LABELS slow ENVIRONMENT
        "RER_REVIEW_DECISIONS=1000;RER_REVIEW_HOSTILE=10000;RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SCHEMA=${PROJECT_SOURCE_DIR}/docs/summary.schema.json")
endif()
