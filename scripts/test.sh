#!/usr/bin/env bash
# The whole test, from a bare machine on: packages, Python, four builds, their tests. Every suite
# runs even where one before it failed; the last line counts over all of them.
#     scripts/test.sh [--all]      --all: the slow tests too
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath -m "${BUILD:-build}")
jobs=${JOBS:-$(nproc)}
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja} CMAKE_BUILD_PARALLEL_LEVEL=$jobs
groups="build demo test"
slow="|slow"
longer=()
if [ "${1:-}" = --all ]; then
    groups="$groups test-all"
    slow=""
    longer=(--repeat until-fail:12) # each run starts from what the one before has found
fi

# shellcheck disable=SC2086
scripts/install-packages.sh $groups || exit
scripts/venv.sh "$build/venv" scripts/requirements-test.txt || exit
results=$build/results
rm -rf "$results"
mkdir -p "$results"
unrun=()

# suite NAME FOLDER EXCLUDED-LABELS [CTEST OPTION...] -- [CMAKE OPTION...]
suite() {
    local name=$1 folder=$2 excluded=$3 ctest_options=()
    shift 3
    while [ "$1" != -- ]; do
        ctest_options+=("$1")
        shift
    done
    shift
    printf '\n== %s ==\n' "$name"
    if ! { cmake -S . -B "$folder" --log-level=WARNING -DRER_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
               -DRER_PYTHON="$build/venv/bin/python" "$@" &&
           cmake --build "$folder" -- --quiet; }; then
        echo "The $name build failed."
        unrun+=("$name")
        return
    fi
    "${run[@]}" ctest --test-dir "$folder" --output-on-failure -j "$jobs" -LE "^($excluded)\$" "${ctest_options[@]}" \
        --output-junit "$results/$name.xml"
    [ -f "$results/$name.xml" ] || unrun+=("$name")
}

without=none
if [ ! -d ../shared/data ]; then
    without=shared
fi
run=(env)
suite release "$build" "$without$slow" -- -DRER_PYTHON_MODULE=ON -DPython_EXECUTABLE="$build/venv/bin/python"
suite asan "$build/asan" "once|$without$slow" -- -DRER_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
# ThreadSanitizer wants its places in memory free, which random addresses of newer kernels take at times.
! setarch -R true 2>/dev/null || run=(setarch -R)
suite tsan "$build/tsan" "once|$without$slow" -R 'threads|pool' -- \
    -DRER_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
run=(env)
CC=clang suite fuzz "$build/fuzz" "$without$slow" "${longer[@]}" -- -DRER_FUZZ=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
if [ -z "$slow" ]; then
    memcheck="valgrind;-q;--error-exitcode=99;--leak-check=full" # for values that were never set; the rest is asan's
    suite valgrind "$build/valgrind" "once|$without" -R '^(core|source|report|judge)\.' -- \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$memcheck" -DCMAKE_BUILD_TYPE=RelWithDebInfo
    printf '\n== bench ==\n'
    make --no-print-directory BUILD="$build" bench || unrun+=(bench)
fi

echo
if [ $without = shared ]; then
    ctest --test-dir "$build" -N -L '^shared$' | sed -n 's/^ *Test *#[0-9]*: /Skipped, for want of ..\/shared\/data: /p' |
        tee "$results/left-out"
fi
if [ -n "$slow" ]; then
    ctest --test-dir "$build" -N -L '^slow$' | sed -n 's/^ *Test *#[0-9]*: /Left to make test-all: /p'
fi
python3 scripts/count_tests.py "$results" "${unrun[@]}"
