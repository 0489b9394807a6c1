# Tests that need the measured data and golden results beside the project, ../shared; where they are
# missing these tests are skipped, not passed.
set(RER_SHARED ${PROJECT_SOURCE_DIR}/../shared CACHE PATH "Folder with data/ and reference/")
add_executable(ratios_of_errors shared/ratios_of_errors.c)
target_link_libraries(ratios_of_errors PRIVATE rer_static)
add_test(NAME shared.golden COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_golden.py
                                    $<TARGET_FILE:ratios_of_errors> ${RER_SHARED})
set_tests_properties(shared.golden PROPERTIES LABELS shared SKIP_RETURN_CODE 77)
add_test(NAME shared.detection COMMAND ${RER_PYTHON} -B ${PROJECT_SOURCE_DIR}/bench/detection.py
                                       --rer $<TARGET_FILE:rer_command> --shared ${RER_SHARED})
set_tests_properties(shared.detection PROPERTIES LABELS "shared;once" SKIP_RETURN_CODE 77 TIMEOUT 900)
add_test(NAME shared.difficulty COMMAND ${RER_PYTHON} -B ${PROJECT_SOURCE_DIR}/bench/difficulty.py --quick
                                        --rer $<TARGET_FILE:rer_command> --shared ${RER_SHARED})
set_tests_properties(shared.difficulty PROPERTIES LABELS "shared;once;slow" SKIP_RETURN_CODE 77 TIMEOUT 900)
add_test(NAME shared.scale COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_scale.py
                                   $<TARGET_FILE:rer_command> ${RER_SHARED})
set_tests_properties(shared.scale PROPERTIES LABELS "shared;once" SKIP_RETURN_CODE 77)
add_test(NAME shared.outliers COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_outliers.py
                                      $<TARGET_FILE:rer_command> ${RER_SHARED})
set_tests_properties(shared.outliers PROPERTIES LABELS "shared;once" SKIP_RETURN_CODE 77)
add_test(NAME shared.opinion COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_opinion.py
                                     $<TARGET_FILE:rer_command> ${RER_SHARED})
set_tests_properties(shared.opinion PROPERTIES LABELS "shared;once" SKIP_RETURN_CODE 77)
