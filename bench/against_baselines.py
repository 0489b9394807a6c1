"""How much faster are our detectors than the Python packages that people run for them?

    python3 bench/against_baselines.py [--detectors PATH] [--python PATH] [--data DIR] [--only NAME,...]

Whole processes from the same files (float16 features) to the verdict, two threads each, one run of the other
side, the median of three of ours, on CIFAR-10N (one person's labels), food10 and dtd:
  confident: scikit-learn's LogisticRegression(max_iter=1000) in 5 folds, then cleanlab's find_label_issues;
  knn:       scikit-learn's KNeighborsClassifier(10) on unit rows: neighbours without the row itself, votes;
  simifeat:  the original is research code on torch: a plain version of its 21 rounds stands in, exact cosine
             neighbours (scikit-learn, brute force) in a random nine tenths of the rows each round, votes in
             numpy; it leaves out the transition matrix, which ours estimates;
  zeroshot:  numpy.
Seconds of the processor stand beside those of the clock: other work on the same cores hardly disturbs them.

--python names an interpreter that has scikit-learn and cleanlab; without it a virtual environment is made in
a temporary folder (needs the network). Exit status: 0 all bars met, 1 missed, 77 skipped."""
import argparse
import os
import resource
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
import sys
import numpy as np

def confident(X, y, E):
    from cleanlab.filter import find_label_issues
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    p = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=5, method="predict_proba")
    return find_label_issues(y, p, return_indices_ranked_by="self_confidence", n_jobs=%d)

def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)

def knn(X, y, E):
    from sklearn.neighbors import KNeighborsClassifier
    classifier = KNeighborsClassifier(10, n_jobs=%d).fit(unit(X), y)
    near = classifier.kneighbors(return_distance=False)
    return (y[near] != y[:, None]).mean(1)

def simifeat(X, y, E):
    from sklearn.neighbors import NearestNeighbors
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

X, y, E = np.load(sys.argv[1]), np.load(sys.argv[2]).astype(int), np.load(sys.argv[3])
if sys.argv[4] == "confident":
    X = X.astype("float32")  # float16 would take it many times as long
globals()[sys.argv[4]](X, y, E)
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
    """Of the clock, of the processor."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS))
    start, before = time.perf_counter(), used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **threads})
    return time.perf_counter() - start, used() - before


def compare(name, data, features, labels, detectors, python, folder):
    """Prints one line; whether the bar is met."""
    embeddings = os.path.join(folder, "E.npy")
    subprocess.run([python, "-c", EMBEDDINGS, features, labels, embeddings], check=True)
    runs = [seconds([detectors, features, labels, embeddings, name, str(THREADS)]) for _ in range(RUNS)]
    ours, our_work = (statistics.median(column) for column in zip(*runs))
    theirs, their_work = seconds([python, "-W", "ignore", "-c", BASELINES, features, labels, embeddings, name])
    met = theirs >= BAR * ours
    print("  %-7s %-10s %-16s %8.2f s, rer %7.3f s: %6.4g x   processor %8.2f s, %7.3f s: %6.4g x   bar: at least %d" % (
        "ok" if met else "MISSED", name, data, theirs, ours, theirs / ours, their_work, our_work,
        their_work / our_work, BAR), flush=True)
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--detectors", default=os.path.join(ROOT, "build", "bench", "bench", "bench.detectors"))
    parser.add_argument("--python")
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""))
    parser.add_argument("--only", default="confident,knn,simifeat,zeroshot")
    arguments = parser.parse_args()
    folder = os.path.join(arguments.data, "data")
    if not os.path.isfile(os.path.join(folder, "cifar10_effnet_X.npy")):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    if not os.path.isfile(arguments.detectors):
        sys.exit("no program at %s: build it (-DRER_BENCH=ON), or name it with --detectors" % arguments.detectors)
    scratch = tempfile.mkdtemp(prefix="rer-bench-")
    try:
        python = arguments.python or make_environment(scratch)
        met = [compare(name, data, os.path.join(folder, data + "_X.npy"), os.path.join(folder, labels + ".npy"),
                       arguments.detectors, python, scratch)
               for data, labels in DATA.items() for name in arguments.only.split(",")]
    finally:
        shutil.rmtree(scratch)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
