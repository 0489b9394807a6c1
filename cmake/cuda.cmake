# librer_cuda.so, the plug-in behind --device cuda: nothing else knows of CUDA. Sanitizers and fuzzers do without.
set(RER_CUDA AUTO CACHE STRING "build the plug-in for CUDA cards: ON, OFF, or AUTO, where nvcc is there")
set_property(CACHE RER_CUDA PROPERTY STRINGS AUTO ON OFF)
set(RER_CUDA_ARCHITECTURES "80;90a" CACHE STRING "compute capabilities it is compiled for; others compile it when it starts")
set(RER_CUDA_OLDEST 75 CACHE STRING "and the oldest of those")

set(RER_WITH_CUDA OFF)
if(RER_CUDA STREQUAL "ON" OR (RER_CUDA STREQUAL "AUTO" AND NOT RER_SANITIZE AND NOT RER_FUZZ))
    find_program(RER_NVCC nvcc HINTS /usr/local/cuda/bin)
    if(RER_NVCC)
        set(RER_WITH_CUDA ON)
    elseif(RER_CUDA STREQUAL "ON")
        message(FATAL_ERROR "RER_CUDA=ON: nvcc is not there; CUDA's toolkit has it, with cuBLAS")
    endif()
endif()
if(NOT RER_WITH_CUDA)
    return()
endif()

set(flags -std=c++17 -O3 -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Werror -I${PROJECT_SOURCE_DIR}/src
    -I${PROJECT_SOURCE_DIR}/include -gencode arch=compute_${RER_CUDA_OLDEST},code=compute_${RER_CUDA_OLDEST})
foreach(architecture ${RER_CUDA_ARCHITECTURES})
    list(APPEND flags -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
set(folder ${PROJECT_SOURCE_DIR}/src/backend/cuda)
set(headers ${folder}/card.cuh ${folder}/networks.cuh ${folder}/product.cuh ${folder}/search.cuh ${folder}/sweep.cuh
    ${folder}/training.cuh
    ${PROJECT_SOURCE_DIR}/src/core/random.h ${folder}/../device.h ${folder}/../backend.h ${PROJECT_SOURCE_DIR}/include/rer.h)
set(objects "")
foreach(name plugin products sums scatter score near search neighbors copies logistic networks sweep batch step train)
    set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${folder}/${name}.cu ${headers} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
                       COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${RER_NVCC} ${flags} -c ${folder}/${name}.cu -o ${object})
    list(APPEND objects ${object})
endforeach()
set(RER_CUDA_FLAGS ${flags})
set(RER_CUDA_OBJECTS ${objects})
# Beside the command's folder, where it looks for it: the same places as when installed.
set(RER_CUDA_PLUGIN ${PROJECT_BINARY_DIR}/lib/librer_cuda.so)
add_custom_command(OUTPUT ${RER_CUDA_PLUGIN} DEPENDS ${objects} VERBATIM
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
                   COMMAND ${RER_NVCC} -shared -o ${RER_CUDA_PLUGIN} ${objects} -lcublas)
add_custom_target(rer_cuda ALL DEPENDS ${RER_CUDA_PLUGIN})
install(PROGRAMS ${RER_CUDA_PLUGIN} DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
