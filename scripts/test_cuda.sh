#!/usr/bin/env bash
# The tests that need a CUDA card and nvcc. Where one of them is missing a line says so, and the status is 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath -m "${BUILD:-build}")/cuda
parts="operations networks detectors"
tests="device.cuda device.faults device.tensors device.racecheck_operations device.racecheck_networks"
for part in $parts; do
    tests="device.$part $tests device.memcheck_$part device.initcheck_$part device.poisoned_$part"
done
if ! cards=$(nvidia-smi -L 2>/dev/null) || ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
    echo "Left out, a CUDA card or nvcc is missing: $tests"
    exit 77
fi
echo "$cards"
cmake -S . -B "$build" --log-level=WARNING -DRER_TESTS=ON -DRER_CUDA=ON -DRER_PYTHON_MODULE=ON
cmake --build "$build" --target rer_cuda cuda_faults rer_command rer_python_package test.device.{operations,networks} \
    test.device.{detectors,analyses,faults}
PATH=$PATH:/usr/local/cuda/bin ctest --test-dir "$build" --output-on-failure -L '^cuda$'
