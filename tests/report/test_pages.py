"""scale.html, bench.html and compare.html in a browser: the numbers in their tables are those of the CSV files beside
them, users' texts stay texts, nothing is asked of the network."""
import csv
import json
import os
import re
import subprocess

import numpy as np

import browser_case
from browser_case import EVIL, BrowserCase
from page_case import clusters

COMMAND = os.environ["RER_COMMAND"]


class Pages(BrowserCase):
    def rer(self, *arguments):
        subprocess.run([COMMAND, *map(str, arguments)], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)

    def save(self, name, X, y):
        np.save(self.folder / f"X{name}.npy", X)
        np.save(self.folder / f"y{name}.npy", y)

    def table(self, page, caption):
        """Rows of a table: numbers as they are sorted by, texts as they stand."""
        return page.evaluate("""caption => {
            const table = Array.from(document.querySelectorAll('table')).find(t => t.caption.textContent === caption);
            return Array.from(table.tBodies[0].rows, row => Array.from(row.cells, cell =>
                cell.dataset.sort === undefined ? cell.textContent : cell.dataset.sort === '' ? null : Number(cell.dataset.sort)));
        }""", caption)

    def read(self, path):
        with open(self.folder / path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def look_at(self, path, name):
        page = self.open(self.folder / path)
        self.shoot_all(page, name)
        self.assert_accessible(page)
        self.assert_fits_paper(page)
        page.emulate_media(media="screen")
        return page

    def near(self, a, b):
        np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-6)

    def test_scale(self):
        self.save("", *clusters(n=600, classes=4, spread=1.0))
        self.rer("scale", "X.npy", "y.npy", "--sizes", "20,30,40,60,80,100", "--repeats", "2", "--out", "scaling")
        page = self.look_at("scaling/scale.html", "scale")
        data = json.loads((self.folder / "scaling" / "scale.json").read_text())
        points = self.table(page, "Points")
        self.assertEqual(len(points), len(data["points"]))
        for shown, point in zip(points, data["points"]):
            mean = lambda name: point[name]["mean"] if isinstance(point[name], dict) else point[name]
            self.near([shown[0], shown[2], shown[3]], [point["n"], mean("error_rate"), mean("chi")])
        laws = self.table(page, "Laws")
        self.near(laws[1][1:5], [data["chi_inf"], *data["intervals"]["chi_inf"], data["finite_size"]])
        self.near(laws[0][1], data["error_rate"]["error_rate_inf"])  # the error first
        now = data["points"][-1]["error_rate"]
        now = now["mean"] if isinstance(now, dict) else now
        for shown, name in zip(self.table(page, "Forecasts")[1:], ("collect", "prune"), strict=True):
            forecast = data["forecasts"][name]
            self.near(shown[3:5], [forecast["error_rate"], forecast["chi"]])
            fewer = 1000 * (now - forecast["error_rate"])
            chance = 1000 * np.sqrt(now * (1 - now) / 600)
            words = ("hardly any difference" if abs(fewer) < max(.5, chance) else
                     f"{abs(fewer):.0f} {'fewer' if fewer > 0 else 'more'} error{'' if abs(fewer) < 1.5 else 's'} in 1,000 samples")
            self.assertEqual(shown[1], words)
        self.assertEqual(page.locator(".numbers dt").first.inner_text(), "Nearest-class error")
        self.assertRegex(page.inner_text("h1"), r"error (of|from) [\d.]+ %")
        self.assertEqual(page.locator("svg.chart").count(), 2)

    def test_bench(self):
        self.save("", *clusters(n=240, classes=3, spread=1.2))
        self.rer("bench", "X.npy", "y.npy", "--rates", ".1,.2", "--seeds", "2", "--out", "comparison")
        page = self.look_at("comparison/bench.html", "bench")
        rows = [row for row in self.read("comparison/bench.csv") if row["noise"] != "none"]
        means = {row[0]: row for row in self.table(page, "Detectors")}
        for place, metric in ((1, "auroc"), (3, "f1"), (5, "ece"), (7, "noise_rate_error")):
            for name, shown in means.items():
                cells = {}
                for row in rows:
                    if row["detector"] == name and row["metric"] == metric:
                        cells.setdefault((row["noise"], row["rate"]), []).append(float(row["value"]))
                if cells:
                    self.near(shown[place], np.mean([np.mean(values) for values in cells.values()]))
                else:
                    self.assertIsNone(shown[place])
        self.assertEqual(len(self.table(page, "AUROC by kind and rate of noise")), len({(r["noise"], r["rate"]) for r in rows}))
        best = max(means.values(), key=lambda row: row[1])[0]
        cells = json.loads((self.folder / "comparison/bench.json").read_text())["cells"][1:]
        headline = re.fullmatch(r"(\S+) has the largest mean AUROC, \S+; ahead of all others beyond chance in (\d+) of (\d+) .*",
                                page.inner_text("h1"))
        self.assertEqual((headline[1], int(headline[3])), (best, len(cells)))
        bold = page.locator("table:has(caption:text-is('AUROC by kind and rate of noise')) tbody tr")
        for row, shown in enumerate(self.table(page, "AUROC by kind and rate of noise")):
            self.assertEqual(bold.nth(row).locator(".best").count(), int(shown[6] > 0 or shown[7] < 0))
        self.assertGreater(page.locator("svg.chart").count(), 9)
        heads = page.locator("table:has(caption:text-is('Detectors')) th.n").all_inner_texts()
        self.assertEqual(page.locator(".meanings dt").all_inner_texts(), heads)  # each has a line
        self.assertTrue(all(len(text) > 20 for text in page.locator(".meanings dd").all_inner_texts()))

    def test_names_of_files_stay_texts(self):
        evil = "<img src=x onerror=window.evil=1>'\"&"
        X, y = clusters(n=240, classes=3, spread=1.2)
        self.save(evil, X, y)
        np.save(self.folder / f"human {evil}.npy", np.where(np.arange(240) % 10 == 0, (y + 1) % 3, y))
        self.rer("scale", f"X{evil}.npy", f"y{evil}.npy", "--sizes", "20,30,40", "--repeats", "1", "--out", "evil-scale")
        self.rer("bench", f"X{evil}.npy", f"y{evil}.npy", "--noise", "none", "--human", f"human {evil}.npy",
                 "--detectors", "rer,knn", "--out", "evil-bench")
        for path in ("evil-scale/scale.html", "evil-bench/bench.html"):
            page = self.open(self.folder / path)
            self.assertIn(f"X{evil}.npy", page.inner_text("header"))
            self.assert_harmless(page)
        self.assertIn(f"human {evil}", page.inner_text("main"))

    def test_compare(self):
        names = ["plain", "evil <img src=x onerror=window.evil=1>'\"&", "third"]
        X, y = clusters(n=1500, classes=3, planted=10, spread=1.5)
        labels = np.array(["a", EVIL, "c"])[y]
        for i, name in enumerate(names):
            self.save(i, (X + i * np.random.default_rng(i).normal(size=X.shape)).astype("f4"), labels)
            self.rer("analyze", f"X{i}.npy", f"y{i}.npy", "--out", name, "--quiet")
        self.rer("compare", *names, "--out", "agreement")
        page = self.look_at("agreement/compare.html", "compare")
        self.assert_harmless(page)
        pairs = self.read("agreement/agreement.csv")
        for shown, row in zip(self.table(page, "Agreement of pairs"), pairs, strict=True):
            self.assertEqual(shown[:2], [row["run_a"], row["run_b"]])
            self.near(shown[2:], [row[n] for n in ("spearman_samples", "spearman_classes", "ndcg_samples", "ndcg_classes")])
        headline = page.inner_text("h1")
        for row in pairs:  # all of them
            self.assertIn(f"{float(row['spearman_samples']):.2f} ({row['run_a']}, {row['run_b']})", headline)
        found = self.table(page, "Disagreements")
        self.assertEqual([row[0] for row in found], [int(row["index"]) for row in self.read("agreement/disagreements.csv")])
        self.assertIn(EVIL, {row[1] for row in found})
        rows = page.locator("table", has_text="Disagreements").locator("tbody tr td:first-child").all_text_contents()
        self.assertIn(4, map(len, rows), "a row beyond the thousandth")
        self.assertNotIn(",", "".join(rows))
        self.assertEqual(page.locator("svg.chart").count(), 4)

    def test_details_of_an_analysis(self):
        X, y = clusters(n=300, classes=4, planted=20, spread=1.2)
        self.save("", X, y)
        (self.folder / "groups.txt").write_text("".join(f"{EVIL[:20]} {row % 3}\n" for row in range(300)))
        self.rer("analyze", "X.npy", "y.npy", "--subsets", "groups.txt", "--out", "details", "--quiet")
        page = self.open(self.folder / "details" / "report.html")
        rows = self.read("details/subset_details.csv")
        for shown, row in zip(self.table(page, "Groups"), rows, strict=True):
            self.assertEqual(shown[:2], [row["subset"], int(row["n"])])
            self.near([shown[2], shown[6], shown[7]], [row["chi"], row["error_rate"], row["noise_rate"]])
        rows = self.read("details/pair_details.csv")
        for shown, row in zip(self.table(page, "Pairs in detail"), rows, strict=True):
            self.assertEqual(shown[:2], [row["label_a"], row["label_b"]])
            self.near([shown[3], shown[4]], [row["pair_error_rate"], row["pair_difficulty"]])
        self.assert_harmless(page)

    def test_compare_labels_and_data_sets(self):
        X, y = clusters(n=200, classes=3, planted=20)
        clean = clusters(n=200, classes=3)[1]
        self.save("", X, y)
        np.save(self.folder / "clean.npy", clean)
        self.rer("analyze", "X.npy", "y.npy", "--out", "before", "--quiet")
        self.rer("analyze", "X.npy", "clean.npy", "--out", "after", "--quiet")
        self.rer("compare", "before", "after", "--out", "changes")
        page = self.open(self.folder / "changes" / "compare.html")
        self.assertEqual(self.table(page, "Changes of labels")[0][:2], ["after", 20])
        self.assertTrue(page.inner_text("h1").startswith("20 changed labels"))
        self.save("2", *clusters(n=150, classes=4, seed=3, spread=1.0))
        self.rer("analyze", "X2.npy", "y2.npy", "--out", "other", "--quiet")
        self.rer("compare", "before", "other", "--out", "sets")
        page = self.open(self.folder / "sets" / "compare.html")
        self.assertEqual(page.locator("svg.chart").count(), 2)
        self.assertEqual([row[0] for row in self.table(page, "Runs")], ["before", "other"])


if __name__ == "__main__":
    browser_case.main()
