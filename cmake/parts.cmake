# The libraries we use instead of writing them. OpenBLAS and LAPACK come as one static serial
# archive: our own threads call it, and its symbols stay hidden inside librer.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)
find_library(CSV_LIBRARY csv REQUIRED)
find_path(LBFGS_INCLUDE_DIR lbfgs.h REQUIRED)
find_library(LBFGS_LIBRARY lbfgs REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)

find_path(OPENBLAS_INCLUDE_DIR cblas.h REQUIRED PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial
          openblas-serial)
find_library(OPENBLAS_LIBRARY NAMES libopenblas.a REQUIRED PATH_SUFFIXES openblas-serial)
