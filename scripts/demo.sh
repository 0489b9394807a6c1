#!/usr/bin/env bash
# Looks for wrong labels in Fashion-MNIST: 60,000 pictures of Debian's package dataset-fashion-mnist.
#     scripts/demo.sh RER OUT
set -euo pipefail
rer=$1
out=$2
data=/usr/share/datasets/fashion-mnist

"$rer" analyze $data/train-images-idx3-ubyte.gz $data/train-labels-idx1-ubyte.gz \
    --class-names "$(dirname "${BASH_SOURCE[0]}")/../examples/fashion-mnist-classes.txt" --out "$out"
echo
echo "The report, with the pictures of the suspects: file://$(realpath "$out")/report.html"
