# The fit of a channel against scipy. RER_PYTHON needs numpy and scipy.
add_executable(test.channel.fit_channel ${CMAKE_CURRENT_LIST_DIR}/fit_channel.c)
target_link_libraries(test.channel.fit_channel PRIVATE rer_static)
add_test(NAME channel.fit COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_fit.py)
set_tests_properties(channel.fit PROPERTIES LABELS once ENVIRONMENT "RER_FIT_CHANNEL=$<TARGET_FILE:test.channel.fit_channel>")
