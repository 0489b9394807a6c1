"""rer analyze --clusters: k-means against scikit-learn."""
import os
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # scikit-learn's threads wait busily: very slow beside other work

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from cli_case import CliCase, column


def blobs(n=600, d=8, k=5, seed=0, sep=3.0, offset=6.0):
    random = np.random.default_rng(seed)
    y = random.integers(0, k, n)
    return (offset + sep * random.normal(size=(k, d))[y] + random.normal(size=(n, d))).astype("f4"), y


def unit(X):
    X = X.astype(float)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def inertia(X, labels):
    return sum(np.sum((X[labels == k] - X[labels == k].mean(0)) ** 2) for k in np.unique(labels))


class Clusters(CliCase):
    def cluster(self, X, clusters, *options):
        self.rer("analyze", self.save("X.npy", X), "--clusters", clusters, "--out", "out", "--quiet", *options)
        return np.array([int(row["given_label"] or -1) for row in self.samples()])

    def assert_settled(self, X, labels, allowed=0):
        """Every row is nearest to the mean of its own cluster."""
        centers = np.stack([X[labels == k].mean(0) for k in range(labels.max() + 1)])
        nearest = ((X[:, None] - centers) ** 2).sum(2).argmin(1)
        self.assertLessEqual(np.sum(nearest != labels), allowed)

    def test_blobs_are_found(self):
        for normalize, prepare in (("auto", unit), ("none", np.asarray)):
            X, y = blobs()
            labels = self.cluster(X, 5, "--normalize", normalize)
            self.assertGreater(adjusted_rand_score(y, labels), .95)
            self.assert_settled(prepare(X), labels)
            sizes = np.bincount(labels)
            self.assertEqual(sizes.tolist(), sorted(sizes, reverse=True))
            self.assertIn("5 clusters", " ".join(self.summary()["notes"]))
            self.assertLess(self.summary()["difficulty"], .05)

    def test_inertia_is_that_of_scikit_learn(self):
        for seed in range(4):  # no blobs at all: many local minima
            X = np.random.default_rng(seed).normal(size=(700, 6)).astype("f4")
            labels = self.cluster(X, 7, "--normalize", "none", "--seed", seed)
            best = KMeans(7, n_init=20, random_state=seed).fit(X).inertia_
            self.assertLess(inertia(X.astype(float), labels), 1.01 * best)
            self.assert_settled(X.astype(float), labels)

    def test_more_rows_than_are_sampled(self):
        X, y = blobs(n=12000, k=6, sep=1.2)
        labels = self.cluster(X, 6, "--normalize", "none")
        best = KMeans(6, n_init=4, random_state=0).fit(X).inertia_
        self.assertLess(inertia(X.astype(float), labels), 1.002 * best)
        self.assert_settled(X.astype(float), labels, 2)  # a row in the middle of two may round either way

    def test_number_is_chosen_by_likelihood(self):
        for k in (3, 7):
            X, y = blobs(n=1500, k=k, sep=4)
            labels = self.cluster(X, "2..15", "--normalize", "none")
            self.assertEqual(labels.max() + 1, k)
            self.assertGreater(adjusted_rand_score(y, labels), .99)
            self.assertEqual(self.summary()["options"]["clusters"], "2..15")
        labels = self.cluster(blobs(n=1500, k=5, sep=.8, seed=1)[0], "2..15", "--normalize", "none")
        self.assertEqual(labels.max() + 1, 5)  # close to each other: little is gained by the last of them
        labels = self.cluster(X, "2..4", "--normalize", "none")
        self.assertEqual(labels.max() + 1, 4)
        self.assertIn("more may be likelier", " ".join(self.summary()["notes"]))

    def test_wide_ranges(self):
        X, y = blobs(n=2000, k=23, d=10, sep=6)
        labels = self.cluster(X, "2..100", "--normalize", "none")
        self.assertEqual(labels.max() + 1, 23)

    def test_large_offset(self):
        X, y = blobs()
        labels = self.cluster(X, 5, "--normalize", "none")
        far = self.cluster(np.round(X * 1024) / 1024 + 4096, 5, "--normalize", "none")
        self.assertGreater(adjusted_rand_score(labels, far), .999)

    def test_identical_rows_and_invalid_ones(self):
        X = np.repeat(np.eye(4, 6, dtype="f4") + 1, 25, axis=0)
        self.assertEqual(np.bincount(self.cluster(X, 4, "--normalize", "none")).tolist(), [25] * 4)
        X, y = blobs()
        X[17] = np.nan
        labels = self.cluster(X, 5, "--drop-invalid", "--normalize", "none")
        self.assertEqual(labels[17], -1)
        self.assertGreater(adjusted_rand_score(np.delete(y, 17), np.delete(labels, 17)), .95)
        self.assertIn("NaN", self.rer("analyze", self.save("X.npy", X), "--clusters", "5", code=1).err)

    def test_same_bits_at_any_number_of_threads(self):
        X, y = blobs(n=9000, sep=.5)
        texts = set()
        for threads in (1, 2, 3):
            self.cluster(X, "2..9", "--threads", threads)
            texts.add(self.load(self.path("out", "samples.csv")))
        self.assertEqual(len(texts), 1)
        self.cluster(X, "9", "--seed", "8")
        self.assertNotIn(self.load(self.path("out", "samples.csv")), texts)

    def test_refused(self):
        X, y = blobs(n=40)
        x_path, y_path = self.save("X.npy", X), self.save("y.npy", y)
        self.assertIn("drop one", self.rer("analyze", x_path, y_path, "--clusters", "3", code=2).err)
        for text in ("1", "3..2", "x", "2..", "..5", "2..3..4", "-4"):
            self.assertIn("--clusters", self.rer("analyze", x_path, "--clusters", text, code=2).err)
        self.assertIn("40 rows", self.rer("analyze", x_path, "--clusters", "21", "--out", "out", code=2).err)
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertIn("labels are missing", self.rer("analyze", x_path, code=2).err)

    def test_words(self):
        """Nobody has made a mistake: there are clusters, no classes and no wrong labels."""
        X = blobs(n=400, k=4, sep=1.5)[0]
        X[7] = 40
        text = self.rer("analyze", self.save("X.npy", X), "--clusters", "4").out
        self.assertIn("no cluster", text)
        self.assertNotRegex(text, r"\b(class|classes|wrong|given)\b")

    def test_details_and_chi(self):
        X, y = blobs()
        labels = self.cluster(X, 5, "--details")
        self.assertEqual(len(self.classes()), 5)
        self.assertTrue(np.all(column(self.samples(), "rer") > 0))
        self.assertEqual(np.bincount(labels).tolist(), [int(row["n"]) for row in self.classes()])


if __name__ == "__main__":
    unittest.main()
