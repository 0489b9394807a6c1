#!/usr/bin/env bash
# The wheel for aarch64, cross-compiled, in Debian's Python for it, which qemu runs: the same numbers as here.
#     tests/python/aarch64.sh VENV BUILD      VENV has the package for this machine
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
venv=$1
build=$2
root=$build/arm64
"$here/../../scripts/arm64_root.sh" "$root"
wheel=$("$here/../../scripts/wheel.sh" "$venv/bin/python" "$build" "$build/wheel" "$root")
python=$(ls "$root"/usr/bin/python3.*[0-9])
site=$build/arm64-site
rm -rf "$site"
"$venv/bin/pip" install --quiet --disable-pip-version-check --target "$site" --only-binary :all: --no-deps \
    --python-version "${python##*python}" --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux2014_aarch64 numpy
"$venv/bin/python" -m zipfile -e "$wheel" "$site"
"$venv/bin/python" -B "$here/other_machine.py" "$build/here.npz"
PYTHONPATH=$site qemu-aarch64-static -L "$root" "$python" -B "$here/other_machine.py" "$build/there.npz" "$build/here.npz"
