#!/usr/bin/env bash
# From a folder of photos to cleaned labels. PHOTOS has a sub-folder for each class; MODEL is an encoder's folder
# (docs/embedding.md), without which the built-in descriptor serves.
#     examples/photos.sh PHOTOS OUT [MODEL]
set -euo pipefail
rer=${RER:-rer}
photos=$1
out=$2
model=(${3:+--model "$3"})
mkdir -p "$out"

# Features, with ids (paths) and labels (sub-folders) beside them. Stopped? The same command goes on.
"$rer" embed "$photos" "${model[@]}" --out "$out/X.npy"

# Which labels are wrong: look at results/report.html.
"$rer" analyze "$out/X.npy" "$out/X_labels.csv:label" --ids "$out/X_ids.csv" --images "$photos" --out "$out/results"

# The surest suggestions at once; the report exports decisions.csv for the others.
"$rer" apply "$out/X_labels.csv:label" "$out/results" --auto .9 --out "$out/labels_clean.csv"
