"""rer sweep: one analysis for each value, the same numbers as rer analyze gives."""
import csv
import os
import unittest

import numpy as np

from cli_case import CliCase


class Sweep(CliCase):
    def rows(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_rows_are_those_of_analyze(self):
        X, y = self.save_clusters(planted=12)
        done = self.rer("sweep", X, y, "--over", "shrinkage=.05,.5", "--out", "sweep.csv")
        rows = self.rows("sweep.csv")
        self.assertEqual([row["value"] for row in rows], [".05", ".5"])
        self.assertEqual(len(done.out.splitlines()), 3)
        for row in rows:
            self.rer("analyze", X, y, "--shrinkage", row["value"], "--out", "out", "--quiet")
            summary = self.summary()
            for key in ("chi", "chi0", "chi_rand", "noise_rate", "error_rate"):
                self.assertAlmostEqual(float(row[key]), summary[key], delta=1e-8)
            self.assertEqual(int(row["n_issues"]), summary["n_issues"])

    def test_options_of_a_reconstructor(self):
        X, y = self.save_clusters(n=60)
        self.rer("sweep", X, y, "--reconstructor", "autoencoder", "--folds", "1", "--hidden", "8", "--over",
                 "neighbors=5,10", "--out", "sweep.csv", "--quiet")
        self.assertEqual([row["value"] for row in self.rows("sweep.csv")], ["5", "10"])

    def test_bad_values(self):
        X, y = self.save_clusters(n=60)
        self.assertIn("--over", self.rer("sweep", X, y, code=2).err)
        self.assertIn("--over", self.rer("sweep", X, y, "--over", "shrinkage", code=2).err)
        self.assertIn("shrinkage", self.rer("sweep", X, y, "--over", "shrinkage=.1,7", "--out", "s.csv", code=2).err)
        self.assertIn("colour", self.rer("sweep", X, y, "--over", "colour=1", code=2).err)
        self.assertNotIn("s.csv", os.listdir(self.folder))

    def test_no_file_after_a_failure(self):
        X, y = self.save_clusters(n=60)
        self.rer("sweep", X, self.save("short.npy", np.arange(9)), "--over", "seed=1,2", "--out", "s.csv",
                 code=1)
        self.assertEqual([name for name in os.listdir(self.folder) if "s.csv" in name], [])


if __name__ == "__main__":
    unittest.main()
