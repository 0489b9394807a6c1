"""The four reconstructors side by side, beside the released code's own runs.

    python bench/reconstructors.py [--rer COMMAND] [--data DIR] [--sets dtd,food10] [--only centroid,...]

For each set of measured features and each kind of mistakes (10 % symmetric and asymmetric, seed 0, and
people's for cifar10): chi, the noise rate, AUROC of chi and of mistakenness, F1 at the threshold (.5; the
paper's for published) and seconds of the whole command. Prints a Markdown table.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "reference"))
from prototype import auroc, noise  # noqa: E402

SETS = {"dtd": "dtd_clip_b32", "food10": "food10_clip_b32", "flowers102": "flowers102_clip_b32",
        "aircraft": "aircraft_clip_b32", "cifar10": "cifar10_effnet"}
GOLDEN = {"symmetric": "sym", "none": "none", "human random1": "human_random1"}
RUNS = {"centroid": [], "subspace": [], "autoencoder": [], "autoencoder, in-sample": ["--folds", "1"],
        "published": ["--threshold", "paper"]}


def f1(flagged, bad):
    hit = (flagged & bad).sum()
    return 2 * hit / max(flagged.sum() + bad.sum(), 1)


def run(command, X, y, bad, name):
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/y.npy", y.astype(np.int32))
        start = time.time()
        subprocess.run([command, "analyze", X, folder + "/y.npy", "--reconstructor", name.split(",")[0], "--out",
                        folder + "/out", "--quiet", *RUNS[name]], check=True)
        seconds = time.time() - start
        summary = json.load(open(folder + "/out/summary.json"))
        rows = list(csv.DictReader(open(folder + "/out/samples.csv")))
    column = lambda key: np.array([float(r[key] or "nan") for r in rows])
    flagged = np.array([r["is_label_issue"] == "true" for r in rows])
    return (summary["chi"], summary["noise_rate"], auroc(column("rer"), bad), auroc(column("mistakenness"), bad),
            f1(flagged, bad), seconds)


def golden_rows(measured, file, kind, bad):
    for pair, label in (("neg", "released code"), ("intended", "released code, intended curve"),
                        ("pos", "released code, a 1.577 b .895")):
        path = os.path.join(measured, "reference", f"{file}.{GOLDEN.get(kind, '?')}.{pair}.npz")
        if os.path.exists(path):
            g = np.load(path)
            yield label, (g["chi_avg"], g["eta_est"], g["auroc"], np.nan, g["f1"], g["sec"])


def show(data, kind, name, values):
    cells = ["" if np.isnan(v) else "%.*f" % (1 if i == 5 else 4 if i in (2, 3) else 3, v) for i, v in
             enumerate(map(float, values))]
    print(f"| {data} | {kind} | {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rer", default=os.path.join(HERE, "..", "build", "cli", "rer"))
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--only", default=";".join(RUNS), help="names separated by ;")
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.data, "data")):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    print("| data | mistakes | reconstructor | chi | noise rate | AUROC chi | AUROC mistakenness | F1 | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for data in options.sets.split(","):
        base = os.path.join(options.data, "data", SETS[data])
        X, true = base + "_X.npy", np.load(base + "_y.npy")
        labels = {kind: noise(true, kind, .1, 0) for kind in ("symmetric", "asymmetric")}
        if data == "cifar10":
            labels["human random1"] = np.load(base + "_human_random1.npy")
        for kind, y in labels.items():
            for name in options.only.split(";"):
                show(data, kind, name, run(options.rer, X, y, y != true, name))
            for name, values in golden_rows(options.data, SETS[data], kind, y != true):
                show(data, kind, name, values)
    return 0


if __name__ == "__main__":
    sys.exit(main())
