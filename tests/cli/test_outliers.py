"""Outliers: the score against numpy from the file of errors, rows of a removed class, rows far from everything."""
import unittest

import numpy as np

from cli_case import CliCase, clusters, column


def scores(errors):
    """errors [C, N] -> outlier_score [N], is_outlier [N], written from docs/methods.md."""
    C, N = errors.shape
    order = np.sort(errors.astype(float), axis=0)
    margin = order[0] - order[1:].mean(axis=0)
    removed = order[1] - order[2:].mean(axis=0)
    unlike = (removed[:, None] < margin).mean(axis=0)
    best = np.log(order[0])
    middle = np.sort(best)[(N - 1) // 2]
    spread = 1.4826 * np.sort(np.abs(best - middle))[(N - 1) // 2]
    z = np.maximum((best - middle) / spread, 1e-9)
    far = 1 / (1 + (4 / z) ** 8)
    tail = np.sort(margin)[int(.97 * (N - 1))]
    return np.maximum(far, unlike), (far >= .5) | ((unlike >= .5) & (margin > tail))


def auroc(score, positive):
    rank = np.empty(len(score))
    values, places, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n))


class Outliers(CliCase):
    def analyze(self, X, y, *options):
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out", *options)
        rows = self.samples()
        flag = np.array([row["is_outlier"] == "true" for row in rows])
        self.assertEqual(self.summary()["n_outliers"], flag.sum())
        return column(rows, "outlier_score"), flag

    def test_against_numpy(self):
        found = 0
        for classes, seed in ((3, 0), (4, 1), (12, 2)):
            X, y = clusters(n=700, d=10, classes=classes, seed=seed, planted=20)
            X[:5] = X.mean(axis=0) + .1 * X[:5]
            score, flag = self.analyze(X, y, "--errors", "E.npy")
            expected, flagged = scores(np.load(self.path("E.npy")))
            np.testing.assert_allclose(score, expected, atol=3e-3)
            near = np.abs(expected - .5) < 3e-3
            self.assertTrue((flag == flagged)[~near].all())
            found += flag.sum()
        self.assertGreater(found, 0)

    def test_removed_class(self):
        random = np.random.default_rng(5)
        means = random.normal(size=(11, 32)) * 1.2
        y = np.arange(3000) % 10
        y[:60] = 10
        X = (means[y] + random.normal(size=(3000, 32))).astype("f4")
        planted = y == 10
        y[planted] = random.integers(0, 10, planted.sum())
        score, flag = self.analyze(X, y)
        self.assertGreater(auroc(score, planted), .97)
        self.assertGreater(flag[planted].mean(), .6)
        self.assertLess(flag[~planted].mean(), .02)
        self.assertRegex(self.rer("analyze", "X.npy", "y.npy").out, rf"\A.*; {flag.sum()} resemble no class clearly\n")

    def test_far_rows_and_clean_data(self):
        X, y = clusters(n=1000, d=16, classes=2, seed=3)
        score, flag = self.analyze(X, y, "--normalize", "none")
        self.assertLess(flag.mean(), .01)
        X[:4] = 1000 * np.eye(4, 16)
        score, flag = self.analyze(X, y, "--normalize", "none")
        self.assertTrue(flag[:4].all() and (score[:4] > .99).all())
        self.assertLess(flag[4:].mean(), .01)

    def test_too_few_rows(self):
        X, y = clusters(n=20)
        score, flag = self.analyze(X, y)
        self.assertTrue(np.isnan(score).all() and not flag.any())

    def test_threads(self):
        X, y = clusters(n=5000, classes=7, seed=8)
        X, y = self.save("X.npy", X), self.save("y.npy", y)
        for threads in (1, 3):
            self.rer("analyze", X, y, "--out", threads, "--threads", threads)
        self.assertEqual(self.load(self.path("1", "samples.csv")), self.load(self.path("3", "samples.csv")))


if __name__ == "__main__":
    unittest.main()
