"""Metrics against scikit-learn, and against plain numpy where it has none.

RER_METRICS names the program of metrics_of.c."""
import itertools
import os
import subprocess
import tempfile
import unittest
import warnings

import numpy as np
from sklearn import metrics as sklearn_metrics
from sklearn.calibration import calibration_curve

PROGRAM = os.environ["RER_METRICS"]
nan = np.nan


def measure(score, wrong, probability=None, flagged=None, right=None, threshold=.5, rates=(nan, nan, nan, nan)):
    n = len(score)
    columns = [score, np.zeros(n) if probability is None else probability, np.zeros(n) if flagged is None else flagged,
               wrong, np.zeros(n) if right is None else right]
    numbers = np.concatenate([[threshold, *rates, probability is not None],
                              np.array(columns, dtype=float).reshape(5, n).T.ravel()])
    with tempfile.NamedTemporaryFile() as file:
        numbers.astype("f8").tofile(file.name)
        done = subprocess.run([PROGRAM, file.name], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    values = {line[0]: float(line[1]) for line in lines if not line[0].startswith("bin")}
    values["bins"] = np.array([line[1:] for line in lines if line[0].startswith("bin")], dtype=float)
    return values


def expected_top(score, value, k):
    """Mean over every order of equal scores, by the share of the group that is among the first k."""
    order = np.argsort(-score, kind="stable")
    s, v, total, place = score[order], value[order], 0., 0
    for level in np.unique(s)[::-1]:
        group = v[s == level]
        total += group.mean() * np.clip(k - place, 0, len(group))
        place += len(group)
    return total


def cases():
    random = np.random.default_rng(0)
    for n, share, levels in itertools.product((1, 2, 7, 60, 1000), (.05, .3, .9), (None, 3, 40, 1)):
        wrong = random.random(n) < share
        score = random.normal(size=n) + 2 * wrong
        if levels is not None:
            score = np.round(score * levels / 5)
        yield score, wrong


class Metrics(unittest.TestCase):
    def close(self, a, b, text=""):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9, err_msg=text)

    def test_rankings(self):
        seen = 0
        for score, wrong in cases():
            value, n = measure(score, wrong), len(score)
            text = f"{n} {wrong.sum()} {len(np.unique(score))}"
            self.assertEqual(value["wrong"], wrong.sum())
            k = min(100, n)
            self.close(value["wrong@100"], expected_top(score, wrong, k), text)
            self.close(value["wrong@500"], expected_top(score, wrong, min(500, n)), text)
            if wrong.any():
                self.close(value["average_precision"], sklearn_metrics.average_precision_score(wrong, score), text)
                precision, recall, _ = sklearn_metrics.precision_recall_curve(wrong, score)
                f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
                self.close(value["best_f1"], f1.max(), text)
                self.close(value["lift@100"], expected_top(score, wrong, k) / k / wrong.mean(), text)
                self.close(value["fnr@budget"], 1 - expected_top(score, wrong, wrong.sum()) / wrong.sum(), text)
            else:
                for name in ("average_precision", "best_f1", "lift@100", "fnr@budget", "f1", "recall", "ndcg@100"):
                    self.assertTrue(np.isnan(value[name]), name)
            if wrong.any() and not wrong.all():
                seen += 1
                self.close(value["auroc"], sklearn_metrics.roc_auc_score(wrong, score), text)
            else:
                self.assertTrue(np.isnan(value["auroc"]))
            if wrong.any() and n > 1:
                self.close(value["ndcg@100"], sklearn_metrics.ndcg_score(wrong[None], score[None], k=100), text)
        self.assertGreater(seen, 30)

    def test_missing_scores_rank_last(self):
        score = np.array([.3, nan, .1, nan, .9])
        wrong = np.array([0, 1, 0, 0, 1], bool)
        filled = np.where(np.isnan(score), -1, score)
        for name in ("auroc", "average_precision", "best_f1"):
            self.assertEqual(measure(score, wrong)[name], measure(filled, wrong)[name])

    def test_flags(self):
        random = np.random.default_rng(1)
        for n, share in itertools.product((1, 5, 300), (0, .2, 1)):
            wrong, flagged, right = (random.random((3, n)).T < [share, .3, .5]).T
            value = measure(random.random(n), wrong, flagged=flagged, right=right)
            self.assertEqual(value["flagged"], flagged.sum())
            if wrong.any():
                self.close(value["f1"], sklearn_metrics.f1_score(wrong, flagged, zero_division=0))
                self.close(value["recall"], sklearn_metrics.recall_score(wrong, flagged))
            if flagged.any():
                self.close(value["precision"], sklearn_metrics.precision_score(wrong, flagged, zero_division=0))
            else:
                self.assertTrue(np.isnan(value["precision"]))
            found = wrong & flagged
            self.close(value["suggestion_accuracy"], right[found].mean() if found.any() else nan)

    def test_calibration(self):
        random = np.random.default_rng(2)
        edges = np.linspace(0, 1, 16)
        for n in (1, 15, 2000):
            p = random.random(n)
            p[:min(n, 15)] = random.choice(edges, min(n, 15))  # on the edges too
            wrong = random.random(n) < p ** 1.5
            value = measure(p, wrong, probability=p)
            share, mean = calibration_curve(wrong, p, n_bins=15)
            bins = value["bins"][value["bins"][:, 0] > 0]
            self.close(bins[:, 1], mean)
            self.close(bins[:, 2], share)
            count = np.bincount(np.searchsorted(edges[1:-1], p), minlength=15)
            np.testing.assert_array_equal(value["bins"][:, 0], count)
            self.close(value["ece"], np.abs(share - mean) @ count[count > 0] / n)
        value = measure(p, wrong)
        for name in ("ece", "ncfd", "weighted_f1", "expected_wrong@100"):
            self.assertTrue(np.isnan(value[name]), name)

    def test_weighted_f1(self):
        random = np.random.default_rng(3)
        for n, share, threshold in itertools.product((2, 10, 500), (.1, .5, 1), (.2, .5, .9)):
            wrong = random.random(n) < share
            p = np.clip(.4 * wrong + .6 * random.random(n), 0, 1)
            above = p > threshold
            w = np.where(above, (p - threshold) / (1 - threshold), (threshold - p) / threshold)
            value = measure(p, wrong, probability=p, threshold=threshold)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f1w = sklearn_metrics.f1_score(wrong, above, sample_weight=w, zero_division=nan)
                f1 = sklearn_metrics.f1_score(wrong, above, zero_division=nan)
            if not wrong.any():
                f1w = nan  # 0 in scikit-learn, and means nothing
            self.close(value["weighted_f1"], f1w)
            self.close(value["ncfd"], (f1w - f1) / (1 - f1) if f1 < 1 else nan)

    def test_what_probabilities_promise(self):
        random = np.random.default_rng(4)
        for n in (30, 900):
            p = np.round(random.random(n), 2)
            wrong, flagged = random.random(n) < p, p > .6
            value = measure(p, wrong, probability=p, flagged=flagged)
            for k, name in ((min(100, n), "100"), (min(500, n), "500"), (flagged.sum(), "flagged")):
                self.close(value["expected_wrong@" + name], np.sort(p)[::-1][:k].sum())
                self.close(value["wrong@" + name], expected_top(p, wrong, k))

    def test_noise_rates(self):
        score, wrong = np.arange(9.), np.arange(9) % 2 == 0
        value = measure(score, wrong, rates=(.3, .2, .35, .36))
        self.close([value[name] for name in ("noise_rate", "true_noise_rate", "noise_rate_error", "interval_width",
                                             "interval_covers")], [.3, .36, .06, .15, 0])
        self.assertEqual(measure(score, wrong, rates=(.3, .2, .4, .36))["interval_covers"], 1)
        value = measure(score, wrong, rates=(.3, nan, nan, .36))
        for name in ("interval_width", "interval_covers"):
            self.assertTrue(np.isnan(value[name]))

    def test_nothing(self):
        value = measure(np.zeros(0), np.zeros(0, bool), probability=np.zeros(0))
        for name in ("auroc", "f1", "ece", "ncfd", "lift@100", "average_precision"):
            self.assertTrue(np.isnan(value[name]), name)


if __name__ == "__main__":
    unittest.main()
