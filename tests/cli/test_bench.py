"""rer bench: what it writes, against the same noise, the same analysis and scikit-learn done by hand."""
import csv
import json
import os
import re
import signal
import subprocess
import unittest

import numpy as np
from sklearn import metrics as sklearn_metrics

from cli_case import COMMAND, CliCase, clusters, column, wait_until_worked

QUICK = ("--noise", "symmetric", "--rates", ".1", "--seeds", "1", "--bootstrap", "0")


def zeroshot_score(X, y, embeddings, temperature=.01):
    """As in tests/detect/test_zeroshot.py; samples.csv has too few digits near 0 and 1 to rank by."""
    unit = lambda rows: rows / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    z = unit(X) @ unit(embeddings).T / temperature
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(1)
    return (1 + np.where(p.argmax(1) == y, -1, 1) * np.exp(-entropy)) / 2


class Bench(CliCase):
    def table(self, out="out"):
        with open(self.path(out, "bench.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def values(self, out="out"):
        """{(detector, noise, rate, seed, metric): value}"""
        return {(r["detector"], r["noise"], float(r["rate"]), int(r["seed"]), r["metric"]): float(r["value"])
                for r in self.table(out)}

    def bench_json(self, out="out"):
        with open(self.path(out, "bench.json"), encoding="utf-8") as file:
            return json.load(file)

    def save_hard(self, n=600, classes=4, seed=0):
        """Classes that overlap, so that no detector finds everything."""
        random = np.random.default_rng(seed)
        y = np.arange(n) % classes
        X = (.9 * random.normal(size=(classes, 8))[y] + random.normal(size=(n, 8))).astype("f4")
        return self.save("X.npy", X), self.save("y.npy", y), y

    def test_metrics_are_those_of_a_run_by_hand(self):
        X, y, truth = self.save_hard()
        self.rer("bench", X, y, "--noise", "symmetric,asymmetric", "--rates", ".1,.3", "--seeds", "2", "--seed", "5",
                 "--detectors", "rer,chi", "--out", "out")
        values = self.values()
        self.rer("analyze", X, y, "--seed", "5", "--out", "clean", "--quiet")
        as_is = self.summary("clean")["noise_rate"]
        self.assertAlmostEqual(values["rer", "none", 0, 5, "noise_rate"], as_is, places=9)
        for noise in ("symmetric", "asymmetric"):
            for rate in (.1, .3):
                for seed in (5, 6):
                    self.rer("noise", y, "--type", noise, "--rate", rate, "--seed", seed, "--out", "z.npy", "--quiet")
                    noisy = np.load(self.path("z.npy"))
                    self.rer("analyze", X, "z.npy", "--seed", "5", "--out", "one", "--quiet")
                    samples, summary, wrong = self.samples("one"), self.summary("one"), noisy != truth
                    self.rer("analyze", X, "z.npy", "--seed", "5", "--out", "paper", "--quiet",
                             "--threshold", "paper", "--probability", "density")
                    by_paper = np.array([s["is_label_issue"] == "true" for s in self.samples("paper")])
                    score, chi = column(samples, "mistakenness"), column(samples, "rer")
                    flagged = np.array([s["is_label_issue"] == "true" for s in samples])
                    suggested = np.array([s["suggested_label"] for s in samples])
                    key = (noise, rate, seed)
                    expected = {
                        ("rer", "f1"): sklearn_metrics.f1_score(wrong, flagged),
                        ("rer", "auroc"): sklearn_metrics.roc_auc_score(wrong, score),
                        ("chi", "auroc"): sklearn_metrics.roc_auc_score(wrong, chi),
                        ("chi", "f1"): sklearn_metrics.f1_score(wrong, by_paper),
                        ("chi", "noise_rate"): self.summary("paper")["noise_rate"],
                        ("rer", "average_precision"): sklearn_metrics.average_precision_score(wrong, score),
                        ("rer", "noise_rate"): summary["noise_rate"],
                        ("rer", "true_noise_rate"): wrong.mean() + (1 - wrong.mean()) * as_is,
                        ("rer", "suggestion_accuracy"):
                            (suggested == truth.astype(str))[wrong & flagged].mean(),
                        ("rer", "wrong"): wrong.sum(),
                        ("rer", "interval_width"): summary["noise_high"] - summary["noise_low"],
                    }
                    for (detector, metric), value in expected.items():
                        self.assertAlmostEqual(values[detector, *key, metric], value, delta=2e-6,
                                               msg=f"{detector} {metric} {key}")

    def test_human_labels(self):
        X, y, truth = self.save_hard()
        random = np.random.default_rng(1)
        for name, share in (("tired", .2), ("fresh", .05)):
            self.save(name + ".npy", np.where(random.random(len(truth)) < share, (truth + 1) % 4, truth).astype(str))
        self.rer("bench", X, y, "--noise", "none", "--human", "tired.npy", "fresh.npy", "--detectors", "rer,knn",
                 "--out", "out", "--quiet")
        rows = self.table()
        rates = {r["noise"]: float(r["rate"]) for r in rows}
        for name in ("tired", "fresh"):
            disagree = (np.load(self.path(name + ".npy")) != truth.astype(str)).mean()
            self.assertAlmostEqual(rates["human:" + name], disagree, places=9)
            self.assertAlmostEqual(self.values()["rer", "human:" + name, rates["human:" + name], 0, "true_noise_rate"],
                                   disagree, places=9)
        self.assertEqual(set(rates), {"none", "human:tired", "human:fresh"})
        self.rer("analyze", X, "tired.npy", "--out", "one", "--quiet")
        wrong = np.load(self.path("tired.npy")) != truth.astype(str)
        auroc = sklearn_metrics.roc_auc_score(wrong, column(self.samples("one"), "mistakenness"))
        self.assertAlmostEqual(self.values()["rer", "human:tired", rates["human:tired"], 0, "auroc"], auroc, delta=2e-6)

    def test_confidence_noise_is_that_of_rer_noise(self):
        X, y, truth = self.save_hard()
        self.rer("bench", X, y, "--noise", "confidence", "--rates", ".2", "--seeds", "2", "--bootstrap", "0",
                 "--detectors", "chi", "--out", "out", "--quiet")
        self.rer("noise", y, "--type", "confidence", "--features", X, "--rate", ".2", "--seed", "1", "--out", "z.npy",
                 "--quiet")
        wrong = np.load(self.path("z.npy")) != truth
        self.rer("analyze", X, "z.npy", "--out", "one", "--quiet")
        auroc = sklearn_metrics.roc_auc_score(wrong, column(self.samples("one"), "rer"))
        self.assertAlmostEqual(self.values()["chi", "confidence", .2, 1, "auroc"], auroc, delta=2e-6)

    def test_zeroshot_takes_part_with_class_embeddings(self):
        X, y, truth = self.save_hard()
        means = np.stack([np.load(X)[truth == c].mean(0) for c in range(4)])
        e = self.save("e.npy", means)
        self.rer("bench", X, y, *QUICK, "--detectors", "rer,zeroshot", "--class-embeddings", e, "--out", "out", "--quiet")
        self.rer("noise", y, "--rate", ".1", "--out", "z.npy", "--quiet")
        noisy = np.load(self.path("z.npy"))
        auroc = sklearn_metrics.roc_auc_score(noisy != truth, zeroshot_score(np.load(X), noisy, means))
        self.assertAlmostEqual(self.values()["zeroshot", "symmetric", .1, 0, "auroc"], auroc, delta=1e-3)
        self.rer("bench", X, y, *QUICK, "--class-embeddings", e, "--out", "all", "--quiet")
        usual = self.bench_json("all")["detectors"]
        self.assertEqual([name for name in usual if "confident" in name], ["confident-unit-c10", "confident-unit-c10-margin"])
        self.rer("bench", X, y, *QUICK, "--detectors", "all", "--class-embeddings", e, "--out", "all", "--quiet")
        self.assertEqual(set(self.bench_json("all")["detectors"]) - set(usual),
                         {name + margin for name in ("confident", "confident-c10", "confident-unit") for margin in ("", "-margin")})
        self.assertIn("zeroshot", usual)

    def test_a_lost_class_loses_its_embedding(self):
        """People never gave label 1: the embeddings of the classes after it move up."""
        X, y, truth = self.save_hard()
        means = np.stack([np.load(X)[truth == c].mean(0) for c in range(4)])
        e = self.save("e.npy", means)
        human = np.where(truth == 1, 2, np.where(np.arange(len(truth)) % 9 == 0, (truth + 2) % 4, truth))
        human[human == 1] = 3
        self.save("h.npy", human)
        self.rer("bench", X, y, "--noise", "none", "--human", "h.npy", "--detectors", "zeroshot", "--class-embeddings", e,
                 "--bootstrap", "0", "--out", "out", "--quiet")
        place = np.array([0, -1, 1, 2])
        score = zeroshot_score(np.load(X), place[human], means[[0, 2, 3]])
        auroc = sklearn_metrics.roc_auc_score(human != truth, score)
        cell = self.bench_json()["cells"][1]
        self.assertAlmostEqual(cell["detectors"]["zeroshot"]["auroc"], auroc, delta=1e-3)

    def test_bootstrap_is_that_of_numpy_in_distribution(self):
        X, y, truth = self.save_hard(n=400)
        self.rer("bench", X, y, "--noise", "symmetric", "--rates", ".2", "--seeds", "1", "--detectors", "rer,knn",
                 "--bootstrap", "2000", "--out", "out", "--quiet")
        cell = self.bench_json()["cells"][1]
        gap = cell["detectors"]["knn"]["auroc_behind"]
        self.assertAlmostEqual(gap["mean"], cell["detectors"]["rer"]["auroc"] - cell["detectors"]["knn"]["auroc"])
        # the same by hand, from scores that the program wrote: those of rer, and k-NN votes in numpy
        self.rer("noise", y, "--rate", ".2", "--out", "z.npy", "--quiet")
        noisy = np.load(self.path("z.npy"))
        self.rer("analyze", X, "z.npy", "--out", "one", "--quiet")
        wrong, ours = noisy != truth, column(self.samples("one"), "mistakenness")
        unit = np.load(X).astype("f8")
        unit /= np.linalg.norm(unit, axis=1)[:, None]
        similar = unit @ unit.T - 10 * np.eye(len(unit))
        theirs = (noisy[np.argsort(-similar, axis=1)[:, :10]] != noisy[:, None]).mean(1)
        self.assertAlmostEqual(sklearn_metrics.roc_auc_score(wrong, theirs), cell["detectors"]["knn"]["auroc"], delta=1e-6)
        random, draws = np.random.default_rng(0), []
        for _ in range(700):
            i = random.integers(0, len(wrong), len(wrong))
            draws.append(sklearn_metrics.roc_auc_score(wrong[i], ours[i]) -
                         sklearn_metrics.roc_auc_score(wrong[i], theirs[i]))
        low, high = np.percentile(draws, [2.5, 97.5])
        self.assertAlmostEqual(gap["low"], low, delta=.1 * (high - low))
        self.assertAlmostEqual(gap["high"], high, delta=.1 * (high - low))

    def test_same_bits_at_any_number_of_threads(self):
        X, y, _ = self.save_hard(n=3000)
        for threads, out in (("1", "a"), ("3", "b")):
            self.rer("bench", X, y, "--noise", "asymmetric", "--rates", ".1", "--seeds", "1", "--bootstrap", "50",
                     "--threads", threads, "--detectors", "rer,published,knn", "--out", out, "--quiet")

        def same(out):
            gaps = [c["detectors"][d].get("auroc_behind") for c in self.bench_json(out)["cells"] for d in c["detectors"]]
            return [{k: v for k, v in r.items() if k != "seconds"} for r in self.table(out)], gaps

        self.assertEqual(same("a"), same("b"))

    def test_files(self):
        X, y = self.save_clusters()
        done = self.rer("bench", X, y, "--noise", "symmetric,asymmetric", "--rates", ".1,.2", "--seeds", "2",
                        "--bootstrap", "20", "--human", self.save("h.npy", np.arange(300) % 3), "--out", "a/b")
        names = {"bench.html", "bench.csv", "bench.json", "noise-rate.svg", "manifest.json"}
        names |= {f"{what}-{kind}.svg" for what in ("auroc", "f1", "ncfd", "calibration")
                  for kind in ("symmetric", "asymmetric", "human")}
        self.assertEqual(set(os.listdir(self.path("a", "b"))), names)
        for name in names:
            if name.endswith(".svg"):
                text = self.load(self.path("a", "b", name)).decode()
                self.assertTrue(text.startswith("<svg") or text.startswith("<?xml"), name)
                self.assertNotIn("nan", text.lower(), name)
        rows = self.table("a/b")
        self.assertEqual(list(rows[0]), ["detector", "noise", "rate", "seed", "metric", "value", "seconds"])
        planted = {(r["noise"], r["rate"], r["seed"]) for r in rows if r["metric"] == "auroc"}
        self.assertEqual(planted, {(noise, rate, seed) for noise in ("symmetric", "asymmetric")
                                   for rate in ("0.1", "0.2") for seed in ("0", "1")})
        result = self.bench_json("a/b")
        self.assertEqual(len(result["cells"]), 6)
        for cell in result["cells"][2:]:
            best = max(cell["detectors"], key=lambda name: cell["detectors"][name]["auroc"])
            self.assertEqual(cell["detectors"][best]["auroc"], cell["detectors"][cell["winner"]]["auroc"])
        self.assertEqual(result["options"]["rates"], "0.1,0.2")
        self.assertEqual(result["options"]["noise"], "symmetric,asymmetric")
        self.assertIn("difference (95 %)", done.out)
        self.assertIn("Written to a/b", done.out)
        for line in done.out.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_says_where_nothing_was_planted(self):
        X, y = self.save_clusters()
        for settings in (("--rates", ".0001"), ("--noise", "none", "--human", y), ("--noise", "none")):
            text = self.rer("bench", X, y, "--detectors", "rer,knn", *settings).out
            self.assertIn("Nothing was planted", text)
            self.assertNotIn("How well mistakes rank", text)
        text = self.rer("bench", X, y, "--detectors", "rer,knn", "--noise", "symmetric", "--rates", ".0001,.01", "--out", "out").out
        self.assertNotIn("Nothing was planted", text)
        for rate, count in ((.0001, 0), (.01, 3)):
            self.assertEqual(self.values()["rer", "symmetric", rate, 0, "wrong"], count)
            line = re.search(rf"^  symmetric +{100 * rate:g}(?:\.0)? %.*$", text, re.M)[0]
            self.assertEqual("nothing was planted" in line, count == 0)

    def test_json_and_quiet(self):
        X, y = self.save_clusters()
        one = json.loads(self.rer("bench", X, y, *QUICK, "--detectors", "rer", "--json").out)
        self.assertEqual([cell["noise"] for cell in one["cells"]], ["none", "symmetric"])
        self.assertEqual(self.rer("bench", X, y, *QUICK, "--detectors", "rer", "--quiet").out, "")

    def test_pictures_unlabelled_and_invalid_rows(self):
        X, y = clusters(n=240)
        X[7], X[9, 2] = np.nan, np.inf
        y[[3, 7, 20]] = -1
        self.rer("bench", self.save("X.npy", X), self.save("y.npy", y), *QUICK, "--drop-invalid", "--out", "out",
                 "--detectors", "rer,chi,centroid-minmax,knn", "--quiet")
        for detector in ("rer", "chi", "centroid-minmax", "knn"):
            wrong = self.values()[detector, "symmetric", .1, 0, "wrong"]
            self.assertIn(wrong, (23, 24))  # round(.1 * 237), and one of them may be the row with Inf
            self.assertGreater(self.values()[detector, "symmetric", .1, 0, "auroc"], .9)
        pictures = np.random.default_rng(0).integers(0, 255, (60, 16, 16), dtype="u1")
        self.rer("bench", self.save("P.npy", pictures), self.save("p.npy", np.arange(60) % 2), *QUICK, "--quiet",
                 "--detectors", "centroid-minmax,knn")

    def test_a_class_that_loses_all_its_rows(self):
        X, y = clusters(n=120)
        y += 1
        y[:2] = 0
        X[:2] += 9
        human = y.copy()
        human[:2] = 1
        human[40:50] = human[40:50] % 3 + 1
        self.rer("bench", self.save("X.npy", X), self.save("y.npy", y), "--noise", "none", "--human",
                 self.save("h.npy", human), "--out", "out", "--quiet")
        for detector in ("rer", "knn"):
            self.assertEqual(self.values()[detector, "human:h", .1, 0, "wrong"], 12)
            # classes have moved up, and the suggestions with them
            self.assertGreater(self.values()[detector, "human:h", .1, 0, "suggestion_accuracy"], .8)

    def test_ratios_alone_suggest_the_nearest_class(self):
        """Nobody has searched for a channel then, which would go by the sizes of classes alone."""
        random = np.random.default_rng(0)
        y = np.repeat(np.arange(4), [600, 60, 60, 60])
        X = (2.5 * random.normal(size=(4, 16))[y] + random.normal(size=(len(y), 16))).astype("f4")
        self.rer("bench", self.save("X.npy", X), self.save("y.npy", y), *QUICK, "--detectors", "centroid-minmax", "--out", "out")
        self.assertGreater(self.values()["centroid-minmax", "symmetric", .1, 0, "suggestion_accuracy"], .95)

    def test_bad_usage_and_bad_input(self):
        X, y = self.save_clusters()

        def fails(code, *words, X=X, y=y):
            message = self.rer("bench", X, y, *words, "--out", "out", code=code).err
            self.assertNotIn("out", os.listdir(self.folder))
            return message

        self.assertIn("'magic'", fails(2, "--detectors", "rer,magic"))
        self.assertIn("knn", fails(2, "--detectors", "magic"))
        self.assertIn("--noise", fails(2, "--noise", "symmetric,human"))
        self.assertIn("--rates", fails(2, "--rates", ".1,2"))
        self.assertIn("--rates", fails(2, "--rates", ".1,,2"))
        self.assertIn("--rates", fails(2, "--rates", ",".join(["0.1"] * 9)))
        self.assertIn("--seeds", fails(2, "--seeds", "0"))
        self.assertIn("--budget, which has no meaning here", fails(2, "--budget", "3"))
        self.assertIn("labels are missing", self.rer("bench", X, code=2).err)
        self.assertIn("299", fails(1, *QUICK, "--human", self.save("h.npy", np.arange(299) % 3)))
        self.assertIn("'9'", fails(1, *QUICK, "--human", self.save("h9.npy", np.full(300, 9))))
        self.assertIn("missing.npy", fails(1, *QUICK, "--human", "missing.npy"))
        self.assertIn("class", fails(1, *QUICK, y=self.save("one.npy", np.zeros(300, int))))
        broken = np.load(X)
        broken[4, 1] = np.nan
        self.assertRegex(fails(1, *QUICK, X=self.save("nan.npy", broken)), "row 4, column 1 is NaN")
        self.save("file", "")
        self.assertIn("not a folder", self.rer("bench", X, y, *QUICK, "--out", "file", code=3).err)

    def test_interrupt(self):
        X, y = self.save_clusters(n=20_000, d=32, classes=8)
        process = subprocess.Popen([COMMAND, "bench", X, y, "--out", "out", "--noise", "symmetric"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until_worked(process, .3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=1800)
        self.assertEqual(process.returncode, 130)
        self.assertEqual((out, err), (b"", b"rer: interrupted; nothing was written\n"))
        self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy"})

    def test_progress_has_an_estimate(self):
        X, y = self.save_clusters(n=12_000, d=64, classes=10)
        text = self.on_terminal("bench", X, y, "--noise", "symmetric", "--rates", ".1,.2", "--seeds", "2", "--detectors", "rer,knn")
        shares = [int(share) for share in re.findall(r"comparing, \d+ (?:s|min) in all +[#-]+ +(\d+) %", text)]
        self.assertEqual(shares, sorted(shares))
        self.assertTrue(shares)
        self.assertRegex(text, r"about \d+ s left")


if __name__ == "__main__":
    unittest.main()
