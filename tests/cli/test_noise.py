"""rer noise: how many labels change, to what, and that the file keeps its kind. The choice of rows and
classes is checked against a slow version with its own Philox."""
import os
import unittest

import numpy as np

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from cli_case import CliCase

NOISE_ROW, NOISE_CLASS = 32, 33  # purposes, src/core/random.h


def philox4x32(counter, key):
    """Ten rounds, as the paper of Salmon and others has it."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def uniform(seed, purpose, a):
    key = ((seed ^ purpose * 0x9E3779B9) & 0xFFFFFFFF, seed >> 32)
    out = philox4x32((a & 0xFFFFFFFF, a >> 32, 0, 0), key)
    return ((out[1] << 32 | out[0]) >> 11) * 2.0 ** -53


def noisy_codes(codes, kind, rate, seed, target=None):
    """The slow version: classes 0..C-1 in, the same with noise out."""
    codes, C = list(codes), max(codes) + 1
    rows = [i for i, c in enumerate(codes) if c >= 0 and (target is None or target[i] != c)]
    out = list(codes)
    for i in range(min(round(rate * sum(c >= 0 for c in codes)), len(rows))):
        j = i + int(uniform(seed, NOISE_ROW, i) * (len(rows) - i))
        rows[i], rows[j] = rows[j], rows[i]
        row = rows[i]
        step = 1 + int(uniform(seed, NOISE_CLASS, row) * (C - 1)) if kind == "symmetric" else 1
        out[row] = target[row] if target is not None else (codes[row] + step) % C
    return np.array(out)


class Noise(CliCase):
    def noise(self, y, *arguments, out="z.npy", **options):
        path = y if isinstance(y, str) else self.save("y.npy", y)
        self.rer("noise", path, "--out", out, *arguments, **options)
        return np.load(self.path(out)) if out.endswith(".npy") else None

    def test_philox_of_this_test(self):
        # known answers of Random123's kat_vectors
        self.assertEqual(philox4x32((0,) * 4, (0,) * 2), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])
        self.assertEqual(philox4x32((0xffffffff,) * 4, (0xffffffff,) * 2),
                         [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd])

    def test_rows_and_classes_are_those_of_the_slow_version(self):
        y = np.random.default_rng(0).integers(0, 7, 400)
        other = np.random.default_rng(1).integers(0, 7, 400)
        human = self.save("y2.npy", other)
        for seed in (0, 5, 2 ** 40 + 3):
            for rate in (.05, .3, 1):
                for kind in ("symmetric", "asymmetric"):
                    z = self.noise(y, "--type", kind, "--rate", rate, "--seed", seed)
                    np.testing.assert_array_equal(z, noisy_codes(y, kind, rate, seed), f"{kind} {rate} {seed}")
                z = self.noise(y, "--type", "human", "--human", human, "--rate", rate, "--seed", seed)
                np.testing.assert_array_equal(z, noisy_codes(y, "human", rate, seed, other))

    def test_exactly_so_many(self):
        for n in (10, 999, 1250):
            y = np.arange(n) % 3
            for rate in (0, .001, .05, .1, .25, .5, 1):
                changed = self.noise(y, "--rate", rate) != y
                self.assertEqual(changed.sum(), round(rate * n), (n, rate))

    def test_symmetric_takes_every_other_class_equally(self):
        n, classes = 30_000, 6
        y = np.repeat(np.arange(classes), n // classes)
        z = self.noise(y, "--rate", .5, "--seed", 3)
        counts = np.array([[((y == a) & (z == b)).sum() for b in range(classes)] for a in range(classes)])
        off = counts[~np.eye(classes, dtype=bool)]
        expected = n / 2 / classes / (classes - 1)
        self.assertLess(((off - expected) ** 2 / expected).sum(), 60)  # chi2 with 29 degrees: .9994
        rows = (y != z).reshape(100, -1).sum(1)  # and from everywhere
        self.assertLess(((rows - n / 200) ** 2 / (n / 400)).sum(), 150)

    def test_asymmetric_is_the_next_class_in_order(self):
        y = np.array(["b", "a", "d", "c"] * 25)
        z = self.noise(y, "--type", "asymmetric", "--rate", 1)
        following = {"a": "b", "b": "c", "c": "d", "d": "a"}
        self.assertEqual(list(z), [following[name] for name in y])

    def test_human_is_a_part_of_the_disagreements(self):
        random = np.random.default_rng(2)
        y = random.integers(0, 5, 500)
        other = np.where(random.random(500) < .2, (y + 2) % 5, y)
        path = self.save("y2.npy", other)
        for rate in (.1, .9):
            z = self.noise(y, "--type", "human", "--human", path, "--rate", rate)
            changed = z != y
            self.assertTrue((z[changed] == other[changed]).all())
            self.assertEqual(changed.sum(), min(round(rate * 500), (other != y).sum()))
        z = self.noise(y.astype(str), "--type", "human", "--human", path, "--rate", 1)  # texts against numbers
        np.testing.assert_array_equal(z, other.astype(str))

    def test_confidence_is_the_likeliest_wrong_class(self):
        random = np.random.default_rng(3)
        y = np.arange(900) % 6
        X = (1.5 * random.normal(size=(6, 10))[y] + random.normal(size=(900, 10))).astype("f4")
        features = self.save("X.npy", X)

        def noise(labels, *words):
            return self.noise(labels, "--type", "confidence", "--features", features, *words)

        likely = noise(y, "--rate", 1)  # of every row
        self.assertFalse((likely == y).any())
        p = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0),
                              method="predict_proba")
        p[np.arange(900), y] = -1
        # The folds are others: where two classes are about equally likely, either may come first. Two runs of
        # scikit-learn itself with other folds agree in .90 to .91 of the rows.
        self.assertGreater((likely == p.argmax(1)).mean(), .88)
        top = np.sort(p, 1)
        clear = (top[:, -1] > .1) & (top[:, -1] > 3 * top[:, -2])
        self.assertGreater(clear.sum(), 50)
        np.testing.assert_array_equal(likely[clear], p.argmax(1)[clear])
        z = noise(y, "--rate", .1, "--seed", 4, "--threads", 2)
        np.testing.assert_array_equal(z, noisy_codes(y, "confidence", .1, 4, likely))
        names = np.array(["f", "e", "d", "c", "b", "a"])
        np.testing.assert_array_equal(noise(names[y], "--rate", .1, "--seed", 4) != names[y], z != y)
        short = self.save("short.npy", X[:899])
        message = self.rer("noise", self.save("y.npy", y), "--type", "confidence", "--features", short, "--out", "q.npy",
                           code=1).err
        self.assertIn("899", message)

    def test_seeds_and_rates(self):
        y = np.arange(1000) % 4
        a, b = (self.noise(y, "--rate", .2, "--seed", seed) for seed in (1, 2))
        np.testing.assert_array_equal(a, self.noise(y, "--rate", .2, "--seed", 1, "--threads", 2))
        self.assertLess(((a != y) & (b != y)).sum(), 80)  # 40 expected
        more = self.noise(y, "--rate", .4, "--seed", 1)
        np.testing.assert_array_equal(more[a != y], a[a != y])

    def test_the_file_keeps_its_kind(self):
        numbers = np.array([3, 100, 7, 3, 7, 100, 9, 9] * 5)
        for dtype in ("i1", "u1", ">i2", "<u2", "<i4", ">u4", "<i8", ">i8", "u8", "f4", ">f8"):
            y = numbers.astype(dtype)
            z = self.noise(y, "--rate", .5)
            self.assertEqual(z.dtype, y.dtype.newbyteorder("="))
            self.assertEqual((z.shape, (z != y).sum(), set(z) <= set(y)), (y.shape, 20, True))
        large = np.array([2 ** 63 + 5, 2 ** 64 - 1, 0, 4] * 10, dtype="u8")
        self.assertEqual(set(self.noise(large, "--rate", .5)), set(large))
        negative = np.array([-5, -2 ** 62, 8] * 10)
        self.assertEqual(set(self.noise(negative, "--rate", .5)), set(negative))
        column = numbers[:, None]
        self.assertEqual(self.noise(column, "--rate", .5).shape, (40, 1))
        texts = np.array(["Katze", "犬", "", "a b,\"c\""] * 10)
        for y in (texts, texts[::2].astype("S"), np.asfortranarray(texts[:, None])):
            z = self.noise(y if y.dtype.kind == "U" else np.array([b"ab", b"c"] * 10), "--rate", .5)
            self.assertEqual(z.dtype.kind, y.dtype.kind)
        z = self.noise(texts, "--rate", 1)
        self.assertEqual(z.dtype, texts.dtype)
        np.testing.assert_array_equal(z == texts, texts == "")  # no label: none afterwards

    def test_unlabelled_rows_stay(self):
        y = np.array([-1, 0, 1, 2] * 50)
        z = self.noise(y, "--rate", .5)
        np.testing.assert_array_equal(z[y == -1], -1)
        self.assertEqual((z != y).sum(), 75)

    def test_tables(self):
        names = ["one", "two words", "say \"x\", y", "ü"]
        rows = [names[i % 4] for i in range(40)]
        text = "".join('"' + name.replace('"', '""') + '"\n' for name in rows)
        path = self.save("y.csv", text)
        z = self.noise(path, "--rate", .25)
        self.assertEqual(sum(a != b for a, b in zip(z, rows)), 10)
        self.noise(path, "--rate", .25, out="z.csv")
        self.rer("noise", self.path("z.csv"), "--rate", 0, "--out", "again.npy")
        np.testing.assert_array_equal(np.load(self.path("again.npy")), z)
        table = self.save("t.csv", "id,label\n" + "".join(f"{i},{i % 3}\n" for i in range(30)))
        z = self.noise(table, "--label-column", "label", "--rate", .1)
        self.assertEqual((z != np.array([str(i % 3) for i in range(30)])).sum(), 3)
        self.noise(np.arange(30) % 3, "--rate", 0, out="z.txt")
        self.assertEqual(self.load(self.path("z.txt")).decode().split(), [str(i % 3) for i in range(30)])

    def test_what_people_see(self):
        y = self.save("y.npy", np.arange(2000) % 4)
        out = self.rer("noise", y, "--out", "z.npy").out
        self.assertIn("200 of 2,000 labels (10.00 %, 4 classes)", out)
        self.assertEqual(self.rer("noise", y, "--out", "z.npy", "--quiet").out, "")

    def test_bad_usage_and_bad_input(self):
        y = self.save("y.npy", np.arange(30) % 3)

        def fails(code, *words, out=("--out", "z.npy")):
            message = self.rer("noise", *words, *out, code=code).err
            self.assertNotIn("z.npy", os.listdir(self.folder))
            return message

        self.assertIn("--out", fails(2, y, out=()))
        self.assertIn("usage: rer noise", fails(2))
        self.assertIn("rate", fails(2, y, "--rate", "1.5"))
        self.assertIn("type", fails(2, y, "--type", "random"))
        self.assertIn("--human", fails(2, y, "--type", "human"))
        self.assertIn("--human", fails(2, y, "--human", y))
        self.assertIn("--features", fails(2, y, "--type", "confidence"))
        self.assertIn("--budget, which has no meaning here", fails(2, y, "--budget", "3"))
        self.assertIn(".npy", fails(2, y, out=("--out", "z.png")))
        self.assertIn("at least 2", fails(1, self.save("one.npy", np.zeros(9, int))))
        self.assertIn("nothing.npy", fails(1, "nothing.npy"))
        self.assertIn("29", fails(1, y, "--type", "human", "--human", self.save("short.npy", np.arange(29) % 3)))
        self.assertIn("'7'", fails(1, y, "--type", "human", "--human", self.save("more.npy", np.full(30, 7))))
        fails(3, y, out=("--out", "missing/z.npy"))
        header = self.save("header.csv", "label\n" + "1\n2\n" * 9)
        self.assertIn("--label-column 'label'", fails(1, header))
        self.rer("noise", header, "--label-column", "label", "--out", "z.npy")
        self.assertEqual(len(np.load(self.path("z.npy"))), 18)

    def test_an_old_file_stays_after_a_failure(self):
        self.save("z.npy", b"old")
        self.rer("noise", self.save("one.npy", np.zeros(9, int)), "--out", "z.npy", code=1)
        self.assertEqual(self.load(self.path("z.npy")), b"old")


if __name__ == "__main__":
    unittest.main()
