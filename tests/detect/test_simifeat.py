"""SimiFeat: its transition matrix against planted ones, its rounds against plain numpy.

RER_ESTIMATE_CONSENSUS names the helper that estimates the matrix, RER_RUN_DETECTOR the one that runs
detectors."""
import os
import subprocess
import unittest

from detector_case import DetectorCase, made_data, np, planted

ESTIMATE = os.environ["RER_ESTIMATE_CONSENSUS"]
ROUNDS, VOTERS, LISTED, PART = 21, 10, 20, .9
PURPOSE = 48  # RER_RANDOM_ROUND


def takes_part(seed, rounds, N):
    """Philox 4x32, 10 rounds, as Random123 has it: [rounds, N] rows that take part."""
    counter = np.zeros((4, rounds, N), np.uint64)
    counter[0] += np.arange(rounds, dtype=np.uint64)[:, None]
    counter[2] += np.arange(N, dtype=np.uint64)
    word = np.uint64(0xFFFFFFFF)
    key = [np.uint64((seed & 0xFFFFFFFF) ^ (PURPOSE * 0x9E3779B9 & 0xFFFFFFFF)), np.uint64(seed >> 32)]
    a, b, c, d = counter
    for step in range(10):
        if step > 0:
            key = [(key[0] + np.uint64(0x9E3779B9)) & word, (key[1] + np.uint64(0xBB67AE85)) & word]
        one, two = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (two >> np.uint64(32)) ^ b ^ key[0], two & word, (one >> np.uint64(32)) ^ d ^ key[1], one & word
    bits = b << np.uint64(32) | a
    return (bits >> np.uint64(11)).astype(float) * 2.0 ** -53 < PART


def rounds_of(X, y, seed, wrong=None):
    """Mistakenness and flags; wrong [C]: share of each class that rank flags."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True).astype(float)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :LISTED]
    N, C = len(y), y.max() + 1
    flagged, times, total = np.zeros(N), np.zeros(N), np.zeros(N)
    for part in takes_part(seed, ROUNDS, N):
        scores, outvoted = np.full(N, np.nan), np.zeros(N, bool)
        for i in np.flatnonzero(part):
            near = [j for j in order[i] if part[j]][:VOTERS - 1]
            far = distance[i, near]
            weights = np.zeros(C)
            np.add.at(weights, y[near], 1 - far)
            weights[y[i]] += 1 - (2 * far[0] - far[1])
            scores[i] = weights[y[i]] / np.linalg.norm(weights)
            outvoted[i] = weights.argmax() != y[i]
        if wrong is not None:
            for c in range(C):
                own = part & (y == c)
                bar = np.percentile(-np.log(scores[own] + 1e-8), 100 * (1 - wrong[c]))
                outvoted[own] = -np.log(scores[own] + 1e-8) >= bar
        flagged += outvoted
        times += part
        total[part] += scores[part]
    doubt = 1 - total / times
    return (doubt if wrong is not None else (flagged + doubt) / (times + 1)), 2 * flagged > times


class Consensus(DetectorCase):
    def estimate(self, X, y):
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)
        subprocess.run([ESTIMATE, self.path("X.npy"), self.path("y.npy"), self.path("T")], check=True)
        C = y.max() + 1
        both = np.fromfile(self.path("T"))
        return both[:C * C].reshape(C, C), both[C * C:]

    def check(self, T, N=9000, shares=None, seed=0, bar=.03):
        C = len(T)
        random = np.random.default_rng(seed)
        truth = random.choice(C, N, p=shares)
        truth[:C] = np.arange(C)
        centers = 6 * random.standard_normal((C, 16))
        X = (centers[truth] + random.standard_normal((N, 16))).astype(np.float32)
        y = (random.random((N, 1)) > T[truth].cumsum(1)).sum(1).astype(np.int32)
        found, p = self.estimate(X, y)
        np.testing.assert_allclose(found.sum(1), 1, atol=1e-9)
        np.testing.assert_allclose(found, T, atol=bar)
        np.testing.assert_allclose(p, np.bincount(truth) / N, atol=bar)
        return X, y

    def test_symmetric(self):
        self.check(.6 * np.eye(5) + .4 / 5)

    def test_pairs(self):
        self.check(.7 * np.eye(4) + .3 * np.roll(np.eye(4), 1, axis=1))

    def test_any(self):
        for seed in range(3):
            T = np.random.default_rng(seed).dirichlet(np.ones(4), 4)
            self.check(.55 * np.eye(4) + .45 * T, seed=seed, N=12000)

    def test_ten_classes(self):
        T = np.random.default_rng(5).dirichlet(np.ones(10), 10)
        self.check(.75 * np.eye(10) + .25 * T, N=20000)

    def test_two_unbalanced_classes(self):
        self.check(np.array([[.9, .1], [.25, .75]]), shares=[.8, .2], N=20000)

    def test_no_noise(self):
        self.check(np.eye(6))

    def test_noise_rate_of_the_detector(self):
        X, y = self.check(.7 * np.eye(4) + .3 / 4)
        verdict = self.run_detectors(X, y, "simifeat")
        self.assertAlmostEqual(verdict.noise_rate, .225, delta=.015)


class Rounds(DetectorCase):
    estimate = Consensus.estimate

    def test_vote(self):
        for seed in (0, 7):
            X, y = made_data(500, 12, 4, .7, seed)
            y = planted(y, .2)
            verdict = self.run_detectors(X, y, f"seed={seed}", "simifeat")
            wrong, flagged = rounds_of(X, y, seed)
            np.testing.assert_allclose(verdict.mistakenness, wrong, atol=1e-5)
            np.testing.assert_array_equal(verdict.flagged, flagged)

    def test_rank(self):
        X, y = made_data(500, 12, 4, .7)
        y = planted(y, .2)
        verdict = self.run_detectors(X, y, "simifeat-rank")
        T, p = self.estimate(X, y)
        right = p * T.diagonal() / (np.bincount(y) / len(y))
        shares = np.where(right >= 1, .05, np.where(right <= 0, .95, 1 - right))
        wrong, flagged = rounds_of(X, y, 0, shares)
        np.testing.assert_allclose(verdict.mistakenness, wrong, atol=1e-5)
        np.testing.assert_array_equal(verdict.flagged, flagged)
        self.assertAlmostEqual(verdict.noise_rate, 1 - p @ T.diagonal(), 12)

    def test_same_bits_whatever_the_threads(self):
        X, y = made_data(1500, 8, 4, .7)
        y = planted(y, .2)
        for name in ("simifeat", "simifeat-rank"):
            one = self.run_detectors(X, y, "threads=1", name)
            three = self.run_detectors(X, y, "threads=3", name)
            np.testing.assert_array_equal(one.mistakenness, three.mistakenness)

    def test_ties_classes_of_one_and_few_rows(self):
        self.run_detectors(np.ones((40, 3), np.float32), np.arange(40, dtype=np.int32) % 2, "simifeat", "simifeat-rank")
        X, y = made_data(0, 4, 3, 1, sizes=[30, 2, 1])
        for verdict in self.run_detectors(X, y, "simifeat", "simifeat-rank"):
            self.assertTrue(((verdict.mistakenness >= 0) & (verdict.mistakenness <= 1)).all())
        X, y = made_data(3, 4, 3)
        for verdict in self.run_detectors(X, y, "simifeat", "simifeat-rank"):
            self.assertTrue(((verdict.mistakenness >= 0) & (verdict.mistakenness <= 1)).all())

    def test_rows_without_a_label(self):
        X, y = made_data(400, 8, 3, 1)
        y[::5] = -1
        verdict = self.run_detectors(X, y, "simifeat")
        self.assertTrue(np.isnan(verdict.mistakenness[::5]).all())
        self.assertFalse(verdict.flagged[::5].any())
        self.assertTrue((verdict.suggested >= -1).all())


if __name__ == "__main__":
    unittest.main()
