"""A folder of pictures, with a sub-folder for each class: rer analyze and rer embed."""
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
from PIL import Image

from cli_case import COMMAND, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "embed"))
from hog_reference import describe  # noqa: E402  (beside the other tests of the descriptor)

CLASSES = ("disc", "square", "stripes")
ENDINGS = ("jpg", "png", "webp")


def draw(kind, height, width, random):
    """A bright shape on a dark ground."""
    y, x = np.mgrid[:height, :width]
    y, x = (y + .5) / height - .5, (x + .5) / width - .5
    shape = (y * y + x * x < .1, (abs(y) < .3) & (abs(x) < .3), np.sin(25 * x) > .3)[kind]
    dark, bright = random.uniform(0, 80, 3), random.uniform(160, 255, 3)
    pixels = np.where(shape[..., None], bright, dark) + random.normal(0, 6, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype("u1"))


class Photos(CliCase):
    def draw_all(self, n=90, planted=3, folder="photos", size=(30, 150)):
        """The label of the first `planted` is the next class; returns their ids."""
        random = np.random.default_rng(0)
        wrong = []
        for i in range(n):
            label = CLASSES[(i + (i < planted)) % 3]
            os.makedirs(self.path(folder, label), exist_ok=True)
            name = f"{label}/{i:04}.{ENDINGS[i % 3]}"
            draw(i % 3, *random.integers(*size, 2), random).save(self.path(folder, name))
            wrong += [name] if i < planted else []
        return wrong

    def column(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        return [row[0] for row in rows[1:]]

    def test_analyze(self):
        wrong = self.draw_all()
        done = self.rer("analyze", "photos/", "--out", "out")
        samples = self.samples()
        self.assertEqual(sorted(row["id"] for row in samples if row["is_label_issue"] == "true"), sorted(wrong))
        self.assertEqual([row["id"].split("/")[0] for row in samples], [row["given_label"] for row in samples])
        self.assertEqual([row["id"] for row in samples], sorted(row["id"] for row in samples))
        report = self.load(self.path("out", "report.html"))
        self.assertGreaterEqual(report.count(b"UklGR"), len(wrong))  # WebP in base64
        self.assertIn(b"rer apply samples.csv:given_label decisions.csv", report)  # the labels are in no other file
        self.rer("apply", "out/samples.csv:given_label", "out", "--auto", ".5", "--out", "clean.csv")
        self.assertIn("built-in descriptor", done.out)
        self.assertNotIn("left out", done.out)

    def test_embed_is_what_analyze_sees(self):
        self.draw_all(60)
        self.rer("embed", "photos", "--out", "X.npy", "--dtype", "float32")
        self.rer("analyze", "photos", "--out", "direct")
        self.rer("analyze", "X.npy", "X_labels.csv", "--ids", "X_ids.csv", "--images", "photos", "--out", "by_file")
        direct, by_file = self.samples("direct"), self.samples("by_file")
        self.assertEqual(direct, by_file)
        ids = self.column("X_ids.csv")
        for row, name in zip(np.load(self.path("X.npy")), ids, strict=True):
            with Image.open(self.path("photos", name)) as image:
                small = image.convert("RGB").resize((64, image.height), Image.BILINEAR).resize((64, 64), Image.BILINEAR)
            ours = describe(np.asarray(small))  # decoders of lossy pictures may differ in a bit
            np.testing.assert_allclose(row, ours, atol=2e-5 if name.endswith("png") else .05, err_msg=name)
            self.assertLess(1 - row @ ours / np.linalg.norm(row) / np.linalg.norm(ours), 1e-4)
        self.rer("embed", "photos", "--out", "half.npy")
        half = np.load(self.path("half.npy"))
        self.assertEqual(half.dtype, np.float16)
        np.testing.assert_array_equal(half, np.load(self.path("X.npy")).astype("f2"))

    def test_same_bytes_at_any_number_of_threads(self):
        self.draw_all(50)
        for threads in (1, 3):
            self.rer("embed", "photos", "--out", f"{threads}.npy", "--threads", threads)
        self.assertEqual(self.load(self.path("1.npy")), self.load(self.path("3.npy")))

    def test_unreadable(self):
        self.draw_all(60)
        whole = self.load(self.path("photos", "disc", "0003.jpg"))
        self.save("photos/disc/cut.png", self.load(self.path("photos", "square", "0004.png"))[:90])
        self.save("photos/disc/none.webp", b"")
        self.save("photos/square/text.jpg", "no picture")
        os.symlink("nowhere", self.path("photos", "square", "gone.jpg"))
        self.save("photos/square/notes.txt", "no picture, and not named as one")
        bomb = Image.new("1", (20000, 20000))
        bomb.save(self.path("photos", "square", "bomb.png"))
        bad = {"disc/cut.png", "disc/none.webp", "square/text.jpg", "square/gone.jpg", "square/bomb.png"}
        done = self.rer("embed", "photos", "--out", "X.npy")
        self.assertIn("5 files could not be read", done.out)
        self.assertEqual(set(self.column("X_skipped.csv")), bad)
        self.assertEqual(np.load(self.path("X.npy")).shape[0], 60)
        self.assertEqual(len(self.column("X_ids.csv")), 60)
        self.assertFalse(set(self.column("X_ids.csv")) & bad)
        done = self.rer("analyze", "photos", "--out", "out")
        self.assertEqual(len(self.samples()), 60)
        self.assertIn("5 pictures could not be read", done.out)
        for arguments in (("embed", "photos", "--out", "Y.npy"), ("analyze", "photos")):
            done = self.rer(*arguments, "--strict", code=1)
            self.assertRegex(done.err, "photos/(" + "|".join(bad) + ")")  # one of them: threads read side by side
        self.assertFalse(os.path.exists(self.path("Y.npy")))
        self.save("photos/disc/cut.png", whole[:len(whole) // 2])  # a JPEG is shown as far as it goes
        self.rer("embed", "photos", "--out", "Z.npy")
        self.assertEqual(np.load(self.path("Z.npy")).shape[0], 61)
        for name in bad - {"disc/cut.png"}:
            os.remove(self.path("photos", name))
        self.rer("embed", "photos", "--out", "X.npy")  # leaves nothing of the first one
        self.assertEqual(np.load(self.path("X.npy")).shape[0], 61)
        self.assertFalse(os.path.exists(self.path("X_skipped.csv")))

    def test_names(self):
        self.draw_all(60)
        at = os.fsencode(self.path("photos", "disc"))
        names = [b"a b.jpg", b"new\nline.jpg", b"quote\".jpg", b"\xff\xfe.jpg", "ü.jpg".encode(), b"UPPER.JPG", b".hidden.jpg"]
        for name in names:
            draw(0, 40, 40, np.random.default_rng(1)).save(os.path.join(at, name).decode("utf-8", "surrogateescape"),
                                                          "jpeg")
        os.mkdir(self.path("photos", "empty class"))
        os.symlink("..", self.path("photos", "disc", "loop"))
        self.rer("embed", "photos/", "--out", "X.npy")
        ids = self.column("X_ids.csv")
        self.assertEqual(len(ids), 60 + len(names) - 1)
        for name in ("a b.jpg", "new\nline.jpg", "quote\".jpg", "\\xff\\xfe.jpg", "ü.jpg", "UPPER.JPG"):
            self.assertIn("disc/" + name, ids)
        self.rer("analyze", "photos/", "--out", "out")
        self.assertEqual([row["id"] for row in self.samples()], ids)
        self.assertEqual({row["label"] for row in self.classes()}, set(CLASSES))

    def test_labels_and_folders(self):
        self.draw_all(60)
        draw(0, 40, 40, np.random.default_rng(1)).save(self.path("photos", "loose.png"))
        self.rer("analyze", "photos", "--out", "out")
        self.assertEqual([row["id"] for row in self.samples() if row["given_label"] == ""], ["loose.png"])
        y = np.array([row["id"].count("disc") for row in self.samples()])
        self.save("y.npy", y)
        self.rer("analyze", "photos", "y.npy", "--out", "two")
        self.assertEqual([int(row["given_label"]) for row in self.samples("two")], list(y))
        self.save("photos/square/bad.jpg", "no picture")
        done = self.rer("analyze", "photos", "y.npy", code=1)  # a label for each: none may be left out
        self.assertIn("bad.jpg", done.err)
        os.mkdir(self.path("nothing"))
        self.assertIn("has no pictures", self.rer("analyze", "nothing", code=1).err)
        self.assertIn("has no pictures", self.rer("embed", "nothing", "--out", "N.npy", code=1).err)
        self.save("bad/text.jpg" if os.mkdir(self.path("bad")) is None else "", "no picture")
        self.assertIn("none of its 1 pictures", self.rer("embed", "bad", "--out", "N.npy", code=1).err)
        self.assertIn("none of its 1 pictures", self.rer("analyze", "bad", code=1).err)
        self.assertIn("labels", self.rer("analyze", "photos/disc", code=2).err)
        os.mkdir(self.path("one"))
        os.symlink(self.path("photos", "disc"), self.path("one", "disc"))
        self.assertIn("one: the usable rows have 1 class", self.rer("analyze", "one", code=1).err)
        self.assertIn("no output is named", self.rer("embed", "photos", code=2).err)
        self.rer("analyze", "photos", "--labels", "y.npy", code=1)
        os.remove(self.path("photos", "square", "bad.jpg"))
        self.rer("analyze", "photos", "--labels", "y.npy", "--out", "three")
        self.assertEqual(self.samples("two"), self.samples("three"))
        self.assertIn("given twice", self.rer("analyze", "photos", "y.npy", "--labels", "y.npy", code=2).err)
        lines = [f"{os.path.basename(row['id'])},{label}" for row, label in zip(self.samples("two"), y)]
        self.save("table.csv", "file,y\n" + "\n".join(lines) + "\n")
        self.rer("analyze", "photos", "--labels", "table.csv:y", "--out", "four")
        self.assertEqual(self.samples("two"), self.samples("four"))
        self.save("table.csv", "file,y\n" + "\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
        error = self.rer("analyze", "photos", "--labels", "table.csv:y", code=1).err
        self.assertIn(f"table.csv:file: row 0 (from 0) is of '{lines[1].split(',')[0]}'", error)

    def test_models_and_texts(self):
        """What goes wrong before OpenVINO is needed: nothing of this is there."""
        self.draw_all(6)
        self.save("texts.csv", "text,label\ngood,a\nbad,b\n")
        self.save("names.txt", "a\nb\n")
        self.save("cut.txt", b"good\nb\xffd\n")
        self.save("none.csv", "")
        os.mkdir(self.path("empty"))
        model = ("--model", "empty", "--out", "N.npy")
        for arguments, code, message in (
                (("embed", "texts.csv", "--out", "N.npy"), 2, "texts need a model"),
                (("embed", "texts.csv:words", *model), 1, "no column 'words'"),
                (("embed", "cut.txt", *model), 1, "text 2 is not UTF-8"), (("embed", "none.csv", *model), 1, "none.csv"),
                (("embed", "missing.csv", *model), 1, "missing.csv"), (("embed", "texts.csv", *model), 1, "openvino_model.xml"),
                (("embed", "texts.csv", "--model", "names.txt", "--out", "N.npy"), 2, "is no folder"),
                (("embed", "texts.csv", "--model", "my-e5", "--out", "N.npy"), 1, "optimum-cli export openvino --model intfloat/e5-base-v2 my-e5 "),
                (("embed", "photos", "--model", "new", "--out", "N.npy"), 1, "optimum-cli export onnx --model facebook/dinov2-base new "),
                (("embed", "photos", "--model", "CLIP", "--out", "N.npy"), 1, "--model openai/clip-vit-base-patch32 CLIP "),
                (("embed", "photos", "--classes", "names.txt", "--out", "N.npy"), 2, "need a model"),
                (("analyze", "photos", "--detector", "zeroshot", "--classes", "names.txt"), 2, "--model"),
                (("analyze", "photos", "--detector", "zeroshot", "--template", "a photo", *model[:2]), 2, "has no {}"),
                (("analyze", "texts.csv", "--label-column", "label", *model[:2]), 1, "openvino_model.xml"),
                (("analyze", "texts.csv", "--labels", "texts.csv:none", *model[:2]), 1, "no column 'none'"),
                (("analyze", "texts.csv", *model[:2]), 2, "labels are missing")):
            self.assertIn(message, self.rer(*arguments, code=code).err, arguments)
        self.assertFalse(os.path.exists(self.path("N.npy")))

    def test_goes_on(self):
        """Stopped in the middle, it goes on there: the same bytes as at once."""
        self.draw_all(30, size=(300, 400))
        for i in range(570):
            shutil.copy(self.path("photos", "disc", "0003.jpg"), self.path("photos", "square", f"copy{i}.jpg"))
        self.rer("embed", "photos", "--out", "whole.npy", "--threads", 1)
        part, row = self.path("X.npy.part"), 2 * np.load(self.path("whole.npy")).shape[1]
        for _ in range(20):  # a busy machine may look too late
            process = subprocess.Popen([COMMAND, "embed", "photos", "--out", "X.npy", "--threads", "1"], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while process.poll() is None and not (os.path.exists(part) and os.path.getsize(part) > 64 + 20 * row):
                time.sleep(.001)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
            if process.returncode != 0 and os.path.getsize(part) < 64 + 600 * row:
                break
            for name in ("X.npy", "X.npy.part"):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
        self.assertIn(b"goes on there", said)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(os.path.exists(self.path("X.npy")))
        self.assertLess(os.path.getsize(part), 64 + 600 * row)
        with open(part, "ab") as file:
            file.write(b"torn row")
        done = self.rer("embed", "photos", "--out", "X.npy", "--dtype", "float32", code=1)
        self.assertIn("made otherwise", done.err)
        self.assertIn("were there already", self.rer("embed", "photos", "--out", "X.npy").out)
        self.assertEqual(self.load(self.path("X.npy")), self.load(self.path("whole.npy")))
        self.assertFalse(os.path.exists(part))
        self.save("X.npy.part", "x" * 100)
        self.assertIn("in the way", self.rer("embed", "photos", "--out", "X.npy", code=1).err)


if __name__ == "__main__":
    unittest.main()
