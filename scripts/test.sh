#!/usr/bin/env bash
# Tests from a bare machine on: packages, Python, builds, then the suites. Every suite runs even where
# one before it failed; the last line counts over all of them.
#     scripts/test.sh KIND...     test: the release build, without its slow tests
#                                 deep: sanitizers, fuzzing, form and warnings of the sources
#                                 slow: the slow tests too, all commands under sanitizers, clang's analyzer, longer
#                                       fuzzing, valgrind, speed
# RER_DATA names the folder of the data that is not in the repository; without it their tests are left out.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
build=$(realpath -m "${BUILD:-build}")
jobs=${JOBS:-$(nproc)}
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja} CMAKE_BUILD_PARALLEL_LEVEL=$jobs
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache
kinds=" ${*:-test} "
wants() { [[ $kinds == *" $1 "* ]]; }

excluded=none
if [ -z "${RER_DATA:-}" ]; then
    excluded=data
elif [ -d "$RER_DATA/data" ]; then
    RER_DATA=$(realpath "$RER_DATA")
    export RER_DATA
else
    echo "RER_DATA: there is no folder $RER_DATA/data." >&2
    exit 2
fi
longer=()
not_now=slow
# Minutes under sanitizers, of code that other tests run there too.
brief='|^(cli\.(clusters|completions|details|duplicates|groups|scale|terminal)|report\.media)$'
if wants slow; then
    not_now=none
    brief=
    export RER_PATHS=1
    longer=(--repeat until-fail:12) # each run starts from what the one before has found
fi
excluded="$excluded|$not_now|cuda"

packages=(build demo test)
! wants deep || packages+=(test-deep)
! wants slow || packages+=(test-all deb deb-test)
scripts/install-packages.sh "${packages[@]}" || exit
scripts/venv.sh "$build/venv" scripts/requirements-test.txt || exit
! wants test || scripts/venv.sh "$build/venv-package" scripts/requirements-package.txt || exit
! wants slow || scripts/venv.sh "$build/venv-embed" scripts/requirements-embed.txt || exit
results=$build/results
rm -rf "$results"
mkdir -p "$results"
unrun=()

# A hang ends after an hour; nothing shorter, which a busy machine could break.
# suite NAME FOLDER EXCLUDED-LABELS [CTEST OPTION...] -- [CMAKE OPTION...]
suite() {
    local name=$1 folder=$2 labels=$3 ctest_options=()
    shift 3
    while [ "$1" != -- ]; do
        ctest_options+=("$1")
        shift
    done
    shift
    printf '\n== %s ==\n' "$name"
    if ! { cmake -S . -B "$folder" --log-level=WARNING -DRER_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
               -DRER_PYTHON="$build/venv/bin/python" -DRER_EMBED_PYTHON="$build/venv-embed/bin/python" "$@" &&
           { [ ${#targets[@]} = 0 ] || cmake --build "$folder" --target "${targets[@]}" -- --quiet; }; }; then
        echo "The $name build failed."
        unrun+=("$name")
        return
    fi
    # One more than there are cores: browsers, clusters and signals wait at times.
    "${run[@]}" ctest --test-dir "$folder" --output-on-failure --timeout 3600 -j "$((jobs + 1))" -LE "^($labels)\$" \
        "${ctest_options[@]}" --output-junit "$results/$name.xml"
    [ -f "$results/$name.xml" ] || unrun+=("$name")
}

run=(env)
targets=(all)
module=(-DRER_PYTHON_MODULE=ON -DPython_EXECUTABLE="$build/venv/bin/python")
if wants test; then
    suite release "$build" "lint|$excluded" -- "${module[@]}"
fi
if wants deep; then
    targets=() # clang-tidy needs no build
    suite lint "$build" "$excluded" -L '^lint$' -- "${module[@]}"
    targets=(all)
    suite asan "$build/asan" "once|$excluded" -E "\.threads\$$brief" -- -DRER_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
    # ThreadSanitizer wants its places in memory free, which random addresses of newer kernels take at times.
    ! setarch -R true 2>/dev/null || run=(setarch -R)
    mapfile -t targets < <(cd tests && find ./* -name test_threads.c -o -name test_pool.c |
                           sed -E 's|^\./(.*)/test_(.*)\.c|test.\1.\2|')
    suite tsan "$build/tsan" "once|$excluded" -R '\.(threads|pool)$' -- \
        -DRER_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
    run=(env)
    targets=(all)
    CC=clang suite fuzz "$build/fuzz" "$excluded" "${longer[@]}" -- -DRER_FUZZ=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
fi
if wants slow; then
    memcheck="valgrind;-q;--error-exitcode=99;--leak-check=full" # for values that were never set; the rest is asan's
    suite valgrind "$build/valgrind" "once|$excluded" -R '^(core|source|report|judge)\.' -- \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$memcheck" -DCMAKE_BUILD_TYPE=RelWithDebInfo
    printf '\n== hostile ==\n'
    make --no-print-directory BUILD="$build" SECONDS=120 hostile || unrun+=(hostile)
    printf '\n== bench ==\n'
    make --no-print-directory BUILD="$build" bench || unrun+=(bench)
fi

# names FOLDER CTEST-OPTION...: those tests in one line
names() { ctest --test-dir "$1" -N -FA . "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p' | paste -sd ' '; }

echo
if [ -z "${RER_DATA:-}" ]; then
    if wants test; then
        names "$build" -L '^data$' -LE "^($not_now)\$" >"$results/left-out"
    else
        names "$build/asan" -L '^data$' -LE "^(once|$not_now)\$" >"$results/left-out"
    fi
    echo "Skipped, RER_DATA is not set: $(cat "$results/left-out")"
fi
if wants test && ! wants slow; then
    echo "Left to make test-all: $(names "$build" -L '^slow$')"
fi
! wants test || echo "Left to make test-cuda: $(names "$build" -L '^cuda$')"
python3 scripts/count_tests.py "$results" "${unrun[@]}"
