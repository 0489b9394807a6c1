#!/usr/bin/env bash
# A folder with Debian's arm64 packages that rer is built from and Python, from where this machine's own come; nothing of
# it is run or installed here:
#     scripts/arm64_root.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$1
[ ! -e "$folder/made" ] || exit 0
rm -rf "$folder"
# Compilers and tools are this machine's.
needed=$(sed -n '/^\[build\]/,/^$/p' scripts/packages.txt | grep -E '^lib|^zlib' | paste -sd,)
sources=(/etc/apt/sources.list.d/debian.sources)
[ -e "${sources[0]}" ] || sources=(/etc/apt/sources.list)
mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 --include="$needed,libpython3-dev,python3" '' \
    "$folder" "${sources[@]}"
touch "$folder/made"
