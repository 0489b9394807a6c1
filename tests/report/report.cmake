target_link_options(test.report.out_of_memory PRIVATE -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=strdup)
if(EXISTS /dev/shm) # hundreds of files, each synced: in memory that is quick
    set_tests_properties(report.out_of_memory PROPERTIES ENVIRONMENT TMPDIR=/dev/shm)
endif()

# Charts, read back from their SVG. RER_PYTHON needs numpy.
add_executable(draw_chart report/draw_chart.c)
target_link_libraries(draw_chart PRIVATE rer_static)
add_test(NAME report.chart_positions COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_chart.py)
set_tests_properties(report.chart_positions PROPERTIES LABELS once ENVIRONMENT "RER_DRAW=$<TARGET_FILE:draw_chart>")

# Pages in a real browser; skipped where there is no Chromium. RER_PYTHON needs playwright. Screenshots stay in shots/.
add_executable(make_page report/make_page.c)
target_link_libraries(make_page PRIVATE rer_static)
if(MICROHTTPD_INCLUDE_DIR)
    set(live live)
endif()
if(NOT RER_SANITIZE)
    foreach(name frame review queue samples classes pages ${live})
        add_test(NAME report.browser_${name} COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
        set_tests_properties(report.browser_${name} PROPERTIES LABELS once SKIP_RETURN_CODE 77 ENVIRONMENT
            "RER_MAKE_PAGE=$<TARGET_FILE:make_page>;RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SHOTS=${PROJECT_BINARY_DIR}/shots")
    endforeach()
endif()

# The data inside report.html, and the pictures and texts that it shows. RER_PYTHON needs numpy and pillow.
foreach(name page media)
    add_test(NAME report.${name} COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
    set_tests_properties(report.${name} PROPERTIES ENVIRONMENT "RER_COMMAND=$<TARGET_FILE:rer_command>")
endforeach()
set_tests_properties(report.page PROPERTIES LABELS once) # sanitizers see the same code in report.out_of_memory
add_test(NAME lint.scripts COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_scripts.py)
set_tests_properties(lint.scripts PROPERTIES LABELS "once;lint" ENVIRONMENT "RER_SOURCE=${PROJECT_SOURCE_DIR}")
