# The libraries we use instead of writing them. OpenBLAS and LAPACK come as one static serial
# archive: our own threads call it, and its symbols stay hidden inside librer.
# All that is missing is named at once, with the command that installs it.
set(RER_MISSING "")
function(rer_need is_found name package)
    if(NOT ${is_found})
        set(RER_MISSING ${RER_MISSING} "${name}:${package}" PARENT_SCOPE)
    endif()
endfunction()

# GNU's linker knows options that others do not: each is tried first.
include(CheckLinkerFlag)
function(rer_link_if_known target flag)
    string(MAKE_C_IDENTIFIER "RER_LINKER${flag}" known)
    check_linker_flag(C ${flag} ${known})
    if(${known})
        target_link_options(${target} PRIVATE ${flag})
    endif()
endfunction()
check_linker_flag(C -Wl,--wrap=getenv RER_WRAPS)

find_package(Threads REQUIRED)
find_package(ZLIB QUIET)
rer_need(ZLIB_FOUND zlib zlib1g-dev)
find_package(PkgConfig QUIET)
rer_need(PKG_CONFIG_FOUND pkg-config pkg-config)
foreach(part JANSSON:jansson:libjansson-dev ZIP:libzip:libzip-dev PNG:libpng:libpng-dev WEBP:libwebp:libwebp-dev
        JPEG:libjpeg:libjpeg-dev)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 prefix)
    list(GET part 1 module)
    list(GET part 2 package)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
    endif()
    rer_need(${prefix}_FOUND ${module} ${package})
endforeach()

# Only rer review needs it, and loads it when it starts: here its header is enough.
find_path(MICROHTTPD_INCLUDE_DIR microhttpd.h)
if(NOT MICROHTTPD_INCLUDE_DIR)
    message(STATUS "rer review is left out: libmicrohttpd (libmicrohttpd-dev) is not there")
endif()

find_path(CSV_INCLUDE_DIR csv.h)
find_library(CSV_LIBRARY csv)
find_path(LBFGS_INCLUDE_DIR lbfgs.h)
find_library(LBFGS_LIBRARY lbfgs)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h)
# Without wrapped symbols it must be a build with threads of its own, whose buffers have locks: Homebrew's is one.
set(homebrew /opt/homebrew/opt/openblas /usr/local/opt/openblas)
find_path(OPENBLAS_INCLUDE_DIR cblas.h HINTS ${homebrew}
          PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial openblas-serial include)
find_library(OPENBLAS_LIBRARY NAMES libopenblas.a HINTS ${homebrew} PATH_SUFFIXES openblas-serial lib)
foreach(part "CSV_INCLUDE_DIR;CSV_LIBRARY;libcsv;libcsv-dev" "LBFGS_INCLUDE_DIR;LBFGS_LIBRARY;liblbfgs;liblbfgs-dev"
        "RANDOM123_INCLUDE_DIR;RANDOM123_INCLUDE_DIR;Random123;librandom123-dev"
        "OPENBLAS_INCLUDE_DIR;OPENBLAS_LIBRARY;OpenBLAS (the static serial archive);libopenblas-serial-dev")
    list(GET part 0 header)
    list(GET part 1 library)
    list(GET part 2 name)
    list(GET part 3 package)
    set(both FALSE)
    if(${header} AND ${library})
        set(both TRUE)
    endif()
    rer_need(both "${name}" ${package})
endforeach()

if(RER_MISSING)
    set(names "")
    set(packages "")
    foreach(missing IN LISTS RER_MISSING)
        string(REGEX REPLACE ":.*" "" name "${missing}")
        string(REGEX REPLACE ".*:" "" package "${missing}")
        list(APPEND names "${name}")
        list(APPEND packages ${package})
    endforeach()
    list(JOIN names ", " names)
    list(JOIN packages " " packages)
    message(FATAL_ERROR "rer needs libraries that are not there: ${names}.\n"
            "On Debian and Ubuntu, as root:\n    apt-get install ${packages}\n"
            "Elsewhere: the packages of these libraries, with their headers.")
endif()
