"""How much faster are our detectors than the Python packages that people run for them?

    python3 bench/against_baselines.py [--rer PATH] [--python PATH] [--shared DIR] [--only NAME,...]

Two threads each, one run of the other side on the features of each data set (with CIFAR-10N's human
labels, and as they are for food10 and dtd), the median of three of ours. Theirs is what stands between loaded
arrays and the answer, without starting Python or importing; ours is the whole process, with our own
analysis that every run makes besides.
  confident: scikit-learn's LogisticRegression(max_iter=1000) in 5 folds, then cleanlab's find_label_issues;
  knn:       scikit-learn's KNeighborsClassifier(10) on unit rows (kneighbors without the row itself, votes);
  simifeat:  the original is research code on torch: a plain version of its 21 rounds stands in, exact cosine
             neighbours (scikit-learn, brute force) in a random nine tenths of the rows each round, votes in numpy;
  zeroshot:  numpy (its time is in reading the file; it is printed, and no bar is set).

--python names an interpreter that has scikit-learn and cleanlab; without it a virtual environment is made in
a temporary folder (needs the network). Exit status: 0 all bars met, 1 missed, 77 skipped."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
THREADS = 2
RUNS = 3
BAR = 5
DATA = {"cifar10_effnet": "cifar10_effnet_human_random1", "food10_clip_b32": "food10_clip_b32_y",
        "dtd_clip_b32": "dtd_clip_b32_y"}
BASELINES = """
import json, sys, time
import numpy as np
from cleanlab.filter import find_label_issues
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

def confident(X, y, E):
    p = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=5, method="predict_proba")
    return find_label_issues(y, p, return_indices_ranked_by="self_confidence", n_jobs=%d)

def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)

def knn(X, y, E):
    classifier = KNeighborsClassifier(10, n_jobs=%d).fit(unit(X), y)
    near = classifier.kneighbors(return_distance=False)
    return (y[near] != y[:, None]).mean(1)

def simifeat(X, y, E):
    X, random, C = unit(X), np.random.default_rng(0), y.max() + 1
    flagged, times = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(21):
        rows = random.permutation(len(y))[:int(.9 * len(y))]
        search = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute", n_jobs=%d).fit(X[rows])
        far, near = search.kneighbors(X[rows])
        far[:, 0] = 2 * far[:, 1] - far[:, 2]
        votes = np.zeros((len(rows), C))
        np.add.at(votes, (np.arange(len(rows))[:, None], y[rows][near]), 1 - far)
        flagged[rows] += votes.argmax(1) != y[rows]
        times[rows] += 1
    return flagged / np.maximum(times, 1)

def zeroshot(X, y, E):
    z = unit(X) @ unit(E).T / .01
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    entropy = -(p * np.log(np.maximum(p, 1e-30))).sum(1)
    return (1 + np.where(p.argmax(1) == y, -1, 1) * np.exp(-entropy)) / 2

X, y, E = np.load(sys.argv[1]).astype("float32"), np.load(sys.argv[2]).astype(int), np.load(sys.argv[3])
start = time.perf_counter()
globals()[sys.argv[4]](X, y, E)
print(json.dumps(time.perf_counter() - start))
""" % (THREADS, THREADS, THREADS)
EMBEDDINGS = """
import sys, numpy
X, y = numpy.load(sys.argv[1]).astype("float32"), numpy.load(sys.argv[2])
numpy.save(sys.argv[3], numpy.stack([X[y == c].mean(0) for c in range(y.max() + 1)]))
"""


def make_environment(folder):
    print("making a virtual environment with scikit-learn and cleanlab", flush=True)
    python = os.path.join(folder, "venv", "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r",
                    os.path.join(ROOT, "scripts", "requirements-bench.txt")], check=True)
    return python


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def compare(name, data, features, labels, rer, python, folder):
    """Prints one line; whether the bar is met."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS))
    embeddings = os.path.join(folder, "E.npy")
    subprocess.run([python, "-c", EMBEDDINGS, features, labels, embeddings], check=True)
    ours = [rer, "analyze", features, labels, "--detector", name, "--threads", str(THREADS), "--quiet", "--out",
            os.path.join(folder, "out"), "--class-embeddings", embeddings]
    own = statistics.median(seconds(ours) for _ in range(RUNS))
    done = subprocess.run([python, "-W", "ignore", "-c", BASELINES, features, labels, embeddings, name], check=True,
                          env={**os.environ, **threads}, stdout=subprocess.PIPE, text=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    has_bar = name != "zeroshot"
    met = not has_bar or theirs >= BAR * own
    print("  %-7s %-9s %-16s %8.2f s, rer %7.3f s: %7.4g x%s" % (
        ("ok" if met else "MISSED") if has_bar else "", name, data, theirs, own, theirs / own,
        "   bar: at least %d" % BAR if has_bar else ""), flush=True)
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rer", default=os.path.join(ROOT, "build", "cli", "rer"))
    parser.add_argument("--python")
    parser.add_argument("--shared", default=os.path.join(ROOT, "..", "shared"))
    parser.add_argument("--only", default="confident,knn,simifeat,zeroshot")
    arguments = parser.parse_args()
    folder = os.path.join(arguments.shared, "data")
    if not os.path.isfile(os.path.join(folder, "cifar10_effnet_X.npy")):
        print("skipped: no data in %s" % folder)
        return 77
    if not os.path.isfile(arguments.rer):
        sys.exit("no command at %s: build it, or name it with --rer" % arguments.rer)
    scratch = tempfile.mkdtemp(prefix="rer-bench-")
    try:
        python = arguments.python or make_environment(scratch)
        met = [compare(name, data, os.path.join(folder, data + "_X.npy"), os.path.join(folder, labels + ".npy"),
                       arguments.rer, python, scratch)
               for data, labels in DATA.items() for name in arguments.only.split(",")]
    finally:
        shutil.rmtree(scratch)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
