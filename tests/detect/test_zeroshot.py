"""The zero-shot detector against plain numpy, through the command.

RER_COMMAND names the program."""
import csv
import json
import os
import subprocess
import unittest

from detector_case import DetectorCase, made_data, np, planted

COMMAND = os.environ["RER_COMMAND"]


def mistakenness(X, y, embeddings, temperature):
    unit = X / np.linalg.norm(X.astype(float), axis=1, keepdims=True)
    names = embeddings / np.linalg.norm(embeddings.astype(float), axis=1, keepdims=True)
    z = unit @ names.T / temperature
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(1)
    sign = np.where(p.argmax(1) == y, -1, 1)
    p[np.arange(len(y)), y] = -1
    return (1 + sign * np.exp(-entropy)) / 2, p.argmax(1)


class Zeroshot(DetectorCase):
    def analyze(self, X, y, embeddings, *words):
        for name, array in (("X", X), ("y", y), ("E", embeddings)):
            np.save(self.path(name + ".npy"), array)
        return subprocess.run([COMMAND, "analyze", self.path("X.npy"), self.path("y.npy"), "--detector", "zeroshot",
                               "--class-embeddings", self.path("E.npy"), "--out", self.path("out"), *words],
                              capture_output=True, text=True)

    def made(self, N=500, D=16, C=4):
        X, y = made_data(N, D, C, 1)
        return X, planted(y, .2), np.stack([X[y == c].mean(0) for c in range(C)])

    def check(self, temperature, dtype, *words):
        X, y, embeddings = self.made()
        done = self.analyze(X, y, embeddings.astype(dtype), *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("out/samples.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        wrong, suggested = mistakenness(X, y, embeddings.astype(dtype), temperature)
        np.testing.assert_allclose([float(row["mistakenness"]) for row in rows], wrong, atol=2e-5)
        flagged = np.array([row["is_label_issue"] == "true" for row in rows])
        np.testing.assert_array_equal(flagged, wrong > .5)
        suggested_labels = np.array([int(row["suggested_label"] or -1) for row in rows])
        np.testing.assert_array_equal(suggested_labels[flagged], suggested[flagged])
        with open(self.path("out/summary.json")) as file:
            summary = json.load(file)
        self.assertEqual(summary["detector"], "zeroshot")
        self.assertAlmostEqual(summary["noise_rate"], flagged.mean(), 9)
        self.assertEqual(summary["n_issues"], flagged.sum())

    def test_default_temperature(self):
        self.check(.01, np.float32)

    def test_temperature(self):
        self.check(.3, np.float64, "--temperature", ".3")

    def test_one_feature_more_is_an_error(self):
        X, y, embeddings = self.made()
        done = self.analyze(X, y, embeddings[:, :-1])
        self.assertEqual(done.returncode, 1)
        for part in ("E.npy", "(4, 15)", "[4, 16]"):
            self.assertIn(part, done.stderr)

    def test_nan_is_an_error(self):
        X, y, embeddings = self.made()
        embeddings[2, 3] = np.nan
        done = self.analyze(X, y, embeddings)
        self.assertEqual(done.returncode, 1)
        self.assertIn("row 2, column 3", done.stderr)

    def test_embeddings_are_needed(self):
        X, y, _ = self.made()
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)
        done = subprocess.run([COMMAND, "analyze", self.path("X.npy"), self.path("y.npy"), "--detector", "zeroshot"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--class-embeddings", done.stderr)


if __name__ == "__main__":
    unittest.main()
