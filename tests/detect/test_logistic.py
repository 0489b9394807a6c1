"""Cross-fitted logistic regression against scikit-learn, fold by fold.

RER_FIT_LOGISTIC names the helper that fits it, RER_RUN_DETECTOR the one that runs detectors."""
import os
import subprocess
import unittest

from detector_case import DetectorCase, made_data, np, planted

from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

FIT = os.environ["RER_FIT_LOGISTIC"]
FOLDS = 5


class Logistic(DetectorCase):
    def fit(self, X, y, kind="raw", C=1., *options):
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)
        done = subprocess.run([FIT, self.path("X.npy"), self.path("y.npy"), self.folder, kind, str(C), *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        K, D = y.max() + 1, X.shape[1]
        self.fold = np.fromfile(self.path("fold"), np.int32)
        self.p = np.fromfile(self.path("probabilities"), np.float32).reshape(len(y), K).astype(float)
        self.W = np.fromfile(self.path("weights"), np.float32).reshape(FOLDS, K, D).astype(float)
        self.b = np.fromfile(self.path("bias"), np.float32).reshape(FOLDS, K).astype(float)
        self.mean = np.fromfile(self.path("mean"))

    def check(self, X, y, kind="raw", C=1., *options):
        self.fit(X, y, kind, C, *options)
        X = X.astype(float)
        if kind == "unit":
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        X = X - self.mean
        np.testing.assert_allclose(self.p.sum(1), 1, atol=1e-5)
        for fold in range(FOLDS):
            held, fitted = self.fold == fold, (self.fold != fold) & (y >= 0)
            if not held.any():
                continue
            theirs = LogisticRegression(C=C, tol=1e-9, max_iter=20000).fit(X[fitted], y[fitted])
            classes = theirs.classes_
            p = np.zeros((held.sum(), y.max() + 1))
            p[:, classes] = theirs.predict_proba(X[held])
            np.testing.assert_allclose(self.p[held], p, rtol=0, atol=1e-3)
            ours = self.objective(self.W[fold][classes], self.b[fold][classes], X[fitted], y[fitted], classes, C)
            W, b = theirs.coef_, theirs.intercept_
            if len(classes) == 2:  # scikit-learn has one weight vector then
                W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
            best = self.objective(W, b, X[fitted], y[fitted], classes, C)
            self.assertLess(abs(ours - best) / best, 1e-6)

    @staticmethod
    def objective(W, b, X, y, classes, C):
        z = X @ W.T + b
        loss = (logsumexp(z, axis=1) - z[np.arange(len(y)), np.searchsorted(classes, y)]).mean()
        return loss + (2 if len(classes) == 2 else 1) * (W ** 2).sum() / (2 * C * len(y))

    def test_raw_and_unit_rows(self):
        X, y = made_data(700, 20, 4, .6)
        y = planted(y, .1)
        for kind in ("raw", "unit"):
            for C in (1., 10.):
                with self.subTest(kind=kind, C=C):
                    self.check(X, y, kind, C)

    def test_correlated_features_with_an_offset(self):
        X, y = made_data(900, 12, 3, .5)
        mix = np.random.default_rng(1).standard_normal((12, 12)) * np.logspace(-1.5, 1, 12)
        self.check((X @ mix + 30).astype(np.float32), planted(y, .2))

    def test_more_features_than_rows(self):
        X, y = made_data(90, 200, 3, .3)
        self.check(X, y)

    def test_two_classes(self):
        X, y = made_data(400, 8, 2, .5)
        self.check(X, planted(y, .15))

    def test_many_features(self):
        """More than are whitened."""
        X, y = made_data(60, 4200, 3, .05)
        self.check(X, y, "unit", 10.)

    def test_classes_of_one_and_two(self):
        X, y = made_data(0, 6, 5, 1, sizes=[120, 60, 8, 2, 1])
        self.check(X, y)
        self.assertEqual(self.p[-1, 4], 0)  # its model has not seen the class

    def test_rows_without_a_label(self):
        X, y = made_data(500, 8, 3, .6)
        y[::6] = -1
        self.check(X, y)
        X = X - self.mean
        z = X[y < 0] @ self.W[0].T + self.b[0]  # judged by the first model
        np.testing.assert_allclose(self.p[y < 0], np.exp(z - logsumexp(z, axis=1, keepdims=True)), atol=1e-5)

    def test_folds_are_stratified_and_follow_the_seed(self):
        _, y = made_data(0, 3, 4, sizes=[503, 77, 11, 3])
        X = np.random.default_rng(0).standard_normal((len(y), 3)).astype(np.float32)
        self.fit(X, y)
        first = self.fold
        for c in range(4):
            counts = np.bincount(first[y == c], minlength=FOLDS)
            self.assertLessEqual(counts.max() - counts.min(), 1)
        counts = np.bincount(first, minlength=FOLDS)
        self.assertLessEqual(counts.max() - counts.min(), 1)
        self.fit(X, y, "raw", 1., "seed=3")
        self.assertGreater((self.fold != first).mean(), .5)

    def test_same_bits_whatever_the_threads_and_the_memory(self):
        X, y = made_data(6000, 16, 3, .6)
        self.fit(X, y, "raw", 1., "threads=1")
        weights = self.W
        for options in (["threads=3"], ["threads=2", "memory=600K"]):  # the latter reads rows again and again
            self.fit(X, y, "raw", 1., *options)
            np.testing.assert_array_equal(self.W, weights)

    def test_detectors_share_its_probabilities(self):
        X, y = made_data(500, 10, 4, 2)
        y = planted(y, .2)
        self.fit(X, y)
        own = self.p[np.arange(500), y]
        others = self.p.copy()
        others[np.arange(500), y] = -1
        confident, margin = self.run_detectors(X, y, "confident", "confident-margin")
        np.testing.assert_allclose(confident.mistakenness, 1 - own, atol=1e-6)
        np.testing.assert_allclose(margin.mistakenness, (1 - own + others.max(1)) / 2, atol=1e-6)
        for verdict in (confident, margin):
            np.testing.assert_array_equal(verdict.suggested, others.argmax(1))
            self.assertGreater(np.mean(y[verdict.flagged] != (np.arange(500) % 4)[verdict.flagged]), .9)

    def test_variants_differ_in_rows_and_penalty(self):
        X, y = made_data(400, 10, 4, .5)
        for name, kind, C in (("confident-c10", "raw", 10.), ("confident-unit", "unit", 1.),
                              ("confident-unit-c10", "unit", 10.)):
            self.fit(X, y, kind, C)
            verdict = self.run_detectors(X, y, name)
            np.testing.assert_allclose(verdict.mistakenness, 1 - self.p[np.arange(400), y], atol=1e-6)


if __name__ == "__main__":
    unittest.main()
