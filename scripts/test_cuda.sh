#!/usr/bin/env bash
# The tests that need a CUDA card and nvcc. Where one of them is missing a line says so, and the status is 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath -m "${BUILD:-build}")/cuda
tests="device.operations device.cuda device.memcheck device.faults device.poisoned device.tensors"
if ! cards=$(nvidia-smi -L 2>/dev/null) || ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
    echo "Left out, a CUDA card or nvcc is missing: $tests"
    exit 77
fi
echo "$cards"
cmake -S . -B "$build" --log-level=WARNING -DRER_TESTS=ON -DRER_CUDA=ON -DRER_PYTHON_MODULE=ON
cmake --build "$build" --target rer_cuda cuda_faults rer_command rer_python_package test.device.operations \
    test.device.analyses test.device.faults
PATH=$PATH:/usr/local/cuda/bin ctest --test-dir "$build" --output-on-failure -L '^cuda$'
