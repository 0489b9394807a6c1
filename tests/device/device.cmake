# Plug-ins in plain loops: one that leaves some rows to the CPU, and one of another version.
set(plain device/plain_plugin.c device/plain_detectors.c)
add_library(plain_device MODULE ${plain})
target_compile_definitions(plain_device PRIVATE PLAIN_AGAIN_EVERY=5)
add_library(old_device MODULE ${plain})
target_compile_definitions(old_device PRIVATE PLAIN_VERSION="0.0.1")
foreach(plugin plain_device old_device)
    foreach(what INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS) # not what the library is linked with
        set_property(TARGET ${plugin} APPEND PROPERTY ${what} $<TARGET_PROPERTY:rer_settings,INTERFACE_${what}>)
    endforeach()
    target_link_libraries(${plugin} PRIVATE m)
    foreach(test analyses in_place open out_of_memory)
        add_dependencies(test.device.${test} ${plugin})
    endforeach()
endforeach()
target_compile_definitions(test.device.open PRIVATE PLAIN_PLUGIN="$<TARGET_FILE:plain_device>"
                           OLD_PLUGIN="$<TARGET_FILE:old_device>")
target_link_options(test.device.out_of_memory PRIVATE -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=strdup)
set_tests_properties(device.analyses device.in_place device.out_of_memory PROPERTIES ENVIRONMENT RER_CUDA_PLUGIN=$<TARGET_FILE:plain_device>)

# On a card, with our own plug-in: make test-cuda.
foreach(test operations networks detectors)
    target_sources(test.device.${test} PRIVATE device/operations.c ${plain})
    # What sanitizers see is a matter of a few shapes: they take a hundred times as long, and some of them a thousand.
    set(limits memcheck:3000000 racecheck:60000 initcheck:60000)
    if(test STREQUAL detectors) # racecheck follows cuBLAS through their products, for minutes
        list(REMOVE_ITEM limits racecheck:60000)
    endif()
    foreach(limit ${limits})
        string(REGEX REPLACE ":.*" "" tool ${limit})
        string(REGEX REPLACE ".*:" "" most ${limit})
        add_test(NAME device.${tool}_${test} COMMAND compute-sanitizer --tool ${tool} --error-exitcode 9 $<TARGET_FILE:test.device.${test}>)
        set_tests_properties(device.${tool}_${test} PROPERTIES LABELS "cuda;once"
                             ENVIRONMENT "RER_CUDA_PLUGIN=${RER_CUDA_PLUGIN};RER_TEST_MOST=${most}")
    endforeach()
    # The plug-in with faults: its memory is full of NaN at first, and nothing is read before it was written.
    add_test(NAME device.poisoned_${test} COMMAND test.device.${test})
    list(APPEND poisoned device.poisoned_${test})
    list(APPEND on_card device.${test})
endforeach()
add_test(NAME device.cuda COMMAND test.device.analyses)
if(RER_WITH_CUDA) # the plug-in whose calls of CUDA fail where a test says
    set(wrapped cublasCreate_v2 cublasGemmEx cublasSetStream_v2 cudaEventCreateWithFlags cudaEventRecord
        cudaEventSynchronize cudaGetDevice cudaGetDeviceCount cudaFree cudaGetLastError cudaMalloc cudaMallocHost cudaMemGetInfo
        cudaMemcpy cudaMemcpyAsync cudaMemsetAsync cudaSetDevice cudaStreamCreateWithFlags cudaStreamSynchronize
        cudaStreamWaitEvent)
    list(TRANSFORM wrapped PREPEND -Xlinker=--wrap=)
    set(RER_CUDA_FAULTS ${CMAKE_CURRENT_BINARY_DIR}/librer_cuda_faults.so)
    set(faults ${CMAKE_CURRENT_LIST_DIR}/faults)
    add_custom_command(OUTPUT ${RER_CUDA_FAULTS} DEPENDS ${faults}.cu ${faults}.h rer_cuda ${RER_CUDA_PLUGIN} VERBATIM
                       COMMAND ${RER_NVCC} ${RER_CUDA_FLAGS} -c ${faults}.cu -o ${RER_CUDA_FAULTS}.o
                       COMMAND ${RER_NVCC} -shared -o ${RER_CUDA_FAULTS} ${RER_CUDA_OBJECTS} ${RER_CUDA_FAULTS}.o
                               -lcublas ${wrapped})
    add_custom_target(cuda_faults DEPENDS ${RER_CUDA_FAULTS})
endif()
set_tests_properties(device.analyses PROPERTIES LABELS once) # open and out_of_memory are enough for sanitizers
set_tests_properties(device.cuda ${on_card} PROPERTIES LABELS "cuda;once"
                     ENVIRONMENT "RER_CUDA_PLUGIN=${RER_CUDA_PLUGIN};RER_TEST_CARD=1")
set_tests_properties(device.faults ${poisoned} PROPERTIES LABELS "cuda;once"
                     ENVIRONMENT RER_CUDA_PLUGIN=${RER_CUDA_FAULTS})
add_test(NAME device.tensors COMMAND ${CMAKE_CURRENT_LIST_DIR}/on_card.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
set_tests_properties(device.tensors PROPERTIES LABELS "cuda;once" SKIP_RETURN_CODE 77
                     ENVIRONMENT "RER_CUDA_PLUGIN=${RER_CUDA_PLUGIN};RER_COMMAND=$<TARGET_FILE:rer_command>")
