# The command against plain numpy. RER_PYTHON needs numpy and scipy.
add_test(NAME reference.numpy COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_against_numpy.py)
set_tests_properties(reference.numpy PROPERTIES LABELS once ENVIRONMENT "RER_COMMAND=$<TARGET_FILE:rer_command>")
add_test(NAME reference.prototype COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/prototype.py check)
