"""Near-duplicates against scipy's connected components of all angles in double."""
import csv
import unittest

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from cli_case import CliCase, clusters


def with_copies(n, d, copies, seed, classes=5):
    """Rows of a random cloud; the last `copies` repeat rows of the beginning, slightly changed."""
    random = np.random.default_rng(seed)
    X, y = clusters(n=n, d=d, classes=classes, seed=seed)
    source = random.integers(0, (n - copies) // 2, copies)
    X[n - copies:] = X[source] * (1 + 1e-4 * random.normal(size=(copies, d)))
    y[n - copies:] = np.where(random.random(copies) < .7, y[source], (y[source] + 1) % classes)
    return X, y


def components(X, degrees):
    """Group of each row, -1 alone, written with all pairs in double."""
    unit = X.astype(float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    limit = 2 * np.sin(np.radians(degrees) / 2)
    near = np.array([np.linalg.norm(unit - row, axis=1) <= limit for row in unit])
    _, group = connected_components(csr_matrix(near), directed=False)
    return np.where(np.bincount(group)[group] > 1, group, -1)


class Duplicates(CliCase):
    def search(self, X, y, *options, out="out"):
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", out, *options)
        with open(self.path(out, "duplicates.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found = np.full(len(X), -1)
        found[[int(row["index"]) for row in rows]] = [int(row["group"]) for row in rows]
        numbers = [int(row["group"]) for row in rows]
        self.assertEqual(numbers, sorted(numbers))
        self.assertTrue(all(row["label"] == str(y[int(row["index"])]) for row in rows))
        return found

    def assert_same_groups(self, found, expected):
        pairs = set(zip(found.tolist(), expected.tolist()))
        self.assertEqual(len(pairs), len(set(found.tolist())))
        self.assertEqual(len(pairs), len(set(expected.tolist())))
        np.testing.assert_array_equal(found < 0, expected < 0)

    def test_against_scipy(self):
        for n, d, degrees in ((2500, 16, .05), (1500, 3, 1.5), (1025, 6, 5), (40, 2, 3)):
            X, y = with_copies(n, d, n // 10, seed=n)
            found = self.search(X, y, "--duplicates", degrees)
            expected = components(X, degrees)
            self.assert_same_groups(found, expected)
            summary = self.summary()
            self.assertEqual(summary["duplicate_angle"], degrees)
            self.assertEqual(summary["n_duplicates"], (expected >= 0).sum())
            self.assertEqual(summary["n_duplicate_groups"], found.max() + 1)
            mixed = [len(set(y[found == group])) > 1 for group in range(found.max() + 1)]
            self.assertEqual(mixed, sorted(mixed, reverse=True), "groups whose labels disagree come first")
            self.assertEqual(summary["n_duplicate_conflicts"], sum(mixed))
            self.assertGreater(sum(mixed), 0)

    def test_angle_from_the_data(self):
        for n, d, copies, offset in ((3000, 32, 300, 0), (3000, 32, 1500, 0), (2000, 64, 100, 1e3), (1500, 8, 0, 0)):
            X, y = with_copies(n, d, copies, seed=copies)
            X += np.float32(offset)
            found = self.search(X, y, "--duplicates", "auto")
            self.assertTrue((found[n - copies:] >= 0).all(), (n, d, copies))
            spurious = (found[(n - copies) // 2:n - copies] >= 0).mean()
            self.assertLess(spurious, .005, (n, d, copies))

    def test_threads_and_memory(self):
        X, y = with_copies(5000, 12, 700, seed=1)
        found = [self.search(X, y, "--duplicates", "auto", "--threads", threads, "--memory", memory, out=f"o{threads}")
                 for threads, memory in ((1, 0), (3, "8M"))]
        np.testing.assert_array_equal(*found)

    def test_all_rows_alike_and_invalid(self):
        X, y = clusters(n=3000)
        X[:2500] = X[0]
        X[2700] = np.nan
        found = self.search(X, y, "--duplicates", 0, "--drop-invalid")
        self.assertTrue((found[:2500] == 0).all() and (found[2500:] < 0).all())

    def test_off_and_on_the_terminal(self):
        X, y = with_copies(500, 16, 50, seed=4)
        X, y = self.save("X.npy", X), self.save("y.npy", y)
        self.rer("analyze", X, y, "--out", "out")
        self.assert_complete()
        self.assertIsNone(self.summary()["duplicate_angle"])
        printed = self.rer("analyze", X, y, "--duplicates", "auto").out
        self.assertRegex(printed, r"Note: \d+ rows are near-duplicates: \d+ groups, \d+ with labels that disagree")
        self.rer("analyze", X, y, "--duplicates", "91", code=2)


if __name__ == "__main__":
    unittest.main()
