#!/usr/bin/env bash
# Installs the package into a Python of its own, as `pip install .` does for a user, but with what is
# there already: nothing is downloaded once the Python has its packages.
#     tests/python/install.sh VENV BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$1
build=$2
scripts/venv.sh "$venv" scripts/requirements-package.txt
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --force-reinstall \
    --config-settings=build-dir="$build/package" .
