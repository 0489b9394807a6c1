"""rer embed of texts, and of texts and pictures with two towers, with models that are made here, against onnxruntime."""
import csv
import json
import os
import resource
import signal
import subprocess
import sys
import unittest

import numpy as np
import onnxruntime
from PIL import Image

from made_models import config, convnet, distance, encode, prepared, save_tokenizer, text_encoder
from model_case import COMMAND, ModelCase


class TextModels(ModelCase):
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
