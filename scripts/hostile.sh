#!/usr/bin/env bash
# Builds what tests/hostile/hostile.py needs and runs the campaign: damaged inputs, kills, injected faults.
#     scripts/hostile.sh BUILD [SEED [SECONDS]]
# What failed is kept in BUILD/hostile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath -m "$1")
cmake -S . -B "$build" --log-level=WARNING
cmake --build "$build" --target rer_command -- --quiet
cmake -S . -B "$build/asan" --log-level=WARNING -DRER_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
cmake --build "$build/asan" --target rer_command -- --quiet
mkdir -p "$build/hostile"
cc -shared -fPIC -O1 -Wall -Wextra -Werror tests/hostile/faults.c -o "$build/hostile/faults.so"
exec "$build/venv/bin/python" -B tests/hostile/hostile.py --rer "$build/cli/rer" --asan "$build/asan/cli/rer" \
    --faults "$build/hostile/faults.so" --kept "$build/hostile" --seed "${2:-1}" --seconds "${3:-300}"
