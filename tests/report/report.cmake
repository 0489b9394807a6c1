target_link_options(test.report.out_of_memory PRIVATE -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=strdup)

# Charts, read back from their SVG. RER_PYTHON needs numpy.
add_executable(draw_chart report/draw_chart.c)
target_link_libraries(draw_chart PRIVATE rer_static)
add_test(NAME report.chart_positions COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_chart.py)
set_tests_properties(report.chart_positions PROPERTIES LABELS once ENVIRONMENT "RER_DRAW=$<TARGET_FILE:draw_chart>")
