#!/usr/bin/env bash
# Makes $BUILD/venv, the Python that the tests use, or leaves it where it is up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${BUILD:-build}/venv
if ! cmp -s scripts/requirements.txt "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/requirements.txt
    cp scripts/requirements.txt "$venv/requirements.txt"
fi
