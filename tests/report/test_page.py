"""The numbers in report.html against samples.csv and classes.csv, recomputed in numpy."""
import json
import re
import unittest
import xml.etree.ElementTree as tree

import numpy as np
from sklearn.datasets import load_iris

from page_case import PageCase, clusters, column, data_of

EXAMPLES, CLASS_SAMPLES, BINS, BARS = 4, 6, 20, 48


class Page(PageCase):
    def make(self, *arguments, **options):
        self.X, self.y = clusters(**{"n": 400, "classes": 5, "planted": 40, "spread": 1.6, **options})
        self.data = self.analyze(self.X, self.y, *arguments)
        self.samples = self.table("samples.csv")
        self.p = column(self.samples, "mistakenness")
        self.chi = column(self.samples, "rer")
        self.given = np.array([self.data["classes"].index(s["given_label"]) for s in self.samples])
        return self.data

    def test_suspects(self):
        data = self.make()
        rows = [s[0] for s in data["suspects"]]
        ranked = [s[0] for s in data["suspects"] if s[5] & 4]
        flagged = sum(s["is_label_issue"] == "true" for s in self.samples)
        worth = int((self.p >= .05).sum())
        self.assertEqual(len(ranked), max(flagged, 10, min(100, worth)))
        self.assertEqual(rows[:len(ranked)], ranked)
        rows = ranked
        order = np.lexsort((np.arange(len(self.p)), -self.chi, -self.p))  # ties: a larger chi, then the earlier row
        np.testing.assert_array_equal(self.p[rows], self.p[order][:len(rows)])
        for row, given, suggested, p, chi, flagged, *_ in data["suspects"]:
            sample = self.samples[row]
            self.assertEqual(data["classes"][given], sample["given_label"])
            self.assertEqual(np.float32(p), np.float32(sample["mistakenness"]))
            self.assertEqual(np.float32(chi), np.float32(sample["rer"]))
            self.assertEqual(flagged & 1 != 0, sample["is_label_issue"] == "true")
            self.assertEqual(flagged & 2 != 0, sample["is_outlier"] == "true")
            if flagged & 1:
                self.assertEqual(data["classes"][suggested], sample["suggested_label"])
        self.assertEqual(sum(s[5] & 4 for s in self.make("--budget", 130)["suspects"]), 4 * 130)

    def test_likely_labels(self):
        """Their probabilities are parts of the one that the label is wrong, whatever sort of mistakes there are."""
        pairs = np.arange(400) % 3 == 0
        for label in (lambda y: y, lambda y: np.where(pairs & (y < 2), 1 - y, y), lambda y: np.where(pairs, (y + 1) % 5, y)):
            X, y = clusters(n=400, classes=5, planted=40, spread=1.2)
            data = self.analyze(X, label(y))
            looked = 0
            for row, given, suggested, p, *_, likely, _ in data["suspects"]:
                chances = [chance for _, chance in likely]
                others = [(c, chance) for c, chance in likely if c != given]
                self.assertEqual(chances, sorted(chances, reverse=True))
                if not likely:
                    continue
                looked += 1
                np.testing.assert_allclose(dict(likely)[given], 1 - p, atol=1e-6)
                self.assertEqual(others[0][0], suggested)
                np.testing.assert_allclose(sum(chance for _, chance in others), p, rtol=1e-5)  # all five classes
            self.assertGreater(looked, 30)

    def test_examples_are_the_nearest_clean_rows(self):
        data = self.make()
        unit = self.X / np.linalg.norm(self.X, axis=1, keepdims=True)
        predicted = np.array([data["classes"].index(s["predicted_label"]) for s in self.samples])
        issue = np.array([s["is_label_issue"] == "true" for s in self.samples])
        outlier = np.array([s["is_outlier"] == "true" for s in self.samples])
        clean = ~issue & ~outlier & (predicted == self.given) & (self.p < .2)
        self.assertGreater(min((clean & (self.given == c)).sum() for c in range(5)), EXAMPLES)
        for row, given, suggested, _, _, _, like, unlike, *_ in data["suspects"]:
            for c, found in ((given, like), (suggested, unlike)):
                rows = np.flatnonzero(clean & (self.given == c) & (np.arange(len(self.p)) != row))
                nearness = unit[rows] @ unit[row]
                best = np.sort(nearness)[::-1][:EXAMPLES]
                self.assertEqual(len(found), EXAMPLES)
                self.assertTrue(set(found) <= set(rows.tolist()))
                np.testing.assert_allclose(unit[found] @ unit[row], best, atol=1e-6)

    def chart(self, title):
        """A chart of the page, parsed."""
        text = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
        part = next(part for part in re.findall(r"<svg class=\"chart.*?</svg>", text, re.S) if title in part)
        return tree.fromstring(part)

    def test_histogram_of_chi(self):
        self.make(n=3000, planted=300)
        root = self.chart("How χ is spread")
        issue = np.array([s["is_label_issue"] == "true" for s in self.samples])
        for colour, values in (("c1", self.chi), ("c2", self.chi[issue])):
            bars = [e for e in root.iter() if {"bar", colour} <= set(e.get("class", "").split()) and e.find("title") is not None]
            read = np.array([[float(v.replace(",", "")) for v in re.split(" – |: ", bar.find("title").text)] for bar in bars])
            heights = np.array([float(bar.get("height")) for bar in bars])
            self.assertEqual(read[:, 2].sum(), len(values))  # what lies outside is in the first and the last
            np.testing.assert_allclose(heights / heights.sum(), read[:, 2] / len(values), atol=2e-4)
            for low, high, n in read[1:-1]:
                e = 6e-4  # edges are printed with four digits
                self.assertLessEqual(((values > low + e) & (values < high - e)).sum(), n)
                self.assertGreaterEqual(((values > low - e) & (values < high + e)).sum(), n)
        self.assertIn("another class is as near", "".join(root.itertext()))

    def test_probability_against_chi(self):
        self.make(n=3000, planted=300)
        dots = [e for e in self.chart("What χ says about a label").iter()
                if "dot" in e.get("class", "").split() and e.find("title") is not None]
        points = np.array([[float(v) for v in e.find("title").text[:-2].split(", ")] for e in dots])
        self.assertGreater(len(points), 10)
        self.assertTrue((np.diff(points[:, 0]) > 0).all())
        order = np.argsort(self.chi)
        chi, p = self.chi[order], 100 * self.p[order]
        step = np.diff(points[:, 0]).min()
        for x, y in points:  # the median of what lies about there
            near = p[np.abs(chi - x) <= 2 * step]
            self.assertTrue(near.min() * .999 <= y <= near.max() * 1.001, (x, y))
            few = p[np.argsort(np.abs(chi - x))[:5]]
            self.assertTrue(few.min() * .5 - 5 <= y <= few.max() * 2 + 5, (x, y, few))

    def words(self, *arguments, **options):
        self.make(*arguments, **options)
        text = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
        return re.sub(r"<[^>]*>", " ", text.split('<script type="application/json"')[0])

    def test_words(self):
        summary = lambda: json.loads((self.folder / "out" / "summary.json").read_text())
        text = self.words()
        low, high = (round(summary()[name] * 400) for name in ("noise_low", "noise_high"))
        self.assertRegex(text, rf"At least {low} of the 400 labels are wrong, perhaps up to {high}\b")
        self.assertRegex(text, rf"Flagged for review\s+{summary()['n_issues']}\b")
        self.assertIn("rer analyze X.npy y.npy --out results", text)
        self.assertIn(f"rer apply y.npy decisions.csv", text)
        for part in ("How they were computed", "its own class, and of the metric", "whiten", summary()["version"],
                     summary()["checksums"]["labels"]):
            self.assertIn(part, text)
        self.assertNotIn("--budget", text)
        text = self.words("--normalize", "minmax", "--detector", "confident", "--seed", 3)
        for part in ("(minmax)", "another detector", "--normalize minmax", "--seed 3", "--detector confident"):
            self.assertIn(part, text)

    def page_words(self, out="out"):
        text = (self.folder / out / "report.html").read_text(encoding="utf-8").split('<script type="application/json"')[0]
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<style.*?</style>", "", text)))

    def test_other_detectors_count_for_themselves(self):
        for detector in ("confident", "knn", "simifeat"):
            X, y = clusters(n=300, classes=3, planted=20, spread=1)
            self.analyze(X, y, "--detector", detector)
            summary = json.loads((self.folder / "out" / "summary.json").read_text())
            text = self.page_words()
            count = int(re.search(r"Probably wrong labels (\d+)", text)[1])
            self.assertEqual(count, round(300 * summary["noise_rate"]))
            p = column(self.table("samples.csv"), "mistakenness")
            if round(p.sum()) != count:
                self.assertNotIn("sum of all probabilities", text)
            self.assertNotIn("as many as were asked for", text)
            self.assertNotIn("probability above", text)
            self.assertIn(f"Another detector, {detector},", text)
            self.analyze(X, y, "--detector", detector, "--budget", 7)
            self.assertRegex(self.page_words(), "Flagged for review 7 as many as were asked for")
        self.analyze(X, y)
        self.assertIn("the sum of all probabilities", self.page_words())

    def test_a_threshold_is_told_from_its_neighbours(self):
        X, y = clusters(n=300, classes=3, planted=29, spread=8)
        for threshold in (.5, .07, .999999, 0, 1, .1234567):
            self.analyze(X, y, "--threshold", threshold)
            text = self.page_words()
            flagged, shown = re.search(r"Flagged for review (\d+) probability above ([\d.]+) %", text).groups()
            self.assertAlmostEqual(float(shown) / 100, threshold, delta=1e-12)
            p, right = (column(self.table("samples.csv"), name) for name in ("mistakenness", "label_score"))
            self.assertEqual(int(flagged), ((p > threshold) if threshold < .5 else (right < 1 - threshold)).sum())
            fact = re.search(r"threshold \(mistakenness\) ([\d.]+)", text)[1]
            self.assertAlmostEqual(float(fact), threshold, delta=1e-12)
        self.analyze(X, y, "--budget", "100%")
        self.assertNotRegex(self.page_words(), "(probability|χ) above")
        self.analyze(X, y, "--threshold", "paper")
        flagged, shown = re.search(r"Flagged for review (\d+) χ above ([\d.]+)", self.page_words()).groups()
        self.assertEqual(int(flagged), (column(self.table("samples.csv"), "rer") > float(shown)).sum())

    def test_only_steps_that_were_made_are_described(self):
        X, y = clusters(n=300, classes=3, planted=20, spread=1)
        second, left_out = "with the samples next to them", "one without the sample"
        self.analyze(X, y, "--save-model", "model")
        self.assertIn(second, self.page_words())
        self.assertIn(left_out, self.page_words())
        self.assertIn("is looked at without the sample", self.page_words())
        self.rer("score", "model", "X.npy", "y.npy", "--out", "scored", "--quiet")
        for words in (second, left_out, "looked at without the sample"):
            self.assertNotIn(words, self.page_words("scored"))
        self.save("q.npy", np.full((300, 3), 1 / 3))
        for options in (("--pred-probs", "q.npy"), ("--probability", "density"), ("--detector", "knn")):
            self.analyze(X, y, *options)
            self.assertNotIn(second, self.page_words())
            self.assertEqual("your probabilities" in self.page_words(), options[0] == "--pred-probs")
        self.analyze(X, y, "--reconstructor", "published")
        self.assertNotIn(left_out, self.page_words())

    def test_one_label_is_one(self):
        X, y = clusters(n=300, classes=3)
        self.analyze(X, y, "--save-model", "model")
        for i, words in ((0, "does not look"), (1, "looks")):
            self.save("one.npy", X[:1])
            self.save("its.npy", np.array([(y[0] + i) % 3]))
            self.rer("score", "model", "one.npy", "its.npy", "--out", "one", "--quiet")
            text = self.page_words("one")
            self.assertIn(f"The only label {words} wrong", text)
            self.assertIn("The most suspicious label.", text)
            self.assertNotRegex(text, r"\b1 (\w+ )?labels|the 1 ")
        self.rer("score", "model", "one.npy", "--out", "none", "--quiet")
        self.assertRegex(self.page_words("none"), "1 row without a label: it has a suggested one")

    def test_all_is_all(self):
        """All labels of some new rows contradict the model: 100 %, on the page as on the terminal. 2,999 of 3,000 do not."""
        X, y = clusters(n=3000, classes=3)
        self.analyze(X, y, "--save-model", "model")
        for right, words in ((0, "100.0 %"), (1, "over 99.9 %")):
            self.save("others.npy", np.where(np.arange(3000) < right, y, (y + 1) % 3))
            text = self.rer("score", "model", "X.npy", "others.npy", "--out", "scored").stdout
            self.assertIn(f": {words} lie nearest to another class", text)
            self.assertIn("Nearest-class error " + words.replace("over", "&gt;"), self.page_words("scored"))

    def test_an_unknown_difficulty_is_no_number(self):
        X, y = clusters(n=300, classes=3)
        self.analyze(X, y, "--save-model", "model")
        self.save("one.npy", X[:1])
        self.save("its.npy", (y[:1] + 1) % 3)
        text = self.rer("score", "model", "one.npy", "its.npy", "--out", "one").stdout
        self.assertIn("\nDifficulty unknown: 100.0 % lie nearest", text)

    def test_one_meaning_of_one_number(self):
        X, y = clusters(n=300, classes=3, planted=20, spread=1)
        self.analyze(X, y)
        self.assertIn("Probably wrong, likely wrong How many labels are wrong", self.page_words())
        self.analyze(X, y, "--detector", "knn")
        self.assertIn("Likely wrong The mean mistakenness of a class or group, by the detector", self.page_words())

    def test_nothing_is_likely_wrong(self):
        X, y = clusters(n=300, classes=3, spread=8)
        self.analyze(X, y)
        self.assertIn("Hardly any of these labels is wrong: they are the least clear of all.", self.page_words())

    def test_advice_is_worth_it(self):
        """More is to be looked at only where more is found: one in 20 at least, one at all, never after the good place to
        stop, and not where it is all there is."""
        r = np.random.default_rng(0)
        given = 0
        for X, y in (load_iris(return_X_y=True), (r.normal(size=(20, 4)), np.arange(20) % 2),
                     (r.normal(size=(60, 4)), np.arange(60) % 4), clusters(n=300, planted=30, spread=.6),
                     clusters(n=600, classes=4, planted=60, spread=.6),
                     clusters(n=1000, classes=10, planted=100, spread=.5)):
            self.analyze(X.astype("f4"), y)
            text = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
            text = re.sub(r"<[^>]*>", "", text.split('<script type="application/json"')[0])
            p = np.sort(column(self.table("samples.csv"), "mistakenness"))[::-1]
            flagged = (p > .5).sum()
            advice = re.search(r"the first ([\d,]+) \(--budget (\d+)\) would hold about ([\d,]+) (.*?)\.", text)
            if advice is None:
                continue
            given += 1
            count, budget, wrong = (int(number.replace(",", "")) for number in advice.groups()[:3])
            self.assertEqual(count, budget)
            self.assertLess(count, len(y))
            self.assertGreaterEqual(p[flagged:count].sum(), max(1, (count - flagged) / 20) - 1e-5)
            self.assertAlmostEqual(wrong, p[:count].sum(), delta=.5001)
            self.assertEqual(advice[4], "wrong one" if wrong == 1 else "wrong ones")
            if "a good place to stop" in text:
                shown = re.search(r"The ([\d,]+) most suspicious labels", text)
                self.assertLessEqual(count, int(shown[1].replace(",", "")))
        self.assertGreaterEqual(given, 2)

    def test_words_of_clusters(self):
        X, y = clusters(n=400, classes=4, spread=1.2)
        self.save("X.npy", X)
        self.rer("analyze", "X.npy", "--clusters", 4, "--out", "out", "--quiet")
        text = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
        text = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|script).*?</\1>", "", text))
        rate = json.loads((self.folder / "out" / "summary.json").read_text())["noise_rate"]
        doubtful = round(400 * rate)
        self.assertIn(f"4 clusters: about {doubtful} of the 400 samples may belong to another one" if doubtful else
                      "4 clusters, apart from each other: hardly any of the 400 samples lies between two", text)
        self.assertNotRegex(text, "(?i)labels? (is|are|looks?) wrong|wrong labels|label is suspicious")

    def test_outliers_are_no_count_where_classes_overlap(self):
        caution = "good samples are among them: the order says more than the number"
        self.assertIn(caution, self.words(n=3000, classes=10, spread=.5, planted=0))
        marked = sum(s["is_outlier"] == "true" for s in self.samples)
        self.assertGreater(marked, 60)
        self.assertNotIn(caution, self.words(n=3000, classes=5, spread=20, planted=0))

    def test_outliers(self):
        X, y = clusters(n=400, classes=4, spread=3)
        X[:9] = 40 * np.random.default_rng(3).normal(size=(9, X.shape[1]))
        data = self.analyze(X, y)
        samples = self.table("samples.csv")
        rows = [row for row, sample in enumerate(samples) if sample["is_outlier"] == "true"]
        score = column(samples, "outlier_score")
        self.assertGreater(len(rows), 0)
        self.assertEqual([row for row, _ in data["outliers"]], sorted(rows, key=lambda row: (-score[row], row))[:36])
        for row, given in data["outliers"]:
            self.assertEqual(data["classes"][given], samples[row]["given_label"])
            self.assertIn(str(row), data["bars"])

    def test_classes(self):
        data = self.make()
        table = {c["label"]: c for c in self.table("classes.csv")}
        own, other = column(self.samples, "own_error"), column(self.samples, "best_other_error")
        chis = [row[1] for row in data["table"]]
        self.assertEqual(chis, sorted(chis, reverse=True))
        for c, (n, chi, noise, issues, confused, low, high, heights, easy, hard) in enumerate(data["table"]):
            row = table[data["classes"][c]]
            self.assertEqual([n, issues], [int(row["n"]), int(row["n_issues"])])
            self.assertEqual(np.float32(chi), np.float32(row["chi"]))
            self.assertEqual(np.float32(noise), np.float32(row["noise_rate"]))
            self.assertEqual(data["classes"][confused] if confused >= 0 else "", row["most_confused_with"])
            mine = self.given == c
            both = np.concatenate([own[mine], other[mine]])
            end = min(both.max(), both.mean() + 3 * both.std())  # larger ones are in the last bin
            np.testing.assert_allclose([low, high], [both.min(), end], rtol=1e-6)
            counts = [np.histogram(np.minimum(e[mine], end), bins=BINS, range=(both.min(), end))[0] for e in (own, other)]
            most = max(map(np.max, counts))
            expected = np.ceil(35 * np.concatenate(counts) / most)
            got = [int(digit, 36) for digit in heights]
            self.assertLessEqual(np.abs(got - expected).sum(), 3)  # a value on an edge may fall to either side
            ranked = np.flatnonzero(mine)[np.argsort(self.chi[mine], kind="stable")]
            np.testing.assert_array_equal(self.chi[easy], self.chi[ranked[:CLASS_SAMPLES]])
            np.testing.assert_array_equal(self.chi[hard], self.chi[ranked[::-1][:CLASS_SAMPLES]])

    def test_pairs(self):
        data = self.make()
        predicted = np.array([data["classes"].index(s["predicted_label"]) for s in self.samples])
        counts = np.zeros((5, 5), int)
        np.add.at(counts, (self.given, predicted), 1)
        got = np.diag(np.diag(counts))
        for a, b, ab, ba in data["pairs"]:
            got[a, b], got[b, a] = ab, ba
        np.testing.assert_array_equal(got, counts)

    def test_order_brings_confused_classes_together(self):
        random = np.random.default_rng(5)
        classes, d = 60, 24
        centres = 6 * random.normal(size=(classes // 3, d)).repeat(3, axis=0)  # groups of three that overlap
        centres += .2 * random.normal(size=centres.shape)
        shuffled = random.permutation(classes)
        y = np.arange(classes * 30) % classes
        X = (centres[shuffled][y] + random.normal(size=(len(y), d))).astype("f4")
        data = self.analyze(X, y)
        group = shuffled // 3
        order = [group[int(data["classes"][c])] for c in data["order"]]
        self.assertEqual(sorted(data["order"]), list(range(classes)))
        self.assertEqual(sum(a != b for a, b in zip(order, order[1:])), classes // 3 - 1)  # each group in one piece
        blocks = data["blocks"]
        self.assertEqual(blocks, sorted(blocks))
        self.assertEqual([a != b for a, b in zip(blocks, blocks[1:])], [a != b for a, b in zip(order, order[1:])])

    def test_bars(self):
        for d in (8, 100):
            data = self.make(d=d)
            rows = np.array(sorted(map(int, data["bars"])))
            n = min(d, BARS)
            z = (self.X[rows] - self.X[rows].mean(0, dtype="f8")) / self.X[rows].std(0, dtype="f8")
            edges = [k * d // n for k in range(n + 1)]
            bars = np.stack([z[:, a:b].sum(1) / np.sqrt(b - a) for a, b in zip(edges, edges[1:])], 1)
            got = np.array([data["bars"][str(row)] for row in rows])
            np.testing.assert_allclose(got, np.clip(100 * bars / 3, -100, 100), atol=.51)

    def test_same_page_at_any_number_of_threads(self):
        X, y = clusters(n=500, planted=30, spread=1.5)
        pages = []
        for threads in (1, 2, 5):
            self.analyze(X, y, "--threads", threads, out=f"out{threads}")
            page = data_of(self.folder / f"out{threads}" / "report.html")
            pages.append(page)
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(pages[0], pages[2])

    def test_values_stand_behind_class_names(self):
        X, y = clusters(planted=10)
        names = self.save("names.txt", "one\ntwo\nthree\n")
        data = self.analyze(X, y + 5, "--class-names", names)
        self.assertEqual({n: v for n, v in zip(data["classes"], data["values"])}, {"one": "5", "two": "6", "three": "7"})
        self.assertIsNone(self.analyze(X, y)["values"])

    def test_telling_columns(self):
        """Of a CSV with a header: the columns in which a suspect is nearest to one class's median and not the other's."""
        X, y = clusters(n=240, d=9, classes=3, planted=12, spread=1.6)
        X *= np.array([1, 100, .01, 1, 1, 1, 1, 1, 1], "f4")
        names = [f'"column, {j}"' for j in range(9)]
        lines = [",".join([*map(repr, row.tolist()), str(c)]) for row, c in zip(X, y)]
        self.save("t.csv", "\n".join([",".join([*names, "kind"]), *lines]) + "\n")
        self.rer("analyze", "t.csv", "--label-column", "kind", "--out", "out", "--quiet")
        data, samples = data_of(self.folder / "out" / "report.html"), self.table("samples.csv")
        self.assertEqual(data["columns"], [f"column, {j}" for j in range(9)])
        p = column(samples, "mistakenness")
        clean = [s["is_label_issue"] == "false" and s["is_outlier"] == "false" and s["predicted_label"] == s["given_label"]
                 for s in samples] & (p < .2)
        rows = [X[clean & (y == c)].astype("f8") for c in range(3)]
        self.assertLess(max(map(len, rows)), 128)  # all of them are looked at
        middle = np.array([np.sort(r, axis=0)[len(r) // 2] for r in rows])
        spread = np.mean([(np.sort(r, axis=0)[len(r) - 1 - len(r) // 4] - np.sort(r, axis=0)[len(r) // 4]) / 2
                          for r in rows], axis=0)
        for suspect in data["suspects"]:
            row, telling = suspect[0], np.array(suspect[14])
            given, suggested = (middle[int(data["classes"][c])] for c in suspect[1:3])
            says = np.abs((X[row] - given) ** 2 - (X[row] - suggested) ** 2) / spread ** 2
            found = telling[:, 0].astype(int)
            np.testing.assert_allclose(says[found], np.sort(says)[::-1][:6], rtol=1e-4)
            np.testing.assert_allclose(telling[:, 1:], np.stack([X[row], given, suggested], 1)[found], rtol=1e-5)
        self.assertEqual(self.analyze(X, y)["columns"], [])  # no names, no values: bars

    def test_neighbours_are_those_of_the_second_look(self):
        data = self.make()
        near = {int(s["index"]): s["nearest_rows"] for s in self.samples if s["is_label_issue"] == "true"}
        self.assertTrue(any(near.values()))
        for suspect in data["suspects"]:
            row, labels, rows = suspect[0], suspect[12], suspect[13]
            self.assertEqual([self.given[r] for r in rows], labels[:4])
            if row in near:
                self.assertEqual(rows, [int(r) for r in re.findall(r"\d+", near[row])][:4])

    def test_the_command_repeats_the_run(self):
        """With the options that are not at their defaults, and those alone."""
        X, y = clusters(planted=10)
        for told in ([], ["--normalize", "unit", "--details", "--seed", "5"]):
            self.analyze(X, y, *told)
            text = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
            words = re.search("<pre><code>rer (.*?)</code></pre>", text)[1].split()
            options = words[3:words.index("--out")]
            self.assertEqual(sorted(options), sorted(told))
            before = self.table("samples.csv")
            self.rer(*words)
            self.assertEqual(self.table("samples.csv", out="results"), before)

    def test_many_classes_and_no_labels(self):
        random = np.random.default_rng(0)
        X, y = random.normal(size=(6000, 6)).astype("f4"), np.arange(6000) // 2
        data = self.analyze(X, y)
        self.assertEqual([len(data["table"]), len(data["classes"]), len(data["order"])], [2000, 3000, 2000])
        self.rer("analyze", "X.npy", "y.npy", "--save-model", "m", "--quiet")
        self.rer("score", "m", "X.npy", "--out", "scored", "--quiet")
        self.assertEqual(data_of(self.folder / "scored" / "report.html")["suspects"], [])


if __name__ == "__main__":
    unittest.main()
