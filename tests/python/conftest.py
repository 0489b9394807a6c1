"""What the tests of the package share."""
import csv
import json
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest

COMMAND = os.environ["RER_COMMAND"]
SOURCE = pathlib.Path(os.environ["RER_SOURCE"])
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes; python.slow runs it, in make test-all")


def clusters(n=300, d=8, classes=3, seed=0, planted=0, dtype="f4"):
    """Well separated classes; the labels of the first `planted` rows are moved on by one."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = (4 * random.normal(size=(classes, d))[y] + random.normal(size=(n, d))).astype(dtype)
    y[:planted] = (y[:planted] + 1) % classes
    return X, y


class Run:
    """What the command wrote."""

    def __init__(self, folder):
        with open(folder / "samples.csv", newline="", encoding="utf-8") as file:
            self.samples = list(csv.DictReader(file))
        with open(folder / "classes.csv", newline="", encoding="utf-8") as file:
            self.classes = list(csv.DictReader(file))
        self.summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))

    def column(self, name):
        return np.array([float(row[name]) if row[name] else np.nan for row in self.samples])


@pytest.fixture
def command(tmp_path):
    """command("analyze", X, y, "--seed", 3): runs rer on arrays or paths and reads what it wrote."""

    def run(verb, *arguments):
        words = []
        for place, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                path = tmp_path / f"command{place}.npy"
                np.save(path, argument)
                argument = path
            words.append(str(argument))
        out = tmp_path / "command-out"
        subprocess.run([COMMAND, verb, *words, "--out", str(out), "--quiet"], check=True, timeout=1800)
        return Run(out)

    return run
