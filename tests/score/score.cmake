# The second look against numpy. RER_PYTHON needs numpy and scipy.
add_test(NAME score.second_look COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_second_look.py)
set_tests_properties(score.second_look PROPERTIES LABELS once ENVIRONMENT
    "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_FIT_CHANNEL=$<TARGET_FILE:test.channel.fit_channel>")
# What is suggested, on data whose truth is known. RER_PYTHON needs numpy and scikit-learn.
add_test(NAME score.suggestions COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_suggestions.py)
set_tests_properties(score.suggestions PROPERTIES ENVIRONMENT "RER_COMMAND=$<TARGET_FILE:rer_command>")
