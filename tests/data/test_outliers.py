"""Rows of classes that were removed are found as outliers, on the measured data.

usage: test_outliers.py RER"""
import csv
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.metrics import roc_auc_score

# Smallest AUROC of outlier_score and recall at the flag; 2 % of the rows are planted.
BARS = {
    "food10_clip_b32": (.96, .5),
    "cifar10_effnet": (.93, .4),
    "flowers102_clip_b32": (.92, .3),
    "dtd_clip_b32": (.80, .1),
    "aircraft_clip_b32": (.55, 0),  # airplanes of another make are airplanes: hardly to be told
}
FALSE_FLAGS = .035
PLANTED = .02


def analyze(rer, folder, X, y):
    np.save(f"{folder}/X.npy", X)
    np.save(f"{folder}/y.npy", y)
    subprocess.run([rer, "analyze", "X.npy", "y.npy", "--out", "out", "--quiet"], cwd=folder, check=True)
    with open(f"{folder}/out/samples.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return (np.array([float(row["outlier_score"]) for row in rows]),
            np.array([row["is_outlier"] == "true" for row in rows]))


def measure(rer, folder, X, y, seed):
    """A tenth of the classes is removed; some of their rows stay, under random other labels."""
    random = np.random.default_rng(seed)
    classes = np.unique(y)
    gone = random.choice(classes, max(1, len(classes) // 10), replace=False)
    good = np.flatnonzero(~np.isin(y, gone))
    planted = random.permutation(np.flatnonzero(np.isin(y, gone)))[:int(PLANTED * len(good))]
    rows = np.r_[good, planted]
    labels = np.r_[y[good], random.choice(np.setdiff1d(classes, gone), len(planted))]
    is_planted = np.arange(len(rows)) >= len(good)
    score, flag = analyze(rer, folder, X[rows], labels)
    _, clean = analyze(rer, folder, X[good], y[good])
    return roc_auc_score(is_planted, score), flag[is_planted].mean(), flag[~is_planted].mean(), clean.mean()


def main():
    rer, measured = sys.argv[1], os.environ.get("RER_DATA", "")
    if not os.path.isdir(f"{measured}/data"):
        print("SKIPPED: no measured data; RER_DATA names its folder")
        return 77
    failed = False
    print(f"{'data':24s} {'AUROC':>7s} {'recall':>7s} {'false':>7s} {'clean':>7s}")
    with tempfile.TemporaryDirectory(prefix="rer-outliers-") as folder:
        for name, (auroc, recall) in BARS.items():
            X = np.load(f"{measured}/data/{name}_X.npy").astype(np.float32)
            y = np.load(f"{measured}/data/{name}_y.npy").astype(np.int64).ravel()
            seen = np.mean([measure(rer, folder, X, y, seed) for seed in range(3)], axis=0)
            good = seen[0] >= auroc and seen[1] >= recall and seen[2] <= FALSE_FLAGS and seen[3] <= FALSE_FLAGS
            failed |= not good
            print(f"{name:24s}", *(f"{value:7.3f}" for value in seen), "" if good else "  MISSED")
    return failed


if __name__ == "__main__":
    sys.exit(main())
