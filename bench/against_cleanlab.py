"""How much faster is `rer analyze` than what people run today? Whole processes, two threads each.

    python3 bench/against_cleanlab.py [--rer PATH] [--python PATH] [--data DIR]

On CIFAR-10N (EfficientNet features of 10,000 pictures, one person's label for each): scikit-learn's
LogisticRegression(max_iter=1000) on the raw features, 5 folds, then cleanlab's find_label_issues,
against `rer analyze` with everything written. Both read the same files. rer runs before and after
and takes the median of all; the other side takes a minute or more and runs once.

--python names an interpreter that has scikit-learn and cleanlab; without it a virtual environment is
made in a temporary folder (needs the network). Exit status: 0 the bar is met, 1 missed, 77 skipped.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
THREADS = 2
RUNS = 9
BAR = 100
BASELINE = """
import sys, numpy, sklearn, cleanlab
from cleanlab.filter import find_label_issues
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
X, y = numpy.load(sys.argv[1]).astype("float32"), numpy.load(sys.argv[2])
p = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=5, method="predict_proba")
issues = find_label_issues(y, p, return_indices_ranked_by="self_confidence", n_jobs=%d)
print("scikit-learn %%s, cleanlab %%s: %%d issues" %% (sklearn.__version__, cleanlab.__version__, len(issues)))
""" % THREADS


def make_environment(folder):
    print("making a virtual environment with scikit-learn and cleanlab", flush=True)
    python = os.path.join(folder, "venv", "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "scikit-learn", "cleanlab"], check=True)
    return python


def seconds(command, **options):
    start = time.perf_counter()
    subprocess.run(command, check=True, **options)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rer", default=os.path.join(ROOT, "build", "cli", "rer"))
    parser.add_argument("--python")
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""))
    arguments = parser.parse_args()
    features = os.path.join(arguments.data, "data", "cifar10_effnet_X.npy")
    labels = os.path.join(arguments.data, "data", "cifar10_effnet_human_random1.npy")
    if not os.path.isfile(features) or not os.path.isfile(labels):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    if not os.path.isfile(arguments.rer):
        sys.exit("no command at %s: build it, or name it with --rer" % arguments.rer)

    folder = tempfile.mkdtemp(prefix="rer-bench-")
    try:
        python = arguments.python or make_environment(folder)
        ours = [arguments.rer, "analyze", features, labels, "--threads", str(THREADS), "--out",
                os.path.join(folder, "out")]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS))
        times = [seconds(ours, stdout=subprocess.DEVNULL) for _ in range(RUNS)]
        theirs = seconds([python, "-W", "ignore", "-c", BASELINE, features, labels],
                         env={**os.environ, **threads})
        times += [seconds(ours, stdout=subprocess.DEVNULL) for _ in range(RUNS)]
    finally:
        shutil.rmtree(folder)
    median = statistics.median(times)
    met = theirs >= BAR * median
    print("logistic regression + cleanlab %.1f s, rer %.3f s" % (theirs, median))
    print("  %-7s %-52s %9.4g   bar: at least %d" % ("ok" if met else "MISSED", "times as fast, CIFAR-10N",
                                                     theirs / median, BAR))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
