"""Does `difficulty` say how hard a data set is? Data sets made from measured features: whole ones, random subsets of
their classes, classes of unequal size, planted and human label noise, labels at random. For each, the 5-fold error of a
linear probe (scikit-learn) on the labels as given, and what rer gives; then the rank correlation of the two.

    python bench/difficulty.py [--rer build/cli/rer] [--data DIR] [--quick] [--csv FILE]

--quick takes food10 and dtd alone. Fails where difficulty is not as good as it should be."""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of the probe: threads that wait busily cost more

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROWS_MOST = 3000  # of the largest set: the probe is what takes long


def load(data, name):
    X = np.load(data / f"{name}_X.npy").astype("f4")
    return X, np.unique(np.load(data / f"{name}_y.npy"), return_inverse=True)[1]


def noisy(y, rate, kind, random):
    y, C = y.copy(), y.max() + 1
    rows = random.choice(len(y), round(rate * len(y)), replace=False)
    y[rows] = (y[rows] + (random.integers(1, C, len(rows)) if kind == "symmetric" else 1)) % C
    return y


def some_classes(X, y, classes):
    kept = np.isin(y, classes)
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def unequal(X, y, random):
    """Class c keeps about half as many rows as class c - 1, five at least."""
    order = random.permutation(len(y))
    place = np.zeros(len(y), int)
    for c in range(y.max() + 1):
        place[order[y[order] == c]] = np.arange(np.sum(y == c))
    kept = place < np.maximum(5, np.max(np.bincount(y)) // 2 ** np.minimum(y, 20))
    return X[kept], y[kept]


def points(data, quick):
    """Name, features and labels of every data set."""
    random = np.random.default_rng(0)
    names = {"food10": "food10_clip_b32", "dtd": "dtd_clip_b32"}
    if not quick:
        names |= {"flowers102": "flowers102_clip_b32", "aircraft": "aircraft_clip_b32", "cifar10": "cifar10_effnet"}
    for short, name in names.items():
        X, y = load(data, name)
        kept = np.sort(random.permutation(len(y))[:ROWS_MOST]) if short == "cifar10" else np.arange(len(y))
        X, y = X[kept], y[kept]
        C = y.max() + 1
        yield short, X, y
        for k in (2, 3, 5, 8, 20, 50):
            for repeat in range(2 if k < 10 else 1):
                if k < C:
                    yield (f"{short}, {k} classes ({repeat})", *some_classes(X, y, random.choice(C, k, replace=False)))
        yield (f"{short}, 4 classes of unequal size", *unequal(*some_classes(X, y, random.choice(C, 4, replace=False)), random))
        for kind, rate in (("symmetric", .05), ("symmetric", .1), ("symmetric", .2), ("symmetric", .4), ("symmetric", .7),
                           ("asymmetric", .2)):
            yield f"{short}, {kind} {rate}", X, noisy(y, rate, kind, random)
        yield f"{short}, labels at random", X, random.permutation(y)
        for human in ("aggre", "random1", "worse") if short == "cifar10" else ():
            yield f"{short}, human {human}", X, np.load(data / f"cifar10_effnet_human_{human}.npy")[kept]


def probe_error(X, y):
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=.01, max_iter=300))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(np.mean(cross_val_predict(probe, X, y, cv=folds) != y))


def candidates(command, folder, X, y):
    """What rer gives, and other scales that could be made of it."""
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    words = [command, "analyze", folder / "X.npy", folder / "y.npy", "--errors", folder / "errors.npy", "--json", "--quiet"]
    summary = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    d2 = np.load(folder / "errors.npy").T.astype(float) ** 2
    share = np.bincount(y) / len(y)
    logits = np.log(share) - summary["temperature"] / 2 * d2
    logits -= logits.max(1, keepdims=True)
    own = (logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(len(y)), y]
    return {
        "chi": summary["chi"],
        "error rate": summary["error_rate"],
        "difficulty": summary["difficulty"],
        "error rate / rate of guessing the largest class": min(1, summary["error_rate"] / (1 - share.max())),
        "1 - posterior of the label, relative to chance": float(np.mean(1 - np.exp(own)) / (1 - np.sum(share ** 2))),
        "- log posterior / entropy of the labels": float(min(1, -np.mean(own) / -np.sum(share * np.log(share)))),
        "noise rate": summary["noise_rate"],
        "transition entropy": summary["transition_entropy"],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rer", default="build/cli/rer")
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""), type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--csv")
    options = parser.parse_args()
    data = options.data / "data"
    if not data.exists():
        print("skipped: no data; RER_DATA or --data names its folder")
        sys.exit(77)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, X, y in points(data, options.quick):
            row = {"name": name, "samples": len(y), "classes": int(y.max() + 1), "probe": probe_error(X, y)}
            rows.append(row | candidates(options.rer, pathlib.Path(folder), X, y))
            print(f"{name}: probe {row['probe']:.4f}, difficulty {rows[-1]['difficulty']:.4f}, chi {rows[-1]['chi']:.4f}",
                  flush=True)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    probe = np.array([row["probe"] for row in rows])
    clean = np.array([not any(word in row["name"] for word in ("symmetric", "random", "human")) for row in rows])
    print(f"\n{len(rows)} data sets\n\n| scale | Spearman | without noise | Pearson of logs |\n|---|---|---|---|")
    spearman = {}
    for name in list(rows[0])[4:]:
        values = np.array([row[name] for row in rows])
        spearman[name] = spearmanr(values, probe)[0]
        logs = pearsonr(np.log(np.maximum(values, 1e-3)), np.log(np.maximum(probe, 1e-3)))[0]
        print(f"| {name} | {spearman[name]:.3f} | {spearmanr(values[clean], probe[clean])[0]:.3f} | {logs:.3f} |")
    assert all(0 <= row["difficulty"] <= 1 for row in rows)
    assert spearman["difficulty"] >= .9 and spearman["difficulty"] >= spearman["chi"]


if __name__ == "__main__":
    main()
