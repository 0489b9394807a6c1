"""What `rer analyze` says against numpy, on made data.

The ratios are worked out again from the matrix that --errors writes, by code that shares nothing
with the prototype; the matrix itself is held against the prototype's left-out distances.
RER_COMMAND names the program."""
import csv
import json
import os
import struct
import subprocess
import tempfile
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

import channel
import density
import prototype

COMMAND = os.environ["RER_COMMAND"]


# ---- the ratios once more ------------------------------------------------------------------

def ratio(a, b):
    """a / b; 1 where they are equal, also 0 / 0; at most 1e6."""
    return 1.0 if a == b else min(a / b, 1e6) if b > 0 else 1e6


def judge_errors(E, y):
    """E [C, N] errors, y [N] class or -1. NaN in E: the own error of a sample alone in its class."""
    E = E.astype(float)
    C, N = E.shape
    out = {"rer": np.full(N, np.nan), "own_error": np.full(N, np.nan), "best_other_error": np.full(N, np.nan),
           "predicted": np.full(N, -1), "suggested": np.full(N, -1)}
    chi0, chi_rand, own_sum, best_sum, second_sum, wrong = [], [], [], [], [], []
    for i in range(N):
        errors = E[:, i]
        others = errors.copy()
        if y[i] >= 0:
            others[y[i]] = np.inf
        nearest = int(np.argmin(others))
        out["best_other_error"][i] = errors[nearest]
        out["suggested"][i] = out["predicted"][i] = nearest
        if y[i] < 0 or np.isnan(errors[y[i]]):
            continue
        own, ranked = errors[y[i]], np.partition(errors, 1)
        rest = (errors.sum() - ranked[0]) / (C - 1)
        out["own_error"][i] = own
        out["rer"][i] = ratio(own, errors[nearest])
        out["predicted"][i] = y[i] if own <= errors[nearest] else nearest
        chi0.append(ratio(own, rest))
        chi_rand.append(ratio(ranked[0], rest))
        own_sum.append(own)
        best_sum.append(ranked[0])
        second_sum.append(ranked[1])
        wrong.append(own > errors[nearest])
    mean = {"chi": np.nanmean(out["rer"]), "chi0": np.mean(chi0), "chi_rand": np.mean(chi_rand),
            "own_error": np.mean(own_sum), "best_error": np.mean(best_sum), "second_error": np.mean(second_sum),
            "error_rate": np.mean(wrong)}
    eta = (mean["chi0"] - mean["chi_rand"]) / (1 - mean["chi_rand"]) if mean["chi_rand"] < 1 else 0
    return out, dict(mean, eta=min(max(eta, 0), 1))


# ---- made data -----------------------------------------------------------------------------

def make_data(n=1500, d=12, classes=7, seed=0, planted=.1, unlabelled=20, alone=True, offset=0.0, unequal=False):
    """More rows than one block; some mislabelled, some without a label, a class of one."""
    random = np.random.default_rng(seed)
    y = (classes * random.random(n) ** 3).astype(int) if unequal else random.integers(0, classes, n)
    X = random.normal(size=(classes, d))[y] * 1.5 + random.normal(size=(n, d)) @ random.normal(size=(d, d)) / 2 + offset
    moved = random.random(n) < planted
    y[moved] = (y[moved] + random.integers(1, classes, moved.sum())) % classes
    if unlabelled:
        y[random.choice(n, unlabelled, replace=False)] = -1
    if alone:
        y[5] = classes
    return X.astype("f4"), y


class AgainstNumpy(unittest.TestCase):
    def analyze(self, X, y, *options):
        """Errors [C, N], rows of samples.csv, summary."""
        with tempfile.TemporaryDirectory(prefix="rer-reference-") as folder:
            path = lambda name: os.path.join(folder, name)
            np.save(path("X.npy"), X)
            np.save(path("y.npy"), y)
            done = subprocess.run([COMMAND, "analyze", "X.npy", "y.npy", "--out", "out", "--errors", "E.npy", "--quiet",
                                   *options], cwd=folder, capture_output=True, text=True, timeout=1800)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path("out/samples.csv"), newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            with open(path("out/summary.json"), encoding="utf-8") as file:
                return np.load(path("E.npy")), rows, json.load(file)

    def near(self, what, got, want, bar=1e-5):
        got, want = np.asarray(got, float), np.asarray(want, float)
        self.assertTrue((np.isnan(got) == np.isnan(want)).all(), what)
        ok = ~np.isnan(want)
        worst = np.max(np.abs(got[ok] - want[ok]) / np.maximum(np.abs(want[ok]), 1e-300), initial=0)
        self.assertLessEqual(worst, bar, what)

    def compare(self, X, y, *options):
        E, rows, summary = self.analyze(X, y, *options)
        self.assertEqual(E.shape, (y.max() + 1, len(y)))
        self.assertEqual(E.dtype, np.float32)
        samples, means = judge_errors(E, y)
        for name, value in means.items():
            self.near(name, [summary[name]], [value])
        for name in ("rer", "own_error", "best_other_error"):
            self.near(name, [float(r[name] or "nan") for r in rows], samples[name])
        self.assertEqual([int(r["predicted_label"]) for r in rows], samples["predicted"].tolist())
        return E, summary

    def test_whiten(self):
        self.compare(*make_data())

    def test_whiten_with_a_given_shrinkage(self):
        self.compare(*make_data(seed=1), "--shrinkage", ".3")

    def test_minmax(self):
        self.compare(*make_data(seed=2), "--normalize", "minmax")

    def test_unit(self):
        self.compare(*make_data(seed=3), "--normalize", "unit")

    def test_none(self):
        self.compare(*make_data(seed=4), "--normalize", "none")

    def test_two_classes(self):
        self.compare(*make_data(seed=5, classes=2, alone=False, unlabelled=0))  # of -1, 0 and 1 all are classes

    def test_many_classes(self):
        """More than a tile, where the distances between classes are not kept either."""
        X, y = make_data(n=5000, d=4, classes=2500, seed=6, unlabelled=0, alone=False)
        self.compare(X, np.unique(y, return_inverse=True)[1])

    def test_identical_rows(self):
        """Two classes of the same rows: 0 / 0 is 1, and nothing is NaN or Inf."""
        X, y = make_data(n=600, seed=7, classes=3, unlabelled=0, alone=False)
        X[y > 0] = np.arange(X.shape[1])
        E, _ = self.compare(X, y, "--normalize", "none")
        self.assertEqual(E[1:, y > 0].max(), 0)

    # ---- mistakenness and noise rate ------------------------------------------------------

    def saved_channel(self, path, C):
        """(channel, edge) of a saved model."""
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header, data = json.loads(file.read(size)), file.read()
        array = lambda name: np.frombuffer(data[slice(*header[name]["data_offsets"])],
                                           {"F64": "<f8", "F32": "<f4", "I64": "<i8"}[header[name]["dtype"]])
        number = lambda name: float(header["__metadata__"]["channel." + name])
        flows = {}
        if number("pairs"):
            counts, totals = array("channel.counts").reshape(C, C), array("channel.totals")
            flows = {(k, c): counts[c, k] / max(totals[k], 1) for c in range(C) for k in range(C) if counts[c, k] > 0}
        confused = number("confused")
        alike = array("channel.alike").reshape(C, C).T.astype(float) if confused else None
        log_n = np.log(array("class_sizes").astype("f4"))
        return channel.Channel(number("weight"), number("sharpness"), number("blur"), number("likeness"),
                               number("uniform"), array("channel.bias").astype(float) - log_n, flows,
                               number("confusion") if confused else None, alike), \
            number("edge"), number("all_right"), log_n

    def check_channel(self, move, **how):
        """move(y, random) makes labels wrong; all rows are few enough to be in the sample. The shrinkage is
        given: such data are as easy under many, and the choice among equals is no part of the channel."""
        X, y = make_data(**{"n": 2001, "planted": 0, "unlabelled": 0, "alone": False, **how})
        true, y = y.copy(), move(y, np.random.default_rng(1))
        with tempfile.TemporaryDirectory(prefix="rer-reference-") as folder:
            path = lambda name: os.path.join(folder, name)
            E, rows, summary = self.analyze(X, y, "--shrinkage", ".2", "--save-model", path("model"))
            model, edge, all_right, log_n = self.saved_channel(path("model"), len(E))
            d2 = E.T.astype(float) ** 2
            # It explains the labels about as well as anything: channel.fit compares closely, with evidence of its own.
            problem = channel.Problem([d2], y, log_n, model.flows)
            value = problem(problem.pack(model))[0]
            self.assertLess(value - problem.search([model, *list(problem.starts())[::5]])[1], 5)
            self.assertAlmostEqual(all_right, channel.all_right([d2], y, log_n, model), delta=.03)
            # What it says of rows that are scored.
            np.save(path("X.npy"), X)
            np.save(path("y.npy"), y)
            done = subprocess.run([COMMAND, "score", "model", "X.npy", "y.npy", "--out", "out", "--errors", "E.npy",
                                   "--quiet"], cwd=folder, capture_output=True, text=True, timeout=1800)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path("out/samples.csv"), newline="", encoding="utf-8") as file:
                scored = np.array([float(r["mistakenness"]) for r in csv.DictReader(file)])
            d2 = np.load(path("E.npy")).T.astype(float) ** 2
            wrong = model.wrong_new([d2], y, log_n, [edge], all_right)
        self.assertLess(np.abs(scored - wrong).max(), .001)
        got = np.array([float(r["mistakenness"]) for r in rows])
        self.near("noise rate", [summary["noise_rate"]], [got.mean()], 1e-4)
        for name, factor in (("noise_low", 1 / 5), ("noise_high", 5)):
            odds = factor * got / (1 - np.minimum(got, 1 - 1e-12))
            counts = (odds > 1) | (factor > 1)
            self.near(name, [summary[name]], [np.mean(counts * odds / (1 + odds))], 1e-3)
        return got, model, true != y, summary

    @staticmethod
    def move_some(y, random, share, step):
        moved = random.random(len(y)) < share
        y[moved] = (y[moved] + step(random, moved.sum())) % (y.max() + 1)
        return y

    def check_rate(self, move, bar, **how):
        got, model, bad, summary = self.check_channel(move, **how)
        self.assertLess(abs(summary["noise_rate"] - bad.mean()), bar)
        self.assertTrue(summary["noise_low"] <= bad.mean() + .01 and bad.mean() <= summary["noise_high"])
        if bad.any():
            self.assertGreater(prototype.auroc(got, bad), .9)
        return model

    def test_labels_wrong_at_random(self):
        self.check_rate(lambda y, random: self.move_some(y, random, .2, lambda r, n: r.integers(1, 7, n)), .02)

    def test_labels_wrong_by_a_rule(self):
        for share in (.25, .35):
            model = self.check_rate(lambda y, random: self.move_some(y, random, share, lambda r, n: 1), .03)
            for k in range(7):
                self.assertLess(abs(model.flows[k, (k + 1) % 7] - share), .15)

    def test_labels_all_right(self):
        self.check_rate(lambda y, random: y, .03, seed=3, d=20)

    def test_labels_wrong_by_likeness(self):
        """The label becomes the second nearest class."""
        X, y = make_data(n=2001, planted=0, unlabelled=0, alone=False, d=20, seed=2)
        E, _, _ = self.analyze(X, y)
        E[y, np.arange(len(y))] = np.inf
        second = E.argmin(0)

        def move(y, random):
            moved = random.random(len(y)) < .2
            y[moved] = second[moved]
            return y
        self.check_rate(move, .05, d=20, seed=2)

    def test_classes_of_unequal_size(self):
        self.check_rate(lambda y, random: self.move_some(y, random, .3, lambda r, n: r.integers(1, 7, n)), .03,
                        unequal=True, d=8)

    def test_few_labels_a_class(self):
        self.check_rate(lambda y, random: self.move_some(y, random, .2, lambda r, n: r.integers(1, 60, n)), .04,
                        n=1001, classes=60, d=30)

    def test_two_classes_of_labels(self):
        self.check_rate(lambda y, random: self.move_some(y, random, .1, lambda r, n: 1), .03, classes=2, d=20)

    # ---- the paper's probability -----------------------------------------------------------

    def analyze_by_density(self, X, y, *options):
        """E, mistakenness, and what scipy makes of the same errors with labels flipped to `other`."""
        E, rows, summary = self.analyze(X, y, "--probability", "density", *options)
        self.assertEqual(summary["options"]["probability"], "density")
        got = np.array([float(r["mistakenness"]) for r in rows])
        chi = np.array([float(r["rer"]) for r in rows])
        np.testing.assert_allclose(chi, density.flip(E, y, y), rtol=1e-5)
        self.assertEqual([r["is_label_issue"] == "true" for r in rows], (got > .5).tolist())
        return got, lambda other: density.probability(chi, density.flip(E, y, other), summary["eta"])

    def test_density_of_two_classes(self):
        """There is one other class, so that nothing is random."""
        for seed, planted, options in ((0, .1, ()), (1, .4, ()), (2, .02, ("--reconstructor", "published"))):
            X, y = make_data(n=1500, classes=2, seed=seed, planted=planted, unlabelled=0, alone=False)
            got, expected = self.analyze_by_density(X, y, *options)
            want = expected(1 - y)
            self.assertLess(np.abs(got - want).max(), .004)
            self.assertGreater(want.max() - want.min(), .1)  # something to tell apart

    def test_density_of_many_classes(self):
        """scipy with its own draws of other labels: the same but for chance."""
        X, y = make_data(n=2000, classes=7, seed=3, planted=.15, unlabelled=0, alone=False)
        got, expected = self.analyze_by_density(X, y)
        random, draws = np.random.default_rng(0), []
        for _ in range(5):
            draws.append(expected((y + random.integers(1, 7, len(y))) % 7))
        self.assertLess(np.abs(got - np.mean(draws, 0)).max(), .02 + 4 * np.std(draws, 0).max())
        self.assertLess(np.abs(got - np.mean(draws, 0)).mean(), .01)
        again, _ = self.analyze_by_density(X, y, "--seed", "1")
        self.assertTrue((again != got).any())

    def test_density_where_nothing_differs(self):
        """Two classes of the same two points: every ratio is the same, and every probability the noise rate."""
        X, y = np.array([[-1], [1]] * 20, "f4"), np.repeat([0, 1], 20)
        _, rows, summary = self.analyze(X, y, "--probability", "density", "--normalize", "none")
        self.near("mistakenness", [float(r["mistakenness"]) for r in rows], np.full(40, summary["eta"]))

    # ---- the matrix itself ----------------------------------------------------------------

    def check_errors(self, X, y, a, scaled=prototype.default_rows):
        E, rows, summary = self.analyze(X, y, "--shrinkage", str(a))
        self.assertEqual(summary["shrinkage"], a)
        d2 = prototype.left_out_d2(scaled(X.astype(float)), y, a)
        self.near("errors", E.T ** 2, d2, 1e-4)
        return rows

    def test_errors(self):
        X, y = make_data(seed=8, unlabelled=0)
        self.check_errors(X, y, .1)
        self.check_errors(X, y, .5)

    def test_errors_with_an_offset(self):
        X, y = make_data(seed=9, unlabelled=0, offset=1000)
        self.check_errors(X, y, .1)

    def test_errors_of_many_features(self):
        """Directions: nothing is standardised."""
        X, y = make_data(n=400, d=120, seed=12, unlabelled=0)
        self.check_errors(X + 3, y, .3)

    def test_units_do_not_matter(self):
        """Grams or tons, since the year 0 or 1970: the same answers, of new rows as well."""
        X, y = make_data(n=500, d=9, seed=13, unlabelled=0, alone=False)
        X = X.astype("f8")
        E, rows, summary = self.analyze(X.astype("f4"), y)
        other = (X * 10. ** np.arange(-4, 5) + np.arange(9) * 10. ** np.arange(-4, 5)).astype("f4")
        E2, rows2, summary2 = self.analyze(other, y)
        self.assertTrue(any("standardised" in note for note in summary2["notes"]))
        self.near("errors", E2, E, 2e-4)
        self.near("mistakenness", [float(r["mistakenness"]) for r in rows2], [float(r["mistakenness"]) for r in rows], 2e-2)

    def test_a_column_far_from_zero(self):
        """Seconds since 1970 within half an hour: too little beside their mean to be told from round-off, so they have
        little say, not all of it."""
        X, y = make_data(n=500, d=9, seed=14, unlabelled=0, alone=False)
        _, rows, _ = self.analyze(X, y)
        times = 1.6e9 + 1000 * np.random.default_rng(1).normal(size=len(X))
        _, more, _ = self.analyze(np.column_stack([X.astype("f8"), times]), y)
        wrong, wrong2 = (np.array([float(r["mistakenness"] or 0) for r in of]) for of in (rows, more))
        self.assertLess(np.abs(wrong2 - wrong).mean(), .02)

    def test_errors_of_few_features(self):
        """Two or three are measurements: heaps that lie apart on a line through the middle do not overlap."""
        random = np.random.default_rng(11)
        for features in (2, 3):
            y = np.arange(1500) % 3
            X = (np.array([[2, 2, 2], [6, 6, 6], [12, 10, 12.]])[y] + random.normal(size=(1500, 3)))[:, :features].astype("f4")
            rows = self.check_errors(X, y, .1)
            self.assertLess(sum(float(r["mistakenness"]) > .5 for r in rows), 15)

    def test_errors_with_few_rows(self):
        X, y = make_data(n=60, d=50, seed=10, classes=3, unlabelled=0, alone=False)
        self.check_errors(X, y, .1)


if __name__ == "__main__":
    unittest.main()
