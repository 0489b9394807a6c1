"""Pictures and texts in report.html: every way to give them ends at the right row, thumbnails look like what Pillow
makes of the same file, and the page stays small."""
import gzip
import io
import json
import os
import pathlib
import unittest

import numpy as np
from PIL import Image

from page_case import PageCase, clusters, data_of, picture_of


def colour_of(row):
    """A colour that tells the row."""
    return np.array([row * 37 % 200 + 30, row * 91 % 200 + 30, row * 53 % 200 + 30], "u1")


def flat(row, size=(60, 40)):
    return Image.fromarray(np.broadcast_to(colour_of(row), (size[1], size[0], 3)).copy())


class Media(PageCase):
    def setUp(self):
        super().setUp()
        self.X, self.y = clusters(n=40, planted=4)
        self.N = len(self.y)

    def analyze(self, X, y, *arguments, **more):
        """With every row among the suspects."""
        return super().analyze(X, y, "--budget", len(y), *arguments, **more)

    def save_pictures(self, name_of, format="PNG", **options):
        for row in range(self.N):
            path = self.folder / name_of(row)
            path.parent.mkdir(parents=True, exist_ok=True)
            flat(row).save(path, format, **options)

    def assert_colours(self, data, tolerance=4):
        self.assertEqual(set(map(int, data["pictures"])), set(range(self.N)))  # all rows are suspects here
        for row in range(self.N):
            picture = picture_of(data, row).astype(int)
            self.assertLessEqual(np.abs(picture - colour_of(row).astype(int)).max(), tolerance, row)

    def test_folder_in_the_order_of_names(self):
        self.save_pictures(lambda row: f"pictures/{row:03d}.png")
        (self.folder / "pictures" / "notes.txt").write_text("not a picture")
        self.assert_colours(self.analyze(self.X, self.y, "--images", "pictures"))

    def test_folder_of_folders(self):
        self.save_pictures(lambda row: f"pictures/{'abcd'[row // 10]}/{row:03d}.PNG")
        self.assert_colours(self.analyze(self.X, self.y, "--images", "pictures"))

    def test_folder_by_ids(self):
        for ending in (".png", ""):
            names = [f"{(row * 7) % 40:02d}-{row}" for row in range(self.N)]
            self.save_pictures(lambda row: f"p{ending}/{names[row]}.png")
            self.save("ids.txt", "".join(f"{name}{ending}\n" for name in names))
            self.assert_colours(self.analyze(self.X, self.y, "--images", f"p{ending}", "--ids", "ids.txt"))

    def test_list(self):
        self.save_pictures(lambda row: f"deep/some where/{row * 7 % 40}.png")
        self.save("deep/list.txt", "".join(f"some where/{row * 7 % 40}.png\n" for row in range(self.N)))
        self.assert_colours(self.analyze(self.X, self.y, "--images", "deep/list.txt"))

    def test_arrays(self):
        pictures = np.stack([np.asarray(flat(row)) for row in range(self.N)])
        self.save("p.npy", pictures)
        self.assert_colours(self.analyze(self.X, self.y, "--images", "p.npy"))
        np.savez_compressed(self.folder / "p.npz", a=np.asfortranarray(pictures))
        self.assert_colours(self.analyze(self.X, self.y, "--images", "p.npz:a"))
        grey = pictures.mean(3).astype("u1")
        header = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in grey.shape)
        self.save("p.idx", header + grey.tobytes())
        data = self.analyze(self.X, self.y, "--images", "p.idx")
        for row in range(self.N):
            self.assertLessEqual(np.abs(picture_of(data, row).astype(int) - int(grey[row, 0, 0])).max(), 3)

    def test_formats(self):
        for format, options in (("JPEG", {"quality": 95}), ("JPEG", {"quality": 95, "progressive": True}),
                                ("WEBP", {"quality": 95}), ("WEBP", {"lossless": True}), ("PNG", {"bits": 8})):
            folder = f"{format}{len(str(options))}"
            self.save_pictures(lambda row: f"{folder}/{row:03d}.{format.lower()}", format, **options)
            self.assert_colours(self.analyze(self.X, self.y, "--images", folder), 9)

    def test_modes(self):
        """Grey, palette, 16 bits, transparency and CMYK against what Pillow shows."""
        random = np.random.default_rng(0)
        smooth = Image.fromarray(random.integers(0, 255, (5, 7, 3), "u1")).resize((120, 90), Image.BICUBIC)
        deep = Image.fromarray((np.asarray(smooth.convert("L")).astype("u2") * 257))
        clear = smooth.copy()
        clear.putalpha(Image.fromarray(np.full((90, 120), 255, "u1")))
        modes = {"grey.png": smooth.convert("L"), "palette.png": smooth.quantize(64), "deep.png": deep, "alpha.png": clear,
                 "grey.jpg": smooth.convert("L"), "cmyk.jpg": smooth.convert("CMYK"), "alpha.webp": clear,
                 "two.png": smooth.convert("LA")}
        (self.folder / "m").mkdir()
        names = sorted(modes)
        for name in names:
            modes[name].save(self.folder / "m" / name, **({"quality": 95} if name.endswith("jpg") else {}))
        self.save("list.txt", "".join(f"m/{names[row % len(names)]}\n" for row in range(self.N)))
        data = self.analyze(self.X, self.y, "--images", "list.txt")
        for row, name in enumerate(names):
            with Image.open(self.folder / "m" / name) as file:
                image = smooth.convert("L") if name == "deep.png" else file.convert("RGB")
            expected = np.asarray(image.convert("RGB").resize((120, 90), Image.BOX)).astype(float)
            error = np.abs(picture_of(data, row) - expected).mean()
            self.assertLess(error, 8, name)

    def test_size_and_look(self):
        """At most 512 pixels, the shape kept, the content an area average: against Pillow's box filter."""
        random = np.random.default_rng(1)
        smooth = lambda w, h: Image.fromarray(random.integers(0, 255, (6, 6, 3), "u1")).resize((w, h), Image.BICUBIC)
        sizes = [(700, 525), (300, 400), (1000, 10), (97, 96), (50, 20), (30, 30)]
        (self.folder / "p").mkdir()
        images = [smooth(*sizes[row % len(sizes)]) for row in range(self.N)]
        for row, image in enumerate(images):
            image.save(self.folder / "p" / f"{row:03d}.{'jpg' if row % 2 else 'png'}", quality=95)
        data = self.analyze(self.X, self.y, "--images", "p")
        for row, image in enumerate(images):
            picture = picture_of(data, row)
            w, h = image.size
            longer = max(w, h)
            side = min(512, longer)
            shape = (max(1, (h * side + longer // 2) // longer), max(1, (w * side + longer // 2) // longer))
            self.assertEqual(picture.shape[:2], shape)
            grey = [.299, .587, .114]  # colours are stored at half the resolution
            expected = np.asarray(image.resize(shape[::-1], Image.BOX)) @ grey
            self.assertLess(np.abs(picture @ grey - expected).mean(), 4, (row, image.size))

    def test_page_stays_small(self):
        random = np.random.default_rng(2)
        X, y = clusters(n=3000, classes=10, planted=1500)
        self.save("noise.npy", random.integers(0, 255, (3000, 96, 96, 3), "u1"))  # as hard to pack as can be
        self.save("long.txt", "".join("\u00e4 long text " * 400 + f"{row}\n" for row in range(3000)))
        for arguments in (["--texts", "long.txt"], ["--images", "noise.npy", "--texts", "long.txt"]):
            data = self.analyze(X, y, "--budget", 3000, *arguments)
            size = (self.folder / "out" / "report.html").stat().st_size
            self.assertLess(size, 10e6)
            self.assertGreater(size, 2e6)
            if "noise.npy" in arguments:
                self.assertEqual(len(data["pictures"]), 3000)

    def test_the_most_suspicious_are_the_largest(self):
        """Photos of 900 x 600: 512 pixels at first, then what 10 MB leave."""
        random = np.random.default_rng(4)
        photo = np.asarray(Image.fromarray(random.integers(0, 255, (60, 90, 3), "u1")).resize((900, 600), Image.BICUBIC))
        Image.fromarray(photo).save(self.folder / "a.jpg", quality=90)
        X, y = clusters(n=500, planted=160)
        self.save("list.txt", "a.jpg\n" * 500)
        data = self.analyze(X, y, "--images", "list.txt")
        sides = [max(picture_of(data, s[0]).shape) for s in data["suspects"]]
        self.assertEqual(len(sides), 500)
        self.assertEqual(sides, sorted(sides, reverse=True))
        self.assertEqual(sides[0], 512)
        self.assertGreaterEqual(sides[-1], 80)
        self.assertLess(sides[-1], 512)
        self.assertLess((self.folder / "out" / "report.html").stat().st_size, 10e6)
        self.assertEqual(data["files"][str(data["suspects"][0][0])], "a.jpg")

    def test_what_cannot_be_read_is_said(self):
        self.save_pictures(lambda row: f"p/{row:03d}.png")
        (self.folder / "p" / "003.png").write_bytes(b"GIF89a and more")
        whole = (self.folder / "p" / "007.png").read_bytes()
        (self.folder / "p" / "007.png").write_bytes(whole[: len(whole) // 2])
        data = self.analyze(self.X, self.y, "--images", "p")
        self.assertEqual(set(range(self.N)) - set(map(int, data["pictures"])), {3, 7})
        page = (self.folder / "out" / "report.html").read_text()
        self.assertIn("2 of 40 pictures could not be read; the first: p/003.png: is none of JPEG, PNG or WebP", page)
        self.assertNotIn("GIF89a", page)  # what the file holds is nobody's business

    def unreadable(self, content):
        """What the report says where the picture of row 3 is this file."""
        self.save_pictures(lambda row: f"p/{row:03d}.png")
        (self.folder / "p" / "003.png").write_bytes(content)
        data = self.analyze(self.X, self.y, "--images", "p")
        self.assertEqual(set(range(self.N)) - set(map(int, data["pictures"])), {3})
        return (self.folder / "out" / "report.html").read_text()

    def test_gzip_without_end(self):
        self.assertIn("003.png: holds more than 67108864 bytes", self.unreadable(gzip.compress(bytes(80 << 20), 1)))

    def test_endless_scans(self):
        """Some ten scans are what programs write; each of thousands would go over all pixels."""
        file = io.BytesIO()
        flat(3).save(file, "JPEG", progressive=True)
        self.save_pictures(lambda row: f"q/{row:03d}.jpg", "JPEG", progressive=True)
        self.assert_colours(self.analyze(self.X, self.y, "--images", "q"), 9)
        whole = file.getvalue()
        last = whole.rindex(b"\xff\xda")
        self.assertIn("003.png: is no JPEG that can be read: more than 100 scans",
                      self.unreadable(whole[:-2] + 150 * whole[last:-2] + whole[-2:]))

    def test_pipes_and_devices(self):
        """Neither waited for nor read: a list is refused, a folder goes on without them."""
        self.save_pictures(lambda row: f"p/{row:03d}.png")
        (self.folder / "p" / "003.png").unlink()
        os.mkfifo(self.folder / "p" / "003.png")
        data = self.analyze(self.X, self.y, "--images", "p")
        self.assertEqual(set(range(self.N)) - set(map(int, data["pictures"])), {3})
        self.assertIn("003.png: is no plain file", (self.folder / "out" / "report.html").read_text())
        for name in ("p/003.png", "/dev/zero", "p", "no.png"):
            self.save("list.txt", "p/000.png\n" * 39 + name + "\n")
            message = self.rer("analyze", "X.npy", "y.npy", "--out", "x", "--images", "list.txt", code=1).stderr
            self.assertIn(f"list.txt: names '{name}' for row 39 (from 0), which is no file", message)

    def test_bad_pictures(self):
        self.save_pictures(lambda row: f"p/{row:03d}.png")
        self.analyze(self.X, self.y)
        fails = lambda text, *arguments: self.assertIn(
            text, self.rer("analyze", "X.npy", "y.npy", "--out", "x", *arguments, code=1).stderr)
        (self.folder / "p" / "extra.png").write_bytes(b"")
        fails("p: has 41 pictures (.jpg, .png, .webp) but there are 40 rows", "--images", "p")
        self.save("list.txt", "p/000.png\n")
        fails("names 1 pictures but there are 40 rows", "--images", "list.txt")
        self.save("list.txt", "no.png\n" * 40)
        fails("which is no file", "--images", "list.txt")
        self.save("ids.txt", "".join(f"n{row}\n" for row in range(40)))
        fails("has no picture 'n0', the id of row 0", "--images", "p", "--ids", "ids.txt")
        self.save("p.npy", np.zeros((40, 4, 4), "f4"))
        fails("holds no pictures", "--images", "p.npy")
        self.save("p.npy", np.zeros((39, 4, 4), "u1"))
        fails("has 39 pictures but there are 40 rows", "--images", "p.npy")
        self.assertFalse((self.folder / "x").exists())

    # ---- texts

    def texts(self):
        return [f"text {row}: \"quoted\", caf\u00e9 \U0001F600 {{{row * 7}}}" for row in range(self.N)]

    def assert_texts(self, data, texts=None):
        self.assertEqual({int(row): text for row, text in data["texts"].items()},
                         dict(enumerate(texts or self.texts())))

    def test_lines(self):
        self.save("t.txt", "".join(t + "\n" for t in self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.txt"))
        self.save("t.txt", "header\n" + "".join(t + "\n" for t in self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.txt"))

    def test_tables(self):
        cell = lambda t: '"' + t.replace('"', '""') + '"'
        for head, path in (("id,text,more", "t.csv"), ("id,body,more", "t.csv:body"), ("id,body,more", "t.csv:2")):
            self.save("t.csv", head + "\n" + "".join(f"{row},{cell(t)},x\n" for row, t in enumerate(self.texts())))
            self.assert_texts(self.analyze(self.X, self.y, "--texts", path))
        self.save("t.tsv", "text\tmore\n" + "".join(f"{cell(t)}\tx\n" for t in self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.tsv"))

    def test_json_lines(self):
        self.save("t.jsonl", "".join(json.dumps({"id": row, "text": t}) + "\n" for row, t in enumerate(self.texts())))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.jsonl"))
        self.save("t.jsonl", "".join(json.dumps({"body": t}, ensure_ascii=False) + "\n" for t in self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.jsonl:body"))
        self.save("t.jsonl", "".join(json.dumps(t) + "\n" for t in self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.jsonl"))

    def test_array_of_texts(self):
        self.save("t.npy", np.array(self.texts()))
        self.assert_texts(self.analyze(self.X, self.y, "--texts", "t.npy"))

    def test_long_texts_are_cut_between_characters(self):
        self.save("t.txt", "\u00e4\u20ac\U0001F600" * 500 + "\n" + "short\n" * (self.N - 1))
        text = self.analyze(self.X, self.y, "--texts", "t.txt")["texts"]["0"]
        self.assertTrue(text.endswith("\u2026") and 700 < len(text.encode()) <= 803)
        self.assertEqual(("\u00e4\u20ac\U0001F600" * 500)[: len(text) - 1], text[:-1])

    def test_bad_texts(self):
        self.analyze(self.X, self.y)
        fails = lambda text, path: self.assertIn(
            text, self.rer("analyze", "X.npy", "y.npy", "--out", "x", "--texts", path, code=1).stderr)
        self.save("t.txt", "one\ntwo\n")
        fails("t.txt: has 2 texts but there are 40 rows", "t.txt")
        self.save("t.csv", "a,b\n" + "1,2\n" * 40)
        fails("has no column 'text'; its first row is 'a', 'b'", "t.csv")
        fails("has no column 'c'", "t.csv:c")
        self.save("t.jsonl", '{"text": 1}\n' * 39 + "{broken\n")
        fails("line 40 is no JSON", "t.jsonl")
        self.save("t.jsonl", '{"other": "x"}\n' * 40)
        fails("line 1 has no member 'text'", "t.jsonl")
        fails("no.txt", "no.txt")
        self.assertFalse((self.folder / "x").exists())

    def test_pictures_with_texts(self):
        self.save_pictures(lambda row: f"p/{row:03d}.png")
        self.save("t.txt", "".join(t + "\n" for t in self.texts()))
        data = self.analyze(self.X, self.y, "--images", "p", "--texts", "t.txt")
        self.assert_colours(data)
        self.assert_texts(data)
        self.assertIsNone(data["bars"])


if __name__ == "__main__":
    unittest.main()
