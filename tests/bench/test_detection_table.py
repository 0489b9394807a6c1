"""bench/detection_table.py on small runs of rer bench: its means, bars and tables against the tidy CSV.

RER_COMMAND names the program, RER_SOURCE the folder of the project."""
import csv
import importlib.util
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

COMMAND = os.environ["RER_COMMAND"]
SOURCE = pathlib.Path(os.environ["RER_SOURCE"])
spec = importlib.util.spec_from_file_location("detection_table", SOURCE / "bench" / "detection_table.py")
detection_table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(detection_table)

RUNS = {"dtd-symmetric": ["--noise", "symmetric", "--rates", ".1,.3"],
        "food10-asymmetric": ["--noise", "asymmetric", "--rates", ".1"],
        "cifar10_effnet-human": ["--noise", "none", "--human", "x_aggre.npy", "x_worse.npy"]}


class DetectionTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rer-table-")
        cls.out = pathlib.Path(cls.temporary.name)
        random = np.random.default_rng(0)
        y = np.arange(300) % 3
        X = (random.normal(size=(3, 6))[y] + random.normal(size=(300, 6))).astype("f4")
        for name, content in (("X", X), ("y", y), ("x_aggre", np.where(random.random(300) < .05, (y + 1) % 3, y)),
                              ("x_worse", np.where(random.random(300) < .3, (y + 1) % 3, y))):
            np.save(cls.out / (name + ".npy"), content)
        for name, words in RUNS.items():
            subprocess.run([COMMAND, "bench", "X.npy", "y.npy", *words, "--seeds", "2", "--bootstrap", "50", "--detectors",
                            "rer,chi,confident,confident-margin,knn", "--out", name, "--quiet"], cwd=cls.out, check=True)
        cls.rows = []
        for name in RUNS:
            with open(cls.out / name / "bench.csv", newline="", encoding="utf-8") as file:
                cls.rows += [dict(row, set=name) for row in csv.DictReader(file)]
        cls.results = detection_table.Results(cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_results_of_an_older_program_are_made_anew(self):
        program, result = self.out / "program", self.out / "result"
        self.assertFalse(detection_table.is_current(result, COMMAND))
        for file, time in ((program, 1000), (result, 2000)):
            file.touch()
            os.utime(file, (time, time))
        self.assertTrue(detection_table.is_current(result, str(program)))
        os.utime(program, (3000, 3000))
        self.assertFalse(detection_table.is_current(result, str(program)))

    def means(self, detector, metric, kinds=("symmetric", "asymmetric", "human")):
        """Of each cell, by hand."""
        cells = {}
        for row in self.rows:
            if (row["detector"], row["metric"]) == (detector, metric) and row["noise"].split(":")[0] in kinds:
                cells.setdefault((row["set"], row["noise"], row["rate"]), []).append(float(row["value"]))
        return np.array([np.mean(values) for _, values in sorted(cells.items())])

    def bar(self, start):
        found = [(value, holds) for what, _, value, holds in detection_table.bars(self.results) if what.startswith(start)]
        self.assertTrue(found, start)
        return found[0]

    def test_bars(self):
        theirs = {name: self.means(name, "auroc") for name in ("confident", "confident-margin", "knn")}
        ours = self.means("rer", "auroc")
        self.assertEqual(len(ours), 5)
        value, holds = self.bar("mean AUROC above the best single")
        self.assertAlmostEqual(value, ours.mean() - max(values.mean() for values in theirs.values()))
        self.assertEqual(holds, value >= .015)
        best = np.max(list(theirs.values()), axis=0)
        self.assertAlmostEqual(self.bar("mean AUROC above an oracle")[0], ours.mean() - best.mean())
        self.assertAlmostEqual(self.bar("share of cells at most")[0], (ours - best >= -.005).mean())
        planted = ("symmetric", "asymmetric")
        value, holds = self.bar("F1 of the flags over the best")
        self.assertAlmostEqual(value, self.means("rer", "f1", planted).mean() /
                               self.means("rer", "best_f1", planted).mean())
        self.assertEqual(holds, value >= .95)
        confident = max(self.means(name, "f1").mean() for name in ("confident", "confident-margin"))
        self.assertAlmostEqual(self.bar("mean F1 of the flags above")[0], self.means("rer", "f1").mean() - confident)
        self.assertAlmostEqual(self.bar("calibration error, symmetric")[0], self.means("rer", "ece", ("symmetric",)).mean())
        self.assertAlmostEqual(self.bar("noise rate, mean error, asymmetric")[0],
                               self.means("rer", "noise_rate_error", ("asymmetric",)).mean())
        expected, wrong = (self.means("rer", name + "@100", planted) for name in ("expected_wrong", "wrong"))
        self.assertAlmostEqual(self.bar("what a budget buys, first 100: mean error")[0], np.abs(expected / wrong - 1).mean())
        self.assertAlmostEqual(self.bar("what a budget buys, first 100: error of the statement, all")[0],
                               abs(expected.sum() / wrong.sum() - 1))
        self.assertAlmostEqual(self.bar("noise rate, error, cifar10_effnet, people (worse)")[0],
                               self.means("rer", "noise_rate_error", ("human",))[1])
        self.assertAlmostEqual(self.bar("noise rate, share of cells that the range covers")[0],
                               self.means("rer", "interval_covers").mean())
        self.assertAlmostEqual(self.bar("noise rate, mean width")[0], self.means("rer", "interval_width").mean())
        self.assertEqual(self.bar("noise rate of flowers102 as it is"), (None, None))  # no such run

    def test_page(self):
        text = detection_table.PAGE.read_text()
        filled = detection_table.fill(text, self.results)
        self.assertNotIn("Not measured yet", filled)
        self.assertEqual(filled, detection_table.fill(filled, self.results))
        marks = re.compile(r"(<!-- \w+ -->\n).*?(\n<!-- end -->)", re.S)
        self.assertEqual(marks.sub(r"\1\2", filled), marks.sub(r"\1\2", text))  # the text stays
        self.assertIn("| dtd, symmetric 30 % |", filled)
        self.assertIn("| cifar10_effnet, people (aggre) |", filled)
        for line in filled.splitlines():
            if line.startswith("| confident-margin |"):
                self.assertIn("| %.3f |" % self.means("confident-margin", "average_precision").mean(), line)
                break
        else:
            self.fail("confident-margin has no row")

    def test_other_detectors_are_not_mixed(self):
        self.assertEqual(len(self.results.missing), 13)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            for name, detectors in (("dtd-symmetric", '["rer"]'), ("dtd-asymmetric", '["rer", "knn"]')):
                (out / name).mkdir()
                (out / name / "bench.json").write_text('{"detectors": %s, "cells": [{"detectors": {}}]}' % detectors)
            with self.assertRaises(SystemExit):
                detection_table.Results(out)


if __name__ == "__main__":
    unittest.main()
