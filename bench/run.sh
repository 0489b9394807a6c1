#!/usr/bin/env bash
# Builds and runs every speed benchmark; exits 1 where a bar is missed.
#     bench/run.sh [--quick]      --quick leaves out what takes minutes
# BUILD names the build folder (build/bench), PYTHON one that has scikit-learn and cleanlab.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
build=$(realpath -m "${BUILD:-build/bench}")
quick=()
if [ "${1:-}" = --quick ]; then
    quick=(--quick)
fi
cmake -S . -B "$build" --log-level=WARNING -DRER_BENCH=ON -DRER_TESTS=OFF || exit
cmake --build "$build" -j "$(nproc)" >/dev/null || exit

missed=0
# Status 77: skipped, and said so.
bench() {
    printf "\n== %s ==\n" "${*##*/}"
    "$@"
    local status=$?
    [ $status = 0 ] || [ $status = 77 ] || missed=1
}
bench "$build/bench/bench.floor" "${quick[@]}"
bench "$build/bench/bench.scaling"
bench "$build/bench/bench.threads" "${quick[@]}"
bench "$build/bench/bench.startup"
bench "$build/bench/bench.memory" "${quick[@]}"
bench "$build/bench/bench.hog_speed"
bench "$build/bench/bench.autoencoder_speed"
if [ ${#quick[@]} = 0 ]; then
    bench python3 bench/against_cleanlab.py --rer "$build/cli/rer" ${PYTHON:+--python "$PYTHON"}
    bench python3 bench/against_baselines.py --detectors "$build/bench/bench.detectors" ${PYTHON:+--python "$PYTHON"}
    bench python3 bench/against_tensorflow.py --rer "$build/cli/rer"
fi
exit $missed
