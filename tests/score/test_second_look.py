"""The second look of src/score/second_look.c against numpy: who is a witness, what they say, and what it comes to.

Local evidence is worked out again from all distances; what it is worth is found by rer_channel_fit, which channel.fit
holds against scipy. Data so small that every row is looked at. RER_COMMAND names the program, RER_FIT_CHANNEL that of
tests/channel/fit_channel.c."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "channel"))
from test_fit import Fitted

COMMAND = os.environ["RER_COMMAND"]
NEAR, OTHERS, AT_HOME = 3, 15, .5


def make_data(N, D, C, seed, share, step):
    """Classes of two kinds each, a common one and a rare one; labels moved by `step` for a share of the rows."""
    random = np.random.default_rng(seed)
    true = np.arange(N) % C
    rare = random.random(N) < .1
    centers = random.normal(size=(2, C, D)) * 1.3
    X = centers[rare.astype(int), true] + random.normal(size=(N, D))
    moved = random.random(N) < share
    return X.astype("f4"), np.where(moved, (true + step(random, N)) % C, true)


def analyze(X, y):
    """Squared errors [N, C] and mistakenness [N]."""
    with tempfile.TemporaryDirectory(prefix="rer-look-") as folder:
        np.save(os.path.join(folder, "X.npy"), X)
        np.save(os.path.join(folder, "y.npy"), y)
        subprocess.run([COMMAND, "analyze", "X.npy", "y.npy", "--shrinkage", ".2", "--errors", "E.npy", "--out", "out",
                        "--quiet"], cwd=folder, check=True, timeout=1800)
        with open(os.path.join(folder, "out", "samples.csv"), newline="", encoding="utf-8") as file:
            wrong = np.array([float(row["mistakenness"]) for row in csv.DictReader(file)])
        return np.load(os.path.join(folder, "E.npy")).T.astype("f8") ** 2, wrong


def find_doubted(d2, y, wrong):
    """Labels likelier wrong than right of rows that are as near to another class as half are to their own."""
    rows = np.arange(len(y))
    others = d2.copy()
    others[rows, y] = np.inf
    sure = np.sort(d2[rows, y][wrong <= .5])
    return (wrong > .5) & (others.min(1) <= sure[int(AT_HOME * len(sure))])


def local_evidence(X, y, d2, doubted):
    """[N, C] mean squared distance to the NEAR nearest of a class, doubted rows counted half; classes beyond the own
    and the OTHERS nearest are as far as the farthest of those."""
    to_unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    unit = to_unit(X.astype("f8"))  # the default normalisation
    unit = to_unit(unit - unit.mean(0))
    apart = 2 - 2 * unit @ unit.T
    np.fill_diagonal(apart, np.inf)
    L = np.full(d2.shape, np.nan)
    for i, own in enumerate(y):
        nearest = [k for k in np.argsort(d2[i], kind="stable") if k != own][:OTHERS]
        for k in (own, *nearest):
            mean = lambda witnesses: np.sort(apart[i, witnesses])[:NEAR].mean()
            L[i, k] = (mean(y == k) + mean((y == k) & ~doubted)) / 2
    return np.where(np.isnan(L), np.nanmax(L, axis=1, keepdims=True), L)


class SecondLook(unittest.TestCase):
    def check(self, *how, least):
        X, y = make_data(*how)
        d2, got = analyze(X, y)
        log_n = np.log(np.bincount(y))
        first = Fitted([d2], y, log_n).wrong
        doubted = find_doubted(d2, y, first)
        self.assertGreater(doubted.sum(), least, "the test says something")
        L = local_evidence(X, y, d2, doubted)
        apart = np.abs(Fitted([d2, L], y, log_n).wrong - got)
        self.assertLess(apart.max(), .01)
        self.assertLess(apart.mean(), 2e-4)
        none = np.zeros(len(y), bool)  # and doubting nobody is seen
        apart = np.abs(Fitted([d2, local_evidence(X, y, d2, none)], y, log_n).wrong - got)
        self.assertGreater(apart.max(), .01)

    def test_wrong_at_random(self):
        self.check(900, 12, 6, 1, .15, lambda random, N: random.integers(1, 6, N), least=20)

    def test_wrong_by_a_rule(self):
        self.check(900, 12, 6, 2, .25, lambda random, N: 1, least=20)

    def test_more_classes_than_are_compared(self):
        self.check(900, 20, 20, 4, .15, lambda random, N: random.integers(1, 20, N), least=20)


if __name__ == "__main__":
    unittest.main()
