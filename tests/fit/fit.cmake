# Reconstructors against plain numpy. RER_PYTHON needs numpy.
add_executable(test.fit.list_order ${CMAKE_CURRENT_LIST_DIR}/list_order.c)
target_link_libraries(test.fit.list_order PRIVATE rer_static)
add_test(NAME fit.subspace COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_subspace.py)
set_tests_properties(fit.subspace PROPERTIES LABELS once ENVIRONMENT
    "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_LIST_ORDER=$<TARGET_FILE:test.fit.list_order>")
