"""Confident learning against the cleanlab package, given the same probabilities.

RER_JUDGE_PROBABILITIES names the helper that runs it on probabilities from a file."""
import os
import subprocess
import unittest
import warnings
from fractions import Fraction

from detector_case import DetectorCase, np

from cleanlab.count import compute_confident_joint, estimate_joint, get_confident_thresholds
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores

JUDGE = os.environ["RER_JUDGE_PROBABILITIES"]
PRUNES = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning")


def is_rounding_a_matter_of_taste(counts, sizes):
    """Whether some share of the joint is a half, or cells with the same rest compete for what is left:
    cleanlab's answer then hangs on the last bit of a sum, or on the order in which the processor's sort
    leaves what is equal."""
    for row, size in zip(counts, sizes):
        shares = [Fraction(int(count) * int(size), int(row.sum())) for count in row]
        rounded = [round(share) for share in shares]
        rests = sorted(share - whole for share, whole in zip(shares, rounded))
        missing = int(size) - sum(rounded)
        if any(share.denominator == 2 for share in shares):
            return True
        if missing != 0 and rests[-missing - (missing > 0)] == rests[-missing - (missing < 0)]:
            return True
    return False


def made_probabilities(N, C, seed=0, sharpness=3., noise=.15, sizes=None):
    """Probabilities [N, C] that point at a true class more or less, and labels that are wrong at times."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, C, N) if sizes is None else random.permutation(np.repeat(np.arange(C), sizes))
    z = random.standard_normal((len(truth), C))
    z[np.arange(len(truth)), truth] += sharpness * random.random(len(truth))
    p = np.exp(z)
    labels = np.where(random.random(len(truth)) < noise, random.integers(0, C, len(truth)), truth)
    return (p / p.sum(1, keepdims=True)).astype(np.float32), labels.astype(np.int32)


class Confident(DetectorCase):
    def judge(self, p, labels):
        p.tofile(self.path("probabilities"))
        labels.tofile(self.path("labels"))
        done = subprocess.run([JUDGE, self.folder, str(len(p)), str(p.shape[1])], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.noise_rate = float(done.stdout)

    def read(self, name, dtype):
        return np.fromfile(self.path(name), dtype)

    def check(self, p, labels):
        """Everything that cleanlab says of the same numbers. Returns flags, and whether even the rounding
        of the joint could be compared."""
        self.judge(p, labels)
        C, q = p.shape[1], p.astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            joint = np.zeros((C, C), int)
            cells = self.read("joint", np.int64).reshape(-1, 3)
            joint[cells[:, 0], cells[:, 1]] = cells[:, 2]
            theirs, counts = compute_confident_joint(labels, q), compute_confident_joint(labels, q, calibrate=False)
            clear = not is_rounding_a_matter_of_taste(counts, np.bincount(labels, minlength=C))
            np.testing.assert_array_equal(joint.sum(1), theirs.sum(1))
            self.assertLessEqual(np.abs(joint - theirs).max(), 0 if clear else 1)
            self.assertAlmostEqual(self.noise_rate, 1 - estimate_joint(labels, q, confident_joint=joint).trace(), 9)
            np.testing.assert_allclose(self.read("threshold", float), get_confident_thresholds(labels, q), atol=1e-12)
            flagged = self.read("flagged", np.uint8)
            for bit, prune in enumerate(PRUNES):
                theirs = find_label_issues(labels, q, filter_by=prune, n_jobs=1,
                                           confident_joint=None if clear else joint)
                np.testing.assert_array_equal((flagged >> bit & 1).astype(bool), theirs, prune)
            own, other = self.read("own", np.float32).astype(float), self.read("other", np.float32).astype(float)
            for score, method in ((own, "self_confidence"), ((1 + own - other) / 2, "normalized_margin")):
                theirs = get_label_quality_scores(labels, q, method=method)
                np.testing.assert_allclose(score, theirs, rtol=0, atol=1e-6)
        others = q.copy()
        others[np.arange(len(labels)), labels] = -1
        np.testing.assert_array_equal(self.read("suggested", np.int32), others.argmax(1))
        return flagged, clear

    def test_many_settings(self):
        for seed, (N, C, sharpness, noise) in enumerate([
                (500, 3, 3, .1), (700, 3, 2, .3), (1000, 10, 4, .2), (1500, 10, 1, .5), (2000, 40, 5, .1),
                (400, 2, 2, .2), (333, 7, 6, 0), (64, 5, 3, .3), (900, 100, 6, .2)]):
            with self.subTest(N=N, C=C):
                flagged, _ = self.check(*made_probabilities(N, C, seed, sharpness, noise))
                self.assertTrue(noise < .1 or (flagged & 1).any())

    def test_many_seeds(self):
        clear = 0
        for seed in range(60):
            with self.subTest(seed=seed):
                clear += self.check(*made_probabilities(1000, 4, 100 + seed, 3, .25))[1]
        self.assertGreater(clear, 30)

    def test_unbalanced_classes_and_classes_of_one(self):
        self.check(*made_probabilities(0, 6, 3, 4, 0, sizes=[400, 60, 9, 3, 1, 1]))
        self.check(*made_probabilities(0, 6, 4, 2, .1, sizes=[400, 60, 9, 3, 1, 1]))

    def test_a_class_that_has_no_rows(self):
        p, labels = made_probabilities(400, 5, 5, 3, .2)
        labels[labels == 3] = 1
        p[:, 3] *= .01
        self.check((p / p.sum(1, keepdims=True)).astype(np.float32), labels)

    def test_a_class_that_nobody_believes_in(self):
        p, labels = made_probabilities(400, 4, 6, 3, .1)
        p[labels == 2] = [.5, .3, .05, .15]
        self.check((p / p.sum(1, keepdims=True)).astype(np.float32), labels)

    def test_ties(self):
        """Equal probabilities everywhere: nobody is flagged, nothing divides by zero."""
        labels = np.arange(60, dtype=np.int32) % 3
        self.check(np.full((60, 3), 1 / 3, np.float32), labels)

    def test_probabilities_of_zero_and_one(self):
        p, labels = made_probabilities(300, 4, 7, 3, .2)
        sharp = np.zeros_like(p)
        sharp[np.arange(300), p.argmax(1)] = 1
        self.judge(sharp, labels)
        flagged = self.read("flagged", np.uint8)
        np.testing.assert_array_equal(flagged & 8 != 0, sharp.argmax(1) != labels)

    def test_rows_without_a_label(self):
        p, labels = made_probabilities(400, 5, 8, 3, .2)
        labels[::7] = -1
        self.judge(p, labels)
        has = labels >= 0
        theirs = find_label_issues(labels[has], p[has].astype(float), n_jobs=1)
        flagged = self.read("flagged", np.uint8) & 1 != 0
        np.testing.assert_array_equal(flagged[has], theirs)
        self.assertFalse(flagged[~has].any())
        np.testing.assert_array_equal(self.read("suggested", np.int32)[~has], p[~has].argmax(1))
        self.assertTrue(np.isnan(self.read("own", np.float32)[~has]).all())


if __name__ == "__main__":
    unittest.main()
