# Detectors against numpy, scikit-learn and cleanlab, which RER_PYTHON needs. Helpers run their parts.
set(environment "RER_COMMAND=$<TARGET_FILE:rer_command>;RER_SCHEMA=${PROJECT_SOURCE_DIR}/docs/summary.schema.json")
foreach(name run_detector fit_logistic judge_probabilities estimate_consensus)
    add_executable(test.detect.${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    target_link_libraries(test.detect.${name} PRIVATE rer_static)
    string(TOUPPER RER_${name} variable)
    list(APPEND environment "${variable}=$<TARGET_FILE:test.detect.${name}>")
endforeach()
foreach(name neighbors logistic confident simifeat zeroshot analyze)
    add_test(NAME detect.${name} COMMAND ${RER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
    set_tests_properties(detect.${name} PROPERTIES ENVIRONMENT "${environment}")
endforeach()
target_link_options(test.detect.out_of_memory PRIVATE
    -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=pthread_create,--wrap=lbfgs)
