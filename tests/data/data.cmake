# Tests that need measured data and golden results, which are not in the repository: RER_DATA names the
# folder with data/ and reference/. Where it is not set these tests are skipped, not passed.
add_executable(ratios_of_errors data/ratios_of_errors.c)
target_link_libraries(ratios_of_errors PRIVATE rer_static)
function(add_data_test name labels) # COMMAND...
    add_test(NAME data.${name} COMMAND ${RER_PYTHON} -B ${ARGN})
    set_tests_properties(data.${name} PROPERTIES LABELS "data;${labels}" SKIP_RETURN_CODE 77)
endfunction()
set(rer $<TARGET_FILE:rer_command>)
add_data_test(golden "" ${CMAKE_CURRENT_LIST_DIR}/test_golden.py $<TARGET_FILE:ratios_of_errors>)
add_data_test(detection "once;slow" ${PROJECT_SOURCE_DIR}/bench/detection.py --quick --rer ${rer})
add_data_test(difficulty "once;slow" ${PROJECT_SOURCE_DIR}/bench/difficulty.py --quick --rer ${rer})
add_data_test(few_rows once ${CMAKE_CURRENT_LIST_DIR}/test_few_rows.py ${rer})
foreach(name scale outliers opinion)
    add_data_test(${name} "once;slow" ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py ${rer})
endforeach()
foreach(part published in-sample in-sample-all cross-fitted) # these train for long
    add_data_test(${part} "once;slow" ${CMAKE_CURRENT_LIST_DIR}/test_reconstructors.py ${part} ${rer})
endforeach()
set_tests_properties(data.in-sample-all data.cross-fitted PROPERTIES PROCESSORS 2)
