"""rer apply: corrected labels against the same corrections in numpy, for every kind of label file; and what it
refuses."""
import csv
import gzip
import html
import os
import re
import struct
import subprocess
import unittest

import numpy as np

from cli_case import CliCase, clusters, column

FIELDS = ["index", "given_label", "decision", "new_label", "labels_checksum"]


class Apply(CliCase):
    def analyze(self, labels, *arguments, planted=12, n=120):
        X, y = clusters(n=n, planted=planted)
        self.save("X.npy", X)
        self.rer("analyze", "X.npy", labels(y), "--out", "out", "--quiet", *arguments)
        return y

    def checksum(self):
        return "rer:" + self.summary()["checksums"]["labels"]

    def decisions(self, rows, name="decisions.csv", checksum=None):
        with open(self.path(name), "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            writer.writerows([*row, checksum or self.checksum()] for row in rows)
        return name

    def test_every_kind_of_file(self):
        names = np.array(["ant", "bee, \"big\"", "c\u00e4t"])
        idx = lambda y: gzip.compress(bytes([0, 0, 8, 1]) + struct.pack(">I", len(y)) + y.astype("u1").tobytes())
        kinds = {
            "i8": (lambda y: self.save("y.npy", y), str, lambda y, drop: np.where(drop, -1, y).astype("i8")),
            "u1": (lambda y: self.save("y.npy", y.astype("u1")), str, lambda y, drop: np.where(drop, -1, y).astype("i8")),
            "f4": (lambda y: self.save("y.npy", y.astype("f4")), str, lambda y, drop: np.where(drop, np.nan, y).astype("f4")),
            "idx": (lambda y: self.save("y.gz", idx(y)), str, lambda y, drop: np.where(drop, -1, y).astype("i8")),
            "unicode": (lambda y: self.save("y.npy", names[y]), lambda c: names[c], lambda y, drop: np.where(drop, "", names[y])),
        }
        for kind, (save, value, expect) in kinds.items():
            with self.subTest(kind):
                y = self.analyze(save)
                rows = [(0, value(y[0]), "fix", value(2)), (1, value(y[1]), "keep", value(y[1])),
                        (2, value(y[2]), "drop", ""), (7, value(y[7]), "choose", value(1))]
                source = "y.gz" if kind == "idx" else "y.npy"
                done = self.rer("apply", source, self.decisions(rows), "--out", "z.npy")
                self.assertEqual(done.out, "2 of 120 labels changed, 1 dropped, 1 kept after a look; labels written to z.npy\n")
                z = y.copy()
                z[0], z[7] = 2, 1
                expected = expect(z, np.arange(len(y)) == 2)
                got = np.load(self.path("z.npy"))
                self.assertEqual(got.dtype, expected.dtype)
                np.testing.assert_array_equal(got, expected)

    def test_new_labels_and_none(self):
        names = np.array(["ant", "bee", "c\u00e4t"])
        kinds = {"i2": (lambda y: y.astype("i2"), str, "7", lambda y: y.astype("i8")),
                 "u1": (lambda y: y.astype("u1"), str, "300", lambda y: y.astype("i8")),
                 "f8": (lambda y: y.astype("f8"), str, "7", lambda y: y.astype("i8")),
                 "unicode": (lambda y: names[y], lambda c: names[c], "d\u00f6rmouse", None),
                 "bytes": (lambda y: np.array([b"ant", b"bee", b"cat"])[y], lambda c: "ant bee cat".split()[c], "dormouse", None)}
        for kind, (made, value, new, numbers) in kinds.items():
            with self.subTest(kind):
                y = self.analyze(lambda y: self.save("y.npy", made(y)))
                rows = [(0, value(y[0]), "new", new), (1, value(y[1]), "none", ""), (2, value(y[2]), "new", new),
                        (3, value(y[3]), "new", value(2))]
                done = self.rer("apply", "y.npy", self.decisions(rows), "--out", "z.npy")
                self.assertEqual(done.out, "3 of 120 labels changed, 1 dropped, 0 kept after a look; labels written to z.npy\n")
                expected = [value(c) for c in y]
                expected[0], expected[1], expected[2], expected[3] = new, "-1" if numbers else "", new, value(2)
                got = np.load(self.path("z.npy"))
                self.assertEqual(got.dtype.kind, "i" if numbers else "U")
                self.assertEqual(got.astype(str).tolist(), expected)
                rows[0] = (0, value(y[0]), "new", 'an "odd", one')
                self.rer("apply", "y.npy", self.decisions(rows), "--out", "z.csv")
                with open(self.path("z.csv"), newline="", encoding="utf-8") as file:
                    texts = ["".join(line) for line in csv.reader(file)]
                self.assertEqual((texts[:3], len(texts)), (['an "odd", one', "", new], 120))
                self.rer("apply", "y.npy", self.decisions(rows), "--weights", "w.npy")
                np.testing.assert_array_equal(np.load(self.path("w.npy")), np.r_[0, 0, 0, 0, np.ones(116)])

    def shown_command(self, out="out"):
        """What report.html tells to type."""
        text = self.load(self.path(out, "report.html")).decode()
        return html.unescape(re.search(r'<code id="apply">rer (apply .*?)</code>', text).group(1))

    def test_the_command_that_the_page_shows(self):
        """As it stands, by a shell: a column of a table, a name with blanks and quotes, clusters."""
        X, y = clusters(n=120, planted=12)
        self.save("X.npy", X)
        odd = "it's a \"table\" $HOME.csv"
        self.save(odd, "a,b,the kind\n" + "".join(f"{X[i, 0]},{X[i, 1]},k{y[i]}\n" for i in range(120)))
        self.save("y y.npy", y)
        for arguments, place in (((odd, "--label-column", "the kind"), "."), ((odd, f"{odd}:the kind"), "."),
                                 (("X.npy", f"{odd}:the kind"), "."), (("X.npy", "y y.npy"), "."),
                                 (("X.npy", "--clusters", "12"), "out")):
            self.rer("analyze", *arguments, "--out", "out", "--quiet")
            given = [row["given_label"] for row in self.samples()]
            other = next(label for label in given if label != given[0])
            self.decisions([(0, given[0], "fix", other)], name=os.path.join(place, "decisions.csv"))
            command = self.shown_command()
            subprocess.run(f'"$RER_COMMAND" {command}', shell=True, check=True, cwd=self.path(place), stdout=subprocess.DEVNULL)
            name = os.path.join(place, command.split()[-1])
            clean = (np.load(self.path(name)).astype(str).tolist() if name.endswith(".npy")
                     else self.load(self.path(name)).decode().splitlines())
            self.assertEqual(clean, [other, *given[1:]], command)

    def test_without_drops_the_type_stays(self):
        y = self.analyze(lambda y: self.save("y.npy", y.astype("u1")))
        self.rer("apply", "y.npy", self.decisions([(3, str(y[3]), "fix", "0")]), "--out", "z.npy", "--quiet")
        z = y.astype("u1")
        z[3] = 0
        got = np.load(self.path("z.npy"))
        self.assertEqual(got.dtype, np.dtype("u1"))
        np.testing.assert_array_equal(got, z)

    def test_texts_and_tables(self):
        names = np.array(["ant", "bee", "cat"])
        X, y = clusters(n=120, planted=12)
        head = ",".join(f"x{j}" for j in range(X.shape[1])) + ",label\n"
        lines = [",".join(map(str, x)) + f",{names[c]}\n" for x, c in zip(X, y)]
        self.save("table.csv", head + "".join(lines))
        self.rer("analyze", "table.csv", "--label-column", "label", "--out", "out", "--quiet")
        rows = [(5, names[y[5]], "fix", "ant"), (6, names[y[6]], "drop", "")]
        self.rer("apply", "table.csv", self.decisions(rows), "--label-column", "label", "--out", "z.txt", "--quiet")
        z = names[y]
        z[5], z[6] = "ant", ""
        self.assertEqual(self.load(self.path("z.txt")).decode().split("\n")[:-1], z.tolist())

    def test_class_names_do_not_matter_to_decisions(self):
        names = self.save("names.txt", "one\ntwo\nthree\n")
        y = self.analyze(lambda y: self.save("y.npy", y + 10), "--class-names", names)
        self.rer("apply", "y.npy", self.decisions([(0, str(y[0] + 10), "fix", "12")]), "--out", "z.npy", "--quiet")
        self.assertEqual(np.load(self.path("z.npy"))[0], 12)

    def test_automatic(self):
        y = self.analyze(lambda y: self.save("y.npy", y))
        samples = self.samples()
        p = column(samples, "mistakenness")
        for least in (.5, .9):
            z = y.copy()
            for row in np.flatnonzero(p > least):
                z[row] = int(samples[row]["suggested_label"])
            self.assertGreater((z != y).sum(), 3)
            done = self.rer("apply", "y.npy", "out", "--auto", least, "--out", "z.npy")
            np.testing.assert_array_equal(np.load(self.path("z.npy")), z)
            self.assertIn(f"{(z != y).sum()} of 120 labels changed; labels written", done.out)

    def test_automatic_below_the_threshold_says_what_stays(self):
        y = self.analyze(lambda y: self.save("y.npy", y), "--budget", "2")
        p = column(self.samples(), "mistakenness")
        done = self.rer("apply", "y.npy", "out", "--auto", .5, "--out", "z.npy")
        self.assertEqual((np.load(self.path("z.npy")) != y).sum(), 2)
        self.assertIn(f"{(p > .5).sum() - 2} rows above 0.5 stay as they are", done.out)

    def test_equal_class_names_are_refused(self):
        X, y = self.save_clusters(n=60)
        names = self.save("names.txt", "cat\ndog\ncat\n")
        message = self.rer("analyze", X, y, "--class-names", names, "--out", "results", code=1).err
        self.assertIn("names.txt: names 1 and 3 (from 1) are both 'cat'", message)

    def test_automatic_with_class_names_and_missing_labels(self):
        names = self.save("names.txt", "one\ntwo\nthree\n")
        missing = [100, 101]

        def save(y):
            y[missing] = -1
            return self.save("y.npy", y)
        y = self.analyze(save, "--class-names", names)
        samples = self.samples()
        z = y.copy()
        for row, sample in enumerate(samples):
            p = sample["mistakenness"] if y[row] >= 0 else sample["suggestion_probability"]
            if float(p) > .8:
                z[row] = ["one", "two", "three"].index(sample["suggested_label"])
        self.assertTrue((z[missing] >= 0).all())
        self.rer("apply", "y.npy", "out", "--auto", ".8", "--class-names", names, "--out", "z.npy", "--quiet")
        np.testing.assert_array_equal(np.load(self.path("z.npy")), z)
        self.assertIn("--class-names", self.rer("apply", "y.npy", "out", "--auto", ".8", "--out", "z.npy", code=1).err)

    def test_weights(self):
        y = self.analyze(lambda y: self.save("y.npy", y))
        rows = [(0, str(y[0]), "fix", "2"), (1, str(y[1]), "keep", str(y[1])), (2, str(y[2]), "drop", "")]
        done = self.rer("apply", "y.npy", self.decisions(rows), "--weights", "w.npy")
        self.assertEqual(done.out, "Weights of 120 labels written to w.npy: 0 for 2 changed or dropped, 1 for the others\n")
        w = np.ones(len(y), "f4")
        w[[0, 2]] = 0
        got = np.load(self.path("w.npy"))
        self.assertEqual(got.dtype, np.dtype("f4"))
        np.testing.assert_array_equal(got, w)
        done = self.rer("apply", "y.npy", "out", "--auto", .5, "--weights", "w.txt")
        self.assertEqual(done.out, "Weights of 120 labels written to w.txt: each label's score, 0 to 1\n")
        np.testing.assert_array_equal(np.loadtxt(self.path("w.txt")).astype("f4"),
                                      column(self.samples(), "label_score").astype("f4"))

    def refuses(self, text, *arguments, code=1):
        self.assertIn(text, self.rer("apply", *arguments, code=code).err)
        self.assertNotIn("z.npy", os.listdir(self.folder))

    def test_refuses_other_labels(self):
        y = self.analyze(lambda y: self.save("y.npy", y))
        table = self.decisions([(0, str(y[0]), "fix", "2")])
        other = y.copy()
        other[50] = (other[50] + 1) % 3
        self.save("other.npy", other)
        self.refuses("was made for other labels (checksum rer:", "other.npy", table, "--out", "z.npy")
        self.refuses("out: was made for other labels", "other.npy", "out", "--auto", ".9", "--out", "z.npy")
        self.save("short.npy", y[:-1])
        self.refuses("was made for other labels", "short.npy", table, "--out", "z.npy")
        swapped = self.decisions([(0, str((y[0] + 1) % 3), "fix", "2")])
        self.refuses("row 0 is given as", "y.npy", swapped, "--out", "z.npy")

    def test_refuses_what_it_does_not_understand(self):
        y = self.analyze(lambda y: self.save("y.npy", y))
        label = str(y[4])
        for rows, text in (([(4, label, "maybe", "2")], "line 2: a decision is keep, fix, choose, new, drop, none or unsure, not 'maybe'"),
                           ([(4, label, "fix", "7")], "line 2: the labels have no class (a decision 'new' makes one) '7'"),
                           ([(4, label, "fix", "1"), (4, label, "keep", label)], "line 3: a second time the row '4'"),
                           ([(4, label, "new", "seven")], "line 2: the labels are numbers; write texts (--out y_clean.csv), or name a number, not 'seven'"),
                           ([(4, label, "new", "")], "line 2: a new label has a name, not ''"),
                           ([(999, label, "keep", label)], "no such row in the labels: '999'"),
                           ([("x", label, "keep", label)], "no such row in the labels: 'x'")):
            self.refuses(text, "y.npy", self.decisions(rows), "--out", "z.npy")
        self.save("bad.csv", "index,decision\n1,keep\n")
        self.refuses("has no column 'given_label'", "y.npy", "bad.csv", "--out", "z.npy")
        self.save("empty.csv", "")
        self.refuses("empty", "y.npy", "empty.csv", "--out", "z.npy")
        self.refuses("give --auto P", "y.npy", "out/samples.csv", "--out", "z.npy")
        self.refuses("summary.json: cannot be read", "y.npy", ".", "--auto", ".9", "--out", "z.npy")
        table = self.decisions([(4, label, "keep", label)])
        self.refuses("name one output", "y.npy", table, code=2)
        self.refuses("name one output", "y.npy", table, "--out", "z.npy", "--weights", "w.npy", code=2)
        self.refuses("labels are written as .npy", "y.npy", table, "--out", "z.pkl", code=2)

    def test_refuses_a_drop_that_has_no_sign(self):
        y = self.analyze(lambda y: self.save("y.npy", y - 2))
        self.refuses("-1 cannot stand for a dropped sample", "y.npy", self.decisions([(0, str(y[0] - 2), "drop", "")]),
                     "--out", "z.npy")


if __name__ == "__main__":
    unittest.main()
