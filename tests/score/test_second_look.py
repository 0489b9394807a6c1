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

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "channel"), os.path.join(TESTS, "reference")]
import prototype
from test_fit import Fitted

COMMAND = os.environ["RER_COMMAND"]
NEAR, OTHERS, TO_TELL = 3, 15, 20


def make_data(N, D, C, seed, share, step):
    """Classes of two kinds each, a common one and a rare one; labels moved by `step` for a share of the rows."""
    random = np.random.default_rng(seed)
    true = np.arange(N) % C
    rare = random.random(N) < .1
    centers = random.normal(size=(2, C, D)) * 1.3
    X = centers[rare.astype(int), true] + random.normal(size=(N, D))
    moved = random.random(N) < share
    return X.astype("f4"), np.where(moved, (true + step(random, N)) % C, true)


def draw_confused_by_rules(seed, N=7000, D=60, C=5):
    """X, labels, right labels"""
    random = np.random.default_rng(seed)
    true = random.integers(0, C, N)
    heaps = random.normal(size=(C, 2, D)) + 2 * random.normal(size=(2, 1, D))[random.integers(0, 2, C)]
    apart = ((heaps.reshape(-1, 1, D) - heaps.reshape(-1, D)) ** 2).sum(2)
    of_class = np.repeat(np.arange(C), 2)
    apart[of_class[:, None] == of_class] = np.inf
    heaps *= 6.5 / np.sqrt(np.median(apart.min(1)))
    X = heaps[true, random.integers(0, 2, N)] + random.normal(size=(N, D))
    apart = ((heaps.mean(1)[:, None] - heaps.mean(1)) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(1, keepdims=True)
    alike = np.exp((nearest - apart) / np.median(nearest) * 2)
    y = true.copy()
    moved = random.random(N) < .14
    upto = (alike / alike.sum(1, keepdims=True))[true[moved]].cumsum(1)
    y[moved] = (random.random((moved.sum(), 1)) > upto).sum(1).clip(0, C - 1)
    moved = random.random(N) < .07
    y[moved] = random.integers(0, C, moved.sum())
    moved = (true == 1) & (random.random(N) < .28)
    y[moved] = 2
    return X.astype("f4"), y, true


def analyze(X, y, shrinkage=".2"):
    """Squared errors [N, C] and mistakenness [N]."""
    with tempfile.TemporaryDirectory(prefix="rer-look-") as folder:
        np.save(os.path.join(folder, "X.npy"), X)
        np.save(os.path.join(folder, "y.npy"), y)
        subprocess.run([COMMAND, "analyze", "X.npy", "y.npy", "--shrinkage", shrinkage, "--errors", "E.npy", "--out", "out",
                        "--quiet"], cwd=folder, check=True, timeout=1800)
        with open(os.path.join(folder, "out", "samples.csv"), newline="", encoding="utf-8") as file:
            wrong = np.array([float(row["mistakenness"]) for row in csv.DictReader(file)])
        return np.load(os.path.join(folder, "E.npy")).T.astype("f8") ** 2, wrong


def find_doubted(d2, y, first):
    """Labels likelier wrong than right whose nearest other class is known to become this label, or that are too few to
    tell."""
    others = d2.copy()
    others[np.arange(len(y)), y] = np.inf
    by_a_rule = np.array([pair in first.channel.flows for pair in zip(others.argmin(1), y)])
    return (first.wrong > .5) & (by_a_rule | (np.bincount(y)[y] < TO_TELL))


def local_evidence(X, y, d2, doubted):
    """[N, C] mean squared distance to the NEAR nearest of a class that are not doubted; classes beyond the own and
    the OTHERS nearest are as far as the farthest of those."""
    to_unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = prototype.default_rows(X)
    unit = to_unit(rows - rows.mean(0))
    apart = 2 - 2 * unit @ unit.T
    np.fill_diagonal(apart, np.inf)
    L = np.full(d2.shape, np.nan)
    for i, own in enumerate(y):
        nearest = [k for k in np.argsort(d2[i], kind="stable") if k != own][:OTHERS]
        for k in (own, *nearest):
            L[i, k] = np.sort(apart[i, (y == k) & ~doubted])[:NEAR].mean()
    return np.where(np.isnan(L), np.nanmax(L, axis=1, keepdims=True), L)


class SecondLook(unittest.TestCase):
    def check(self, *how):
        """(how far the program is from numpy with all rows as witnesses, number of doubted ones)"""
        X, y = make_data(*how)
        d2, got = analyze(X, y)
        log_n = np.log(np.bincount(y))
        nobody, before = np.zeros(len(y), bool), Fitted([d2], y, log_n)
        heard = Fitted([d2, local_evidence(X, y, d2, nobody)], y, log_n)

        def apart(doubted):
            E = [d2, local_evidence(X, y, d2, doubted)]
            if before.channel.flows:
                return np.abs(Fitted(E, y, log_n).wrong - got)
            return np.abs(heard.channel.wrong(E, y, log_n, heard.edge) - got)  # weighed by all, asked are the trusted

        doubted = find_doubted(d2, y, before)
        self.assertLess(apart(doubted).max(), .01)
        self.assertLess(apart(doubted).mean(), 2e-4)
        return apart(nobody).max(), doubted.sum()

    def test_wrong_at_random(self):
        """There is no rule, and nobody is doubted."""
        self.assertEqual(self.check(900, 12, 6, 3, .15, lambda random, N: random.integers(1, 6, N))[1], 0)

    def test_wrong_by_a_rule(self):
        apart, doubted = self.check(900, 12, 6, 2, .25, lambda random, N: 1)
        self.assertGreater(doubted, 20)
        self.assertGreater(apart, .01, "doubting nobody is seen")

    def test_too_few_labels_to_tell(self):
        apart, doubted = self.check(240, 10, 16, 5, .15, lambda random, N: random.integers(1, 16, N))
        self.assertGreater(doubted, 5)
        self.assertGreater(apart, .01, "doubting nobody is seen")

    def test_a_rule_that_is_none(self):
        """Of classes in pieces the means tell little, and what lies nearer to the wrong one looks moved."""
        random = np.random.default_rng(1)
        piece = random.choice(4, 3000, p=(.3, .3, .25, .15))
        X = np.stack([piece * 2.5 + .5 * random.normal(size=3000), .5 * random.normal(size=3000)], 1)
        moved = random.random(3000) < .1
        _, wrong = analyze(X.astype("f4"), (piece + moved) % 2)
        self.assertGreater(np.mean(wrong[moved] > .5), .9)
        self.assertLess(np.mean(wrong[~moved] > .5), .05)

    def check_heaps(self, place, y, random, share):
        """Classes of several heaps, which all have about the same mean; labels exchanged at random."""
        X = place + random.normal(size=place.shape)
        moved = np.zeros(len(y), bool)
        moved[random.permutation(len(y))[:int(share * len(y))]] = True
        given = np.where(moved, (y + random.integers(1, y.max() + 1, len(y))) % (y.max() + 1), y)
        _, wrong = analyze(X.astype("f4"), given, "auto")
        self.assertLess(abs(wrong.sum() - moved.sum()), .3 * moved.sum())
        self.assertGreater(np.mean(wrong[moved] > .5), .7)

    def test_a_rule_beside_confusion(self):
        """Of a class three in ten labels become the next one's; of all 14 % go to classes like their own, 7 % anywhere.
        What is found with a rule from the start names too many, and loses to what is found without any."""
        for seed in (3, 12):
            X, y, true = draw_confused_by_rules(seed)
            wrong = analyze(X, y, "auto")[1]
            self.assertLess(abs(wrong.sum() / (y != true).sum() - 1), .05)

    def test_clean_labels_of_many_classes(self):
        """Fewer rows are sampled of many classes; they are enough to ask whether all labels are right."""
        random, C = np.random.default_rng(1), 150
        y = random.integers(0, C, 12000)
        X = .55 * random.normal(size=(C, 16))[y] + random.normal(size=(12000, 16))
        self.assertLess(analyze(X.astype("f4"), y, "auto")[1].mean(), .006)

    def test_names_of_classes_stay(self):
        """Two classes crosswise: all labels wrong but the wrong ones would explain them as well."""
        for seed in range(8):
            random = np.random.default_rng(seed)
            y, side = random.integers(0, 2, 2000), random.choice([-1, 1], 2000)
            self.check_heaps(6 * np.stack([side, np.where(y, side, -side)], 1), y, random, .02)

    def test_rules_are_forgotten(self):
        """Means find rules where there are none; the rows beside do not need them."""
        for seed in range(4):
            random = np.random.default_rng(seed)
            a, b = random.integers(0, 3, (2, 3000))
            self.check_heaps(8 * np.stack([a, b], 1), (a + b) % 3, random, .1)

    def test_a_millionth_changes_nothing(self):
        """The search ends where it should, not by chance, where u meets its least."""
        for D, apart, C in ((20, .8, 6), (70, .4, 10)):
            random = np.random.default_rng(1)
            y = np.arange(2000) % C
            X = ((random.normal(size=(C, D)) * apart)[y] + random.normal(size=(2000, D))) * np.geomspace(1, .1, D)
            random.random(2000)
            turns = [(X * (1 + 1e-6 * turn * random.normal(size=X.shape))).astype("f4") for turn in range(4)]
            expected = [analyze(turn, y, "auto")[1].sum() for turn in turns]
            # Two searches, each of which ends at .02 nats, are weighed against each other: P(all are right).
            self.assertLess(np.ptp(expected), .08 * np.mean(expected))

    def test_more_classes_than_are_compared(self):
        self.check(900, 20, 20, 4, .15, lambda random, N: random.integers(1, 20, N))


if __name__ == "__main__":
    unittest.main()
