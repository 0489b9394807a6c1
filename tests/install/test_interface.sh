#!/usr/bin/env bash
# The interface that programs are linked against: what the library exports, its name and number, which versions
# find_package takes it for, and a program built with the headers of an older version.
#     test_interface.sh SOURCE BUILD
set -euo pipefail
source=$1
library=$2/librer.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

echo "the library exports what the headers declare, and nothing else"
cat "$source/include/rer.h" "$source/include/rer_studies.h" | sed 's|/\*.*\*/||' | tr '\n' ' ' |
    grep -oE 'RER_API [^;]*' | grep -oE '\brer_[a-z_0-9]+\(' | tr -d '(' | sort -u >"$folder/declared"
nm -D --defined-only "$library" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort -u >"$folder/exported"
nm -D --defined-only "$library" | awk '$2 != "T" && $2 != "A" { print $3 }' >"$folder/data"
[ ! -s "$folder/data" ] || fail "exported, but no functions: $(cat "$folder/data")"
[ "$(wc -l <"$folder/declared")" -gt 100 ] || fail "only these functions were found: $(cat "$folder/declared")"
diff "$folder/declared" "$folder/exported" ||
    fail "< is declared and not exported, > is exported and not declared; cmake/librer.map lists them"

echo "the interface has a number of its own"
number=$(sed -n 's/^set(RER_INTERFACE \([0-9]*\))$/\1/p' "$source/cmake/library.cmake")
[[ $(readelf -d "$library") == *"soname: [librer.so.$number]"* ]] || fail "soname is not librer.so.$number"

echo "find_package takes it for the versions that it can stand in for"
cat >"$folder/ask.cmake" <<'END'
string(REPLACE "." ";" parts ${wanted})
list(LENGTH parts PACKAGE_FIND_VERSION_COUNT)
list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)
set(PACKAGE_FIND_VERSION ${wanted})
include(${file})
if(PACKAGE_VERSION_COMPATIBLE)
    message(yes)
else()
    message(no)
endif()
END
version=$(sed -n 's/^#define RER_VERSION "\(.*\)"/\1/p' "$source/include/rer.h")
for case in 0.1:no 0.1.9:no 0.2:yes 0.2.0:yes "$version:yes" "$version.1:no" 0.99:no 1.0:no; do
    said=$(cmake "-Dwanted=${case%:*}" "-Dfile=$2/rer-config-version.cmake" -P "$folder/ask.cmake" 2>&1)
    [ "$said" = "${case#*:}" ] || fail "version $version for one that wants ${case%:*}: $said"
done

for older in "$source"/tests/install/[0-9]*; do
    echo "a program built with the headers of $(basename "$older") runs"
    cc -std=c11 -Wall -Wextra -Werror -I"$older" "$older/program.c" "$library" -Wl,-rpath,"$2" -lm -o "$folder/program"
    [[ $(readelf -d "$folder/program") == *"[librer.so.$number]"* ]] || fail "the program does not ask for librer.so.$number"
    mkdir "$folder/files"
    "$folder/program" "$folder/files" || fail "the program of $(basename "$older") fails"
    rm -r "$folder/files"
done
