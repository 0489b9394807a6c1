#!/usr/bin/env bash
# Makes a Python with the packages that a list names, or leaves it where it is up to date:
#     scripts/venv.sh FOLDER LIST
set -euo pipefail
folder=$1
list=$2
if ! cmp -s "$list" "$folder/requirements.txt"; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$list"
    cp "$list" "$folder/requirements.txt"
fi
