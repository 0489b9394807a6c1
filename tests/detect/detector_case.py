"""What the tests of detectors share: made data, and the helper program that runs detectors."""
import os
import subprocess
import tempfile
import unittest

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
import numpy as np

RUN_DETECTOR = os.environ["RER_RUN_DETECTOR"]


class Verdict:
    def __init__(self, folder, name):
        path = os.path.join(folder, name + ".")
        self.mistakenness = np.fromfile(path + "mistakenness", np.float64)
        self.suggested = np.fromfile(path + "suggested", np.int32)
        self.flagged = np.fromfile(path + "flagged", np.uint8).astype(bool)
        with open(path + "rate") as file:
            self.noise_rate = float(file.read())


def made_data(N, D, C, separation=1., seed=0, sizes=None):
    """Gaussian classes; sizes [C] where they are not to be even."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(C), sizes) if sizes is not None else np.arange(N) % C
    means = separation * random.standard_normal((C, D))
    return (means[y] + random.standard_normal((len(y), D)) + .5).astype(np.float32), y.astype(np.int32)


def planted(y, rate, seed=0):
    """The labels with a share of them replaced by a random other class."""
    random = np.random.default_rng(seed)
    C, rows = y.max() + 1, random.permutation(len(y))[:round(rate * len(y))]
    noisy = y.copy()
    noisy[rows] = (y[rows] + random.integers(1, C, len(rows))) % C
    return noisy


class DetectorCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_detectors(self, X, y, *words, check=True):
        """Verdicts of the named detectors, or of the one where it is one; words may begin with options."""
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)
        done = subprocess.run([RUN_DETECTOR, self.path("X.npy"), self.path("y.npy"), self.folder, *words],
                              stderr=subprocess.PIPE, text=True)
        if not check:
            return done
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [word for word in words if "=" not in word]
        verdicts = [Verdict(self.folder, name) for name in names]
        return verdicts[0] if len(verdicts) == 1 else verdicts
