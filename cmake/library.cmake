# librer: one set of objects, linked as the shared library that is installed and as the static
# archive that the command and the tests use.
file(GLOB_RECURSE RER_SOURCES CONFIGURE_DEPENDS src/*.c)
list(FILTER RER_SOURCES EXCLUDE REGEX "src/backend/cpu/kernels[a-z_]*\\.c$")
# rer review needs a server: where its library is missing, the command says so.
if(NOT MICROHTTPD_INCLUDE_DIR)
    list(FILTER RER_SOURCES EXCLUDE REGEX "src/studies/review/server\\.c$")
else()
    list(FILTER RER_SOURCES EXCLUDE REGEX "src/studies/review/no_server\\.c$")
endif()
include(cmake/embed.cmake)
rer_embed(RER_SOURCES rer_report_css src/report/report.css)
rer_embed(RER_SOURCES rer_report_js src/report/report.js)
rer_embed(RER_SOURCES rer_decisions_js src/report/decisions.js)
rer_embed(RER_SOURCES rer_review_js src/report/review.js)
rer_embed(RER_SOURCES rer_live_js src/studies/review/live.js)
rer_embed(RER_SOURCES rer_live_css src/studies/review/live.css)
rer_embed(RER_SOURCES rer_classes_js src/report/classes.js)
rer_embed(RER_SOURCES rer_review_html src/report/review.html)
rer_embed(RER_SOURCES rer_classes_html src/report/classes.html)
rer_embed(RER_SOURCES rer_matrix_html src/report/matrix.html)
rer_embed(RER_SOURCES rer_chart_css src/report/chart.css)
rer_embed(RER_SOURCES rer_frame_css src/report/frame.css)
rer_embed(RER_SOURCES rer_frame_js src/report/frame.js)

add_library(rer_settings INTERFACE)
target_include_directories(rer_settings INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                           ${OPENBLAS_INCLUDE_DIR} ${CSV_INCLUDE_DIR} ${LBFGS_INCLUDE_DIR} ${RANDOM123_INCLUDE_DIR})
target_compile_definitions(rer_settings INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE _DARWIN_C_SOURCE
                           _FILE_OFFSET_BITS=64
                           RER_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
target_compile_options(rer_settings INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                       -Wpointer-arith -Wcast-align -Wwrite-strings -Wvla -Wno-unknown-pragmas -Werror
                       -fno-math-errno -ffp-contract=off -fopenmp-simd)
if(RER_SANITIZE)
    target_compile_options(rer_settings INTERFACE -fsanitize=${RER_SANITIZE} -fno-omit-frame-pointer -g)
    target_link_options(rer_settings INTERFACE -fsanitize=${RER_SANITIZE})
    if(RER_SANITIZE MATCHES undefined)
        target_compile_options(rer_settings INTERFACE -fno-sanitize-recover=undefined)
    endif()
endif()
target_link_libraries(rer_settings INTERFACE Threads::Threads ZLIB::ZLIB PkgConfig::JANSSON PkgConfig::ZIP
                      PkgConfig::PNG PkgConfig::WEBP PkgConfig::JPEG ${CSV_LIBRARY} ${LBFGS_LIBRARY}
                      ${OPENBLAS_LIBRARY} ${CMAKE_DL_LIBS} m)
# The serial OpenBLAS shares its buffers among threads; backend/cpu/blas_memory.c gives each its own.
if(RER_WRAPS)
    target_compile_definitions(rer_settings INTERFACE RER_WRAPS)
    target_link_options(rer_settings INTERFACE -Wl,--wrap=blas_memory_alloc -Wl,--wrap=blas_memory_free -Wl,--wrap=getenv)
endif()

add_library(rer_objects OBJECT ${RER_SOURCES})
target_link_libraries(rer_objects PUBLIC rer_settings)

# The kernels are compiled once for each instruction set; backend/cpu/cpu.c picks at run time.
function(add_kernels isa)
    add_library(rer_kernels_${isa} OBJECT src/backend/cpu/kernels.c src/backend/cpu/kernels_network.c
                src/backend/cpu/kernels_channel.c src/backend/cpu/kernels_rows.c src/backend/cpu/kernels_coarse.c
                src/backend/cpu/kernels_words.c)
    target_link_libraries(rer_kernels_${isa} PRIVATE rer_settings)
    target_compile_definitions(rer_kernels_${isa} PRIVATE RER_ISA=${isa})
    target_compile_options(rer_kernels_${isa} PRIVATE -O3 -fno-trapping-math -ffp-contract=fast ${ARGN})
    target_sources(rer_objects INTERFACE $<TARGET_OBJECTS:rer_kernels_${isa}>)
endfunction()
# Of a source come last, after the settings' own, which keep products and sums apart.
set_source_files_properties(src/backend/cpu/kernels_channel.c src/backend/cpu/kernels_rows.c PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
add_kernels(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_kernels(avx2 -mavx2 -mfma -mf16c)
    set(RER_AVX512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mf16c -mprefer-vector-width=512)
    add_kernels(avx512 ${RER_AVX512})
    add_kernels(avx512vnni ${RER_AVX512} -mavx512vnni)
    target_compile_definitions(rer_settings INTERFACE RER_X86)
endif()

add_library(rer_static STATIC)
set_target_properties(rer_static PROPERTIES OUTPUT_NAME rer)
target_link_libraries(rer_static PUBLIC rer_objects)

add_library(rer SHARED)
target_link_libraries(rer PRIVATE rer_objects)
target_include_directories(rer INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(RER_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/librer.map)
rer_link_if_known(rer -Wl,--exclude-libs,ALL)
rer_link_if_known(rer -Wl,--no-undefined)
rer_link_if_known(rer -Wl,--version-script=${RER_EXPORTS})
# The number of the binary interface, which is not the version's: it changes where a program that was linked
# before could not run any more, and RER_INTERFACE_SINCE with it.
set(RER_INTERFACE 1)
set(RER_INTERFACE_SINCE 0.2)
set_target_properties(rer PROPERTIES VERSION ${RER_INTERFACE}.${PROJECT_VERSION} SOVERSION ${RER_INTERFACE}
                      LINK_DEPENDS ${RER_EXPORTS})

# What the command and the Python package are linked with: by themselves they need no other file.
set(RER_LIBRARY rer_static)
if(RER_LINK_SHARED)
    set(RER_LIBRARY rer_shared)
    add_library(rer_shared INTERFACE) # compiled as the rest, but the library's own parts are its own business
    target_link_libraries(rer_shared INTERFACE rer m)
    target_compile_definitions(rer_shared INTERFACE $<TARGET_PROPERTY:rer_settings,INTERFACE_COMPILE_DEFINITIONS>)
    target_compile_options(rer_shared INTERFACE $<TARGET_PROPERTY:rer_settings,INTERFACE_COMPILE_OPTIONS>)
endif()

include(cmake/cuda.cmake)

# Installation: library, headers, find_package(rer), pkg-config, man page. The command has its own in cli/.
include(CMakePackageConfigHelpers)
set(RER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rer)
install(TARGETS rer EXPORT rer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/rer.h include/rer_studies.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rer NAMESPACE rer:: FILE rer-config.cmake DESTINATION ${RER_PACKAGE_DIR})
# What is written for one version works with the later ones of the same major number, from the interface's first on.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rer-config-version.cmake COMPATIBILITY SameMajorVersion)
file(READ ${PROJECT_BINARY_DIR}/rer-config-version.cmake rule)
file(WRITE ${PROJECT_BINARY_DIR}/rer-config-version.cmake
     "# Versions before ${RER_INTERFACE_SINCE} had another interface.\n"
     "if(NOT PACKAGE_FIND_VERSION_RANGE AND PACKAGE_FIND_VERSION AND PACKAGE_FIND_VERSION VERSION_LESS "
     "${RER_INTERFACE_SINCE})\n"
     "    set(PACKAGE_VERSION ${PROJECT_VERSION})\n    set(PACKAGE_VERSION_COMPATIBLE FALSE)\n    return()\nendif()\n"
     "${rule}")
install(FILES ${PROJECT_BINARY_DIR}/rer-config-version.cmake DESTINATION ${RER_PACKAGE_DIR})

# Paths in rer.pc are relative to where it lies, so that the prefix may be chosen when installing.
file(RELATIVE_PATH RER_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rer.pc.in ${PROJECT_BINARY_DIR}/rer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES docs/rer.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
