# Metrics against scikit-learn. RER_PYTHON needs numpy and scikit-learn.
add_executable(metrics_of ${CMAKE_CURRENT_LIST_DIR}/metrics_of.c)
target_link_libraries(metrics_of PRIVATE rer_static)
add_test(NAME bench.metrics COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_metrics.py)
set_tests_properties(bench.metrics PROPERTIES ENVIRONMENT "RER_METRICS=$<TARGET_FILE:metrics_of>")
target_link_options(test.bench.out_of_memory PRIVATE -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=strdup)
add_test(NAME bench.detection_table COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_detection_table.py)
set_tests_properties(bench.detection_table PROPERTIES LABELS once ENVIRONMENT
    "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SOURCE=${PROJECT_SOURCE_DIR}")
