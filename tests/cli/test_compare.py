"""rer compare: agreement against scipy and scikit-learn, versions of labels, data sets, and what is refused."""
import csv
import json
import os
import unittest
import xml.etree.ElementTree as tree

import numpy as np
from scipy.stats import linregress, pearsonr, rankdata, spearmanr
from sklearn.metrics import ndcg_score

from cli_case import CliCase, clusters, column


def scaled(values):
    return (values - values.min()) / (values.max() - values.min())


class Compare(CliCase):
    def run_folder(self, name, ratios, labels, ids=None, class_chi=None, column="rer", **summary):
        """A folder as rer analyze writes it, with the numbers that are wanted."""
        os.mkdir(self.path(name))
        names = sorted(set(labels) - {""})
        class_chi = np.arange(len(names)) if class_chi is None else class_chi
        with open(self.path(name, "samples.csv"), "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["index", *(["id"] if ids is not None else []), "given_label", "rer", "mistakenness",
                             "is_label_issue", "own_error"])
            for i, (value, label) in enumerate(zip(ratios, labels)):
                cell = "" if np.isnan(value) else repr(float(value))
                writer.writerow([i, *([ids[i]] if ids is not None else []), label, cell, i / len(labels),
                                 "true" if value > 1 else "false", 2 * i % 7])
        with open(self.path(name, "classes.csv"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["label", "n", "chi"], *([c, 1, x] for c, x in zip(names, class_chi))])
        known = {"n_samples": len(labels), "n_classes": len(names), "n_features": 4, "n_issues": 0, "chi": 1.0,
                 "difficulty": .5, "error_rate": .4, "noise_rate": .1, "n_labelled": len(labels), **summary}
        self.save(os.path.join(name, "summary.json"), json.dumps({"reconstructor": "centroid", **known}))
        return name

    def compare(self, *arguments):
        return json.loads(self.rer("compare", *arguments, "--json").out)

    def table(self, *names):
        with open(self.path(*names), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def assert_pair(self, pair, a, b, class_a, class_b):
        kept = ~(np.isnan(a) | np.isnan(b))
        a, b = a[kept], b[kept]
        expected = {"spearman_samples": spearmanr(a, b)[0], "spearman_classes": spearmanr(class_a, class_b)[0],
                    "ndcg_samples": ndcg_score([scaled(a)], [scaled(b)]),
                    "ndcg_samples_reverse": ndcg_score([scaled(b)], [scaled(a)]),
                    "ndcg_classes": ndcg_score([scaled(class_a)], [scaled(class_b)]),
                    "ndcg_classes_reverse": ndcg_score([scaled(class_b)], [scaled(class_a)])}
        for name, value in expected.items():
            self.assertAlmostEqual(pair[name], value, delta=1e-9, msg=name)

    def test_agreement_is_that_of_scipy_and_scikit_learn(self):
        random = np.random.default_rng(0)
        labels = [str(i % 6) for i in range(200)]
        for ties in (False, True):
            a = random.normal(size=200) + 3
            b = a + random.normal(size=200)
            if ties:
                a, b = np.round(a), np.round(b * 2)
            a[7], b[9] = np.nan, np.nan
            class_a, class_b = random.normal(size=6).round(1) + 3, random.normal(size=6).round(1) + 3
            names = [self.run_folder(f"{run}{ties}", values, labels, class_chi=chi)
                     for run, values, chi in (("a", a, class_a), ("b", b, class_b))]
            found = self.compare(*names)
            self.assertEqual(found["mode"], "samples")
            self.assert_pair(found["pairs"][0], a, b, class_a, class_b)

    def test_real_runs(self):
        random = np.random.default_rng(1)
        y = random.integers(0, 5, 400)
        X = random.normal(size=(5, 6))[y] + random.normal(size=(400, 6))
        paths = self.save("X.npy", X.astype("f4")), self.save("y.npy", y)
        runs = {"white": [], "unit": ["--normalize", "unit"], "none": ["--normalize", "none"]}
        for name, options in runs.items():
            self.rer("analyze", *paths, *options, "--out", name, "--quiet")
        done = self.rer("compare", *runs, "--out", "out")
        for word in ("rank correlation", "nDCG", "disagree most", "white", "unit", "none"):
            self.assertIn(word, done.out)
        self.assertEqual(set(os.listdir(self.path("out"))),
                         {"compare.html", "compare.json", "agreement.csv", "disagreements.csv", "spearman_samples.svg",
                          "spearman_classes.svg", "ndcg_samples.svg", "ndcg_classes.svg", "manifest.json"})
        found = json.loads(self.load(self.path("out", "compare.json")))
        chi = {name: column(self.samples(name), "rer") for name in runs}
        class_chi = {name: column(self.classes(name), "chi") for name in runs}
        self.assertEqual([(p["a"], p["b"]) for p in found["pairs"]],
                         [("white", "unit"), ("white", "none"), ("unit", "none")])
        for pair, row in zip(found["pairs"], self.table("out", "agreement.csv")):
            a, b = pair["a"], pair["b"]
            self.assert_pair(pair, chi[a], chi[b], class_chi[a], class_chi[b])
            self.assertAlmostEqual(float(row["ndcg_classes_reverse"]), pair["ndcg_classes_reverse"], delta=1e-8)
        ranks = np.array([(rankdata(values) - 1) / 399 for values in chi.values()])
        spread = ranks.max(0) - ranks.min(0)
        rows = self.table("out", "disagreements.csv")
        self.assertEqual(len(rows), 50)
        for row, expected in zip(rows, np.sort(spread)[::-1]):
            self.assertAlmostEqual(float(row["highest_rank"]) - float(row["lowest_rank"]), expected, delta=1e-6)
            self.assertAlmostEqual(spread[int(row["index"])], expected, delta=1e-6)
            self.assertAlmostEqual(float(row["unit"]), chi["unit"][int(row["index"])], delta=1e-6)
        for name in ("spearman_samples", "ndcg_classes"):
            root = tree.parse(self.path("out", name + ".svg")).getroot()
            text = " ".join("".join(element.itertext()) for element in root.iter())
            self.assertIn("white", text)

    def test_two_runs_have_no_heat_map(self):
        labels = ["a", "b"] * 5
        for name in "xy":
            self.run_folder(name, np.arange(10.0), labels)
        self.rer("compare", "x", "y/", "--out", "out", "--quiet")
        self.assertEqual(set(os.listdir(self.path("out"))), {"compare.html", "compare.json", "agreement.csv", "disagreements.csv", "manifest.json"})

    def test_another_column(self):
        labels = ["a", "b"] * 10
        random = np.random.default_rng(3)
        for name in "xy":
            self.run_folder(name, random.normal(size=20), labels)
        for name in ("mistakenness", "own_error"):  # the same in both
            self.assertAlmostEqual(self.compare("x", "y", "--column", name)["pairs"][0]["spearman_samples"], 1)
        message = self.rer("compare", "x", "y", "--column", "colour", code=1).err
        self.assertIn("no column 'colour'", message)
        self.assertIn("'rer'", message)
        self.assertIn("texts", self.rer("compare", "x", "y", "--column", "given_label", code=2).err)

    def test_a_count_that_is_none(self):
        for name in "xy":
            self.run_folder(name, np.arange(10.0), ["a", "b"] * 5)
        with open(self.path("y", "summary.json"), encoding="utf-8") as file:
            whole = json.load(file)
        for name, value in (("n_samples", 1e300), ("n_classes", -1), ("n_features", 1e17)):
            self.save("y/summary.json", json.dumps({**whole, name: value}))
            self.assertRegex(self.rer("compare", "x", "y", code=1).err, f"y/summary.json: {name} is .* no count")

    def test_versions_of_labels(self):
        X, y = clusters(n=300, planted=20)
        clean = clusters(n=300)[1].astype(float)
        clean[299] = np.nan  # one label is taken away
        X_path = self.save("X.npy", X)
        self.rer("analyze", X_path, self.save("before.npy", y), "--out", "before", "--quiet")
        self.rer("analyze", X_path, self.save("after.npy", clean), "--out", "after", "--quiet")
        done = self.rer("compare", "before", "after", "--out", "out")
        self.assertIn("20 changed, 1 removed", done.out)
        found = json.loads(self.load(self.path("out", "compare.json")))
        self.assertEqual(found["mode"], "labels")
        change = found["relabellings"][0]
        before, after = self.samples("before"), self.samples("after")
        chi = column(before, "rer"), column(after, "rer")
        self.assertEqual([change[k] for k in ("n_changed", "n_added", "n_removed")], [20, 0, 1])
        self.assertEqual(change["n_flagged_before"], sum(row["is_label_issue"] == "true" for row in before[:20]))
        self.assertAlmostEqual(change["changed_chi_before"], chi[0][:20].mean(), delta=1e-6)
        self.assertAlmostEqual(change["changed_chi_after"], chi[1][:20].mean(), delta=1e-6)
        for key in ("chi", "difficulty", "noise_rate"):
            self.assertAlmostEqual(change[key + "_change"], self.summary("after")[key] - self.summary("before")[key])
        rows = self.table("out", "changes.csv")
        self.assertEqual([int(row["index"]) for row in rows], [*range(20), 299])
        self.assertEqual((rows[0]["label_before"], rows[0]["label_after"]), (str(y[0]), str(int(clean[0]))))
        self.assertEqual(rows[-1]["label_after"], "")

    def test_changed_labels_are_counted_and_listed(self):
        labels = ["a", "b"] * 6
        after = ["b", "a", "b", "a", *labels[4:]]
        before_chi, after_chi = np.array([2.0] * 3 + [.5] * 9), np.array([.5, 3.0] + [.5] * 10)
        self.run_folder("before", before_chi, labels, chi=.9, noise_rate=.3)  # flagged: over 1
        self.run_folder("after", after_chi, after, chi=.7, noise_rate=.1)
        change = self.compare("before", "after")["relabellings"][0]
        self.assertEqual([change[k] for k in ("n_changed", "n_flagged_before", "n_flagged_after")], [4, 3, 1])
        self.assertAlmostEqual(change["changed_chi_before"], before_chi[:4].mean())
        self.assertAlmostEqual(change["changed_chi_after"], after_chi[:4].mean())
        self.assertAlmostEqual(change["chi_change"], -.2)
        self.assertAlmostEqual(change["noise_rate_change"], -.2)
        self.rer("compare", "before", "after", "--out", "out", "--quiet")
        page = self.load(self.path("out", "compare.html")).decode()
        self.assertIn("4 changed labels took the share of wrong ones from 30.0 % to 10.0 %", page)
        self.assertEqual(page.split("Changed labels")[-1].count("<tr>"), 1 + 4)

    def test_data_sets(self):
        random = np.random.default_rng(5)
        chi = random.uniform(.5, 1, 6)
        rate = np.exp(4 * chi - 5 + .3 * random.normal(size=6))
        for i in range(6):
            labels = [f"{i} {k % (i + 2)}" for k in range(30 + i)]
            self.run_folder(f"set{i}", np.ones(30 + i), labels, chi=chi[i], difficulty=.1 * (i + 1))
        names = [f"set{i}" for i in range(6)]
        for head, values in (("error_rate", rate), ("accuracy", 1 - rate)):
            self.save("rates.csv", f"run,{head}\nset9,.5\n" + "".join(f"set{i},{float(values[i])!r}\n" for i in range(5)))
            self.rer("compare", *names, "--error-rates", "rates.csv", "--out", head, "--quiet")
            found = json.loads(self.load(self.path(head, "compare.json")))
            fit = linregress(chi[:5], np.log(rate[:5]))
            self.assertEqual((found["mode"], found["regression"]["n"]), ("datasets", 5))
            self.assertAlmostEqual(found["regression"]["pearson"], fit.rvalue, delta=1e-9)
            self.assertAlmostEqual(found["regression"]["slope"], fit.slope, delta=1e-8)
            self.assertAlmostEqual(found["regression"]["intercept"], fit.intercept, delta=1e-8)
            self.assertAlmostEqual(found["regression"]["pearson_log_difficulty"],
                                   pearsonr(np.log(.1 * np.arange(1, 6)), np.log(rate[:5]))[0], delta=1e-9)
            for i, row in enumerate(self.table(head, "datasets.csv")):
                self.assertAlmostEqual(float(row["expected_error"]), min(1, np.exp(fit.slope * chi[i] + fit.intercept)),
                                       delta=1e-7)
                self.assertEqual(row["model_error"] == "", i == 5)
                if i < 5:
                    self.assertAlmostEqual(float(row["error_ratio"]), rate[i] / float(row["expected_error"]), delta=1e-6)
            self.assertIn("set9", " ".join(found["notes"]))
            # Left-out errors, noise rates and errors of the five models against chi; samples and classes.
            for name, points in (("datasets.svg", 6 + 6 + 5), ("datasets_size.svg", 6)):
                titles = [e.text for e in tree.parse(self.path(head, name)).getroot().iter() if e.tag.endswith("}title")]
                self.assertEqual(len(titles), points)  # each point tells its numbers
        self.save("rates.csv", "run,error_rate\n" + "".join(f"set{i},{float(x)!r}\n" for i, x in zip(
            np.argsort(chi)[:5], (.01, .1, .3, .9, 1))))
        hardest = self.compare(*names, "--error-rates", "rates.csv")["runs"][int(np.argmax(chi))]
        self.assertEqual(hardest["expected_error"], 1)  # where the line says more than all
        found = self.compare(*names)  # without error rates
        self.assertEqual((found["mode"], found["regression"]["pearson"]), ("datasets", None))
        self.save("rates.csv", "run,error_rate\nset0,.1\nset1,.2\n")
        self.assertIn("three", " ".join(self.compare(*names, "--error-rates", "rates.csv")["notes"]))

    def test_error_rates_that_cannot_be_used(self):
        for name in "ab":
            self.run_folder(name, np.ones(4), [name, "x", name, "x"])
        for text, words in (("run,error\na,1\n", ("error_rate", "accuracy")), ("name,accuracy\na,1\n", ("'run'", "'name'")),
                            ("run,accuracy\na,93\n", ("93", "line 2")), ("run,accuracy\na,high\n", ("high", "line 2")),
                            ("", ("empty",))):
            self.save("rates.csv", text)
            message = self.rer("compare", "a", "b", "--error-rates", "rates.csv", code=1).err
            for word in words:
                self.assertIn(word, message)
        self.rer("compare", "a", "b", "--error-rates", "missing.csv", code=1)
        self.save("rates.csv", "run,accuracy\na,.9\n")
        self.assertIn("--mode", self.rer("compare", "a", "b", "--error-rates", "rates.csv", "--mode", "labels", code=2).err)

    def test_runs_that_do_not_fit_together(self):
        labels = ["a", "b", "c"] * 10
        self.run_folder("x", np.ones(30), labels)
        self.run_folder("short", np.ones(27), labels[:27])
        message = self.rer("compare", "x", "short", code=1).err
        for word in ("30", "27", "--mode datasets"):
            self.assertIn(word, message)
        self.assertEqual(self.compare("x", "short", "--mode", "datasets")["mode"], "datasets")
        self.run_folder("other", np.ones(30), ["b", "c", "a"] * 10)
        message = self.rer("compare", "x", "other", code=1).err
        for word in ("row 0", "'a'", "'b'", "--mode labels"):
            self.assertIn(word, message)
        self.assertEqual(self.compare("x", "other", "--mode", "labels")["relabellings"][0]["n_changed"], 30)
        few = labels.copy()
        few[3] = "b"
        self.run_folder("few", np.ones(30), few)
        self.assertEqual(self.compare("x", "few")["mode"], "labels")
        self.assertIn("row 3", self.rer("compare", "x", "few", "--mode", "samples", code=1).err)
        self.run_folder("named", np.ones(30), labels, ids=[f"{i}.jpg" for i in range(30)])
        self.run_folder("turned", np.ones(30), labels, ids=[f"{29 - i}.jpg" for i in range(30)])
        message = self.rer("compare", "named", "turned", code=1).err
        for word in ("0.jpg", "29.jpg", "same order"):
            self.assertIn(word, message)

    def test_folders_that_are_none(self):
        self.run_folder("x", np.ones(4), list("abab"))
        self.assertIn("usage", self.rer("compare", "x", code=2).err)
        self.assertIn("missing/summary.json", self.rer("compare", "x", "missing", code=1).err)
        for name, text, words in (("summary.json", "{", ("summary.json", "line 1")), ("summary.json", "{}", ("no summary",)),
                                  ("samples.csv", "index\n1\n", ("samples.csv", "given_label")),
                                  ("samples.csv", "", ("samples.csv",)), ("classes.csv", "label\na\n", ("'chi'",))):
            folder = f"{name}{len(text)}"
            self.run_folder(folder, np.ones(4), list("abab"))
            self.save(os.path.join(folder, name), text)
            message = self.rer("compare", "x", folder, code=1).err
            for word in words:
                self.assertIn(word, message)
        self.run_folder("wrong", np.ones(4), list("abab"), n_samples=5)
        self.assertIn("speaks of 5", self.rer("compare", "x", "wrong", code=1).err)

    def test_runs_of_one_name(self):
        os.makedirs(self.path("p"))
        labels = ["a", "b"] * 5
        self.run_folder("run", np.arange(10.0), labels)
        self.run_folder("p/run", np.arange(10.0), labels)
        found = self.compare("run", "p/run")
        self.assertEqual([run["name"] for run in found["runs"]], ["run", "p/run"])

    def test_constant_numbers_have_no_agreement(self):
        labels = ["a", "b"] * 5
        self.run_folder("x", np.ones(10), labels)
        self.run_folder("y", np.arange(10.0), labels)
        pair = self.compare("x", "y")["pairs"][0]
        self.assertIsNone(pair["spearman_samples"])
        self.assertIsNone(pair["ndcg_samples"])
        self.rer("compare", "x", "y", "--out", "out", "--quiet")
        self.assertIn("all samples are alike", self.load(self.path("out", "compare.html")).decode())

    def test_what_is_compared(self):
        """Other detectors: which labels are wrong, not how hard the samples are, which stays the same."""
        X, y = self.save_clusters(planted=12)
        for name, options in (("a", ()), ("b", ("--detector", "knn")), ("c", ("--shrinkage", ".5"))):
            self.rer("analyze", X, y, *options, "--out", name, "--quiet")
        p = {name: column(self.samples(name), "mistakenness") for name in "ab"}
        for runs, expected in ((("a", "b"), "mistakenness"), (("a", "c"), "rer")):
            result = json.loads(self.rer("compare", *runs, "--json").out)
            self.assertEqual(result["column"], expected)
        self.rer("compare", "a", "b", "--out", "d")
        self.assertIn(b"on which labels are wrong", self.load(self.path("d/compare.html")))
        result = json.loads(self.rer("compare", "a", "b", "--column", "rer", "--json").out)
        self.assertEqual(result["column"], "rer")
        self.assertFalse(np.array_equal(p["a"], p["b"]))


if __name__ == "__main__":
    unittest.main()
