"""Models of random weights, made on the spot, with a tokenizer of a few words; and pictures prepared as they want them."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageOps

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
