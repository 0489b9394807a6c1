"""Pictures as an encoder wants them against Pillow and numpy: the same bytes.

The first argument names the program made of prepare_pictures.c."""
import math
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from PIL import Image, ImageOps

PROGRAM = sys.argv.pop(1)
NEAREST, LANCZOS, BILINEAR, BICUBIC, BOX, HAMMING = range(6)
ORIENTATION = 0x0112


def noise(*shape, seed=0, dtype="u1"):
    """Smooth shapes and noise, so that every weight of a filter matters."""
    random = np.random.default_rng(seed)
    wave = np.sin(np.arange(shape[0])[:, None] / 5) * np.cos(np.arange(shape[1]) / 7)
    values = 128 + 90 * wave.reshape(*shape[:2], *[1] * (len(shape) - 2)) + random.normal(0, 30, shape)
    return np.clip(values, 0, 255).astype(dtype)


def opened(path):
    """In colour and upright, 16 bits as the upper 8."""
    image = ImageOps.exif_transpose(Image.open(path))
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image).astype(int) >> 8).astype("u1"))
    return image.convert("RGB")


def cropped(image, size):
    """The middle, black where there is less: as transformers' center_crop pads and cuts."""
    a = np.asarray(image)
    for axis, wanted in enumerate(size):
        there = a.shape[axis]
        missing = max(0, wanted - there)
        pads = [(0, 0)] * 3
        pads[axis] = (math.ceil(missing / 2), missing // 2)
        first = max(0, (there - wanted) // 2)
        a = np.take(np.pad(a, pads), range(first, first + wanted), axis)
    return a


def expected(path, shortest, exact, crop, resample):
    image = opened(path)
    width, height = image.size
    if shortest:
        longer = int(shortest * max(width, height) / min(width, height))
        exact = (shortest, longer) if height <= width else (longer, shortest)
    if exact[0]:  # across, then down: some versions take the other order for some shapes
        image = image.resize((exact[1], height), resample).resize(exact[::-1], resample)
    return cropped(image, crop) if crop[0] else np.asarray(image)


class Pictures(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rer-pictures-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def save(self, name, image, **options):
        path = os.path.join(self.folder, name)
        (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(path, **options)
        return path

    def prepared(self, *cases):
        """Of (path, shortest, exact, crop, resample) each."""
        lines = "".join(f"{shortest} {exact[0]} {exact[1]} {crop[0]} {crop[1]} {resample} {path}\n"
                        for path, shortest, exact, crop, resample in cases)
        done = subprocess.run([PROGRAM], input=lines.encode(), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        left = np.frombuffer(done.stdout, "u1")
        for _, _, exact, crop, _ in cases:
            size = crop if crop[0] else exact
            yield left[:3 * size[0] * size[1]].reshape(*size, 3)
            left = left[3 * size[0] * size[1]:]
        self.assertEqual(left.size, 0)

    def compare(self, cases, most=0):
        for case, ours in zip(cases, self.prepared(*cases), strict=True):
            difference = np.abs(ours.astype(int) - expected(*case))
            self.assertLessEqual(difference.max(), most, case)

    def test_every_filter_up_and_down(self):
        paths = [self.save(f"{h}x{w}.png", noise(h, w, 3)) for h, w in
                 ((90, 130), (130, 90), (33, 33), (1, 70), (70, 1), (1, 1), (224, 224), (57, 900))]
        self.compare([(path, 0, size, (0, 0), resample) for path in paths for resample in range(6)
                      for size in ((64, 64), (90, 40), (200, 224))])

    def test_shortest_side_and_crop(self):
        paths = [self.save(f"{h}x{w}.png", noise(h, w, 3)) for h, w in ((90, 131), (131, 90), (37, 37), (3, 1), (250, 31))]
        self.compare([(path, shortest, (0, 0), crop, BICUBIC) for path in paths for shortest in (0, 40, 71)
                      for crop in ((32, 32), (40, 40), (71, 35), (100, 101))])

    def test_kinds(self):
        grey, colour = noise(80, 60), noise(80, 60, 3)
        clear = np.dstack([colour, noise(80, 60, seed=1)])
        deep = (noise(80, 60).astype("u2") << 8) + 37
        paths = [self.save("grey.png", grey), self.save("grey.jpg", grey), self.save("colour.jpg", colour, quality=90),
                 self.save("colour.webp", colour, lossless=True), self.save("lossy.webp", colour),
                 self.save("clear.png", clear), self.save("clear.webp", clear, lossless=True, exact=True),
                 self.save("half.png", Image.fromarray(grey).convert("LA")),
                 self.save("palette.png", Image.fromarray(colour).quantize(40)),
                 self.save("seen-through.png", Image.fromarray(colour).quantize(40), transparency=3),
                 self.save("bit.png", Image.fromarray(grey).convert("1")),
                 self.save("progressive.jpg", colour, progressive=True, subsampling=0)]
        self.compare([(path, 0, (48, 48), (0, 0), BICUBIC) for path in paths])
        self.compare([(self.save("deep.png", deep), 0, (48, 48), (0, 0), BICUBIC),
                      (self.save("inks.jpg", Image.fromarray(colour).convert("CMYK"), quality=95), 0, (48, 48), (0, 0),
                       BICUBIC)], most=2)  # roundings of 16 bits to 8, and of inks to light

    def test_orientation(self):
        exif = Image.Exif()
        cases = []
        for orientation in range(10):
            exif[ORIENTATION] = orientation
            for ending, options in (("jpg", {}), ("png", {}), ("webp", {"lossless": True})):
                path = self.save(f"{orientation}.{ending}", noise(50, 83, 3), exif=exif, **options)
                cases.append((path, 0, (40, 40), (0, 0), BILINEAR))
        self.compare(cases)
        upright = np.array(list(self.prepared(*cases[3:6])))
        turned = np.array(list(self.prepared(*cases[18:21])))
        self.assertGreater(np.abs(upright.astype(int) - turned).mean(), 10)

    def test_damaged_exif(self):
        """What cannot be read of it leaves the picture as it is, or is what Pillow reads too."""
        exif = Image.Exif()
        exif[ORIENTATION] = 6
        path = self.save("whole.jpg", noise(50, 83, 3), exif=exif)
        with open(path, "rb") as file:
            whole = file.read()
        at = whole.index(b"Exif\0\0") + 6
        as_it_is, = self.prepared((self.save("plain.jpg", noise(50, 83, 3)), 0, (40, 40), (0, 0), BILINEAR))
        for offset, value in ((0, b"XX"), (2, b"\0\0"), (4, b"\xff\xff\xff\xff"), (8, b"\0\0"), (18, b"\xff\xff")):
            damaged = os.path.join(self.folder, f"{offset}.jpg")
            with open(damaged, "wb") as file:
                file.write(whole[:at + offset] + value + whole[at + offset + len(value):])
            ours, = self.prepared((damaged, 0, (40, 40), (0, 0), BILINEAR))
            np.testing.assert_array_equal(ours, as_it_is, str(offset))

    def test_huge(self):
        """Beyond what may come out a JPEG comes out smaller, in eighths: nearly the same after resizing."""
        path = self.save("huge.jpg", np.kron(noise(70, 70, 3), np.ones((100, 100, 1), "u1")))
        case = (path, 0, (64, 64), (0, 0), BICUBIC)
        ours, = self.prepared(case)
        self.assertLess(np.abs(ours.astype(int) - expected(*case)).mean(), 1)


if __name__ == "__main__":
    unittest.main()
