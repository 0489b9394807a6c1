"""What is suggested is the likeliest class, by all that is known: sizes of classes, rules, the user's own probabilities.

Data whose truth is known, so that a suggestion is right or not. RER_COMMAND names the program. Needs scikit-learn."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from sklearn.datasets import load_digits

COMMAND = os.environ["RER_COMMAND"]


class Suggestions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rer-suggest-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rer(self, *arguments, **arrays):
        """(rows of samples.csv, summary); `arrays` are saved first, each under its name."""
        for name, array in arrays.items():
            np.save(self.folder / (name + ".npy"), array)
        done = subprocess.run([COMMAND, *arguments, "--out", "out", "--quiet"], cwd=self.folder, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "out" / "samples.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file)), json.loads((self.folder / "out" / "summary.json").read_text())

    @staticmethod
    def suggested(rows):
        return np.array([int(row["suggested_label"] or -1) for row in rows])

    def test_rows_without_a_label(self):
        """A rare class beside a common one: the nearer class is not always the likelier."""
        random = np.random.default_rng(0)
        truth = 5 + (random.random(4000) < .05)
        X = random.normal(size=(4000, 5))
        X[:, 0] += 2 * truth
        bare = np.arange(4000) % 2 == 0
        given = np.where(bare, -1, truth)
        rows, _ = self.rer("analyze", "X.npy", "y.npy", "--save-model", "model", X=X.astype("f4"), y=given)
        scored, _ = self.rer("score", "model", "X.npy", X=X.astype("f4"))
        for rows, of in (rows, bare), (scored, np.ones(4000, bool)):
            probability = np.array([float(row["suggestion_probability"] or "nan") for row in rows])[of]
            self.assertGreaterEqual(probability.min(), .5)  # of two classes
            self.assertGreater(np.mean(self.suggested(rows)[of] == truth[of]), .95)  # all of the common one: .947
            self.assertAlmostEqual(probability.mean(), np.mean(self.suggested(rows)[of] == truth[of]), delta=.02)

    def make_rule(self, N):
        """Three in ten of class 0 are called 1; class 2 is nearer to class 0 than class 1 is."""
        random = np.random.default_rng(2)
        truth = random.integers(0, 4, N)
        centers = np.array([[0, 0], [6, 6], [2, 0], [0, 9]])
        X = np.concatenate([centers[truth] + random.normal(size=(N, 2)), random.normal(size=(N, 4))], 1).astype("f4")
        return X, truth, np.where((truth == 0) & (random.random(N) < .3), 1, truth)

    def test_new_rows_of_a_known_rule(self):
        X, truth, given = self.make_rule(8000)
        self.rer("analyze", "X.npy", "y.npy", "--save-model", "model", X=X[:4000], y=given[:4000])
        rows, _ = self.rer("score", "model", "X.npy", "y.npy", X=X[4000:], y=given[4000:])
        moved = (given[4000:] != truth[4000:]) & (self.suggested(rows) >= 0)  # those that look wrong
        self.assertGreater(moved.sum(), 250)
        self.assertGreater(np.mean(self.suggested(rows)[moved] == 0), .98)  # by p alone: .83

    def test_own_probabilities_and_a_rule(self):
        """The probabilities take class 0 for 2."""
        random = np.random.default_rng(5)
        truth = random.integers(0, 4, 3000)
        centers = np.eye(4, 8) * 4
        centers[0] = (centers[0] + centers[2]) / 2
        X = (random.normal(size=(3000, 8)) + centers[truth]).astype("f4")
        given = np.where((truth == 0) & (random.random(3000) < .3), 1, truth)
        z = random.normal(size=(3000, 4)) + np.eye(4)[truth] + 1.2 * (truth == 0)[:, None] * np.eye(4)[2]
        q = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        rows, _ = self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", X=X, y=given, q=q.astype("f4"))
        moved = given != truth
        moved &= self.suggested(rows) >= 0  # those that look wrong
        self.assertGreater(moved.sum(), 200)
        self.assertGreater(np.mean(self.suggested(rows)[moved] == 0), .98)  # by p alone: .91

    def test_probabilities_that_are_certain_and_right(self):
        """Votes of somebody who never errs: that all labels are right, and both votes and features worth little, explains
        the labels as well as mistakes do, but for what evidence is usually worth."""
        X, truth = load_digits(return_X_y=True)
        random = np.random.default_rng(1)
        moved = random.random(len(truth)) < .1
        given = np.where(moved, (truth + random.integers(1, 10, len(truth))) % 10, truth)
        rows, summary = self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", X=X.astype("f4"), y=given,
                                 q=np.eye(10)[truth])
        flagged = np.array([row["is_label_issue"] == "true" for row in rows])
        self.assertGreater(np.mean(flagged[moved]), .95)
        self.assertLess(np.mean(flagged[~moved]), .01)
        self.assertGreater(summary["noise_rate"], .5 * moved.mean())

    def test_all_may_be_right_where_the_second_look_is_thinned(self):
        """Wide rows: fewer of the sampled ones are compared, and the question keeps its answer."""
        random = np.random.default_rng(0)
        y = np.arange(5000) % 10
        X = random.normal(size=(5000, 512))
        X[:, :16] += .75 * random.normal(size=(10, 16))[y]
        _, summary = self.rer("analyze", "X.npy", "y.npy", X=X.astype("f4"), y=y)
        self.assertLess(summary["noise_rate"], .004)  # where it was lost: .0077

    def test_all_may_be_right_where_a_class_is_one_group(self):
        random = np.random.default_rng(0)
        y = np.arange(600) % 4
        centers = np.eye(4, 6) * 2.2
        centers[3] *= 10
        X = (random.normal(size=(600, 6)) + centers[y]).astype("f4")
        group = np.where(y == 3, 0, np.arange(600) + 1)
        _, summary = self.rer("analyze", "X.npy", "y.npy", "--groups", "g.npy", X=X, y=y, g=group)
        self.assertLess(summary["noise_rate"], .005)  # where it was not asked: .013

    def test_a_new_row_too_large_for_float(self):
        """Its errors are no numbers; they were 0, a perfect fit."""
        random = np.random.default_rng(0)
        y = np.arange(900) % 3
        X = (random.normal(size=(900, 8)) + 3 * random.normal(size=(3, 8))[y]).astype("f4")
        self.rer("analyze", "X.npy", "y.npy", "--normalize", "none", "--save-model", "model", X=X, y=y)
        X[2] = 3e19
        np.save(self.folder / "X.npy", X[:6])
        done = subprocess.run([COMMAND, "score", "model", "X.npy", "--out", "new", "--quiet"], cwd=self.folder,
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 1)
        self.assertIn("row 2", done.stderr)


if __name__ == "__main__":
    unittest.main()
