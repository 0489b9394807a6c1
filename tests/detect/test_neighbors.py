"""The vote of the nearest neighbours against scikit-learn's exact search in double.

RER_RUN_DETECTOR names the helper that runs detectors."""
import unittest

from detector_case import DetectorCase, made_data, np, planted
from sklearn.neighbors import NearestNeighbors

VOTERS = 10


def neighbors(X, y, k):
    """Indices [N, k] of the nearest labelled rows by cosine, without the row itself."""
    X = X.astype(float)
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    among = np.flatnonzero(y >= 0)
    search = NearestNeighbors(n_neighbors=min(k + 1, len(among)), algorithm="brute").fit(unit[among])
    found = among[search.kneighbors(unit, return_distance=False)]
    return [[j for j in row if j != i][:k] for i, row in enumerate(found)]


def vote(X, y):
    """Mistakenness, votes [N, C]."""
    votes = np.zeros((len(y), y.max() + 1))
    for i, row in enumerate(neighbors(X, y, VOTERS)):
        np.add.at(votes[i], y[row], 1)
    own = votes[np.arange(len(y)), y] / votes.sum(1)
    return np.where(y >= 0, 1 - own, np.nan), votes


class Vote(DetectorCase):
    def check(self, X, y, *options):
        verdict = self.run_detectors(X, y, *options, "knn")
        wrong, votes = vote(X, y)
        np.testing.assert_allclose(verdict.mistakenness, wrong, rtol=0, atol=1e-15)
        own, rows = votes[np.arange(len(y)), y], np.arange(len(y))
        others = votes.copy()
        others[rows[y >= 0], y[y >= 0]] = 0
        judged = y >= 0
        np.testing.assert_array_equal(verdict.flagged, judged & (others.max(1) > own))
        self.assertAlmostEqual(verdict.noise_rate, verdict.flagged[judged].mean(), 12)
        suggests = others.max(1) > 0
        np.testing.assert_array_equal(verdict.suggested >= 0, suggests)
        np.testing.assert_array_equal(others[rows, verdict.suggested][suggests], others.max(1)[suggests])
        return verdict

    def test_several_blocks(self):
        X, y = made_data(2600, 24, 5, .8)
        self.check(X, planted(y, .2))

    def test_an_even_number_of_blocks(self):
        X, y = made_data(3700, 8, 3, .8)
        self.check(X, planted(y, .1))

    def test_same_whatever_the_threads_and_the_memory(self):
        X, y = made_data(2500, 16, 4, .7)
        first = self.check(X, y, "threads=1")
        for options in (["threads=3"], ["threads=2", "memory=4M"]):
            other = self.check(X, y, *options)
            np.testing.assert_array_equal(first.mistakenness, other.mistakenness)
            np.testing.assert_array_equal(first.suggested, other.suggested)

    def test_rows_without_a_label_do_not_vote(self):
        X, y = made_data(600, 6, 3, .7)
        y = planted(y, .1)
        y[::4] = -1
        self.check(X, y)

    def test_fewer_rows_than_voters(self):
        X, y = made_data(7, 3, 2, 2)
        self.check(X, y)

    def test_two_classes_one_of_them_with_one_sample(self):
        X, y = made_data(0, 5, 2, 1, sizes=[80, 1])
        verdict = self.check(X, y)
        self.assertEqual(verdict.mistakenness[80], 1)
        self.assertTrue(verdict.flagged[80])

    def test_ties_go_to_the_first_rows(self):
        X = np.ones((60, 4), np.float32)
        y = np.arange(60, dtype=np.int32) % 2
        verdict = self.run_detectors(X, y, "knn")
        expected = [np.mean(np.delete(y, i)[:VOTERS] != y[i]) for i in range(60)]
        np.testing.assert_allclose(verdict.mistakenness, expected, atol=1e-15)

    def test_rows_with_nan(self):
        X, y = made_data(300, 6, 3, .7)
        X[17, 2] = np.nan
        done = self.run_detectors(X, y, "knn", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("row 17, column 2", done.stderr)
        verdict = self.run_detectors(X, y, "drop-invalid=yes", "knn")
        kept = np.arange(300) != 17
        wrong, _ = vote(X[kept], y[kept])
        np.testing.assert_allclose(verdict.mistakenness[kept], wrong, atol=1e-15)
        self.assertTrue(np.isnan(verdict.mistakenness[17]))
        self.assertFalse(verdict.flagged[17])

    def test_other_labels_of_the_same_rows(self):
        X, y = made_data(400, 6, 3, 1)
        other = planted(y, .3)
        other.tofile(self.path("other"))
        self.run_detectors(X, y, "knn", "knn=" + self.path("other"))
        from detector_case import Verdict
        np.testing.assert_allclose(Verdict(self.folder, "knn").mistakenness, vote(X, other)[0], atol=1e-15)


if __name__ == "__main__":
    unittest.main()
