"""rer embed of pictures, with models that are made here, against Pillow, numpy and onnxruntime."""
import os
import signal
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from made_models import MEAN, STD, config, convnet, distance, graph, transformer
from model_case import COMMAND, ModelCase

PACKAGE = os.path.dirname(os.path.dirname(onnx.__file__))


class Models(ModelCase):
    def test_convnet(self):
        """Every kind of picture, filter and size: the mean over the last planes."""
        self.draw()
        for resample in (1, 2, 3):
            for number, settings in enumerate((config({"shortest_edge": 64}, 56, resample),
                                               config({"height": 48, "width": 72}, None, resample),
                                               config({"shortest_edge": 40}, 56, resample))):
                file = self.save_model(f"net{resample}{number}", convnet(), settings, model_type="resnet")
                self.rer("embed", "photos", "--model", os.path.dirname(file), "--out", "X.npy", "--dtype", "float32")
                X = np.load(self.path("X.npy"))
                self.assertEqual(X.shape, (48, 24))
                self.assertLess(distance(X, self.run_reference(file, settings, "pooler_output")[:, :, 0, 0]), 1e-3)

    def test_transformer(self):
        """The token of the picture, or the mean of all, or another output."""
        self.draw()
        settings = config({"shortest_edge": 64}, 56)
        file = self.save_model("dinov2", transformer(), settings, model_type="dinov2")
        tokens = None
        for arguments, expected in (((), lambda: tokens[:, 0]), (("--output", "pooler_output"), None)):
            self.rer("embed", "photos", "--model", "dinov2", "--out", "X.npy", *arguments)
            X = np.load(self.path("X.npy"))
            self.assertEqual(X.dtype, np.float16)
            tokens = self.run_reference(file, settings, "last_hidden_state")
            self.assertLess(distance(X, expected() if expected else self.run_reference(file, settings, "pooler_output")), 1e-3)
        self.save_model("other", transformer(), settings, model_type="swin")
        self.rer("embed", "photos", "--model", "other", "--output", "last_hidden_state", "--out", "X.npy")
        self.assertLess(distance(np.load(self.path("X.npy")), tokens.mean(1)), 1e-3)

    def test_bare_file(self):
        self.draw(shapes=((90, 120), (200, 64)))
        file = self.save_model("bare", convnet())
        settings = config({"shortest_edge": 64}, 56, 1)
        numbers = ["--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD))]
        self.rer("embed", "photos", "--model", file, "--size", 64, "--crop", 56, "--interpolation", "lanczos", *numbers,
                 "--output", "pooler_output", "--out", "X.npy")
        self.assertLess(distance(np.load(self.path("X.npy")), self.run_reference(file, settings, "pooler_output")[:, :, 0, 0]),
                        1e-3)
        self.rer("embed", "photos", "--model", file, "--preset", "imagenet", "--out", "X.npy")
        settings = config({"shortest_edge": 256}, 224, 2)
        reference = self.run_reference(file, settings, "last_hidden_state").mean((2, 3))
        self.assertLess(distance(np.load(self.path("X.npy")), reference), 1e-3)

    def test_presets(self):
        """Each as the processor of its kind has it; what is said goes before it."""
        self.draw(shapes=((90, 120), (300, 64)))
        file = self.save_model("bare", convnet())
        clip = {"image_mean": (.48145466, .4578275, .40821073), "image_std": (.26862954, .26130258, .27577711)}
        half = {"image_mean": .5, "image_std": .5}
        for preset, settings in (("clip", config({"shortest_edge": 224}, 224) | clip),
                                 ("siglip", config({"height": 224, "width": 224}) | half),
                                 ("dinov2", config({"shortest_edge": 256}, 224)), ("imagenet", config({"shortest_edge": 256}, 224, 2))):
            self.rer("embed", "photos", "--model", file, "--preset", preset, "--out", "X.npy", "--dtype", "float32")
            reference = self.run_reference(file, settings, "last_hidden_state").mean((2, 3))
            self.assertLess(distance(np.load(self.path("X.npy")), reference), 1e-4, preset)
        self.rer("embed", "photos", "--model", file, "--preset", "clip", "--crop", 128, "--mean", .5, "--std", .5, "--out", "X.npy")
        reference = self.run_reference(file, config({"shortest_edge": 224}, 128) | half, "last_hidden_state").mean((2, 3))
        self.assertLess(distance(np.load(self.path("X.npy")), reference), 1e-3)

    def test_openvino_format(self):
        import openvino
        self.draw(shapes=((90, 120), (200, 64)))
        settings = config({"shortest_edge": 64}, 56)
        file = self.save_model("net", convnet(), settings)
        self.save_model("ir", convnet(), settings)
        os.remove(self.path("ir", "model.onnx"))
        openvino.save_model(openvino.convert_model(file), self.path("ir", "openvino_model.xml"), compress_to_fp16=False)
        for model in ("net", "ir"):
            self.rer("embed", "photos", "--model", model, "--out", f"{model}.npy", "--dtype", "float32")
        np.testing.assert_allclose(np.load(self.path("net.npy")), np.load(self.path("ir.npy")), rtol=1e-4, atol=1e-5)

    def test_same_numbers_at_any_number_of_threads(self):
        self.draw()
        self.save_model("net", transformer(), config({"shortest_edge": 64}, 56), model_type="vit")
        for threads in (1, 2, 5):
            self.rer("embed", "photos", "--model", "net", "--out", f"{threads}.npy", "--threads", threads)
        for threads in (2, 5):
            np.testing.assert_array_equal(np.load(self.path("1.npy")), np.load(self.path(f"{threads}.npy")))

    def test_goes_on_and_notices_changes(self):
        self.draw()
        settings = config({"shortest_edge": 64}, 56)
        self.save_model("net", convnet(), settings)
        for i in range(400):
            os.symlink("0colour.png", self.path("photos", "a", f"copy{i}.png"))
        self.rer("embed", "photos", "--model", "net", "--out", "whole.npy")
        process = subprocess.Popen([COMMAND, "embed", "photos", "--model", "net", "--out", "X.npy", "--threads", "1"],
                                   cwd=self.folder, stderr=subprocess.PIPE,
                                   env=os.environ | {"RER_OPENVINO": os.path.join(PACKAGE, "openvino")})
        while process.poll() is None and not (os.path.exists(self.path("X.npy.part")) and
                                              os.path.getsize(self.path("X.npy.part")) > 64):
            time.sleep(.001)
        process.send_signal(signal.SIGINT)
        self.assertIn(b"goes on there", process.communicate()[1])
        self.assertIn("made otherwise", self.rer("embed", "photos", "--model", "net", "--crop", 48, "--out", "X.npy",
                                                 code=1).stderr)
        self.save_model("new", convnet(columns=25), settings)
        self.assertIn("made otherwise", self.rer("embed", "photos", "--model", "new", "--out", "X.npy", code=1).stderr)
        self.assertIn("were there already", self.rer("embed", "photos", "--model", "net", "--out", "X.npy").stdout)
        np.testing.assert_array_equal(np.load(self.path("X.npy")), np.load(self.path("whole.npy")))

    def test_analyze(self):
        """From pictures to results in one command: as by way of the file."""
        self.draw(shapes=[(60 + i, 90 - i) for i in range(12)])
        self.save_model("net", convnet(), config({"shortest_edge": 64}, 56))
        with open(self.path("photos", "a", "bad.jpg"), "w", encoding="utf-8") as bad:
            bad.write("no picture")
        self.rer("embed", "photos", "--model", "net", "--out", "X.npy", "--dtype", "float32")
        done = self.rer("analyze", "photos", "--model", "net", "--out", "direct")
        self.assertIn("1 pictures could not be read", done.stdout)
        self.assertNotIn("descriptor", done.stdout)
        self.rer("analyze", "X.npy", "X_labels.csv", "--ids", "X_ids.csv", "--out", "by_file")
        self.assert_same_samples("direct", "by_file")

    def test_what_is_wrong(self):
        self.draw(shapes=((90, 120),))
        settings = config({"shortest_edge": 64}, 56)
        embed = ("embed", "photos", "--out", "X.npy", "--model")
        self.assertIn("optimum-cli export", self.rer(*embed, "missing", code=1).stderr)
        os.mkdir(self.path("empty"))
        self.assertIn("openvino_model.xml", self.rer(*embed, "empty", code=1).stderr)
        file = self.save_model("bare", convnet())
        self.assertIn("--preset", self.rer(*embed, file, code=2).stderr)
        self.assertIn("mean", self.rer(*embed, file, "--preset", "clip", "--mean", "1,2", code=2).stderr)
        self.assertIn("no output of that name", self.rer(*embed, file, "--preset", "clip", "--output", "x", code=2).stderr)
        self.save_model("fixed", transformer(), config({"shortest_edge": 64}, 48))
        self.assertIn("56 x 56", self.rer(*embed, "fixed", code=1).stderr)
        for number, shape in enumerate((("batch", 3, 56), ("batch", 1, 56, 56))):
            nodes = [helper.make_node("Identity", ["pixel_values"], ["y"])]
            self.save_model(f"wrong{number}", graph(nodes, {}, {"y": shape}, shape), settings)
            self.assertRegex(self.rer(*embed, f"wrong{number}", code=1).stderr, "four dimensions|three channels")
        bytes_in = graph([helper.make_node("Cast", ["pixel_values"], ["y"], to=TensorProto.FLOAT)], {}, {"y": ["batch", 3, 56, 56]},
                         ["batch", 3, 56, 56], TensorProto.UINT8)
        self.save_model("bytes", bytes_in, settings)
        self.assertIn("not float32", self.rer(*embed, "bytes", code=1).stderr)
        nodes = [helper.make_node("Div", ["pixel_values", "zero"], ["z"]), helper.make_node("Flatten", ["z"], ["y"])]
        self.save_model("nan", graph(nodes, {"zero": np.zeros(1, "f4")}, {"y": ["batch", 9408]}, ["batch", 3, 56, 56]), settings)
        self.assertRegex(self.rer(*embed, "nan", code=1).stderr, r"photos/a/0\w+\.\w+: feature 0 is")
        with open(self.path("bare", "model.onnx"), "r+b") as damaged:
            damaged.truncate(300)
        self.assertIn("is no model", self.rer(*embed, file, "--preset", "clip", code=1).stderr)
        self.save_model("json", convnet(), settings)
        for content in ("{", "[]", '{"size": {"shortest_edge": -5}, "crop_size": 3}', '{"size": 1000000}'):
            with open(self.path("json", "preprocessor_config.json"), "w", encoding="utf-8") as out:
                out.write(content)
            self.rer(*embed, "json", code=1)
        for environment in ({"RER_OPENVINO": "/nowhere"},):
            self.assertIn("RER_OPENVINO", self.rer(*embed, "fixed", "--crop", 56, code=2, **environment).stderr)
        self.assertFalse(os.path.exists(self.path("X.npy")))

    def test_without_openvino(self):
        self.draw(shapes=((90, 120),))
        self.save_model("net", convnet(), config({"shortest_edge": 64}, 56))
        done = self.rer("embed", "photos", "--model", "net", "--out", "X.npy", code=3, PATH="/usr/bin:/bin",
                        HOME=self.folder)
        self.assertIn("pip install openvino", done.stderr)
        for place in (os.path.join(PACKAGE, "openvino"), os.path.join(PACKAGE, "openvino", "libs")):
            self.rer("embed", "photos", "--model", "net", "--out", "X.npy", PATH="/usr/bin:/bin", RER_OPENVINO=place)


if __name__ == "__main__":
    unittest.main()
