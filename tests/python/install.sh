#!/usr/bin/env bash
# Installs the package into a Python of its own, as `pip install .` does for a user, but with what is
# there already: nothing is downloaded once the Python has its packages, and nothing is compiled again where
# BUILD has the module (python.sdist and python.wheel go the whole way).
#     tests/python/install.sh VENV BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$1
build=$2
settings=(--config-settings=build-dir="$build/package")
if [ -f "$build/python/_options.py" ]; then
    settings=(--config-settings=build-dir="$build/prebuilt" --config-settings=cmake.define.RER_BUILD="$build"
              --config-settings=cmake.source-dir=tests/python/prebuilt)
fi
scripts/venv.sh "$venv" scripts/requirements-package.txt
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --force-reinstall \
    "${settings[@]}" .
