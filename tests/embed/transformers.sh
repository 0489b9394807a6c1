#!/usr/bin/env bash
# rer embed against transformers and torch, in a Python of its own (5 GB).
#     tests/embed/transformers.sh BUILD
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
venv=$1/venv-transformers
"$here/../../scripts/venv.sh" "$venv" "$here/../../scripts/requirements-transformers.txt"
"$venv/bin/python" -B "$here/test_transformers.py"
