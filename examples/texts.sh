#!/usr/bin/env bash
# From a table of texts to cleaned labels. TABLE.csv has the columns text and label; MODEL is an encoder's folder with its
# tokenizer (docs/embedding.md).
#     examples/texts.sh TABLE.csv OUT MODEL
set -euo pipefail
rer=${RER:-rer}
table=$1
out=$2
model=$3
mkdir -p "$out"

# Features. Stopped? The same command goes on.
"$rer" embed "$table:text" --model "$model" --out "$out/X.npy"

# Which labels are wrong: look at results/report.html, which shows the texts.
"$rer" analyze "$out/X.npy" "$table:label" --texts "$table:text" --out "$out/results"

# The surest suggestions at once; the report exports decisions.csv for the others.
"$rer" apply "$table:label" "$out/results" --auto .9 --out "$out/labels_clean.csv"
