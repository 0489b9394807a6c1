"""Groups left out whole: against refits in numpy, the same bits for groups of one, mistakes in copies."""
import os
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import prototype
from cli_case import CliCase, clusters, column


def refit(X, y, groups, a):
    """errors [C, N] by the convention of docs/methods.md: for each row the class means without its group's rows
    and the scatter without the group's mean in the row's own class, all refitted."""
    X = prototype.default_rows(X)
    N, D = X.shape
    C = y.max() + 1
    means = np.array([X[y == c].mean(axis=0) for c in range(C)])
    R = X - means[y]
    W = R.T @ R
    tau = np.trace(W) / (N - C) / D
    errors = np.empty((C, N))
    for i in range(N):
        out = (groups == groups[i]) if groups[i] >= 0 else np.arange(N) == i
        kept = [(y == c) & ~out for c in range(C)]
        mine = out & (y == y[i])
        left = W
        if kept[y[i]].any():
            # Scatter of the class with the group's rows replaced by their mean, less that without them.
            m, n = mine.sum(), (y == y[i]).sum()
            center, rest = X[mine].mean(axis=0), X[kept[y[i]]].mean(axis=0)
            whole = (m * center + (n - m) * rest) / n
            part = m * np.outer(center - whole, center - whole) + (n - m) * np.outer(rest - whole, rest - whole)
            left = W - part
        S = (1 - a) * left / (N - C) + a * tau * np.eye(D)
        for c in range(C):
            residual = X[i] - (X[kept[c]] if kept[c].any() else X[y == c]).mean(axis=0)
            errors[c, i] = np.sqrt(residual @ np.linalg.solve(S, residual))
        if not kept[y[i]].any():
            errors[:, i] = [np.sqrt(r @ np.linalg.solve((1 - a) * W / (N - C) + a * tau * np.eye(D), r))
                            for r in X[i] - means]
            errors[y[i], i] = np.nan
    return errors


def auroc(score, positive):
    values, places, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n))


class Groups(CliCase):
    def test_against_refits(self):
        random = np.random.default_rng(0)
        for n, d, classes, a in ((150, 6, 3, .1), (90, 40, 4, .5), (300, 5, 12, .02)):
            X, y = clusters(n=n, d=d, classes=classes, seed=n, planted=n // 10)
            groups = random.integers(-1, n // 4, n)
            groups[y == 1] = np.where(random.random((y == 1).sum()) < .5, 3, groups[y == 1])
            groups[y == 2] = 7777  # a class that is one group
            X[groups == 5] = X[groups == 5][:1] + 1e-3 * random.normal(size=(np.sum(groups == 5), d))
            self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--groups",
                     self.save("g.npy", groups), "--shrinkage", a, "--errors", "E.npy", "--out", "out")
            expected = refit(X, y, groups, a)
            np.testing.assert_allclose(np.load(self.path("E.npy")), expected, rtol=2e-4)
            own = column(self.samples(), "own_error")
            np.testing.assert_allclose(own, expected[y, np.arange(n)], rtol=2e-4)

    def test_identity_metric(self):
        X, y = clusters(n=60, d=4, planted=5)
        groups = np.arange(60) // 4
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--groups", self.save("g.npy", groups),
                 "--normalize", "none", "--errors", "E.npy")
        expected = [[np.linalg.norm(X[i] - X[(y == c) & (groups != groups[i])].mean(axis=0)) for i in range(60)]
                    for c in range(3)]
        np.testing.assert_allclose(np.load(self.path("E.npy")), expected, rtol=1e-5)

    def test_groups_of_one_change_nothing(self):
        X, y = self.save_clusters(n=2500, planted=50)
        groups = np.arange(2500)
        groups[::3] = -1
        self.rer("analyze", X, y, "--out", "plain", "--errors", "plain.npy")
        self.rer("analyze", X, y, "--out", "grouped", "--errors", "grouped.npy", "--groups",
                 self.save("g.npy", groups))
        for name in ("samples.csv", "classes.csv"):
            self.assertEqual(self.load(self.path("plain", name)), self.load(self.path("grouped", name)))
        self.assertEqual(self.load(self.path("plain.npy")), self.load(self.path("grouped.npy")))

    def planted_copies(self, seed):
        """Every wrong row comes 3 to 5 times, slightly changed; as many right rows do."""
        random = np.random.default_rng(seed)
        y = np.arange(1200) % 30
        X = .5 * random.normal(size=(30, 48))[y] + random.normal(size=(1200, 48))
        wrong = np.zeros(len(y), bool)
        wrong[random.permutation(len(y))[:100]] = True
        y = np.where(wrong, (y + random.integers(1, 30, len(y))) % 30, y)
        times = np.where(wrong | (random.random(len(y)) < .08), random.integers(3, 6, len(y)), 1)
        rows = np.repeat(np.arange(len(y)), times)
        copies = X[rows] + 1e-3 * random.normal(size=(len(rows), 48))
        return copies.astype("f4"), y[rows], wrong[rows], rows

    def test_mistakes_in_copies(self):
        gain = []
        for seed in range(3):
            X, y, wrong, groups = self.planted_copies(seed)
            files = self.save("X.npy", X), self.save("y.npy", y)
            seen = {}
            for name in ("none", "file", "duplicates"):
                how = [] if name == "none" else ["--groups", self.save("g.npy", groups) if name == "file" else name]
                self.rer("analyze", *files, "--out", name, *how)
                seen[name] = auroc(column(self.samples(name), "mistakenness"), wrong)
            gain.append([seen["none"], seen["file"], seen["duplicates"]])
            # One of each group, as the data was before it was copied.
            _, first = np.unique(groups, return_index=True)
            self.rer("analyze", self.save("X1.npy", X[first]), self.save("y1.npy", y[first]), "--out", "once")
            gain[-1].append(auroc(column(self.samples("once"), "mistakenness"), wrong[first]))
        none, file, duplicates, once = np.mean(gain, axis=0)
        print(f"AUROC: row by row {none:.4f}, --groups FILE {file:.4f}, --groups duplicates {duplicates:.4f}, "
              f"without copies {once:.4f}")
        self.assertGreater(file, none + .02)
        self.assertGreater(file, once - .01)
        self.assertAlmostEqual(file, duplicates, delta=.002)

    def test_refused(self):
        X, y = self.save_clusters()
        done = self.rer("analyze", X, y, "--groups", y, code=1)
        self.assertIn("every class is one group", done.err)
        self.rer("analyze", X, y, "--groups", "duplicates", "--reconstructor", "subspace", code=2)
        self.assertIn("groups", self.rer("analyze", X, y, "--groups", self.save("g.npy", np.arange(5)), code=1).err)

    def test_threads(self):
        X, y, _, groups = self.planted_copies(7)
        files = self.save("X.npy", X), self.save("y.npy", y), "--groups", self.save("g.npy", groups)
        for threads in (1, 3):
            self.rer("analyze", *files, "--out", threads, "--threads", threads)
        self.assertEqual(self.load(self.path("1", "samples.csv")), self.load(self.path("3", "samples.csv")))


if __name__ == "__main__":
    unittest.main()
