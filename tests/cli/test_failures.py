"""Bad input and bad places: the message names what is wrong, and nothing is left behind."""
import gzip
import io
import json
import os
import resource
import unittest

import numpy as np

from cli_case import CliCase, clusters


def npy_header(text):
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def absurd(shape):
    return npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)) + bytes(400)


def npy_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class BadInput(CliCase):
    """Exit code 1."""

    def fails(self, *words, X=None, y=None, arguments=()):
        """Analyzes X and y (clusters where not given) and looks for the words in the message."""
        good_X, good_y = clusters(n=60)
        X = good_X if X is None else X
        y = good_y if y is None else y
        X = X if isinstance(X, str) else self.save("X.npy", X)
        y = y if isinstance(y, str) else self.save("y.npy", y)
        before = sorted(os.listdir(self.folder))
        message = self.rer("analyze", X, y, "--out", "out", *arguments, code=1).err
        for word in words:
            self.assertIn(str(word), message)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "nothing is left behind")
        return message

    def test_missing_file(self):
        self.fails("no-such.npy", X="no-such.npy")
        self.fails("no-such.npy", y="no-such.npy")
        self.fails("no-such.txt", arguments=("--ids", "no-such.txt"))
        self.fails("no-such.txt", arguments=("--class-names", "no-such.txt"))

    def test_empty_file(self):
        self.fails("X.npy", X=b"")
        self.fails("y.npy", y=b"")

    def test_truncated_file(self):
        X, _ = clusters(n=60)
        whole = self.load(self.save("whole.npy", X))
        self.fails("X.npy", X=whole[:-1])
        self.fails("X.npy", X=whole[:50])

    def test_absurd_shapes(self):
        self.fails("X.npy", X=absurd((10**12, 8)))
        self.fails("X.npy", X=absurd((2**62, 16)))
        self.fails("X.npy", X=absurd((2**63, 1)))
        self.fails("X.npy", X=absurd((-3, 8)))

    def test_wrong_kind_of_array(self):
        self.fails("X.npy", "object", X=np.array([[1, "a"]] * 60, dtype=object))
        self.fails("X.npy", X=np.zeros(60, "f4"))
        self.fails("X.npy", X=np.zeros((60, 2, 2, 2, 2), "f4"))
        self.fails("X.npy", X=np.zeros((), "f4"))
        self.fails("y.npy", y=np.zeros((60, 2), int))
        self.fails("X.npy", X=np.zeros((0, 8), "f4"), y=np.zeros(0, int))

    def test_lengths_differ(self):
        self.fails("y.npy", "X.npy", 59, 60, y=np.arange(59) % 3)

    def test_too_few_classes(self):
        self.fails("y.npy", "1 class", y=np.zeros(60, int))
        message = self.rer("noise", "y.npy", "--out", "noisy.npy", code=1).err
        self.assertIn("y.npy: the labels have 1 class", message)
        self.fails("two samples", y=np.arange(60))

    def test_not_finite(self):
        X, _ = clusters(n=60)
        for value in (np.nan, np.inf):
            bad = X.copy()
            bad[41, 5] = value
            message = self.fails("X.npy", "41", "5", "--drop-invalid", X=bad)
            self.assertRegex(message, r"row 41\b.*column 5\b")
        bad = X.astype(float)
        bad[41, 5] = -1e300  # a finite number
        self.fails("X.npy", "41", "5", "-Inf as float32 (under -3.4e38)", X=bad)

    def test_class_without_finite_rows(self):
        X, y = clusters(n=60)
        X[y == 1] = np.nan
        self.fails("X.npy", "class '1'", X=X, y=y, arguments=("--drop-invalid",))

    def test_rows_all_the_same(self):
        self.fails("X.npy", X=np.ones((60, 8), "f4"))

    def test_errors_too_large(self):
        X, y = clusters(n=60)
        X[7] = 1e30
        self.fails("X.npy", "row", "--normalize", X=X, y=y, arguments=("--normalize", "none"))

    def test_invalid_utf8(self):
        self.fails("y.csv", y=self.save("y.csv", b"a\nb\xff\n" * 30))
        self.fails("ids.txt", arguments=("--ids", self.save("ids.txt", b"\xc3(\n" * 60)))

    def test_side_files_of_wrong_length(self):
        self.fails("ids.txt", 59, 60, arguments=("--ids", self.save("ids.txt", "i\n" * 59)))
        self.fails("names.txt", 2, 3, arguments=("--class-names", self.save("names.txt", "a\nb\n")))
        self.fails("names.txt", 4, 3, arguments=("--class-names", self.save("names.txt", "name\none 1\none 2\none 3\n")))

    def test_one_row_too_many(self):
        rows = [0, *np.arange(60) % 3]
        self.fails("y.csv", 61, "X.npy", 60, y=self.save("y.csv", "".join(f"{row}\n" for row in rows)))
        self.fails("ids.txt", 61, "X.npy", 60, arguments=("--ids", self.save("ids.txt", "".join(f"r{i}\n" for i in range(61)))))
        self.fails("t.txt", 61, 60, arguments=("--texts", self.save("t.txt", "".join(f"text {i}\n" for i in range(61)))))
        self.fails("p.txt", 61, 60, arguments=("--images", self.save("p.txt", "X.npy\n" * 61)))

    def test_a_header_is_said_to_be_one(self):
        X, y = self.save_clusters(n=60)
        labels = self.save("y.csv", "label\n" + "".join(f"{row % 3}\n" for row in range(60)))
        ids = self.save("ids.csv", "id\n" + "".join(f"a/{row}.png\n" for row in range(60)))
        self.rer("analyze", X, labels, "--ids", ids, "--save-model", "model", "--out", "out", "--quiet")
        notes = " ".join(self.summary(self.path("out"))["notes"])
        self.assertRegex(notes, r"y\.csv: the first row, 'label',.* header.*ids\.csv: the first row, 'id'")
        self.assertIn("'label'", self.rer("score", "model", X, labels).out)
        self.assertIn("'label'", self.rer("scale", X, labels).out)
        self.rer("analyze", X, labels + ":label", "--ids", ids + ":id", "--out", "named", "--quiet")
        self.assertNotIn("header", " ".join(self.summary(self.path("named"))["notes"]))

    @staticmethod
    def with_far_means(model):
        """The saved model with class means that lie too far away for float32."""
        start = 8 + int.from_bytes(model[:8], "little")
        begin, end = json.loads(model[8:start])["centroid.mean"]["data_offsets"]
        means = np.frombuffer(model[start + begin:start + end], "<f8") * 1e30
        return model[:start + begin] + means.tobytes() + model[start + end:]

    def test_columns_of_another_table(self):
        X, y = clusters(n=60, d=2)
        table = lambda names: names + ",y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y))
        self.rer("analyze", self.save("t.csv", table("a,b")), "--label-column", "y", "--save-model", "model", "--quiet")
        self.rer("score", "model", "t.csv", "--label-column", "y")
        message = self.rer("score", "model", self.save("t.csv", table("b,a")), "--label-column", "y", code=1).err
        self.assertRegex(message, "t.csv: feature 1 is the column 'b', but model was fitted on 'a'")

    def test_bad_model(self):
        X, y = self.save_clusters(n=60)
        self.rer("analyze", X, y, "--save-model", "model", "--quiet")
        whole = self.load(self.path("model"))
        for content in (b"", whole[:20], whole[:-1], b"\xff" * 100):
            message = self.rer("score", self.save("bad", content), X, "--out", "out", code=1).err
            self.assertIn("bad", message)
        far = self.rer("score", self.save("far", self.with_far_means(whole)), X, "--out", "out", code=1).err
        self.assertRegex(far, "^rer: .*far: under this model the errors of row 0 of .*X.npy are too large")
        other = self.save("other.npy", np.ones((4, 5), "f4"))
        self.assertRegex(self.rer("score", "model", other, code=1).err, "other.npy: .* 5 features, but model .* 8")
        unknown = self.save("unknown.npy", np.arange(60) % 4)
        self.assertRegex(self.rer("score", "model", X, unknown, code=1).err, "unknown.npy: model has no class '3'")
        self.assertFalse(os.path.exists(self.path("out")))


class Strange(CliCase):
    """Unusual, but it simply works."""

    def works(self, X, y, *arguments):
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out", *arguments)
        self.assert_complete()
        return self.summary()

    def test_one_feature(self):
        X, y = clusters(d=1)
        self.assertEqual(self.works(X, y)["n_features"], 1)

    def test_constant_and_repeated_columns(self):
        X, y = clusters()
        self.works(np.hstack([X, np.ones((300, 1), "f4"), X]), y)

    def test_repeated_rows(self):
        X, y = clusters()
        self.works(np.vstack([X, X]), np.concatenate([y, (y + 1) % 3]))

    def test_classes_with_one_sample(self):
        X, y = clusters()
        y[:2] = 77, 88
        summary = self.works(X, y)
        self.assertEqual(summary["n_singletons"], 2)
        self.assertTrue(any("77" in note and "88" in note for note in summary["notes"]), summary["notes"])
        self.assertEqual((self.samples()[0]["own_error"], self.samples()[0]["rer"]), ("", ""))

    def test_dropped_rows(self):
        X, y = clusters()
        X[5, 2] = np.nan
        self.assertEqual(self.works(X, y, "--drop-invalid")["n_invalid"], 1)
        row = self.samples()[5]
        self.assertEqual((row["given_label"], row["predicted_label"], row["mistakenness"]), (str(y[5]), "", ""))

    def test_many_classes(self):
        """More than rows are sampled, tables are kept for and a tile has; the benchmark has twenty times as many."""
        random, C = np.random.default_rng(0), 5_200
        y = np.arange(2 * C) % C
        X = random.normal(size=(C, 3))[y] + 0.01 * random.normal(size=(2 * C, 3))
        summary = self.works(X.astype("f4"), y, "--shrinkage", ".1")
        self.assertEqual(summary["n_classes"], C)


class BadPlaces(CliCase):
    """Exit code 3. Nothing here depends on permissions: the tests may run as root."""

    def setUp(self):
        super().setUp()
        self.X, self.y = self.save_clusters(n=3000)

    def fails(self, *arguments, **options):
        before = sorted(os.listdir(self.folder))
        message = self.rer("analyze", self.X, self.y, *arguments, code=3, **options).err
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return message

    def test_folder_that_cannot_be(self):
        self.save("file", "")
        for path in ("file", "file/below", "/proc/out", "/proc/out/deep"):
            self.assertIn(path.split("/deep")[0], self.fails("--out", path))

    def test_files_that_cannot_be(self):
        for option in ("--errors", "--save-model"):
            for path in ("X.npy/below", "/proc/file", "missing/file", "."):
                self.assertIn(path, self.fails(option, path, "--out", "out"))

    def test_temporary_folder_that_is_not_there(self):
        X = np.zeros((3000, 6000), "f4")  # more than is kept in memory
        self.X = self.save("X.npy.gz", gzip.compress(npy_of(X), 1))
        environment = {**os.environ, "TMPDIR": "/no/such/folder"}
        self.assertIn("/no/such/folder: cannot make a temporary file", self.fails("--out", "out", env=environment))

    def limited(self, *arguments):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

        return self.fails(*arguments, preexec_fn=limit)

    def test_full_disk(self):
        message = self.limited("--out", "out")
        self.assertIn("out/samples.csv", message)
        self.assertNotIn(".tmp", message)
        self.assertIn("errors.npy", self.limited("--errors", "errors.npy"))
        self.rer("analyze", self.X, self.y, "--out", "old", "--details")
        old = {name: self.load(self.path("old", name)) for name in os.listdir(self.path("old"))}
        self.save("errors.npy", "old")
        self.limited("--out", "old", "--errors", "errors.npy", "--save-model", "model")
        self.limited("--out", "old", "--save-model", "model")  # the model fits, samples.csv does not
        self.assertEqual({name: self.load(self.path("old", name)) for name in os.listdir(self.path("old"))}, old)
        self.assertEqual(self.load(self.path("errors.npy")), b"old")


if __name__ == "__main__":
    unittest.main()
