"""rer scale: points against numpy with the same random subsets, laws against scipy, and what users see."""
import csv
import json
import os
import re
import sys
import unittest
import xml.etree.ElementTree as tree

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import t as student
from sklearn.datasets import load_iris

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import prototype
from cli_case import CliCase, column

MEASURES = ("chi", "chi0", "chi_rand", "error_rate")
RANDOM_SUBSET = 3  # the purpose in src/core/random.h


def philox(seed, purpose, a, b):
    """Uniform in [0, 1) as src/core/random.h makes it (Random123's philox4x32, 10 rounds); b is an array."""
    b = np.asarray(b, dtype=np.uint64)
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [np.full(b.shape, a & 0xFFFFFFFF, np.uint64), np.full(b.shape, a >> 32, np.uint64), b & low, b >> high]
    k0, k1 = (seed & 0xFFFFFFFF) ^ (purpose * 0x9E3779B9 & 0xFFFFFFFF), seed >> 32
    for _ in range(10):
        x, y = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(y >> high) ^ c[1] ^ np.uint64(k0), y & low, (x >> high) ^ c[3] ^ np.uint64(k1), x & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return ((c[1] << high | c[0]) >> np.uint64(11)).astype(float) * 2.0 ** -53


def places(y, repeat, seed=0):
    """Place of each row in its class's random order."""
    place = np.zeros(len(y), int)
    for c in range(y.max() + 1):
        rows = np.flatnonzero(y == c)
        u = philox(seed, RANDOM_SUBSET, repeat << 32 | c, np.arange(len(rows)))
        for i in range(len(rows) - 1, 0, -1):
            j = int(u[i] * (i + 1))
            rows[i], rows[j] = rows[j], rows[i]
        place[rows] = np.arange(len(rows))
    return place


def measures(errors, y):
    """chi, chi0, chi_rand and error rate of errors [N, C]; rows without an own error do not count."""
    own = errors[np.arange(len(y)), y]
    errors, y, own = errors[~np.isnan(own)], y[~np.isnan(own)], own[~np.isnan(own)]
    other = errors.copy()
    other[np.arange(len(y)), y] = np.inf
    best = errors.min(1)
    rest = (errors.sum(1) - best) / (errors.shape[1] - 1)
    return [np.mean(own / other.min(1)), np.mean(own / rest), np.mean(best / rest), np.mean(own > other.min(1))]


def prepared(X, normalize):
    X = X.astype(float)
    if normalize in ("unit", "whiten"):
        X = prototype.unit_rows(X) if normalize == "unit" else prototype.default_rows(X)
    if normalize == "minmax":
        X = (X - X.min(0)) / (X.max(0) - X.min(0))
    return X


def subset_errors(X, y, member, a, whiten=True):
    """Every row by the means of the members and the metric of all rows, the row itself left out of both:
    a real fit for each row."""
    N, D = X.shape
    C = y.max() + 1
    means = np.stack([X[y == c].mean(0) for c in range(C)])
    W = (X - means[y]).T @ (X - means[y])
    dof, tau = N - C, np.trace(W) / (N - C) / D
    one_hot = np.eye(C)[y]
    errors = np.full((N, C), np.nan)
    for i in range(N):
        kept = np.arange(N) != i
        centers = one_hot[kept].T @ X[kept] / one_hot[kept].sum(0)[:, None]
        R = X[kept] - centers[y[kept]]
        S = (1 - a) * R.T @ R / dof + a * tau * np.eye(D) if whiten else np.eye(D)
        inside = one_hot[kept & member]
        E = X[i] - inside.T @ X[kept & member] / inside.sum(0)[:, None]
        errors[i] = np.sqrt(np.sum(E * np.linalg.solve(S, E.T).T, 1))
    return errors


def law(n, limit, gamma1, gamma2, gamma0):
    return (limit * n ** gamma0 + gamma1) / (n ** gamma0 + gamma2)


class Scale(CliCase):
    def gaussians(self, C=4, D=5, n=30, sep=1.2, seed=0, offset=2.0):
        random = np.random.default_rng(seed)
        y = random.permutation(np.repeat(np.arange(C), n))
        X = offset + sep * random.normal(size=(C, D))[y] + random.normal(size=(C * n, D)) * np.geomspace(1, .4, D)
        return X.astype("f4"), y

    def scale(self, X, y, *options):
        return json.loads(self.rer("scale", self.save("X.npy", X), self.save("y.npy", y), "--json", *options).out)

    def assert_points(self, found, expected, bar=2e-5):
        for point, values in zip(found["points"], expected):
            for name, value in zip(MEASURES, values):
                self.assertAlmostEqual(point[name], value, delta=bar, msg=f"n {point['n']} {name}")

    def test_points_are_those_of_real_fits(self):
        X, y = self.gaussians()
        for normalize in ("whiten", "unit", "minmax"):
            found = self.scale(X, y, "--sizes", "2,5,12", "--repeats", "2", "--normalize", normalize, "--seed", "7")
            Z, expected = prepared(X, normalize), []
            for n in (2, 5, 12, 30):
                runs = [measures(subset_errors(Z, y, places(y, repeat, 7) < n, found["shrinkage"], normalize == "whiten"), y)
                        for repeat in range(2)]
                expected.append(np.mean(runs, 0))
                point = found["points"][len(expected) - 1]
                self.assertEqual((point["n"], point["rows"]), (n, 4 * n))
                for k, name in enumerate(MEASURES):
                    if n < 30:
                        self.assertAlmostEqual(point[name + "_sd"], np.std(runs, 0, ddof=1)[k], delta=2e-5)
            self.assert_points(found, expected)

    def test_few_samples_per_feature(self):  # N < 4 D: the metric is made in double
        X, y = self.gaussians(D=40, n=20)
        found = self.scale(X, y, "--sizes", "3,8", "--repeats", "1", "--shrinkage", ".3")
        Z = prepared(X, "whiten")
        self.assert_points(found, [measures(subset_errors(Z, y, places(y, 0) < n, .3), y) for n in (3, 8, 20)])

    def test_more_classes_than_pairs_are_kept_of(self):
        C = 2060
        X, y = self.gaussians(C=C, D=3, n=4, seed=3)
        found = self.scale(X, y, "--sizes", "2,3", "--repeats", "1", "--normalize", "unit")
        Z, expected = prepared(X, "unit"), []
        for n in (2, 3):
            member = places(y, 0) < n
            errors = np.empty((len(y), C))
            for c in range(C):
                rows = member & (y == c)
                errors[:, c] = np.linalg.norm(Z - Z[rows].mean(0), axis=1)
                errors[rows, c] *= n / (n - 1)
            expected.append(measures(errors, y))
        self.assert_points(found, expected, 1e-4)

    def test_other_reconstructors_are_fitted_anew(self):
        X, y = self.gaussians(n=40)
        for options in (["--reconstructor", "published"],
                        ["--reconstructor", "subspace", "--rank", "1", "--folds", "3", "--normalize", "unit"]):
            found = self.scale(X, y, "--sizes", "10,20", "--repeats", "1", *options)
            for n, point in zip((10, 20), found["points"]):
                member = places(y, 0) < n
                sub = self.save("subX.npy", X[member]), self.save("suby.npy", y[member])
                self.rer("analyze", *sub, *options, "--save-model", "model", "--out", "sub", "--quiet")
                self.rer("score", "model", "X.npy", "y.npy", "--out", "all", "--quiet")
                rows = {name: column(self.samples("all"), name) for name in ("rer", "predicted_label")}
                if "subspace" in options:  # rows of the subset are left out
                    for name, values in rows.items():
                        values[member] = column(self.samples("sub"), name)
                self.assertAlmostEqual(point["chi"], rows["rer"].mean(), delta=1e-5)
                self.assertAlmostEqual(point["error_rate"], np.mean(rows["predicted_label"] != y), delta=1e-9)
                if "published" in options:  # nothing is left out: chi0 and chi_rand are those of all rows
                    found_all = json.loads(self.rer("score", "model", "X.npy", "y.npy", "--json").out)
                    for name in ("chi0", "chi_rand"):
                        self.assertAlmostEqual(point[name], found_all[name], delta=1e-5)

    def fits(self, found, free):
        n = np.array([p["n"] for p in found["points"]])
        for name in MEASURES:
            y = np.array([p[name] for p in found["points"]])
            mine = found if name == "chi" else found[name]
            yield n, y, name + "_inf", mine, free

    def best_of_scipy(self, n, y, fixed):
        """Of several starts; with the exponent given, or all four parameters."""
        best = None
        for g2 in (.3, 10):
            for g0 in ((1.0, 2.0) if fixed is None else (fixed,)):
                start = [y[-1], y[0] * g2 * n[0] ** g0, g2 * n[0] ** g0]
                function = law if fixed is None else lambda n, a, b, c: law(n, a, b, c, fixed)
                try:
                    low, high = [0, -np.inf, 0, .25], [np.inf, np.inf, np.inf, 4]
                    count = 4 if fixed is None else 3
                    p, cov = curve_fit(function, n, y, start + [g0] * (count - 3), maxfev=400, ftol=1e-14, xtol=1e-14,
                                       gtol=1e-14, bounds=(low[:count], high[:count]), x_scale="jac")
                except RuntimeError:
                    continue
                rss = np.sum((function(n, *p) - y) ** 2)
                if best is None or rss < best[0]:
                    best = rss, p, cov
        return best

    def test_laws_are_those_of_scipy(self):
        X, y = self.gaussians(C=6, D=8, n=120, sep=.9)
        for exponent in ("auto", "1.5", "paper", "free"):
            found = self.scale(X, y, "--exponent", exponent)
            fixed = {"auto": 1.0, "1.5": 1.5, "paper": 1.808, "free": None}[exponent]
            self.assertEqual(found["gamma0_fitted"], fixed is None)
            for n, values, limit, mine, _ in self.fits(found, fixed is None):
                rss, p, cov = self.best_of_scipy(n, values, fixed)
                got = law(n, mine[limit], mine["gamma1"], mine["gamma2"], mine["gamma0"])
                spread = np.sum((values - values.mean()) ** 2)
                self.assertLessEqual(np.sum((got - values) ** 2), rss + 1e-6 * spread, limit)
                self.assertAlmostEqual(mine["r2"], 1 - np.sum((got - values) ** 2) / spread, delta=1e-7)
                self.assertAlmostEqual(mine["finite_size"], values[-1] - mine[limit], delta=1e-12)
                if fixed is None or p[2] < 1e-2 * n[0] ** fixed or p[0] < 1e-6:
                    continue  # a flat valley, or a bound: the parameters are not determined
                half = student.ppf(.975, len(n) - 3) * np.sqrt(np.diag(cov))
                for k, name in enumerate((limit, "gamma1", "gamma2")):
                    self.assertAlmostEqual(mine[name], p[k], delta=2e-3 * abs(p[k]), msg=limit)
                    low, high = mine["intervals"][name]
                    self.assertAlmostEqual(high - low, 2 * half[k], delta=.02 * 2 * half[k], msg=limit)
                    self.assertAlmostEqual((low + high) / 2, mine[name], delta=1e-9 * abs(mine[name]))

    def test_intervals_with_the_exponent_fitted(self):
        X, y = self.gaussians(C=6, D=16, n=250, sep=.8)  # a long way down: all four parameters are determined
        found = self.scale(X, y, "--exponent", "free", "--reconstructor", "published")
        for n, values, limit, mine, _ in list(self.fits(found, True))[:3]:
            _, p, cov = self.best_of_scipy(n, values, None)
            half = student.ppf(.975, len(n) - 4) * np.sqrt(np.diag(cov))
            for k, name in enumerate((limit, "gamma1", "gamma2", "gamma0")):
                self.assertAlmostEqual(mine[name], p[k], delta=1e-3 * half[k], msg=name)
                low, high = mine["intervals"][name]
                self.assertAlmostEqual(high - low, 2 * half[k], delta=1e-3 * half[k], msg=name)

    def test_limit_is_what_much_more_data_give(self):
        for C, D, n, sep, held in ((10, 32, 100, .4, False), (5, 16, 200, .5, False), (20, 24, 60, .6, False),
                                   (10, 32, 100, 1.2, True), (10, 32, 100, 3, True), (10, 64, 30, .4, True)):
            random = np.random.default_rng(D)
            centers, spread = sep * random.normal(size=(C, D)), np.geomspace(1, .5, D)

            def draw(count):
                y = np.repeat(np.arange(C), count)
                return (centers[y] + random.normal(size=(len(y), D)) * spread).astype("f4"), y

            found = self.scale(*draw(n))
            X, y = draw(100 * n)
            # Far apart, or with few samples per feature, more data choose another shrinkage.
            metric = ["--shrinkage", found["shrinkage"]] if held else []
            self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "big", "--quiet",
                     "--probability", "density", *metric)  # chi is the same, and no second look is taken
            self.assertLess(abs(found["chi_inf"] - self.summary("big")["chi"]), .01)
            self.assertLess(found["points"][-1]["chi"], found["points"][0]["chi"])

    def test_files(self):
        X, y = self.save_clusters(n=300)
        done = self.rer("scale", X, y, "--out", "out", "--accuracy", ".9", "--prune", "20", "--collect", "50")
        self.assertEqual(set(os.listdir(self.path("out"))),
                         {"scale.html", "scale.csv", "scale.json", "scale.svg", "scale_error.svg", "manifest.json"})
        found = json.loads(self.load(self.path("out", "scale.json")))
        with open(self.path("out", "scale.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), len(found["points"]))
        for row, point in zip(rows, found["points"]):
            for name in ("n", "rows", "subsets", *MEASURES):
                self.assertAlmostEqual(float(row[name]), point[name], delta=1e-9)
            fitted = law(point["n"], found["chi_inf"], found["gamma1"], found["gamma2"], found["gamma0"])
            self.assertAlmostEqual(float(row["chi_law"]), fitted, delta=1e-9)
        self.assertEqual(rows[-1]["chi_sd"], "")
        for name, measures in (("scale.svg", MEASURES[:3]), ("scale_error.svg", MEASURES[3:])):
            titles = [e.text for e in tree.parse(self.path("out", name)).getroot().iter() if e.tag.endswith("}title")]
            shown = [float(text.split(", ")[1].removesuffix(" %")) / (100 if "%" in text else 1) for text in titles]
            np.testing.assert_allclose(shown, [p[m] for m in measures for p in found["points"]], rtol=1e-3)
        for words in ("50 more samples a class would", "Pruning 20 % would", "accuracy would become about",
                      "With unlimited data chi would be"):
            self.assertIn(words, done.out)
        self.assertEqual(found["forecasts"]["prune"]["n"], 80)
        self.assertEqual(found["forecasts"]["collect"]["n"], 150)

    def test_forecast_is_the_difference_of_the_law(self):
        X, y = self.gaussians(n=100, sep=.6)
        found = self.scale(X, y, "--accuracy", ".8")
        now = found["points"][-1]
        for kind, n in (("prune", 70), ("collect", 200)):
            forecast = found["forecasts"][kind]
            self.assertAlmostEqual(forecast["n"], n)
            for name in MEASURES:
                mine = found if name == "chi" else found[name]
                parameters = mine[name + "_inf"], mine["gamma1"], mine["gamma2"], mine["gamma0"]
                change = law(n, *parameters) - law(now["n"], *parameters)
                self.assertAlmostEqual(forecast[name], now[name] + change, delta=1e-9)
            self.assertAlmostEqual(1 - forecast["accuracy"], .2 * forecast["error_rate"] / now["error_rate"], delta=1e-9)
        self.assertLess(found["forecasts"]["collect"]["chi"], now["chi"])
        self.assertGreater(found["forecasts"]["prune"]["chi"], now["chi"])

    def test_terminal_and_page_judge_alike(self):
        """Both say that it would hardly change, or both give the same change."""
        hardly = 0
        for D, sep in ((5, .6), (5, 3), (100, .1), (100, .2)):  # many features: means take many samples
            for collect in (5, 50, 400):
                X, y = self.gaussians(n=100, D=D, sep=sep)
                done = self.rer("scale", self.save("X.npy", X), self.save("y.npy", y), "--collect", collect, "--out", "out")
                change = f"{collect} more samples a class would "
                said = re.search(change + r"(.*?)(?:, | \(chi|\.\n)", done.out)[1].replace("%", "").split()
                page = self.load(self.path("out", "scale.html")).decode()
                headline = re.search(change + r"(.*?)</h1>", page)[1].replace("%", "").split()
                self.assertEqual(said, headline)
                found = json.loads(self.load(self.path("out", "scale.json")))
                now = found["points"][-1]["error_rate"]
                change = found["forecasts"]["collect"]["error_rate"] - now
                self.assertEqual(said[0] == "hardly", abs(change) < max(.0005, np.sqrt(now * (1 - now) / len(y))))
                hardly += said[0] == "hardly"
        self.assertTrue(0 < hardly < 12, hardly)

    def test_a_few_rows_tell_no_change(self):
        """Of 150 iris a row or two decide between two errors."""
        X, y = load_iris(return_X_y=True)
        done = self.rer("scale", self.save("X.npy", X), self.save("y.npy", y), "--collect", 1, "--out", "out")
        self.assertRegex(done.out, r"\n1 more sample a class would hardly change the error of [\d.]+ %")
        self.assertRegex(self.load(self.path("out", "scale.html")).decode(), "1 more sample a class would hardly change")
        self.assertRegex(self.rer("scale", "X.npy", "y.npy").out, r"\nDoubling the data would hardly change the error of")

    def test_no_law_promises_nothing(self):
        X, y = self.gaussians(n=60)
        done = self.rer("scale", self.save("X.npy", X), self.save("y.npy", y), "--sizes", "10,20", "--exponent", "free",
                        "--accuracy", ".8", "--out", "out")
        found = json.loads(self.load(self.path("out", "scale.json")))
        for kind in ("collect", "prune"):
            self.assertEqual({found["forecasts"][kind][name] for name in (*MEASURES, "accuracy")}, {None})
        self.assertIn("too few sizes for a law", done.out)
        for text in (done.out, self.load(self.path("out", "scale.html")).decode()):
            self.assertNotRegex(text, "would (lower|raise|hardly)")

    def test_same_seed_same_bits(self):
        X, y = self.gaussians(C=7, n=400)
        texts = []
        for threads in (1, 2, 3):
            found = self.scale(X, y, "--threads", threads, "--seed", "5")
            found.pop("seconds")
            found["options"].pop("threads")
            texts.append(json.dumps(found))
        self.assertEqual(len(set(texts)), 1)
        other = self.scale(X, y, "--seed", "6")
        self.assertNotEqual(other["points"][0]["chi"], json.loads(texts[0])["points"][0]["chi"])
        self.assertEqual(other["points"][-1]["chi"], json.loads(texts[0])["points"][-1]["chi"])

    def test_classes_of_different_size(self):
        X, y = self.gaussians(C=5, n=60)
        kept = (y > 0) | (np.cumsum(y == 0) <= 7)  # class 0 has 7 rows
        found = self.scale(X[kept], y[kept], "--sizes", "5,20,30")
        self.assertEqual([p["rows"] for p in found["points"]], [25, 87, 127, 247])
        self.assertEqual(found["points"][1]["n"], 87 / 5)

    def test_default_sizes(self):
        for n, sizes in ((300, [20, 30, 40, 60, 80, 100, 140, 200]), (60, [10, 14, 20, 30, 40]), (12, [4, 5, 6, 8, 10])):
            X, y = self.gaussians(n=n)
            self.assertEqual([p["n"] for p in self.scale(X, y)["points"]], [*sizes, n])

    def test_warnings(self):
        X, y = self.gaussians(C=12, D=20, n=200, sep=.25)  # classes that much alike: chi comes from above 1
        self.assertIn("crosses 1", " ".join(self.scale(X, y)["notes"]))
        X, y = self.gaussians(n=40)
        self.assertIn("few", " ".join(self.scale(X, y, "--sizes", "10,20")["notes"]))
        self.assertIn("n = 500 is left out", " ".join(self.scale(X, y, "--sizes", "5,10,20,500")["notes"]))
        self.assertIn("steps", " ".join(self.scale(X, y, "--reconstructor", "published")["notes"]))

    def test_errors(self):
        X, y = self.gaussians(n=30)
        x_path, y_path = self.save("X.npy", X), self.save("y.npy", y)
        message = self.rer("scale", x_path, y_path, "--sizes", "10,500", "--out", "out", code=1).err
        self.assertIn("at least two", message)
        self.assertIn("--sizes", message)
        self.assertFalse(os.path.exists(self.path("out")))
        self.rer("scale", self.save("tiny.npy", X[:8]), self.save("tinyy.npy", np.arange(8) % 4), code=1)
        for sizes in ("20,10", "x", "1,5", ",".join(map(str, range(2, 40)))):
            self.assertIn("--sizes", self.rer("scale", x_path, y_path, "--sizes", sizes, code=2).err)
        self.assertIn("labels are missing", self.rer("scale", x_path, code=2).err)

    def test_invalid_and_unlabelled_rows(self):
        X, y = self.gaussians(n=60)
        expected = self.scale(X, y)
        more = np.vstack([X, np.full((3, X.shape[1]), np.nan, "f4"), X[:5]])
        labels = np.concatenate([y, [0, 1, 2], [-1] * 5])
        found = self.scale(more, labels, "--drop-invalid")
        for a, b in zip(expected["points"], found["points"]):
            self.assertEqual({k: a[k] for k in MEASURES}, {k: b[k] for k in MEASURES})


if __name__ == "__main__":
    unittest.main()
