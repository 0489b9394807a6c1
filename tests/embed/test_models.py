"""rer embed with models that are made here, of random weights, against Pillow, numpy and onnxruntime.

RER_COMMAND names the program; it finds OpenVINO in the environment of the Python that runs this."""
import csv
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageOps

COMMAND = os.environ["RER_COMMAND"]
PACKAGE = os.path.dirname(os.path.dirname(onnx.__file__))
MEAN, STD = (.485, .456, .406), (.229, .224, .225)


def graph(nodes, weights, outputs, shape, kind=TensorProto.FLOAT):
    """`outputs`: name -> shape."""
    made = helper.make_graph(
        nodes, "model", [helper.make_tensor_value_info("pixel_values", kind, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def convnet(shape=("batch", 3, "height", "width"), columns=24):
    """last_hidden_state [batch, D, h, w] and its mean as pooler_output [batch, D, 1, 1]."""
    random = np.random.default_rng(1)
    weights = {"w1": random.normal(0, .2, (8, 3, 3, 3)).astype("f4"),
               "w2": random.normal(0, .2, (columns, 8, 3, 3)).astype("f4")}
    nodes = [helper.make_node("Conv", ["pixel_values", "w1"], ["a"], strides=[2, 2]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w2"], ["last_hidden_state"], strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["last_hidden_state"], ["pooler_output"])]
    return graph(nodes, weights, {"last_hidden_state": ["batch", columns, "h", "w"],
                                  "pooler_output": ["batch", columns, 1, 1]}, shape)


def transformer(side=56, patch=14, columns=32):
    """One block of a ViT: last_hidden_state [batch, 1 + patches, D]; pooler_output is of no use."""
    random = np.random.default_rng(2)
    tokens = (side // patch) ** 2
    weights = {"patch": random.normal(0, .05, (columns, 3, patch, patch)).astype("f4"),
               "class": random.normal(size=(1, 1, columns)).astype("f4"),
               "place": random.normal(0, .3, (1, tokens + 1, columns)).astype("f4"),
               "flat": np.array([0, columns, -1]), "pooler": random.normal(size=(columns, columns)).astype("f4"),
               "scale": np.array(1 / math.sqrt(columns), "f4"), "token": np.array([1, columns]),
               "heads": np.array([0, 0, 4, columns // 4]), "joined": np.array([0, 0, columns])}
    weights |= {name: random.normal(0, .4, (columns, columns)).astype("f4") for name in ("q", "k", "v", "mlp")}
    nodes = [helper.make_node("Conv", ["pixel_values", "patch"], ["p"], strides=[patch, patch]),
             helper.make_node("Reshape", ["p", "flat"], ["f"]), helper.make_node("Transpose", ["f"], ["t"], perm=[0, 2, 1]),
             helper.make_node("Shape", ["pixel_values"], ["batch"], start=0, end=1),
             helper.make_node("Concat", ["batch", "token"], ["shape"], axis=0),
             helper.make_node("Expand", ["class", "shape"], ["cls"]),
             helper.make_node("Concat", ["cls", "t"], ["c"], axis=1), helper.make_node("Add", ["c", "place"], ["x"]),
             *(node for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])) for node in
               (helper.make_node("MatMul", ["x", name], ["x" + name]),
                helper.make_node("Reshape", ["x" + name, "heads"], ["h" + name]),
                helper.make_node("Transpose", ["h" + name], ["t" + name], perm=order))),
             helper.make_node("MatMul", ["tq", "tk"], ["s"]), helper.make_node("Mul", ["s", "scale"], ["s2"]),
             helper.make_node("Softmax", ["s2"], ["a"], axis=-1), helper.make_node("MatMul", ["a", "tv"], ["o"]),
             helper.make_node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
             helper.make_node("Reshape", ["ot", "joined"], ["oj"]), helper.make_node("Add", ["x", "oj"], ["y"]),
             helper.make_node("MatMul", ["y", "mlp"], ["m"]), helper.make_node("Tanh", ["m"], ["n"]),
             helper.make_node("Add", ["y", "n"], ["last_hidden_state"]),
             helper.make_node("ReduceMean", ["last_hidden_state"], ["mean"], axes=[1], keepdims=0),
             helper.make_node("MatMul", ["mean", "pooler"], ["pooler_output"])]
    return graph(nodes, weights, {"last_hidden_state": ["batch", tokens + 1, columns], "pooler_output": ["batch", columns]},
                 ["batch", 3, side, side])


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "the", "##s", "a", "very", "dull", "great"]


def save_tokenizer(path):
    """Words in lower case, [CLS] before them and [SEP] behind; what numbers they get, `encode` says too."""
    import openvino
    from openvino_tokenizers import tokenizer_pipeline as steps

    def special(name):
        return steps.AddToken(token=name, _token_id=WORDS.index(name), token_type_id=0)

    pipeline = steps.TokenizerPipeline()
    pipeline.add_steps([steps.SpecialTokensSplit([steps.SpecialToken(word) for word in WORDS[:4]]), steps.CaseFoldStep(),
                        steps.RegexSplitStep.whitespace_splitter(), steps.WordPieceTokenizationStep(WORDS),
                        steps.CombineSegmentsStep([special("[CLS]"), steps.Sequence(token_type_id=0), special("[SEP]")]),
                        steps.PaddingStep(token="[PAD]", _token_id=0, token_type_id=0)])
    pipeline.vocab = WORDS
    openvino.save_model(pipeline.get_tokenizer_ov_subgraph(), path)


def encode(text, most=32):
    numbers = []
    for word in text.lower().split():
        stem, ending = (word[:-1], ["##s"]) if word.endswith("s") and word[:-1] in WORDS else (word, [])
        numbers += [WORDS.index(part) for part in [stem, *ending]] if stem in WORDS else [1]
    return [2, *numbers[:most - 2], 3]


def text_encoder(columns=16, length=32, with_pictures=False):
    """last_hidden_state [batch, tokens, D]: each token knows its place and the mean of the others that are no padding.
    With pictures: a second tower, and both embeddings, as CLIP has them."""
    random = np.random.default_rng(3)
    weights = {"words": random.normal(size=(len(WORDS), columns)).astype("f4"), "one": np.array([1]),
               "places": random.normal(0, .5, (length, columns)).astype("f4"), "zero": np.array([0]),
               "mix": random.normal(0, .4, (columns, columns)).astype("f4"), "axis": np.array([2])}
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["w"]),
             helper.make_node("Shape", ["input_ids"], ["tokens"], start=1, end=2),
             helper.make_node("Slice", ["places", "zero", "tokens", "zero"], ["p"]), helper.make_node("Add", ["w", "p"], ["x"]),
             helper.make_node("MatMul", ["x", "mix"], ["m"]), helper.make_node("Tanh", ["m"], ["h"]),
             helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
             helper.make_node("Unsqueeze", ["mask", "axis"], ["k"]), helper.make_node("Mul", ["h", "k"], ["hk"]),
             helper.make_node("ReduceSum", ["hk", "one"], ["sum"]), helper.make_node("ReduceSum", ["k", "one"], ["count"]),
             helper.make_node("Div", ["sum", "count"], ["mean"]), helper.make_node("Add", ["h", "mean"], ["last_hidden_state"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in
              ("input_ids", "attention_mask")]
    outputs = {"last_hidden_state": ["texts", "tokens", columns]}
    if with_pictures:
        weights["patch"] = random.normal(0, .05, (columns, 3, 14, 14)).astype("f4")
        nodes += [helper.make_node("Conv", ["pixel_values", "patch"], ["c"], strides=[14, 14]),
                  helper.make_node("Tanh", ["c"], ["t"]), helper.make_node("GlobalAveragePool", ["t"], ["g"]),
                  helper.make_node("Flatten", ["g"], ["image_embeds"]),
                  helper.make_node("Squeeze", ["mean", "one"], ["text_embeds"])]
        inputs.append(helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, "height", "width"]))
        outputs = {"text_embeds": ["texts", columns], "image_embeds": ["batch", columns]}
    made = helper.make_graph(nodes, "model", inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
                                                      for name, dims in outputs.items()],
                             [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def upright(path):
    """In colour and upright, 16 bits as the upper 8."""
    image = ImageOps.exif_transpose(Image.open(path))
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image).astype(int) >> 8).astype("u1"))
    return image.convert("RGB")


def prepared(path, config):
    """As transformers' image processors do it, in plain numpy."""
    image = upright(path)
    width, height = image.size
    size, crop = config["size"], config.get("crop_size")
    if "shortest_edge" in size:
        short = size["shortest_edge"]
        other = int(short * max(width, height) / min(width, height))
        size = (other, short) if width >= height else (short, other)
    else:
        size = size["width"], size["height"]
    a = np.asarray(image.resize(size, config["resample"]))
    for axis, wanted in enumerate((crop["height"], crop["width"]) if crop else ()):
        missing, first = max(0, wanted - a.shape[axis]), max(0, (a.shape[axis] - wanted) // 2)
        pads = [(0, 0)] * 3
        pads[axis] = math.ceil(missing / 2), missing // 2
        a = np.take(np.pad(a, pads), range(first, first + wanted), axis)
    return ((a / 255 - config["image_mean"]) / config["image_std"]).transpose(2, 0, 1).astype("f4")


def distance(a, b):
    """Of the cosine, the largest of all rows."""
    a, b = a.astype(float), b.astype(float)
    return (1 - (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).max()


def config(size, crop=None, resample=3):
    made = {"size": size, "resample": resample, "image_mean": MEAN, "image_std": STD, "do_resize": True,
            "do_center_crop": crop is not None, "do_normalize": True, "do_rescale": True, "rescale_factor": 1 / 255}
    return made if crop is None else made | {"crop_size": {"height": crop, "width": crop}}


class Models(unittest.TestCase):
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

    def assert_same_samples(self, *folders):
        tables = []
        for folder in folders:
            with open(self.path(folder, "samples.csv"), encoding="utf-8") as file:
                tables.append(file.read())
        self.assertEqual(*tables)

    # ---- texts --------------------------------------------------------------------------------

    def save_texts(self, n=300):
        """texts.csv with a column of labels; returns the texts. Some are empty, some longer than the model takes."""
        random = np.random.default_rng(5)
        kinds = (["good", "great", "films"], ["bad", "dull", "film"])
        texts = [" ".join(random.choice([*kinds[i % 2], "the", "a", "Very", "odd"], random.integers(0, 50))) for i in range(n)]
        with open(self.path("texts.csv"), "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["id", "text", "label"])
            table.writerows([i, text, "good" if i % 2 == 0 else "bad"] for i, text in enumerate(texts))
        with open(self.path("texts.jsonl"), "w", encoding="utf-8") as file:
            for i, text in enumerate(texts):
                print(json.dumps({"text": text, "label": "good" if i % 2 == 0 else "bad"}), file=file)
        with open(self.path("texts.txt"), "w", encoding="utf-8") as file:
            print(*(text or "." for text in texts), sep="\n", file=file)
        return texts

    def save_text_model(self, name="minilm", with_pictures=False, preprocessor=None, most=32):
        file = self.save_model(name, text_encoder(with_pictures=with_pictures), preprocessor,
                               model_type="clip" if with_pictures else "bert", max_position_embeddings=most, pad_token_id=0)
        save_tokenizer(self.path(name, "openvino_tokenizer.xml"))
        return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

    def tokens_of(self, session, text, most=32):
        ids = np.array([encode(text, most)])
        return session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]

    def test_texts(self):
        """Mean, first, last and largest of the tokens, each text by itself in the reference."""
        texts, session = self.save_texts(), self.save_text_model()
        tokens = [self.tokens_of(session, text) for text in texts]
        means = np.array([rows.mean(0) for rows in tokens])
        for arguments in (("texts.csv",), ("texts.csv:text",), ("texts.jsonl:text", "--threads", 1)):
            self.rer("embed", *arguments, "--model", "minilm", "--out", "X.npy", "--dtype", "float32")
            X = np.load(self.path("X.npy"))
            np.testing.assert_allclose(X, means, atol=2e-5)
            self.assertLess(distance(X, means), 1e-3)
        self.rer("embed", "texts.txt", "--model", "minilm", "--out", "X.npy")
        X = np.load(self.path("X.npy"))
        self.assertEqual((X.dtype, X.shape), (np.float16, means.shape))
        os.mkdir(self.path("minilm", "1_Pooling"))
        for pooling, expected in (("cls_token", lambda rows: rows[0]), ("lasttoken", lambda rows: rows[-1]),
                                  ("max_tokens", lambda rows: rows.max(0)), ("mean_tokens", lambda rows: rows.mean(0))):
            with open(self.path("minilm", "1_Pooling", "config.json"), "w", encoding="utf-8") as file:
                json.dump({"word_embedding_dimension": 16, f"pooling_mode_{pooling}": True}, file)
            self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy", "--dtype", "float32")
            np.testing.assert_allclose(np.load(self.path("X.npy")), [expected(rows) for rows in tokens], atol=2e-5)
        with open(self.path("minilm", "modules.json"), "w", encoding="utf-8") as file:
            json.dump([{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")], file)
        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy", "--dtype", "float32")
        X = np.load(self.path("X.npy"))
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
        self.assertLess(distance(X, means), 1e-6)

    def test_long_texts(self):
        """The end of a text stays its end where tokens are left out."""
        texts, session = self.save_texts(), self.save_text_model(most=20)
        with open(self.path("minilm", "sentence_bert_config.json"), "w", encoding="utf-8") as file:
            json.dump({"max_seq_length": 11}, file)
        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy", "--dtype", "float32")
        expected = [self.tokens_of(session, text, 11).mean(0) for text in texts]
        np.testing.assert_allclose(np.load(self.path("X.npy")), expected, atol=2e-5)

    def test_analyze_texts(self):
        self.save_texts()
        self.save_text_model()
        with open(self.path("texts.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        wrong = [i for i, line in enumerate(lines[1:]) if len(line.split()) > 12][:3]
        for i in wrong:
            text, label = lines[1 + i].rsplit(",", 1)
            lines[1 + i] = text + (",bad" if label == "good" else ",good")
        with open(self.path("texts.csv"), "w", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy", "--dtype", "float32")
        self.rer("analyze", "X.npy", "texts.csv:label", "--out", "by_file")
        for out, arguments in (("direct", ("texts.csv", "--labels", "texts.csv:label")), ("y", ("texts.csv:text", "texts.csv:label")),
                               ("column", ("texts.csv:text", "--label-column", "label"))):
            self.rer("analyze", *arguments, "--model", "minilm", "--out", out)
            self.assert_same_samples(out, "by_file")
        with open(self.path("direct", "samples.csv"), newline="", encoding="utf-8") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: -float(row["mistakenness"]))
        self.assertEqual({int(row["index"]) for row in rows[:3]}, set(wrong))
        with open(self.path("direct", "report.html"), encoding="utf-8") as file:
            self.assertIn("rer apply texts.csv:label decisions.csv", file.read())
        self.rer("analyze", "texts.jsonl", "--labels", "texts.jsonl:label", "--model", "minilm", "--out", "json")

    def run_example(self, name, *arguments):
        surroundings = os.environ | {"RER": COMMAND, "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", name)
        done = subprocess.run([script, *arguments], capture_output=True, cwd=self.folder, check=False, env=surroundings, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path(arguments[1], "labels_clean.csv"), newline="", encoding="utf-8") as file:
            return [row[0] for row in csv.reader(file)][-self.count_rows(arguments[1]):]

    def count_rows(self, out):
        return len(np.load(self.path(out, "X.npy"), mmap_mode="r"))

    def test_examples(self):
        """From files to cleaned labels."""
        random = np.random.default_rng(0)
        for i in range(200):  # dark and bright ones; those of the first four lie in the wrong folder
            kind = i % 2
            os.makedirs(self.path("shots", "ab"[kind ^ (i < 4)]), exist_ok=True)
            pixels = random.normal((60, 190)[kind], 25, (60, 80, 3))
            Image.fromarray(np.clip(pixels, 0, 255).astype("u1")).save(self.path("shots", "ab"[kind ^ (i < 4)], f"{i:03}.png"))
        self.save_model("net", convnet(), config({"shortest_edge": 64}, 56), model_type="resnet")
        clean = self.run_example("photos.sh", "shots", "out", "net")
        ids = self.ids("out/X_ids.csv")
        self.assertEqual(clean, ["ab"[int(name[2:5]) % 2] for name in ids])
        texts = self.save_texts()
        self.save_text_model()
        lines = ["text,label"] + [f'"{text}",{"good" if (i % 2 == 0) ^ (10 < i < 14) else "bad"}' for i, text in enumerate(texts)]
        with open(self.path("table.csv"), "w", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
        clean = self.run_example("texts.sh", "table.csv", "cleaned", "minilm")
        right = ["good" if i % 2 == 0 else "bad" for i in range(len(texts))]
        self.assertEqual(len(clean), len(right))
        self.assertLess(sum(ours != theirs for ours, theirs in zip(clean, right)), 3)  # there were so many

    def test_texts_go_on(self):
        self.save_texts(2000)
        self.save_text_model()
        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "whole.npy", "--threads", 2)
        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "one.npy", "--threads", 1)
        X = np.load(self.path("whole.npy"))
        np.testing.assert_array_equal(X, np.load(self.path("one.npy")))

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 + 1000 * X.itemsize * X.shape[1],) * 2)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy", code=3, preexec_fn=limited)
        self.assertIn("were there already", self.rer("embed", "texts.csv", "--model", "minilm", "--out", "X.npy").stdout)
        np.testing.assert_array_equal(X, np.load(self.path("X.npy")))

    def test_two_towers(self):
        """Pictures and names of classes through one model."""
        self.draw()
        settings = config({"shortest_edge": 64}, 56)
        session = self.save_text_model("clip", True, settings)
        names = ["good film", "bad film"]
        with open(self.path("names.txt"), "w", encoding="utf-8") as file:
            print(*names, sep="\n", file=file)
        self.rer("embed", "photos", "--model", "clip", "--out", "X.npy", "--dtype", "float32", "--classes", "names.txt",
                 "--template", "a very {}")
        none = {"input_ids": np.array([[2, 3]]), "attention_mask": np.array([[1, 1]])}
        for row, name in zip(np.load(self.path("X.npy")), self.ids(), strict=True):
            picture = prepared(self.path("photos", name), settings)[None]
            self.assertLess(distance(row[None], session.run(["image_embeds"], none | {"pixel_values": picture})[0]), 1e-3)
        classes = []
        for name in names:
            ids = np.array([encode(f"a very {name}")])
            classes.append(session.run(["text_embeds"], {"input_ids": ids, "attention_mask": np.ones_like(ids),
                                                         "pixel_values": np.zeros((1, 3, 56, 56), "f4")})[0][0])
        self.rer("analyze", "photos", "--model", "clip", "--detector", "zeroshot", "--classes", "names.txt", "--template",
                 "a very {}", "--out", "direct")
        self.rer("analyze", "X.npy", "X_labels.csv", "--ids", "X_ids.csv", "--detector", "zeroshot", "--class-embeddings",
                 "X_classes.npy", "--out", "by_file")
        np.testing.assert_allclose(np.load(self.path("X_classes.npy")), classes, atol=2e-5)
        self.assert_same_samples("direct", "by_file")

    def test_wrong_texts(self):
        self.save_texts(20)
        self.save_text_model()
        embed = ("embed", "texts.csv", "--out", "X.npy")
        self.assertIn("texts need a model", self.rer(*embed, code=2).stderr)
        self.assertIn("all-MiniLM-L6-v2 nowhere", self.rer(*embed, "--model", "nowhere", code=1).stderr)
        self.assertIn("no column 'words'", self.rer("embed", "texts.csv:words", "--model", "minilm", "--out", "X.npy", code=1).stderr)
        self.save_model("net", convnet(), config({"shortest_edge": 64}, 56))
        self.assertIn("openvino_tokenizer.xml", self.rer(*embed, "--model", "net", code=1).stderr)
        save_tokenizer(self.path("net", "openvino_tokenizer.xml"))
        self.assertIn("takes no texts", self.rer(*embed, "--model", "net", code=1).stderr)
        self.draw(shapes=((90, 120),))
        with open(self.path("minilm", "preprocessor_config.json"), "w", encoding="utf-8") as file:
            json.dump(config({"shortest_edge": 64}, 56), file)
        self.assertIn("it takes texts", self.rer("embed", "photos", "--model", "minilm", "--out", "X.npy", code=1).stderr)
        with open(self.path("texts.txt"), "wb") as file:
            file.write(b"good\nb\xffd\n")
        self.assertIn("text 2 is not UTF-8", self.rer("embed", "texts.txt", "--model", "minilm", "--out", "X.npy", code=1).stderr)
        with open(self.path("minilm", "modules.json"), "w", encoding="utf-8") as file:
            json.dump([{"type": "sentence_transformers.models.Dense"}], file)
        self.assertIn("Dense", self.rer(*embed, "--model", "minilm", code=1).stderr)
        for names in (("--template", "a photo"), ("--classes", "texts.txt")):
            self.rer("analyze", "photos", "--detector", "zeroshot", *names, code=2)
        os.remove(self.path("minilm", "modules.json"))
        with open(self.path("minilm", "openvino_tokenizer.xml"), "w", encoding="utf-8") as file:
            file.write("no tokenizer")
        self.assertIn("is no tokenizer", self.rer(*embed, "--model", "minilm", code=1).stderr)
        self.assertFalse(os.path.exists(self.path("X.npy")))


if __name__ == "__main__":
    unittest.main()
