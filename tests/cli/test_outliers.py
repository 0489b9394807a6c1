"""Outliers: the score against numpy from the file of errors, rows of a removed class, rows far from everything."""
import unittest

import numpy as np

from cli_case import CliCase, clusters, column


def spread_of(values, least):
    """How far the share below one standard deviation of a Gaussian lies above 0."""
    return max(np.percentile(values, 84.13), least)


def usual(error, y, C, D):
    """error [n] log own errors of rows that lie nearest to the class y of their label -> center [C], spread [C]."""
    least = 1 / np.sqrt(2 * D)
    middle = np.array([np.median(error[y == c]) for c in range(C)])
    spread = np.array([spread_of(error[y == c] - middle[c], least) for c in range(C)])
    n = np.bincount(y, minlength=C)
    m, between = np.median(error), np.mean((middle[y] - np.median(error)) ** 2)
    square = (10 * spread_of(error - middle[y], least) ** 2 + n * spread ** 2) / (10 + n)
    v = 1 / (1 / between + n / (np.pi / 2 * square))
    return m + v * n / (np.pi / 2 * square) * (middle - m), np.sqrt(square + v)


def scores(errors, y, D):
    """errors [C, N], labels y -> outlier_score [N], is_outlier [N], written from docs/methods.md."""
    C, N = errors.shape
    order = np.sort(errors.astype(float), axis=0)
    margin = order[0] - order[1:].mean(axis=0)
    removed = order[1] - order[2:].mean(axis=0)
    unlike = (removed[:, None] < margin).mean(axis=0)
    own = errors[y, np.arange(N)].astype(float)
    others = np.where(np.arange(C)[:, None] == y, np.inf, errors)
    other = others.argmin(axis=0)
    home = own <= others.min(axis=0)
    center, spread = usual(np.log(own[home]), y[home], C, D)
    z = np.minimum((np.log(own) - center[y]) / spread[y],
                   (np.log(others.min(axis=0)) - center[other]) / spread[other])
    far = 1 / (1 + (4 / np.maximum(z, 1e-9)) ** 8)
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
        found, random = 0, np.random.default_rng(9)
        for classes, seed in ((3, 0), (4, 1), (12, 2)):
            X, y = clusters(n=700, d=10, classes=classes, seed=seed, planted=20)
            X[:5] = X.mean(axis=0) + .1 * X[:5]
            X[y == 1] += random.normal(size=X[y == 1].shape)
            X[30:35] *= 4
            score, flag = self.analyze(X, y, "--errors", "E.npy")
            in_units = any("standardised" in note for note in self.summary()["notes"])
            expected, flagged = scores(np.load(self.path("E.npy")), y, X.shape[1] + in_units)
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

    def test_loose_class(self):
        random = np.random.default_rng(0)
        for ratio, d in (10, 20), (3, 64):
            y = np.repeat([0, 1, 2], [300, 300, 200])
            means = np.zeros((3, d))
            means[0, 0], means[1, 1], means[2, 2] = 20, 20, 30 * ratio
            X = (means[y] + np.array([1, 1, ratio])[y, None] * random.normal(size=(800, d))).astype("f4")
            self.assertLess(self.analyze(X, y)[1].mean(), .01)
            X[0], y[0] = 200 * random.normal(size=d), -1
            score, flag = self.analyze(X, y, "--normalize", "none")
            self.assertTrue(flag[0] and score[0] > .99)

    def test_loose_class_around_narrow_ones(self):
        """Rows of it that lie nearest to a narrow class are as near to their own as the rest."""
        random = np.random.default_rng(1)
        y = np.where(random.random(4000) < .4, 4, random.integers(0, 4, 4000))
        means = random.normal(size=(5, 10)) * 3.5
        X = (means[y] + np.where(y == 4, 4, 1)[:, None] * random.normal(size=(4000, 10))).astype("f4")
        score, flag = self.analyze(X, y)
        self.assertLess(flag[y == 4].mean(), .025)
        self.assertEqual(flag[y != 4].sum(), 0)

    def test_small_classes(self):
        random = np.random.default_rng(2)
        y = np.arange(1000) % 100
        means = random.normal(size=(100, 64)) * 2
        widths = np.exp(random.normal(size=100))[y, None]
        X = (means[y] * widths + widths * random.normal(size=(1000, 64))).astype("f4")
        y[:20] = -1
        X[:20] = 100 * widths.max() * random.normal(size=(20, 64))
        score, flag = self.analyze(X, y, "--normalize", "none")
        self.assertTrue(flag[:20].all())
        self.assertLess(flag[20:].mean(), .01)

    def test_few_points_with_many_rows_each(self):
        random = np.random.default_rng(0)
        y = random.integers(0, 2, 300)
        X = np.stack([y, random.integers(0, 2, 300), random.integers(0, 2, 300)], 1).astype("f4")
        self.assertEqual(self.analyze(X, y)[1].sum(), 0)

    def test_new_rows_by_the_model(self):
        """Whatever comes with them: rows far from all, rows of a class that the model does not know."""
        random = np.random.default_rng(4)
        means = random.normal(size=(6, 32)) * 1.5
        y = np.arange(1500) % 6
        X = (means[y] + random.normal(size=(1500, 32))).astype("f4")
        known = y < 5
        self.rer("analyze", self.save("X.npy", X[known]), self.save("y.npy", y[known]), "--save-model", "m.st")
        fresh = (means[y] + random.normal(size=X.shape)).astype("f4")
        far = (1000 + 50 * random.normal(size=X.shape)).astype("f4")
        parts = {"good": fresh[known], "unknown": fresh[~known], "far": far[:300]}
        alone, share = {}, {}
        for name, rows in {**parts, "all": np.concatenate(list(parts.values()))}.items():
            self.rer("score", "m.st", self.save("new.npy", rows), "--out", name)
            table = self.samples(name)
            alone[name] = np.array([float(row["outlier_score"]) for row in table])
            share[name] = np.mean([row["is_outlier"] == "true" for row in table])
        # products of matrices round by where in its block a row lies
        apart = [alone[name] for name in parts]
        np.testing.assert_allclose(alone["all"], np.concatenate(apart), rtol=1e-3, atol=1e-6)
        marked = sum(share[name] * len(rows) for name, rows in parts.items())
        self.assertAlmostEqual(share["all"] * len(alone["all"]), marked, delta=1)
        self.assertLess(share["good"], .05)
        self.assertGreater(share["unknown"], .8)
        self.assertEqual(share["far"], 1)

    def test_too_few_rows(self):
        X, y = clusters(n=20)
        score, flag = self.analyze(X, y)
        self.assertTrue(np.isnan(score).all() and not flag.any())
        self.rer("analyze", "X.npy", "y.npy", "--save-model", "m.st")
        self.rer("score", "m.st", self.save("new.npy", clusters(n=300)[0]), "--out", "new")
        self.assertTrue(np.isnan(column(self.samples("new"), "outlier_score")).all())

    def test_threads(self):
        X, y = clusters(n=5000, classes=7, seed=8)
        X, y = self.save("X.npy", X), self.save("y.npy", y)
        for threads in (1, 3):
            self.rer("analyze", X, y, "--out", threads, "--threads", threads)
        self.assertEqual(self.load(self.path("1", "samples.csv")), self.load(self.path("3", "samples.csv")))


if __name__ == "__main__":
    unittest.main()
