"""What the tests of report.html share: running rer analyze, and the data inside the page."""
import base64
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

COMMAND = os.environ["RER_COMMAND"]


def clusters(n=300, d=8, classes=3, seed=0, planted=0, spread=4.0):
    """Separate classes; the labels of the first `planted` rows are moved on by one."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = (spread * random.normal(size=(classes, d))[y] + random.normal(size=(n, d))).astype("f4")
    y[:planted] = (y[:planted] + 1) % classes
    return X, y


def data_of(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def picture_of(data, row):
    """The thumbnail of a row as an array [H, W, 3]."""
    from PIL import Image
    image = Image.open(io.BytesIO(base64.b64decode(data["pictures"][str(row)])))
    assert image.format == "WEBP", image.format
    return np.asarray(image.convert("RGB"))


class PageCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rer-page-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def save(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def rer(self, *arguments, code=0):
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=1800,
                              cwd=self.folder)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def analyze(self, X, y, *arguments, out="out"):
        """Runs it and returns the page's data."""
        self.save("X.npy", X)
        self.save("y.npy", np.asarray(y))
        self.rer("analyze", "X.npy", "y.npy", "--out", out, "--quiet", *arguments)
        return data_of(self.folder / out / "report.html")

    def table(self, name, out="out"):
        with open(self.folder / out / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def column(rows, name):
    return np.array([float(row[name]) if row[name] else np.nan for row in rows])
