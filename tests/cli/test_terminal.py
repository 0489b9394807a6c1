"""What people see: at most 25 lines of 100 columns, harmless, and quiet when nobody reads."""
import json
import os
import pty
import re
import subprocess
import unicodedata
import unittest

import numpy as np
from PIL import Image

from cli_case import COMMAND, CliCase, clusters, column


class Terminal(CliCase):
    def check_shape(self, text, columns=80):
        """Sentences have at most 100 columns, lines of tables those of the terminal."""
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 25, text)
        for line in lines:
            width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
            self.assertLessEqual(width, columns if line.startswith("  ") else 100, line)
            self.assertEqual(line, line.rstrip(), "no blanks at the end")

    def test_summary(self):
        X, y = self.save_clusters(planted=12)
        text = self.rer("analyze", X, y, "--out", "out").out
        self.check_shape(text)
        for words in ("300 samples, 3 classes, 8 features", "About 12 labels look wrong (4.0 %).",
                      "Start with the 12 flagged (mistakenness over 0.5): about 12 are wrong; of the first 10 about 10.", "hardest classes",
                      "most confused pairs", "Written to out", "report.html first"):
            self.assertIn(words, text)
        self.assertRegex(text, r"\d+/10 nearest, (as near|\d\.\dx as far) as usual")
        self.assertRegex(self.with_columns(100, "analyze", X, y), r"\d+ of its 10 nearest (?:is|are) '1', (as near|\d\.\dx as far) as a typical one")
        rows = [line.split() for line in text.splitlines() if re.match(r"  +\d+ ", line)]
        shown = {int(row[0]): float(row[3].strip(">%")) / 100 for row in rows}
        self.assertEqual(len(shown), 10)
        for row in self.samples():
            if int(row["index"]) in shown:
                self.assertAlmostEqual(shown[int(row["index"])], float(row["mistakenness"]), delta=.0011)
        self.assertIn("--out DIR", self.rer("analyze", X, y).out)

    def test_how_many(self):
        """A range where there is one, never "at least 12, perhaps up to 12"; one label is one, of however many."""
        for apart, planted, n in ((1, 1, 300), (1, 12, 300), (.2, 12, 300), (.35, 0, 300), (1, 1, 3000)):
            X, y = clusters(n=n, planted=planted)
            X *= apart
            X += np.random.default_rng(1).normal(size=X.shape) * (1 - apart)
            head = self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out").out.splitlines()
            summary = self.summary()
            low, wrong, high = (round(summary[name] * n) for name in ("noise_low", "noise_rate", "noise_high"))
            share = "under 0.1" if summary["noise_rate"] < .0005 else f"{100 * summary['noise_rate']:.1f}"
            label = lambda count, one, many: f"{count} label{one if count == 1 else many}"
            if wrong == 0:
                expected = "Hardly any label looks wrong."
            elif low == high:
                expected = f"About {label(wrong, ' looks', 's look')} wrong ({share} %)."
            elif low == 0:
                expected = f"Up to {label(high, '', 's')} may be wrong (about {wrong}, {share} %)."
            else:
                expected = f"At least {label(low, ' is', 's are')} wrong, perhaps up to {high} (about {wrong}, {share} %)."
            self.assertEqual(head[1], expected)
            if summary["n_issues"] == 0:
                self.assertLess(max(float(row["mistakenness"]) for row in self.samples()), .5)
                self.assertIn("No single one is likelier wrong than right; of the first 10 about", head[3])
            if summary["n_issues"] == 1:
                self.assertIn("Start with the 1 flagged (mistakenness over 0.5): about 1 is wrong;", head[3])

    def test_reasons_are_true(self):
        """So many of the nearest of all rows are of the suggested class; where not all classes were compared it does not
        say that they are the nearest."""
        for classes, words in ((6, r"(\d+) of its 10 nearest (is|are) '(\d+)'"), (40, r"(\d+) of 10 near rows (is|are) '(\d+)'")):
            random, n = np.random.default_rng(4), 40 * classes
            X, y = clusters(n=n, d=128, classes=classes, planted=n // 4)  # directions: of unit length, not standardised
            X += 4 * random.normal(size=X.shape).astype("f4")
            y = random.permutation(y[:n // 4]).tolist() + y[n // 4:].tolist()
            text = self.with_columns(120, "analyze", self.save("X.npy", X), self.save("y.npy", np.array(y)), "--out", "out")
            unit = X / np.linalg.norm(X, axis=1, keepdims=True).astype(float)
            unit -= unit.mean(0)
            unit /= np.linalg.norm(unit, axis=1, keepdims=True)
            listed = {int(row["index"]): row["nearest_rows"] for row in self.samples()}
            lines = re.findall(r"^ +(\d+) .*?" + words, text, re.M)
            self.assertEqual(len(lines), 10, text)
            for row, count, verb, suggested in lines:
                self.assertEqual(verb, "is" if count == "1" else "are")
                row, count, suggested = int(row), int(count), int(suggested)
                near = [int(place) for place in re.findall(r"\d+", listed[row])]
                if classes == 6:
                    distance = np.square(unit - unit[row]).sum(1)
                    distance[row] = np.inf
                    self.assertEqual(near, np.argsort(distance)[:10].tolist())
                self.assertEqual(sum(y[place] == suggested for place in near), count)

    def test_rows_that_speak_against_the_verdict_are_no_reason(self):
        """Frames of a class that has one film: left out together, none of it is near. And classes that overlap."""
        random = np.random.default_rng(0)
        group = np.arange(120) // 10
        film = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2])[group]
        X = 4 * random.normal(size=(3, 8))[film] + random.normal(size=(12, 8))[group] + .05 * random.normal(size=(120, 8))
        y = film.copy()
        y[[0, 115]] = 1, 0
        groups = self.save("groups.txt", "".join(f"{g}\n" for g in group))
        text = self.with_columns(120, "analyze", self.save("X.npy", X), self.save("y.npy", y), "--groups", groups)
        self.assertRegex(text, r" 115 +0 +2 +>?[\d.]+% +[\d.]+x closer to '2' than to its own class\n")
        self.assertNotIn(" 0 of ", text)
        told = 0
        for seed in range(4):
            random = np.random.default_rng(seed)
            truth = np.arange(100) % 5
            y = np.where(random.random(100) < .05, (truth + 1) % 5, truth)
            X = random.normal(size=(5, 16))[truth] + random.normal(size=(100, 16))
            X = self.save("X.npy", X)
            text = self.with_columns(120, "analyze", X, self.save("y.npy", y), "--budget", "10", "--out", "out")
            listed = {int(row["index"]): row["nearest_rows"] for row in self.samples()}
            for row, given, suggested, why in re.findall(r"^ +(\d+) +(\d+) +(\d+) +>?[\d.]+% +(.*)$", text, re.M):
                near = y[list(map(int, listed[int(row)].split()))].tolist()
                speaks = near.count(int(suggested)) >= max(1, near.count(int(given)))
                self.assertEqual("near rows" in why or "nearest" in why, speaks, f"{why}: {near}")
                told += not speaks
        self.assertGreater(told, 0)

    def test_one_is_one(self):
        X, y = clusters(n=60, d=128, classes=30, planted=15)
        X += 4 * np.random.default_rng(4).normal(size=X.shape).astype("f4")
        text = self.with_columns(120, "analyze", self.save("X.npy", X), self.save("y.npy", y))
        said = set(re.findall(r"(\d+) of (?:its )?10 near\w*(?: rows)? (is|are) '", text))
        self.assertIn(("1", "is"), said)
        self.assertNotIn(("1", "are"), said)

    def test_other_detectors_promise_nothing(self):
        X, y = self.save_clusters(planted=12)
        text = self.rer("analyze", X, y, "--detector", "knn", "--out", "out").out
        self.assertIn(f"\nStart with the {self.summary()['n_issues']} flagged.\n", text)
        with open(self.path("out/report.html"), encoding="utf-8") as page:
            self.assertNotIn("of them wrong", page.read().split('<script type="application/json"')[0])

    def test_a_threshold_is_told_from_its_neighbours(self):
        X, y = self.save_clusters(planted=29)
        for threshold in (.5, .07, .999999, .1234567):
            text = self.rer("analyze", X, y, "--threshold", threshold, "--out", "out").out
            shown = re.search(r"Start with the (\d+) flagged \(mistakenness over ([\d.]+)\)", text)
            self.assertEqual(float(shown[2]), threshold)
            self.assertEqual(int(shown[1]), (column(self.samples(), "label_score") < 1 - threshold).sum())

    def test_features_that_say_nothing(self):
        """Rows that are all the same but one, copies under both labels, few rows and labels at random: no one knows that
        most labels are wrong."""
        random = np.random.default_rng(2)
        same, rows = np.ones((20, 5), "f4"), random.normal(size=(10, 8)).astype("f4")
        same[7] = 2, 2, 5, 2, 2
        for X, y in ((same, np.arange(20) // 10), (np.vstack([rows, rows]), np.arange(20) // 10),
                     (random.normal(size=(60, 64)).astype("f4"), random.integers(0, 4, 60))):
            self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out")
            self.assertLess(self.summary()["noise_rate"], .25)
            self.assertLess(self.summary()["noise_low"], .1)
            self.assertEqual("how many is a guess" in " ".join(self.summary()["notes"]), self.summary()["difficulty"] > .5)
        self.assertGreater(self.summary()["difficulty"], .5)

    def test_what_is_beyond_doubt_is_no_guess(self):
        """Of 5,000 rows beside 10 one label in a hundred is wrong, and all are found: class means tell little there."""
        random = np.random.default_rng(0)
        truth = np.arange(5010) // 5000
        X = (random.normal(size=(2, 32))[truth] * 1.1 + random.normal(size=(5010, 32))).astype("f4")
        y = np.where(random.random(5010) < .01, 1 - truth, truth)
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "out")
        summary = self.summary()
        self.assertGreater(summary["difficulty"], .5)
        self.assertAlmostEqual(summary["noise_rate"], (y != truth).mean(), delta=.001)
        self.assertNotIn("guess", " ".join(summary["notes"]))

    def test_doubts_come_first(self):
        """Of three notes or more one is shown: the one on how far the numbers can be trusted."""
        random = np.random.default_rng(2)
        X = random.normal(size=(60, 4)).astype("f4") * [1, 10, 100, 1000]
        X[7, 2] = np.nan
        X, y = self.save("X.npy", X), random.integers(0, 4, 60)
        text = self.rer("analyze", X, self.save("y.npy", y), "--drop-invalid", "--out", "out").out
        self.assertEqual(len(self.summary()["notes"]), 3)
        self.assertRegex(text, r"\n\nNote: .*how many is a guess\nNote: 2 more in summary.json")
        named = self.save("y.csv", "".join(f"{label}\n" for label in ["label", *y % 2]))
        text = self.rer("analyze", X, named, "--drop-invalid").out
        self.assertRegex(text, r"\n\nNote: .*(guess|'label', was taken.*)\nNote: \d more in summary.json")

    def test_ids_tell_rows_apart(self):
        """At 80 columns too the ends of long ids are seen, however long the names of classes are."""
        X, y = clusters(n=300, classes=3, planted=12)
        names = ["old temple", "red & white blossoms", "a third class"]
        ids = [f"{names[c]}/img {i:04d}.jpg" for i, c in enumerate(y)]
        text = self.rer("analyze", self.save("X.npy", X), self.save("y.csv", "\n".join(["class"] + [names[c] for c in y]) + "\n"),
                        "--ids", self.save("ids.txt", "\n".join(ids) + "\n")).out
        self.check_shape(text)
        shown = re.findall(r"^  .* (\d{4}\.jpg)  \S", text, re.M)
        self.assertEqual(len(set(shown)), 10, text)

    def test_nothing_to_look_at(self):
        """Few lines of what is hardly wrong, no pair that was seen once; clusters are clusters."""
        X, y = clusters(n=300)
        X, y = self.save("X.npy", X), self.save("y.npy", y)
        for arguments in ((X, y), (X, "--clusters", 3)):
            text = self.rer("analyze", *arguments).out
            self.check_shape(text)
            self.assertLessEqual(sum(bool(re.match(r"  +\d+ ", line)) for line in text.splitlines()), 3)
            self.assertNotRegex(text, r"/ .*: 1$")
        self.assertIn("3 clusters", text)
        self.assertNotRegex(text.split("Note")[0], "label|wrong\\.")

    def test_hostile_labels(self):
        names = ["x" * 300, "\x1b[31mred\x07", "猫" * 80, "two\nlines", "\u202egnp.exe", "é" * 90]
        X, y = clusters(n=120, classes=len(names), planted=12)
        X = np.vstack([X, 9 * np.eye(60, 8, dtype="f4")])
        text = "".join(f'"{names[c]}"\n' for c in y) + "".join(f"single {'long ' * 9}{i}\n" for i in range(60))
        ids = "".join(f"{'folder/' * 30}{i}\x1b[2J.png\n" for i in range(180))
        out = self.rer("analyze", self.save("X.npy", X), self.save("y.csv", text), "--ids", self.save("ids.txt", ids)).out
        self.check_shape(out)
        for character in ("\x1b", "\x07", "\u202e"):
            self.assertNotIn(character, out)
        self.assertIn("Note: ", out)

    def with_columns(self, columns, *arguments, **more):
        done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "COLUMNS": str(columns), **more})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_tables_take_the_columns_there_are(self):
        names = [f"a rather long name of the {word} class of all" for word in ("first", "second", "third")]
        X, y = clusters(n=300, planted=12)
        X, y = self.save("X.npy", X), self.save("y.csv", "".join(f"{names[c]}\n" for c in y))
        self.save("g.txt", "".join(f"a group with a long name, number {i % 9}\n" for i in range(300)))
        for name in ("one run with a long name", "another run with a name as long"):
            self.rer("analyze", X, y, "--out", name, "--quiet")
        bench = ("bench", X, y, "--noise", "symmetric", "--rates", ".1", "--seeds", "2")
        for arguments in (("analyze", X, y, "--subsets", "g.txt"), bench, ("sweep", X, y, "--over", "shrinkage=.1,.5"),
                          ("compare", "one run with a long name", "another run with a name as long")):
            narrow, wide = (max(len(line) for line in self.with_columns(columns, *arguments).splitlines() if line[:2] == "  ")
                            for columns in (80, 132))
            self.assertLessEqual(narrow, 80, arguments)
            self.assertTrue(narrow < wide <= 132 or arguments[0] == "sweep", arguments)
        text = self.with_columns(80, "analyze", X, y)
        self.assertRegex(text, r"a rat?h?e?r?.*\.\..*all ")  # the ends of a name, which differ, and not its middle alone
        self.assertIn(names[0], self.with_columns(160, "analyze", X, y))

    def test_colours(self):
        X, y = self.save_clusters(planted=12)
        plain = self.rer("analyze", X, y).out
        self.assertNotIn("\x1b", plain)
        painted = self.rer("analyze", X, y, "--color", "always").out
        self.assertIn("\x1b[31m", painted)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", painted), plain)
        for environment, options, coloured in (({}, (), True), ({"NO_COLOR": "1"}, (), False), ({"NO_COLOR": ""}, (), True),
                                               ({"TERM": "dumb"}, (), False), ({}, ("--color", "never"), False),
                                               ({"NO_COLOR": "1"}, ("--color=always",), True)):
            text = self.on_terminal("analyze", X, y, *options, **environment)
            self.assertEqual("\x1b" in text, coloured, (environment, options))
        self.assertIn("auto, always or never", self.rer("analyze", X, y, "--color", "yes", code=2).err)
        json.loads(self.rer("analyze", X, y, "--json", "--color", "always").out)

    def test_progress(self):
        """It never runs backwards, not from one analysis to the next, fits the terminal, and has a bar, a rate and a time
        left."""
        X, y = clusters(n=30000, d=300, classes=40)
        X, y = self.save("X.npy", X), self.save("y.npy", y)
        text = self.on_terminal("sweep", X, y, "--threads", "1", "--reconstructor", "subspace", "--over", "rank=2,3", columns=80)
        shown = [line for line in text.split("\r") if "%" in line and "#" in line or "--------" in line]
        self.assertGreater(len(shown), 3)
        found = [re.match(r"\S.{23}  (#*)(-*) +(\d+) %  ([\d,]+) samples/s  about \d+ (s|min) left *$", line) for line in shown]
        self.assertTrue(all(found), shown)
        self.assertLess(max(map(len, shown)), 80)
        done = [int(match[3]) for match in found]
        self.assertEqual(done, sorted(done))
        self.assertLess(done[0], 50)
        self.assertGreater(done[-1], 50)
        for match in found:
            self.assertEqual(len(match[1] + match[2]), 12)
            self.assertLessEqual(abs(len(match[1]) - int(match[3]) * .12), 1.06)  # both are rounded

    def test_reader_that_leaves(self):
        X, y = self.save_clusters()
        process = subprocess.Popen([COMMAND, "analyze", X, y, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), 0)

    def save_photo(self):
        os.mkdir(self.path("photos"))
        Image.new("RGB", (40, 40), (1, 2, 3)).save(self.path("photos", "a.png"))

    def every_command(self):
        """Each once, with little data; what it needs is made."""
        X, y = self.save_clusters(n=90, planted=5)
        for name in ("a", "b"):
            self.rer("analyze", X, y, "--out", name, "--save-model", "model", "--quiet")
        self.save_photo()
        return (("analyze", X, y), ("analyze", X, y, "--json"), ("score", "model", X, y),
                ("scale", X, y, "--sizes", "4,8,12"), ("compare", "a", "b"), ("compare", "a", "b", "--json"),
                ("sweep", X, y, "--over", "shrinkage=.1,.5"), ("noise", y, "--out", "noisy.npy"),
                ("bench", X, y, "--noise", "symmetric", "--rates", ".1", "--seeds", "1", "--detectors", "rer,knn"),
                ("apply", y, "a", "--auto", ".9", "--out", "clean.npy"), ("review", "a", "--export", "decisions.csv"),
                ("embed", "photos", "--out", "F.npy"), ("completions", "bash"))

    def test_full_standard_output(self):
        commands = self.every_command()
        helps = tuple((command[0], "--help") for command in commands)
        self.assertEqual({command[0] for command in commands}, set(re.findall(r"^  rer (\w+) ", self.rer("--help").out, re.M)))
        for arguments in (*commands, *helps, ("--help",), ("--version",)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=self.folder)
            self.assertEqual(done.returncode, 3, arguments)
            self.assertRegex(done.stderr, rb"\Arer: standard output .+: No space left on device\n\Z")
            self.rer(*arguments)
        closed = subprocess.run([COMMAND, *commands[0], "--out", "new"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                preexec_fn=lambda: os.close(1), cwd=self.folder)
        self.assertEqual(closed.returncode, 3, closed.stderr)
        self.assert_complete("new")

    def assert_harmless(self, text):
        for character in text:
            self.assertTrue(character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"),
                            repr(text))

    def run_hostile(self, *arguments):
        done = subprocess.run([COMMAND, *arguments], capture_output=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, (0, 1, 2, 3))
        self.assert_harmless((done.stdout + done.stderr).decode())
        self.assertLessEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"\\", done.stdout + done.stderr, arguments)  # it was shown, and visibly

    def test_hostile_texts_everywhere(self):
        evil = "\x1b]0;P\x07\x1b[31m\u202e\x9b\x7f"
        X, y = clusters(n=60, planted=5)
        names = [f"{evil}{c}" for c in range(3)]
        self.save("X.npy", X), self.save("y.npy", y)
        self.save("names.txt", "\n".join(names) + "\n"), self.save("ids.txt", "".join(f"{evil}{i}\n" for i in range(60)))
        self.save("y.csv", "".join(f"{names[c]}\n" for c in y)), self.save("list.txt", f"{evil}.png\n" * 60)
        self.save("table.csv", f"a,{evil},class\n1,2,3\n")
        np.savez(self.path("two.npz"), **{"\x1b[31m": X, "b": X})
        self.save("bad.csv", f"index,given_label,decision,new_label,labels_checksum\n0,{evil},keep,,rer:0\n")
        self.save("sum.csv", f"index,given_label,decision,new_label,labels_checksum\n0,{y[0]},keep,,{evil}\n")
        self.save_photo()
        os.makedirs(self.path(evil)), self.save(f"{evil}/summary.json", '{"' + evil + '": ')
        run = ("analyze", "X.npy")
        for arguments in ((*run, "y.npy", "--class-names", "names.txt"), (*run, "y.npy", "--ids", "ids.txt"),
                          (*run, "y.csv"), (*run, "y.npy", "--images", "list.txt"), (*run, f"{evil}.npy"),
                          (*run, "y.npy", "--save-model", f"{evil}/no/such"), (*run, "y.npy", "--out", evil),
                          ("analyze", "table.csv", "--label-column", "no"), ("analyze", "two.npz", "y.npy"),
                          ("apply", "y.npy", "bad.csv", "--out", "z.npy"), ("apply", "y.npy", "sum.csv", "--out", "z.npy"),
                          ("apply", "y.npy", evil, "--auto", ".5", "--out", "z.npy"), ("compare", evil, evil), (evil,),
                          ("analyze", f"--{evil}"), ("analyze", f"-{evil}"), (*run, "y.npy", "--seed", evil),
                          (*run, "y.npy", "--reconstructor", evil), ("sweep", *run[1:], "y.npy", "--over", f"{evil}=1"),
                          ("noise", "y.npy", "--out", f"{evil}.npy"), ("embed", evil, "--out", "F.npy"),
                          ("embed", "y.csv", "--model", evil, "--out", "F.npy"), ("embed", "photos", "--out", f"{evil}.npy"),
                          ("embed", "photos", "--mean", evil, "--model", "names.txt", "--out", "F.npy"), ("review", evil),
                          ("review", "y.npy", "--port", evil), (*run, "y.npy", "--device", evil), ("completions", evil)):
            self.run_hostile(*arguments)
        for name in (f"r{evil}1", f"r{evil}2"):
            self.rer(*run, "y.csv", "--ids", "ids.txt", "--out", name, "--quiet")
            self.rer("analyze", "X.npy", "y.csv", "--ids", "ids.txt", "--json")
        for command in (("compare", f"r{evil}1", f"r{evil}2"), ("compare", f"r{evil}1", f"r{evil}2", "--json"),
                        ("compare", f"r{evil}1", f"r{evil}2", "--mode", "labels"),
                        ("review", f"r{evil}1", "--export", f"{evil}.csv")):
            self.run_hostile(*command)
        json.loads(self.rer("compare", f"r{evil}1", f"r{evil}2", "--json").out)

    def test_no_nan_for_people(self):
        """On the terminal and in pages and charts, where ratios have no value."""
        X = np.zeros((40, 6), "f4")
        X[0] = 1
        hot = np.tile(np.eye(4, dtype="f4"), (10, 1))
        for name, rows in (("zeros", X), ("hot", hot)):
            X_path, y_path = self.save(f"{name}.npy", rows), self.save(f"{name}y.npy", np.arange(40) % 4)
            for options in (("--details",), ("--threshold", "paper"), ("--normalize", "none"), ("--reconstructor", "published")):
                out = f"{name}{options[-1]}"
                done = self.rer("analyze", X_path, y_path, "--details", *options, "--out", out)
                self.check_words(done.out, out)
            self.check_words(self.rer("sweep", X_path, y_path, "--over", "shrinkage=.1,.5", "--out", "sweep.csv").out)
            self.assertNotIn(b"nan", self.load(self.path("sweep.csv")))
            done = self.rer("scale", X_path, y_path, "--sizes", "3,5,8", "--out", f"{name}scale")
            self.check_words(done.out, f"{name}scale")
            done = self.rer("bench", X_path, y_path, "--noise", "symmetric", "--rates", ".1", "--seeds", "1", "--detectors",
                            "rer,knn", "--out", f"{name}bench")
            self.check_words(done.out, f"{name}bench")
        done = self.rer("compare", "zeros--details", "hot--details", "--mode", "datasets", "--out", "compared")
        self.check_words(done.out, "compared")

    def check_words(self, printed, folder=None):
        texts = [printed]
        for name in os.listdir(self.path(folder)) if folder is not None else ():
            if name.endswith((".html", ".svg")):
                text = self.load(self.path(folder, name)).decode()
                texts.append(re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S))
        for text in texts:
            self.assertNotRegex(text, r"(?i)(?<![\w./-])[-+]?(nan|inf|infinity)(?![\w./])")

    def test_short_work_shows_no_progress(self):
        X, y = self.save_clusters()
        master, slave = pty.openpty()
        done = subprocess.run([COMMAND, "analyze", X, y], stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        self.assertEqual(done.returncode, 0)
        with self.assertRaises(OSError):  # nothing was written: the other end is closed
            os.read(master, 1)
        os.close(master)


if __name__ == "__main__":
    unittest.main()
