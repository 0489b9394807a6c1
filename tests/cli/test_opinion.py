"""--pred-probs: pooled with the user's own probabilities, never much worse than the better of the two."""
import json
import os
import re
import unittest

import numpy as np

from cli_case import CliCase, column


def auroc(wrong, score):
    rank = score.argsort().argsort() + 1.0  # scores hardly ever tie here
    n = wrong.sum()
    return (rank[wrong].sum() - n * (n + 1) / 2) / (n * (~wrong).sum())


def made(separation, sharpness, n=1500, classes=6, seed=0):
    """Features that separate the classes so far, and probabilities of logits that know the truth so well."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    X = (separation * np.eye(classes, 8)[truth] + random.normal(size=(n, 8))).astype("f4")
    logits = sharpness * (np.eye(classes)[truth] + .6 * random.normal(size=(n, classes)))
    q = np.exp(logits - logits.max(1, keepdims=True))
    y, wrong = truth.copy(), random.random(n) < .15
    y[wrong] = (y[wrong] + random.integers(1, classes, wrong.sum())) % classes
    return X, y, q / q.sum(1, keepdims=True), wrong


class Opinion(CliCase):
    def mistakenness(self, *options):
        self.rer("analyze", "X.npy", "y.npy", "--out", "out", *options)
        return self.samples()

    def check(self, separation, sharpness):
        X, y, q, wrong = made(separation, sharpness)
        for name, array in (("X.npy", X), ("y.npy", y), ("q.npy", q)):
            self.save(name, array)
        alone, pooled = self.mistakenness(), self.mistakenness("--pred-probs", "q.npy")
        for name in ("rer", "own_error", "best_other_error"):  # stay those of the features
            np.testing.assert_array_equal(column(alone, name), column(pooled, name))
        q[np.arange(len(y)), y] *= -1  # theirs: largest other - own
        theirs = auroc(wrong, q.max(1) + q[np.arange(len(y)), y])
        ours, both = (auroc(wrong, column(rows, "mistakenness")) for rows in (alone, pooled))
        self.assertGreaterEqual(both, max(ours, theirs) - .005)
        return ours, theirs, both

    def test_each_has_a_part(self):
        ours, theirs, both = self.check(2, 3)
        self.assertGreater(both, max(ours, theirs) + .01)

    def test_theirs_are_better(self):
        ours, theirs, _ = self.check(.5, 12)
        self.assertGreater(theirs, ours + .05)

    def test_ours_are_better(self):
        ours, theirs, _ = self.check(5, 0)
        self.assertGreater(ours, theirs + .2)

    def test_the_suggestion_is_what_they_favour(self):
        """Features that say nothing suggest nothing."""
        X, y, q, _ = made(0, 3, n=600, classes=3)
        for name, array in (("X.npy", X), ("y.npy", y), ("q.npy", q)):
            self.save(name, array)
        self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", "--out", "out")
        rows = [(i, int(r["suggested_label"])) for i, r in enumerate(self.samples()) if r["suggested_label"] != ""]
        others = np.where(np.arange(3) == y[:, None], -1, q).argmax(1)
        self.assertGreater(len(rows), 20)
        self.assertGreater(np.mean([others[i] == suggested for i, suggested in rows]), .95)

    def test_the_reason_does_not_contradict_the_verdict(self):
        """A label that is called wrong though the features speak for it has the user's probabilities for a reason."""
        X, y, q, _ = made(0, 3, n=600, classes=3)
        for name, array in (("X.npy", X), ("y.npy", y), ("q.npy", q)):
            self.save(name, array)
        named = {}
        for columns, brief in ((120, r"your probabilities favour '(\d+)'"), (62, r"your probabilities(?:: '(\d+)')?$")):
            text = self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", "--out", "out",
                            env={**os.environ, "COLUMNS": str(columns)}).out
            lines = re.findall(r"^ +(\d+) +(\d+) +(\d+) +>?([\d.]+)% +(.*)$", text, re.M)
            self.assertEqual(len(lines), 10, text)
            for row, given, suggested, wrong, why in lines:
                self.assertGreater(float(wrong), 50)
                self.assertNotRegex(why, "closer to its own|as close")
                if said := re.search(brief, why):
                    self.assertEqual(int(said[1] or suggested), q[int(row)].argmax())
                    self.assertLess(float(self.samples()[int(row)]["rer"]), 1.005)
                    named[row] = q[int(row)].argmax()
        self.assertGreater(len(named), 2)
        page = self.load(self.path("out", "report.html")).decode()
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
        self.assertGreater(len(data["suspects"]), 20)
        for suspect in data["suspects"]:
            self.assertEqual(int(data["classes"][suspect[16]]), q[suspect[0]].argmax())
        self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", "--detector", "knn", "--out", "knn")
        for out in ("knn", "alone"):
            if out == "alone":
                self.rer("analyze", "X.npy", "y.npy", "--out", out)
            page = self.load(self.path(out, "report.html")).decode()
            data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
            self.assertEqual({suspect[16] for suspect in data["suspects"]}, {-1})

    def test_bad_probabilities(self):
        X, y, q, _ = made(3, 3, n=120)
        self.save("X.npy", X), self.save("y.npy", y)

        def message(array, code=1):
            self.save("q.npy", array)
            return self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", code=code).err

        self.assertIn("shape (120, 5) is not (120, 6)", message(q[:, :5]))
        self.assertIn("shape (119, 6) is not (120, 6)", message(q[1:]))
        self.assertIn("texts", message(q.astype("U5")))
        for value, words in ((np.nan, "row 7, column 2 is nan"), (-.1, "row 7, column 2 is -0.1"), (np.inf, "is inf")):
            bad = q.copy()
            bad[7, 2] = value
            self.assertIn(words, message(bad))
        bad = q.copy()
        bad[9] *= .5
        self.assertIn("row 9 sums to 0.5", message(bad))
        self.assertIn("softmax", message(bad))
        self.save("q.npy", q)
        self.assertIn("--pred-probs", self.rer("analyze", "X.npy", "y.npy", "--pred-probs", "q.npy", "--save-model",
                                               "m.safetensors", code=2).err)


if __name__ == "__main__":
    unittest.main()
