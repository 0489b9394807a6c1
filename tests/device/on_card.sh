#!/usr/bin/env bash
# on_card.py with the package as the build has it, in the Python that has torch.
#     on_card.sh SOURCE BUILD
set -euo pipefail
package=$2/on_card
rm -rf "$package"
mkdir -p "$package"
cp -r "$1/python/rer" "$package"
cp "$2"/python/_rer.*so "$2/python/_options.py" "$package/rer"
PYTHONPATH=$package exec python3 -B "$1/tests/device/on_card.py"
