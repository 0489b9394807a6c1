#!/usr/bin/env bash
# Packs the sources as FOLDER/rer-VERSION.tar.gz and prints its path:
#     scripts/dist.sh FOLDER
# The same sources give the same bytes: names sorted, no owners, one time for all files, which is SOURCE_DATE_EPOCH,
# else that of the last commit, else (in an unpacked tarball, which can be packed again) that of the sources.
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^#define RER_VERSION "\(.*\)"/\1/p' include/rer.h)
name=rer-$version

# Whether this folder, and not one around it, is the work tree.
in_git() { [ "$(git rev-parse --show-prefix 2>/dev/null || echo no)" = "" ]; }

if in_git; then
    files() { git ls-files -z --cached; }
    epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
else
    files() { find . \( -path ./build -o -path './build-*' -o -path ./out -o -name __pycache__ \) -prune -o -type f -print0 | sed -z 's|^\./||'; }
    epoch=${SOURCE_DATE_EPOCH:-$(stat -c %Y include/rer.h)}
fi

mkdir -p "$folder"
files | LC_ALL=C sort -z | tar --create --null --files-from=- --transform="s|^|$name/|" --format=ustar \
    --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX | gzip -9n >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
