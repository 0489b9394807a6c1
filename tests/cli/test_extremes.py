"""Data at the edge. Sensible means, in each case: no crash, every number of a labelled sample finite and in its
range, and flags as the case says."""
import unittest

import numpy as np

from cli_case import CliCase, clusters, column


class Extremes(CliCase):
    def analyze(self, X, y, *options):
        """Mistakenness [N], flags [N], summary; what must hold of all."""
        self.rer("analyze", self.save("X.npy", X.astype("f4")), self.save("y.npy", y), "--out", "out", *options)
        rows, summary = self.samples(), self.summary()
        mistakenness, flags = column(rows, "mistakenness"), np.array([row["is_label_issue"] == "true" for row in rows])
        self.assertTrue(((mistakenness >= 0) & (mistakenness <= 1)).all())
        for name in ("rer", "own_error", "best_other_error"):
            self.assertTrue(np.isfinite(column(rows, name)).all(), name)
        for name in ("chi", "chi0", "chi_rand", "noise_rate", "eta", "error_rate", "difficulty", "expected_wrong"):
            self.assertTrue(np.isfinite(summary[name]), name)
        self.assertTrue(0 <= summary["noise_low"] <= summary["noise_rate"] <= summary["noise_high"] <= 1)
        return mistakenness, flags, summary

    def each(self, X, y):
        for probability in ("channel", "density"):
            with self.subTest(probability=probability):
                yield self.analyze(X, y, "--probability", probability)

    def test_ties(self):
        """Few distinct rows: equal rows with equal labels have equal numbers, whatever their order."""
        random = np.random.default_rng(0)
        X, y = random.integers(0, 2, (300, 4)) + 4 * np.eye(3, 4)[np.arange(300) % 3], np.arange(300) % 3
        for mistakenness, _, _ in self.each(X, y):
            kinds = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)[1].ravel()
            for kind in range(kinds.max() + 1):
                self.assertLess(np.ptp(mistakenness[kinds == kind]), 1e-4)

    def test_classes_far_apart(self):
        """Every shrinkage separates them: what floats round off does not choose."""
        random = np.random.default_rng(0)
        y = np.arange(900) % 5
        X = 4 * random.normal(size=(5, 16))[y] + random.normal(size=(900, 16))
        y[::30] = (y[::30] + 2) % 5
        _, flags, first = self.analyze(X, y)
        self.assertTrue((flags == (np.arange(900) % 30 == 0)).all())
        for _ in range(3):
            _, _, summary = self.analyze(X * (1 + 1e-6 * random.normal(size=X.shape)), y)
            self.assertAlmostEqual(summary["shrinkage"], first["shrinkage"], delta=2e-3)
            self.assertAlmostEqual(summary["chi"], first["chi"], delta=1e-4)

    def test_all_labels_right(self):
        """Hardly anything is flagged, and the noise rate is small."""
        X, y = clusters(n=900, classes=4, planted=0)
        for _, flags, summary in self.each(X, y):
            self.assertLessEqual(flags.mean(), .01)
            self.assertLess(summary["noise_rate"], .03)

    def test_half_of_them_wrong(self):
        """Still a majority of each class's labels: most of the wrong are flagged, few of the right."""
        random = np.random.default_rng(1)
        X, truth = clusters(n=1200, classes=6)
        wrong = np.zeros(1200, bool)
        wrong[random.choice(1200, 600, replace=False)] = True
        y = np.where(wrong, (truth + random.integers(1, 6, 1200)) % 6, truth)
        _, flags, summary = self.analyze(X, y)
        self.assertGreater(flags[wrong].mean(), .9)
        self.assertLess(flags[~wrong].mean(), .1)
        self.assertLess(abs(summary["noise_rate"] - .5), .1)

    def test_two_classes(self):
        """The planted mistakes are flagged, and little else."""
        X, y = clusters(n=400, classes=2, planted=20)
        for _, flags, _ in self.each(X, y):
            self.assertGreaterEqual(flags[:20].sum(), 18)
            self.assertLessEqual(flags[20:].sum(), 8)

    def test_many_small_classes(self):
        """1000 classes of 5: a mistake in a class of five is still found."""
        X, y = clusters(n=5000, d=32, classes=1000, planted=100)
        _, flags, _ = self.analyze(X, y)
        self.assertGreater(flags[:100].mean(), .8)
        self.assertLess(flags[100:].mean(), .05)

    def test_unbalanced(self):
        """1 : 1000. A row of the large class in the small one is found; right rows of the small one are kept."""
        random = np.random.default_rng(2)
        y = np.repeat([0, 1], [8000, 8])
        X = 6 * np.eye(2, 6)[y] + random.normal(size=(8008, 6))
        y[:2] = 1
        mistakenness, flags, _ = self.analyze(X, y)
        self.assertTrue(flags[:2].all())
        self.assertLess(flags[2:8000].mean(), .01)
        self.assertGreater(mistakenness[:2].min(), mistakenness[8000:].max())

    def test_copies_with_different_labels(self):
        """Each row twice, once with its label and once with another: the other one is the more suspicious."""
        X, y = clusters(n=300, classes=3)
        for mistakenness, _, _ in self.each(np.vstack([X, X[:60]]), np.concatenate([y, (y[:60] + 1) % 3])):
            self.assertGreaterEqual((mistakenness[300:] > mistakenness[:60]).mean(), .95)


if __name__ == "__main__":
    unittest.main()
