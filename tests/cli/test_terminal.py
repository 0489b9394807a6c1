"""What people see: at most 25 lines of 100 columns, harmless, and quiet when nobody reads."""
import os
import pty
import subprocess
import unicodedata
import unittest

import numpy as np

from cli_case import COMMAND, CliCase, clusters


class Terminal(CliCase):
    def check_shape(self, text):
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 25, text)
        for line in lines:
            width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
            self.assertLessEqual(width, 100, line)
            self.assertEqual(line, line.rstrip(), "no blanks at the end")

    def test_summary(self):
        X, y = self.save_clusters(planted=12)
        text = self.rer("analyze", X, y, "--out", "out").out
        self.check_shape(text)
        for words in ("300 samples, 3 classes, 8 features", "labels are wrong, perhaps up to",
                      "Start with the 12 flagged (mistakenness over 0.5): about 12 are wrong; of the first 10 about 10.", "hardest classes",
                      "most confused pairs", "Written to out", "report.html first"):
            self.assertIn(words, text)
        self.assertRegex(text, r"\d+ of its 10 nearest are '1', (as near|\d\.\dx as far) as a typical one")
        self.assertIn("--out DIR", self.rer("analyze", X, y).out)

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

    def test_reader_that_leaves(self):
        X, y = self.save_clusters()
        process = subprocess.Popen([COMMAND, "analyze", X, y, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), 0)

    def test_full_standard_output(self):
        X, y = self.save_clusters()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, "analyze", X, y], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"standard output", done.stderr)

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
