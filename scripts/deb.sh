#!/usr/bin/env bash
# Builds the Debian packages (librer1, librer-dev, rer, python3-rer) from the tarball into an empty folder:
#     scripts/deb.sh FOLDER
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rm -rf "$folder"
tarball=$(scripts/dist.sh "$folder")
name=$(basename "$tarball" .tar.gz)
mv "$tarball" "$folder/${name/-/_}.orig.tar.gz"
cd "$folder"
tar -xzf "${name/-/_}.orig.tar.gz"
(cd "$name" && dpkg-buildpackage --no-sign --jobs="${JOBS:-auto}") >build.log 2>&1 || { tail -50 build.log >&2; exit 1; }
rm -r "$name"
lintian --fail-on error --tag-display-limit 0 ./*.changes | tee lintian.log
ls "$folder"/*.deb
