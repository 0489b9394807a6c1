"""Compares the library's descriptors and resized pictures with hog_reference.py.

  compare_hog.py PROGRAM      (PROGRAM: built from describe_pictures.c)
"""
import subprocess
import sys

import numpy as np

import hog_reference

TOLERANCE = 1e-5
SHAPES = [(28, 28, 1), (28, 28, 3), (32, 32, 3), (32, 32, 4), (1, 1, 1), (1, 1, 3), (2, 2, 1), (5, 3, 1), (3, 5, 2),
          (8, 8, 1), (1, 17, 1), (16, 16, 1), (33, 33, 1), (48, 40, 3), (57, 64, 1), (64, 64, 3), (65, 65, 1),
          (64, 65, 4), (100, 75, 3), (1, 300, 1), (700, 3, 3), (224, 224, 3)]
RESIZES = [((4, 4, 1), (4, 4)), ((9, 6, 3), (9, 6)), ((3, 3, 1), (2, 2)), ((7, 5, 2), (3, 4)), ((100, 1, 4), (64, 1)),
           ((50, 81, 3), (1, 1)), ((65, 129, 1), (64, 64)), ((2, 3, 1), (5, 4))]


def pictures(rng, shape):
    """[6, height, width, channels]: noise, dim noise, two kinds of shapes, a ramp, black."""
    h, w, c = shape
    y, x = np.mgrid[:h, :w][:, :, :, None] / max(h, w, 2)
    phase = rng.random(c) * 6
    return np.stack([rng.integers(0, 256, shape),
                     rng.integers(120, 123, shape),
                     255 * ((x - .5) ** 2 + (y - .4) ** 2 < .09 + .02 * phase),
                     127 + 120 * np.sin(9 * x + 23 * y * (1 + .1 * phase) + phase),
                     200 * x + 50 * y + 0 * phase,
                     np.zeros(shape)]).astype(np.uint8)


def run(program, batch, size=()):
    """float32 output of the program for uint8 pictures, as [count, values]."""
    words = [program, *map(str, batch.shape), *map(str, size)]
    done = subprocess.run(words, input=batch.tobytes(), stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, np.float32).reshape(len(batch), -1)


def difference(name, ours, reference):
    """Prints the largest difference and says whether it is too large."""
    if ours.shape != reference.shape:
        print(f"{name}: shape {ours.shape}, expected {reference.shape}")
        return True
    worst = np.max(np.abs(ours - reference) / np.maximum(1, np.abs(reference)))
    print(f"{name}: {ours.shape[1]} values, largest difference {worst:.1e}")
    return not worst <= TOLERANCE  # NaN is too large


def main(program):
    rng = np.random.default_rng(7)
    bad = 0
    for shape in SHAPES:
        batch = pictures(rng, shape)
        reference = np.stack([hog_reference.describe(picture) for picture in batch])
        bad += difference(f"describe {shape}", run(program, batch), reference)
    for shape, size in RESIZES:
        batch = pictures(rng, shape)
        reference = np.stack([hog_reference.resize(picture, *size).ravel() for picture in batch])
        bad += difference(f"resize {shape} to {size}", run(program, batch, size), reference)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
