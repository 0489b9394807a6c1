# Documents against the program, and the form of the sources. Once is enough: not again under sanitizers.
add_test(NAME docs COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_docs.py)
set_tests_properties(docs PROPERTIES LABELS once ENVIRONMENT
    "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR}")
add_test(NAME docs.count COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_count.py)
set_tests_properties(docs.count PROPERTIES LABELS once ENVIRONMENT "RER_SOURCE=${PROJECT_SOURCE_DIR}")
foreach(kind format tidy shell)
    add_test(NAME lint.${kind} COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh ${kind} ${PROJECT_BINARY_DIR})
    set_tests_properties(lint.${kind} PROPERTIES LABELS "once;lint" SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(lint.tidy PROPERTIES PROCESSORS 2)
add_test(NAME lint.includes COMMAND ${PROJECT_SOURCE_DIR}/scripts/check_includes.py)
set_tests_properties(lint.includes PROPERTIES LABELS "once;lint")
