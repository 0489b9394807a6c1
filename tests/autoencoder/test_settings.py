"""The autoencoder from outside: settings that make no sense are refused with what is allowed, small
classes work, the number of threads does not show, and a saved model scores to the same bits."""
import os
import sys
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from cli_case import CliCase, clusters, column

QUICK = ("--reconstructor", "autoencoder", "--hidden", "24", "--components", "4", "--neighbors", "10",
         "--a", "1.577", "--b", ".8951")


class Settings(CliCase):
    def test_refused(self):
        X, y = self.save_clusters()
        for option, value, *allowed in (
                ("neighbors", "1", "2", "10000"), ("neighbors", "-3", "2", "10000"), ("neighbors", "2.5", "2"),
                ("components", "0", "1", "4096"), ("hidden", "0", "1 to 4", "65536"), ("hidden", "256,-1"),
                ("hidden", "1,2,3,4,5", "1 to 4"), ("hidden", "12x"), ("hidden", "12,"), ("batch", "0", "1"), ("epochs", "0", "1"), ("folds", "0", "1", "100"),
                ("folds", "101", "1", "100"), ("learning-rate", "-1"), ("learning-rate", "0"), ("dropout", "-0.1", "0"),
                ("dropout", "0.95", "0.9"), ("repulsion", "-1", "0"), ("regularization", "-1", "0"),
                ("loss-weight", "-1", "0"), ("spread", "0"), ("min-dist", "-1", "0"), ("fit-fraction", "0", "1"),
                ("fit-fraction", "1.5", "1"), ("fit-samples", "-1", "0"), ("metric", "manhattan", "euclidean", "cosine")):
            message = self.rer("analyze", X, y, "--reconstructor", "autoencoder", "--" + option, value, code=2).err
            self.assertIn("--" + option, message)
            self.assertIn(value, message)
            for word in allowed:
                self.assertIn(word, message)

    def test_half_a_curve(self):
        X, y = self.save_clusters()
        for given, missing in (("a", "b"), ("b", "a")):
            message = self.rer("analyze", X, y, "--reconstructor", "autoencoder", "--" + given, "1.5", code=2).err
            self.assertIn(f"--{given} is given without --{missing}", message)

    def test_curve_without_a_loss(self):
        X, y = self.save_clusters()
        names = self.save("names.txt", "cats\ndogs\nbirds\n")
        message = self.rer("analyze", X, y, *QUICK, "--a", "-0.0178", "--b", "-21.7079", "--class-names", names,
                           code=1).err
        self.assertRegex(message, "class '(cats|dogs|birds)'")
        self.assertRegex(message, r"at step \d+ ")

    def test_other_metric(self):
        X, y = self.save_clusters(planted=10)
        self.rer("analyze", X, y, *QUICK, "--metric", "cosine", "--quiet", "--out", "cosine")
        self.rer("analyze", X, y, *QUICK, "--quiet", "--out", "euclidean")
        self.assertNotEqual(self.samples("cosine"), self.samples("euclidean"))
        for out in ("cosine", "euclidean"):
            chi = column(self.samples(out), "rer")
            self.assertGreater(np.sort(chi[:10])[3], np.median(chi[10:]))


class SmallClasses(CliCase):
    def test_one_and_two_rows(self):
        X, y = clusters(n=90, classes=3)
        X = np.concatenate([X, X[:1] + 5, X[:2] - 5]).astype("f4")
        y = np.concatenate([y, [3], [4, 4]])
        features, labels = self.save("X.npy", X), self.save("y.npy", y)
        for folds in ("1", "2", "5"):
            self.rer("analyze", features, labels, *QUICK, "--folds", folds, "--quiet", "--out", "out" + folds)
            rows = self.samples("out" + folds)
            chi = column(rows, "rer")
            self.assertEqual(len(rows), 93)
            self.assertTrue(np.isfinite(np.delete(chi, 90)).all())
            # alone in its class, a row has no fit without it
            self.assertEqual(np.isnan(chi[90]), folds != "1")

    def test_more_neighbours_than_rows(self):
        X, y = self.save_clusters(n=30)
        self.rer("analyze", X, y, *QUICK, "--neighbors", "500", "--quiet", "--out", "out")
        self.assertTrue(np.isfinite(column(self.samples(), "rer")).all())

    def test_equal_rows(self):
        X, y = clusters(n=60)
        X[y == 1] = X[1]
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), *QUICK, "--quiet", "--out", "out")
        self.assertTrue(np.isfinite(column(self.samples(), "rer")).all())


class Bits(CliCase):
    def errors(self, name, X, y, *options):
        self.rer("analyze", X, y, *QUICK, *options, "--quiet", "--errors", name)
        return self.load(self.path(name))

    def test_number_of_threads(self):
        X, y = self.save_clusters(n=200, d=33, classes=5)
        for folds in ("1", "3"):
            one = self.errors("one.npy", X, y, "--folds", folds, "--threads", "1")
            for threads in ("2", "3"):
                self.assertEqual(one, self.errors("many.npy", X, y, "--folds", folds, "--threads", threads))
            self.assertNotEqual(one, self.errors("other.npy", X, y, "--folds", folds, "--seed", "9"))

    def test_saved_model(self):
        X, y = self.save_clusters(n=200, d=33, classes=5)
        self.rer("analyze", X, y, *QUICK, "--hidden", "24,12", "--folds", "1", "--quiet", "--errors", "before.npy",
                 "--save-model", "model.safetensors")
        for threads in ("1", "2"):
            self.rer("score", "model.safetensors", X, y, "--quiet", "--errors", "after.npy", "--threads", threads)
            self.assertEqual(self.load(self.path("before.npy")), self.load(self.path("after.npy")))
        rows = np.load(X)[[7, 3, 150]]      # new rows, alone
        self.rer("score", "model.safetensors", self.save("new.npy", rows), "--quiet", "--errors", "new_errors.npy")
        before, after = np.load(self.path("before.npy")), np.load(self.path("new_errors.npy"))
        np.testing.assert_allclose(after, before[:, [7, 3, 150]], rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
