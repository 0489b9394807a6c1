"""rer embed against transformers and torch, with their own preprocessing: models of random weights, exported by optimum,
and trained ones that packages carry.

RER_COMMAND names the program; RER_DATA, where it is set, has the pictures of CIFAR-10 and features of theirs."""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import torch
import transformers
from PIL import Image
from real_encoders import EFFICIENTNET, distance, efficientnet, export, minilm, save_minilm, save_torch

COMMAND = os.environ["RER_COMMAND"]
WORDS = "the a of photo cat dog good bad film very is was not and great awful".split()
SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def make_bert(folder):
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *".,!?'", *("##" + letter for letter in letters)]
    vocabulary += [word for word in WORDS if word not in vocabulary]
    file = os.path.join(folder, "words.txt")
    with open(file, "w", encoding="utf-8") as out:
        print(*vocabulary, sep="\n", file=out)
    transformers.BertTokenizer(vocab=file, model_max_length=64).save_pretrained(folder)
    settings = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **SMALL)
    transformers.BertModel(settings).save_pretrained(folder)


def make_clip(folder):
    letters = [chr(code) for code in range(33, 127)]
    vocabulary = [*letters, *(letter + "</w>" for letter in letters), "ph", "to</w>", "of</w>", "<|startoftext|>", "<|endoftext|>"]
    files = [os.path.join(folder, name) for name in ("words.json", "merges.txt")]
    with open(files[0], "w", encoding="utf-8") as out:
        json.dump({word: place for place, word in enumerate(vocabulary)}, out)
    with open(files[1], "w", encoding="utf-8") as out:
        out.write("#version: 0.2\np h\nt o</w>\no f</w>\n")
    transformers.CLIPTokenizer(vocab=files[0], merges=files[1], model_max_length=77).save_pretrained(folder)
    end = len(vocabulary) - 1
    settings = transformers.CLIPConfig(
        text_config=SMALL | {"vocab_size": end + 1, "bos_token_id": end - 1, "eos_token_id": end, "pad_token_id": end},
        vision_config=SMALL | {"image_size": 64, "patch_size": 16}, projection_dim=24)
    transformers.CLIPModel(settings).save_pretrained(folder)
    transformers.CLIPImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}).save_pretrained(folder)


def make_vit(folder):
    transformers.ViTModel(transformers.ViTConfig(image_size=64, patch_size=16, **SMALL)).save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)


def make_resnet(folder):
    settings = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")
    transformers.ResNetModel(settings).save_pretrained(folder)
    transformers.ConvNextImageProcessor(size={"shortest_edge": 64}, crop_pct=.875).save_pretrained(folder)


class Parity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        temporary = tempfile.TemporaryDirectory(prefix="rer-transformers-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = temporary.name
        numbers = np.random.default_rng(0)
        for i, (height, width) in enumerate(((90, 120), (200, 64), (64, 64), (300, 500), (33, 31))):
            os.makedirs(cls.path("photos", "ab"[i % 2]), exist_ok=True)
            y, x = np.mgrid[:height, :width]
            waves = 127 + 60 * np.sin(x / (5 + i))[..., None] * numbers.normal(size=3) + 40 * np.cos(y / 9)[..., None]
            pixels = np.clip(waves + numbers.normal(0, 12, (height, width, 3)), 0, 255).astype("u1")
            Image.fromarray(pixels).save(cls.path("photos", "ab"[i % 2], f"{i}.png"))
        chosen = random.Random(0)
        cls.texts = [" ".join(chosen.choices(WORDS, k=chosen.randint(0, 30))) for _ in range(70)] + ["Zebra, x'y! 42?"]
        with open(cls.path("texts.jsonl"), "w", encoding="utf-8") as file:
            for text in cls.texts:
                print(json.dumps({"text": text}), file=file)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    def rer(self, *arguments):
        surroundings = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "RER_OPENVINO")}
        surroundings["PATH"] = os.path.dirname(sys.executable) + ":" + surroundings["PATH"]
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, cwd=self.folder, check=False,
                              env=surroundings, text=True)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def embed(self, what, model):
        self.rer("embed", what, "--model", model, "--out", "X.npy")
        return np.load(self.path("X.npy"))

    def pictures(self):
        with open(self.path("X_ids.csv"), newline="", encoding="utf-8") as file:
            return [Image.open(self.path("photos", row["id"])) for row in csv.DictReader(file)]

    def make(self, name, maker):
        os.makedirs(self.path(name))
        maker(self.path(name))
        export(self.path(name), self.path(name + "_ov"))
        return transformers.AutoModel.from_pretrained(self.path(name)).eval()

    def run_pictures(self, name, function):
        processor = transformers.AutoImageProcessor.from_pretrained(self.path(name))
        with torch.no_grad():
            return np.concatenate([function(processor(picture, return_tensors="pt")["pixel_values"]).numpy()
                                   for picture in self.pictures()])

    def test_vit(self):
        model = self.make("vit", make_vit)
        X = self.embed("photos", "vit_ov")
        self.assertLess(distance(X, self.run_pictures("vit", lambda x: model(x).last_hidden_state[:, 0])), 1e-3)

    def test_resnet(self):
        model = self.make("resnet", make_resnet)
        X = self.embed("photos", "resnet_ov")
        self.assertLess(distance(X, self.run_pictures("resnet", lambda x: model(x).pooler_output[:, :, 0, 0])), 1e-3)

    def test_dinov2(self):
        settings = {key: value for key, value in SMALL.items() if key != "intermediate_size"}
        model = transformers.Dinov2Model(transformers.Dinov2Config(image_size=56, patch_size=14, **settings)).eval()
        processor = transformers.BitImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 56, "width": 56}, resample=3,
                                                   image_mean=[.485, .456, .406], image_std=[.229, .224, .225])
        processor.save_pretrained(self.path("dinov2"))
        save_torch(model, self.path("dinov2_ov"), processor.to_dict(), "dinov2", 56)
        X = self.embed("photos", "dinov2_ov")
        self.assertLess(distance(X, self.run_pictures("dinov2", lambda x: model(x).last_hidden_state[:, 0])), 1e-3)

    def test_clip(self):
        """Both towers of one folder."""
        model = self.make("clip", make_clip)

        def features(made):
            return made if torch.is_tensor(made) else made.pooler_output

        X = self.embed("photos", "clip_ov")
        self.assertLess(distance(X, self.run_pictures("clip", lambda x: features(model.get_image_features(pixel_values=x)))), 1e-3)
        X = self.embed("texts.jsonl", "clip_ov")
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.path("clip"))
        with torch.no_grad():
            expected = [features(model.get_text_features(**tokenizer(text, truncation=True, return_tensors="pt")))[0].numpy()
                        for text in self.texts]
        self.assertLess(distance(X, expected), 1e-3)

    def mean_of_tokens(self, model, folder, texts, most):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        with torch.no_grad():
            return [model(**tokenizer(text, truncation=True, max_length=most, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
                    for text in texts]

    def test_bert(self):
        model = self.make("bert", make_bert)
        texts = [*self.texts, " ".join(WORDS * 9)]  # one of more tokens than there are places
        with open(self.path("texts.txt"), "w", encoding="utf-8") as file:
            print(*(text or "." for text in texts), sep="\n", file=file)
        X = self.embed("texts.txt", "bert_ov")
        expected = self.mean_of_tokens(model, self.path("bert"), [text or "." for text in texts], 64)
        self.assertLess(distance(X, expected), 1e-3)

    def test_minilm(self):
        """Trained weights."""
        save_minilm(self.path("minilm"))
        X = self.embed("texts.jsonl", "minilm")
        model = transformers.AutoModel.from_pretrained(minilm()).eval()
        self.assertLess(distance(X, self.mean_of_tokens(model, minilm(), self.texts, 256)), 1e-3)
        np.testing.assert_allclose(np.linalg.norm(X.astype(float), axis=1), 1, atol=2e-3)

    def test_efficientnet(self):
        """Trained weights: the features, and what an analysis of CIFAR-10 makes of them."""
        model = efficientnet()
        save_torch(model, self.path("efficientnet"), EFFICIENTNET, "efficientnet", 224)
        X = self.embed("photos", "efficientnet")
        transformers.CLIPImageProcessor(**EFFICIENTNET).save_pretrained(self.path("as_prepared"))
        expected = self.run_pictures("as_prepared", lambda x: model(x)["last_hidden_state"].mean((2, 3)))
        self.assertLess(distance(X, expected), 1e-3)
        if not os.environ.get("RER_DATA"):
            self.skipTest("RER_DATA is not set: no pictures of CIFAR-10")
        from scipy.stats import spearmanr
        data = os.path.join(os.environ["RER_DATA"], "data")
        pictures = np.load(os.path.join(data, "cifar10_images_2000.npy"))
        labels = np.load(os.path.join(data, "cifar10_effnet_y.npy"))[:len(pictures)]
        for row, (pixels, label) in enumerate(zip(pictures, labels, strict=True)):
            os.makedirs(self.path("cifar", str(label)), exist_ok=True)
            Image.fromarray(pixels).save(self.path("cifar", str(label), f"{row:05}.png"))
        np.save(self.path("features.npy"), np.load(os.path.join(data, "cifar10_effnet_X.npy"), mmap_mode="r")[:len(pictures)])
        np.save(self.path("y.npy"), labels)
        self.rer("analyze", "cifar", "--model", "efficientnet", "--out", "ours")
        self.rer("analyze", "features.npy", "y.npy", "--out", "theirs")
        scores = []
        for out in ("ours", "theirs"):
            with open(self.path(out, "samples.csv"), newline="", encoding="utf-8") as file:
                rows = {os.path.basename(row["id"])[:5] if out == "ours" else f"{int(row['index']):05}": float(row["mistakenness"])
                        for row in csv.DictReader(file)}
            scores.append([rows[f"{row:05}"] for row in range(len(pictures))])
        correlation = spearmanr(*scores).statistic
        print(f"Spearman of mistakenness, our features and the given ones: {correlation:.3f}")
        self.assertGreaterEqual(correlation, .4)


if __name__ == "__main__":
    unittest.main()
