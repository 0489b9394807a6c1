#!/usr/bin/env bash
# The tarball: the same bytes each time, also from its own contents; builds without git, to the same bytes in any folder.
#     test_dist.sh SOURCE
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}
version=$(sed -n 's/^#define RER_VERSION "\(.*\)"/\1/p' "$source/include/rer.h")
unset SOURCE_DATE_EPOCH

echo "the same sources give the same tarball"
tarball=$("$source/scripts/dist.sh" "$folder/first")
[ "$(basename "$tarball")" = "rer-$version.tar.gz" ] || fail "the tarball is called $tarball"
mkdir "$folder/one" "$folder/another place"
tar -xzf "$tarball" -C "$folder/one"
tar -xzf "$tarball" -C "$folder/another place"
(umask 077 && cd / && "$folder/one/rer-$version/scripts/dist.sh" "$folder/second" >/dev/null)
cmp "$tarball" "$folder/second/rer-$version.tar.gz" || fail "packed again, the tarball differs"
SOURCE_DATE_EPOCH=86400 "$source/scripts/dist.sh" "$folder/third" >/dev/null
tar --utc -tvzf "$folder/third/rer-$version.tar.gz" | awk '{ print $2, $4, $5 }' | sort -u >"$folder/times"
[ "$(cat "$folder/times")" = "0/0 1970-01-02 00:00" ] || fail "times or owners: $(head -3 "$folder/times")"

echo "it builds where there is no git, to the same bytes in any folder"
mkdir "$folder/bin"
printf '#!/bin/sh\necho "git is not here" >&2\nexit 127\n' >"$folder/bin/git"
chmod +x "$folder/bin/git"
export PATH=$folder/bin:$PATH
for place in one "another place"; do
    cmake -S "$folder/$place/rer-$version" -B "$folder/$place/build" -DRER_TESTS=OFF --log-level=WARNING >/dev/null
    cmake --build "$folder/$place/build" --target rer rer_command >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
done
for file in cli/rer librer.so; do
    cmp "$folder/one/build/$file" "$folder/another place/build/$file" || fail "$file differs between two builds"
done
[[ $("$folder/one/build/cli/rer" --version) == "rer $version"* ]] || fail "the program has another version"
