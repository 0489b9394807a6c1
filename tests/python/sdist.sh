#!/usr/bin/env bash
# The sources for pip in a clean virtual environment: pip fetches what builds them, builds and installs.
#     tests/python/sdist.sh VENV BUILD
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
venv=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$here/../../scripts/wheel.sh" "$venv/bin/python" "$build" "$folder/made" >/dev/null
python3 -m venv "$folder/clean"
"$folder/clean/bin/pip" install --quiet --disable-pip-version-check "$folder"/made/librer-*.tar.gz
(cd / && "$folder/clean/bin/python" -B "$here/smoke.py")
