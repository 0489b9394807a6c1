"""rer analyze --details and --subsets: every number against numpy, scipy and scikit-learn."""
import csv
import json
import os
import unittest
import xml.etree.ElementTree as tree

import numpy as np
from scipy.stats import bootstrap, kurtosis, norm, skew
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from cli_case import OUTPUTS, CliCase, clusters, column

DETAILS = {"class_details.csv", "transitions.csv", "pair_details.csv", "extremes.csv", "details.json",
           "distribution_easiest.svg", "distribution_median.svg", "distribution_hardest.svg"}


def overlapping(n=420, d=6, classes=7, seed=1):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X = random.normal(size=(classes, d))[y] + .9 * random.normal(size=(n, d))
    return X.astype("f4"), y


def gaussian_r2(values):
    density, edges = np.histogram(values, 100, density=True)
    fit = norm.pdf((edges[1:] + edges[:-1]) / 2, values.mean(), values.std())
    return 1 - np.sum((density - fit) ** 2) / np.sum((density - density.mean()) ** 2)


class Details(CliCase):
    def table(self, name, out="out"):
        with open(self.path(out, name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def analyze(self, X, y, *options):
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out", "--quiet", "--errors",
                 "errors.npy", *options)
        self.errors = np.load(self.path("errors.npy")).T.astype(float)
        self.own = self.errors[np.arange(len(y)), y]
        self.other = self.errors.copy()
        self.other[np.arange(len(y)), y] = np.inf
        self.chi = self.own / self.other.min(1)
        self.nearest = self.errors.argmin(1)
        with open(self.path("out", "details.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_spread(self, row, name, values):
        self.assertAlmostEqual(float(row[name + "_mean"]), values.mean(), delta=1e-5 * values.mean())
        self.assertAlmostEqual(float(row[name + "_sd"]), values.std(), delta=1e-4 * values.std())
        # A value at the edge of a bin may fall to either side of it.
        self.assertAlmostEqual(float(row[name + "_r2"]), gaussian_r2(values), delta=.02)

    def test_classes(self):
        X, y = overlapping()
        details = self.analyze(X, y, "--details")
        self.assertEqual(set(os.listdir(self.path("out"))), OUTPUTS | DETAILS)
        rows = self.table("class_details.csv")
        self.assertEqual(len(rows), 7)
        for c, (row, entry) in enumerate(zip(rows, details["classes"])):
            mine = y == c
            self.assertEqual((row["label"], int(row["n"])), (str(c), mine.sum()))
            self.assertAlmostEqual(float(row["chi"]), self.chi[mine].mean(), delta=1e-5)
            self.assertAlmostEqual(float(row["error_rate"]), np.mean(self.nearest[mine] != c), delta=1e-8)
            self.assertAlmostEqual(float(row["difficulty"]), np.mean(self.nearest[mine] != c) / np.mean(self.nearest != c),
                                   delta=1e-8)
            self.assert_spread(row, "in", self.errors[mine, c])
            self.assert_spread(row, "out", self.errors[~mine, c])
            self.assertAlmostEqual(entry["in_class"]["min"], self.errors[mine, c].min(), delta=1e-4)
            self.assertAlmostEqual(entry["out_of_class"]["max"], self.errors[~mine, c].max(), delta=1e-4)
        whole = details["whole"]
        self.assertAlmostEqual(whole["chi"], self.chi.mean(), delta=1e-5)
        self.assertEqual(whole["in_class"]["n"], len(y))
        self.assertEqual(whole["out_of_class"]["n"], 6 * len(y))

    def test_intervals_are_those_of_scipy_s_bootstrap(self):
        X, y = overlapping()
        details = self.analyze(X, y, "--details")
        for c, entry in [(None, details["whole"]), *enumerate(details["classes"])]:
            values = self.chi if c is None else self.chi[y == c]
            expected = bootstrap((values,), np.mean, method="percentile", n_resamples=20000,
                                 rng=np.random.default_rng(0)).confidence_interval
            width = expected.high - expected.low
            self.assertAlmostEqual(entry["chi_interval"][0], expected.low, delta=.1 * width)
            self.assertAlmostEqual(entry["chi_interval"][1], expected.high, delta=.1 * width)

    def test_moments_of_chi(self):
        X, y = overlapping()
        self.analyze(X, y, "--details")
        summary = self.summary()
        for name, values in (("chi_all", self.chi), ("chi_above_one", self.chi[self.chi > 1]),
                             ("chi_below_one", self.chi[self.chi <= 1])):
            self.assertEqual(summary[name]["n"], len(values))
            self.assertAlmostEqual(summary[name]["variance"], values.var(), delta=1e-4 * values.var())
            self.assertAlmostEqual(summary[name]["skewness"], skew(values), delta=1e-3)
            self.assertAlmostEqual(summary[name]["kurtosis"], kurtosis(values), delta=1e-3)

    def test_difficulty_is_one_minus_kappa(self):
        X, y = overlapping()
        details = self.analyze(X, y, "--details")
        expected = 1 - cohen_kappa_score(y, self.nearest)
        self.assertAlmostEqual(self.summary()["difficulty"], expected, delta=1e-9)
        self.assertAlmostEqual(details["whole"]["difficulty"], expected, delta=1e-9)
        random = np.random.default_rng(0)
        for X, y, low, high in ((*clusters(), 0, 0), (random.normal(size=(900, 4)).astype("f4"), np.arange(900) % 3, .9, 1),
                                (random.normal(size=(900, 4)).astype("f4"), np.arange(900) % 30 // 29, .8, 1)):
            self.analyze(X, y, "--details")
            self.assertTrue(low <= self.summary()["difficulty"] <= high, self.summary()["difficulty"])
        # Left out, a row of two equal classes that are one is nearer to the other: worse than chance is 1 all the same.
        X, y = np.repeat(random.normal(size=(20, 3)), 2, axis=0).astype("f4"), np.arange(40) % 2
        details = self.analyze(X, y, "--details", "--shrinkage", "1", "--normalize", "none")
        self.assertGreater(1 - cohen_kappa_score(y, self.nearest), 1.5)
        for difficulty in (self.summary()["difficulty"], *(entry["difficulty"] for entry in details["classes"])):
            self.assertEqual(difficulty, 1)

    def test_transitions(self):
        X, y = overlapping()
        self.analyze(X, y, "--details")
        matrix = np.zeros((7, 7))
        rows = self.table("transitions.csv")
        for row in rows:
            matrix[int(row["given_label"]), int(row["predicted_label"])] = int(row["n"])
            self.assertAlmostEqual(float(row["share"]), int(row["n"]) / np.sum(y == int(row["given_label"])), delta=1e-8)
        np.testing.assert_array_equal(matrix, confusion_matrix(y, self.nearest))
        places = [(int(row["given_label"]), int(row["predicted_label"])) for row in rows]
        self.assertEqual(places, sorted(places))
        shares = matrix / matrix.sum(1, keepdims=True)
        entropy = -np.sum(matrix * np.log(np.where(shares > 0, shares, 1))) / len(y) / np.log(7)
        self.assertAlmostEqual(self.summary()["transition_entropy"], entropy, delta=1e-9)

    def test_pairs(self):
        X, y = overlapping()
        self.analyze(X, y, "--details")
        rows = self.table("pair_details.csv")
        self.assertEqual(len(rows), min(20, len(rows)))
        counts = [int(row["a_as_b"]) + int(row["b_as_a"]) for row in rows]
        self.assertEqual(counts, sorted(counts, reverse=True))
        merges = 0
        for row in rows:
            a, b = int(row["label_a"]), int(row["label_b"])
            two = np.isin(y, (a, b))
            self.assertEqual(int(row["a_as_b"]), np.sum(self.nearest[y == a] == b))
            said = np.where(self.errors[:, a] < self.errors[:, b], a, b)[two]
            self.assertAlmostEqual(float(row["pair_error_rate"]), np.mean(said != y[two]), delta=1e-8)
            self.assertAlmostEqual(float(row["pair_difficulty"]), min(1, 1 - cohen_kappa_score(y[two], said)), delta=1e-8)
            kept = two & np.isin(self.nearest, (a, b)) & (column(self.samples(), "mistakenness") <= .5)
            hard = 1 - cohen_kappa_score(y[kept], self.nearest[kept]) > .5
            self.assertEqual(row["better_merged"], "true" if hard else "false")
            merges += row["better_merged"] == "true"
            merged = np.delete(self.errors, b, 1)
            merged[:, a] = np.minimum(self.errors[:, a], self.errors[:, b])
            new = np.where(y == b, a, y)
            new = new - (new > b)
            own = merged[np.arange(len(y)), new]
            merged[np.arange(len(y)), new] = np.inf
            self.assertAlmostEqual(float(row["merged_error_rate"]), np.mean(merged.min(1) < own), delta=1e-8)
            self.assertAlmostEqual(float(row["merged_chi"]), np.mean(own / merged.min(1)), delta=1e-5)
            between = list(map(int, row["samples_between"].split()))
            sides = np.flatnonzero(((y == a) & (self.other.argmin(1) == b)) | ((y == b) & (self.other.argmin(1) == a)))
            away = np.abs(np.log(self.chi[sides]))
            self.assertEqual(between, sides[np.argsort(away, kind="stable")[:5]].tolist())
        self.assertTrue(0 < merges < len(rows))

    def test_two_classes_cannot_be_merged(self):
        X, y = overlapping(classes=2)
        self.analyze(X, y, "--details")
        row = self.table("pair_details.csv")[0]
        self.assertEqual((row["merged_chi"], row["merged_error_rate"], row["better_merged"]), ("", "", "false"))
        X, y = np.random.default_rng(0).normal(size=(200, 4)), np.arange(200) % 2
        self.analyze(X, y, "--details")
        row = self.table("pair_details.csv")[0]
        self.assertGreater(float(row["pair_difficulty"]), .5)
        self.assertEqual(row["better_merged"], "false")

    def test_mistakes_are_no_reason_to_merge(self):
        """Of a small class most labels are wrong: the two are confused, but by mistakes alone."""
        truth = np.repeat([0, 1, 2], (400, 400, 40))
        X = 6 * np.eye(3, 6)[truth] + np.random.default_rng(0).normal(size=(840, 6))
        y = truth.copy()
        y[:60] = 2
        self.analyze(X, y, "--details")
        row = next(row for row in self.table("pair_details.csv") if (row["label_a"], row["label_b"]) == ("0", "2"))
        self.assertGreater(float(row["pair_difficulty"]), .5)
        self.assertEqual(row["better_merged"], "false")

    def test_extremes(self):
        X, y = overlapping()
        self.analyze(X, y, "--details")
        order = np.argsort(column(self.samples(), "rer"), kind="stable")
        rows = self.table("extremes.csv")
        self.assertEqual([int(r["index"]) for r in rows if r["kind"] == "easiest"], order[:50].tolist())
        self.assertEqual([int(r["index"]) for r in rows if r["kind"] == "hardest"], order[:-51:-1].tolist())
        for row in rows[:3]:
            self.assertEqual(int(row["given_label"]), y[int(row["index"])])
            self.assertEqual(int(row["nearest_other_label"]), self.other[int(row["index"])].argmin())

    def test_distributions_show_easiest_median_and_hardest(self):
        X, y = overlapping()
        self.analyze(X, y, "--details")
        chi = np.array([self.chi[y == c].mean() for c in range(7)])
        order = np.argsort(chi)
        for name, c in (("easiest", order[0]), ("median", order[3]), ("hardest", order[-1])):
            root = tree.parse(self.path("out", f"distribution_{name}.svg")).getroot()
            text = " ".join("".join(element.itertext()) for element in root.iter())
            self.assertIn(f"{name.capitalize()} class: {c}, chi {chi[c]:.3f}", text)
            self.assertGreater(len([e for e in root.iter() if e.tag.endswith("rect")]), 50)

    def test_subsets(self):
        X, y = overlapping()
        random = np.random.default_rng(5)
        group = random.integers(0, 3, len(y))
        names = np.array(["train", "test, second", ""])
        self.save("groups.csv", "who,split\n" + "".join(f'{i % 4},"{names[g]}"\n' for i, g in enumerate(group)))
        self.save("groups.npy", group)
        done = self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--subsets", "groups.csv:split")
        self.assertIn("test, second", done.out)
        for path, keys in (("groups.csv:split", {"train": 0, "test, second": 1}), ("groups.npy", {"0": 0, "1": 1, "2": 2})):
            details = self.analyze(X, y, "--subsets", path)
            rows = {row["subset"]: row for row in self.table("subset_details.csv")}
            self.assertEqual(set(rows), set(keys))
            self.assertEqual({entry["name"] for entry in details["subsets"]}, set(keys))
            mistakenness = column(self.samples(), "mistakenness")
            flagged = np.array([row["is_label_issue"] == "true" for row in self.samples()])
            for name, g in keys.items():
                row, mine = rows[name], group == g
                self.assertEqual(int(row["n"]), mine.sum())
                self.assertAlmostEqual(float(row["chi"]), self.chi[mine].mean(), delta=1e-5)
                self.assertAlmostEqual(float(row["error_rate"]), np.mean(self.nearest[mine] != y[mine]), delta=1e-8)
                self.assertAlmostEqual(float(row["difficulty"]), 1 - cohen_kappa_score(y[mine], self.nearest[mine]),
                                       delta=1e-8)
                self.assertAlmostEqual(float(row["noise_rate"]), mistakenness[mine].mean(), delta=1e-6)
                self.assertEqual(int(row["n_issues"]), flagged[mine].sum())
                self.assertAlmostEqual(float(row["own_error"]), self.own[mine].mean(), delta=1e-4)
                self.assert_spread(row, "in", self.own[mine])
                self.assert_spread(row, "out", self.other[mine][np.isfinite(self.other[mine])])
                self.assertTrue(float(row["chi_low"]) < float(row["chi"]) < float(row["chi_high"]))

    def test_subsets_that_cannot_be_used(self):
        X, y = overlapping()
        x_path, y_path = self.save("X.npy", X), self.save("y.npy", y)
        self.save("groups.csv", "who,split\n" + "1,2\n" * len(y))
        for subsets, words in (("groups.csv:colour", ("colour", "'who', 'split'")), ("groups.csv", ("2 columns", "who")),
                               ("missing.npy", ("missing.npy",)), (self.save("short.npy", y[:9]), ("9 subsets", "420"))):
            message = self.rer("analyze", x_path, y_path, "--subsets", subsets, "--out", "out", code=1).err
            for word in words:
                self.assertIn(word, message)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_same_bits_at_any_number_of_threads(self):
        X, y = overlapping(n=3000)
        texts = set()
        for threads in (1, 2, 3):
            self.analyze(X, y, "--details", "--threads", threads)
            texts.add(self.load(self.path("out", "details.json")) + self.load(self.path("out", "class_details.csv")))
        self.assertEqual(len(texts), 1)

    def test_rows_that_take_no_part(self):
        X, y = overlapping()
        expected = self.analyze(X, y, "--details")
        more = np.vstack([X, np.full((2, X.shape[1]), np.nan, "f4"), X[:3]])
        labels = np.concatenate([y, [0, 1], [-1] * 3])
        self.rer("analyze", self.save("X.npy", more), self.save("y.npy", labels), "--out", "out", "--quiet", "--details",
                 "--drop-invalid")
        found = json.loads(self.load(self.path("out", "details.json")))
        self.assertEqual(found["pairs"], expected["pairs"])
        self.assertEqual([c["in_class"] for c in found["classes"]], [c["in_class"] for c in expected["classes"]])

    def test_many_classes_and_a_lone_sample(self):  # more classes than fit in one tile
        X, y = overlapping(n=4400, d=4, classes=1100, seed=2)
        y[y == 5] = 6
        y[0] = 5
        details = self.analyze(X, y, "--details")
        self.assertEqual([details["classes"][5][k] for k in ("n", "chi")], [0, None])
        for row in self.table("pair_details.csv")[:3]:
            a, b = int(row["label_a"]), int(row["label_b"])
            two = np.isin(y, (a, b))
            said = np.where(self.errors[:, a] < self.errors[:, b], a, b)[two]
            self.assertAlmostEqual(float(row["pair_error_rate"]), np.mean(said != y[two]), delta=1e-8)


if __name__ == "__main__":
    unittest.main()
