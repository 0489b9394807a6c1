"""`rer analyze --detector`: the verdicts of the detectors as the outputs have them.

RER_COMMAND names the program, RER_RUN_DETECTOR the helper that runs detectors alone, RER_SCHEMA the schema of
summary.json."""
import csv
import json
import os
import subprocess
import unittest

import jsonschema

from detector_case import DetectorCase, made_data, np, planted

COMMAND = os.environ["RER_COMMAND"]


def column(rows, name):
    return np.array([float(row[name] or "nan") for row in rows])


class Analyze(DetectorCase):
    def analyze(self, detector, *words, code=0):
        done = subprocess.run([COMMAND, "analyze", self.path("X.npy"), self.path("y.npy"), "--out", self.path("out"),
                               "--detector", detector, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        if code != 0:
            return done.stderr
        tables = []
        for name in ("samples", "classes"):
            with open(self.path(f"out/{name}.csv"), newline="") as file:
                tables.append(list(csv.DictReader(file)))
        with open(self.path("out/summary.json")) as file:
            summary = json.load(file)
        with open(os.environ["RER_SCHEMA"]) as file:
            jsonschema.validate(summary, json.load(file))
        return *tables, summary

    def made(self):
        X, y = made_data(0, 10, 4, 1, sizes=[200, 120, 60, 1])
        y = np.where(np.arange(len(y)) < 380, planted(y, .15), y).astype(np.int32)
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)
        return X, y

    def test_outputs_are_the_detector_s(self):
        X, y = self.made()
        ours = self.analyze("rer")
        for name in ("confident", "simifeat", "knn"):
            with self.subTest(name):
                samples, classes, summary = self.analyze(name)
                verdict = self.run_detectors(X, y, name)
                wrong, flagged = verdict.mistakenness, verdict.flagged
                np.testing.assert_allclose(column(samples, "mistakenness"), wrong, atol=1e-6)
                np.testing.assert_allclose(column(samples, "label_score"), 1 - wrong, atol=1e-6)
                np.testing.assert_array_equal([row["is_label_issue"] == "true" for row in samples], flagged)
                suggested = column(samples, "suggested_label")
                np.testing.assert_array_equal(suggested[flagged], verdict.suggested[flagged])
                self.assertTrue(np.isnan(suggested[~flagged]).all())
                for c in range(4):
                    self.assertAlmostEqual(float(classes[c]["noise_rate"]), wrong[y == c].mean(), 5)
                    self.assertEqual(int(classes[c]["n_issues"]), flagged[y == c].sum())
                self.assertEqual(summary["detector"], name)
                self.assertEqual(summary["n_issues"], flagged.sum())
                self.assertAlmostEqual(summary["noise_rate"], verdict.noise_rate, 9)
                self.assertIsNone(summary["threshold"])
                self.assertAlmostEqual(summary["expected_wrong"], wrong[flagged].sum(), 6)
                self.assertTrue(any(name in note for note in summary["notes"]))
                for kept in ("rer", "own_error", "predicted_label"):  # the reconstructor's
                    self.assertEqual([row[kept] for row in samples], [row[kept] for row in ours[0]])

    def test_settings_of_confident(self):
        X, y = self.made()
        for words, name in ((["--classifier-rows", "unit", "--classifier-c", "10"], "confident-unit-c10"),
                            (["--quality", "margin"], "confident-margin")):
            samples, _, _ = self.analyze("confident", *words)
            np.testing.assert_allclose(column(samples, "mistakenness"), self.run_detectors(X, y, name).mistakenness,
                                       atol=1e-6)
        flags = {}
        for prune in ("noise-rate", "class", "both", "joint"):
            samples, _, _ = self.analyze("confident", "--prune-by", prune)
            flags[prune] = np.array([row["is_label_issue"] == "true" for row in samples])
        np.testing.assert_array_equal(flags["both"], flags["noise-rate"] & flags["class"])
        self.assertTrue((flags["joint"] != flags["class"]).any())

    def test_threshold_and_budget(self):
        X, y = self.made()
        wrong = self.run_detectors(X, y, "knn").mistakenness
        samples, _, summary = self.analyze("knn", "--threshold", ".75")
        flagged = np.array([row["is_label_issue"] == "true" for row in samples])
        np.testing.assert_array_equal(flagged[:380], wrong[:380] > .75)  # the last one is alone in its class
        self.assertEqual(summary["threshold"], .75)
        samples, _, summary = self.analyze("confident", "--budget", "17")
        self.assertEqual(sum(row["is_label_issue"] == "true" for row in samples), 17)
        wrong = column(samples, "mistakenness")
        flagged = np.array([row["is_label_issue"] == "true" for row in samples])
        self.assertGreaterEqual(wrong[flagged].min(), wrong[~flagged].max())

    def test_the_paper_s_threshold_is_for_ratios(self):
        self.made()
        self.assertIn("--threshold paper", self.analyze("knn", "--threshold", "paper", code=2))

    def test_rows_without_a_label_keep_our_suggestion(self):
        X, y = self.made()
        y[5::9] = -1
        np.save(self.path("y.npy"), y)
        ours, _, _ = self.analyze("rer")
        samples, _, _ = self.analyze("confident")
        for row in np.flatnonzero(y < 0):
            self.assertEqual(samples[row], ours[row])


if __name__ == "__main__":
    unittest.main()
