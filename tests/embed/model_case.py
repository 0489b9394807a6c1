"""What the tests of rer embed share: a folder with models and pictures, and the program in it.

RER_COMMAND names the program; it finds OpenVINO in the environment of the Python that runs this."""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from PIL import Image

from made_models import prepared

COMMAND = os.environ["RER_COMMAND"]


class ModelCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rer-models-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def rer(self, *arguments, code=0, preexec_fn=None, **environment):
        surroundings = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "RER_OPENVINO")}
        surroundings["PATH"] = os.path.dirname(sys.executable) + ":" + surroundings["PATH"]
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, cwd=self.folder, check=False,
                              preexec_fn=preexec_fn, env=surroundings | environment, text=True)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        if code == 1:  # the engine may have said something before
            self.assertRegex(done.stderr, r"(?s)(\A|\n)rer: [^\n]+\n\Z", "one line, starting with rer:")
        return done

    def save_model(self, name, model, preprocessor=None, **settings):
        os.makedirs(self.path(name))
        onnx.save(model, self.path(name, "model.onnx"))
        for file, content in (("preprocessor_config.json", preprocessor), ("config.json", settings)):
            if content:
                with open(self.path(name, file), "w", encoding="utf-8") as out:
                    json.dump(content, out)
        return self.path(name, "model.onnx")

    def draw(self, shapes=((90, 120), (200, 64), (30, 30), (1, 90), (90, 1), (700, 1100))):
        random = np.random.default_rng(0)
        os.makedirs(self.path("photos", "a"), exist_ok=True)
        os.makedirs(self.path("photos", "b"), exist_ok=True)
        for i, (height, width) in enumerate(shapes):
            y, x = np.mgrid[:height, :width]
            pixels = 127 + 60 * np.sin(x / (5 + i))[..., None] * random.normal(size=3) + 40 * np.cos(y / 9)[..., None]
            pixels = np.clip(pixels + random.normal(0, 12, (height, width, 3)), 0, 255).astype("u1")
            self.save_kinds(f"photos/{'ab'[i % 2]}/{i}", pixels, i)

    def save_kinds(self, name, pixels, i):
        image, exif = Image.fromarray(pixels), Image.Exif()
        exif[0x0112] = 1 + i % 8
        image.save(self.path(name + "colour.png"))
        image.save(self.path(name + "turned.jpg"), exif=exif, quality=95)
        image.save(self.path(name + "colour.webp"), quality=95)
        image.convert("L").save(self.path(name + "grey.jpg"), quality=95)
        image.quantize(50).save(self.path(name + "palette.png"))
        image.convert("CMYK").save(self.path(name + "inks.jpg"), quality=95)
        Image.fromarray(np.dstack([pixels, pixels[..., 0]])).save(self.path(name + "clear.png"))
        Image.fromarray(pixels[..., 1].astype("u2") * 256 + 99).save(self.path(name + "deep.png"))

    def ids(self, name="X_ids.csv"):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return [row["id"] for row in csv.DictReader(file)]

    def run_reference(self, file, settings, output):
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        inputs = [prepared(self.path("photos", name), settings)[None] for name in self.ids()]
        return np.concatenate([session.run([output], {"pixel_values": picture})[0] for picture in inputs])

    def assert_same_samples(self, *folders):
        tables = []
        for folder in folders:
            with open(self.path(folder, "samples.csv"), encoding="utf-8") as file:
                tables.append(file.read())
        self.assertEqual(*tables)
