#!/usr/bin/env bash
# The binary interface of librer, as abidw (Debian: abigail-tools) describes it:
#     scripts/abi.sh compare    with the last tagged version and with the description that is kept here;
#                               whatever an older program could notice fails, growth as rer.h allows it does not
#     scripts/abi.sh keep       writes the description anew: for a new version, or a new RER_INTERFACE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kept=tests/install/abi/librer.abi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! command -v abidw >/dev/null; then
    echo "Skipped: abidw and abidiff are not here (Debian package abigail-tools)."
    exit 77
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "Skipped: the description that is kept is that of x86-64."
    exit 77
fi

# describe SOURCE NAME: $folder/NAME.abi. Debugging information tells the types; only those of the headers count.
describe() {
    cmake -S "$1" -B "$folder/$2" -G "${CMAKE_GENERATOR:-Ninja}" --log-level=WARNING -DRER_TESTS=OFF \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-O0 -ffile-prefix-map=$(realpath "$1")=." >/dev/null
    cmake --build "$folder/$2" --target rer >/dev/null
    abidw --exported-interfaces-only --headers-dir "$1/include" --drop-private-types --no-elf-needed --no-show-locs \
        --no-comp-dir-path --no-corpus-path --no-parameter-names --type-id-style hash \
        "$folder/$2/librer.so" >"$folder/$2.abi"
}

# compare WHAT OLD NEW
compare() {
    local code=0
    abidiff --no-added-syms --suppressions tests/install/abi/growing.txt "$2" "$3" >"$folder/report" || code=$?
    if [ $code -ne 0 ]; then
        cat "$folder/report"
        echo "Programs that were linked with $1 could notice these changes."
        return 1
    fi
    echo "Programs that were linked with $1 run."
}

describe . now
case $1 in
compare)
    compare "what $kept describes" $kept "$folder/now.abi"
    tag=$(git tag --list 'v[0-9]*' --sort=-v:refname 2>/dev/null | head -1 || true)
    if [ -z "$tag" ]; then
        echo "No version is tagged: there is nothing else to compare with."
        exit 0
    fi
    mkdir "$folder/tagged"
    git archive "$tag" | tar -x -C "$folder/tagged"
    describe "$folder/tagged" before
    compare "$tag" "$folder/before.abi" "$folder/now.abi"
    ;;
keep) cp "$folder/now.abi" $kept ;;
*) exit 2 ;;
esac
