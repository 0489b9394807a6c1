"""Arguments: what is accepted, what is refused with exit code 2, and what --help says."""
import os
import platform
import re
import subprocess
import unittest

from cli_case import COMMAND, CliCase


class Usage(CliCase):
    def test_help_fits_on_a_screen(self):
        for command in ("analyze", "score", "scale", "compare", "sweep", "noise", "bench", "apply", "review", "embed", "completions"):
            lines = self.rer(command, "--help").out.splitlines()
            self.assertLessEqual(len(lines), 39)
            self.assertLessEqual(max(map(len, lines)), 100)
        text = self.rer("analyze", "-h").out
        for option in ("out", "save-model", "errors", "class-names", "ids", "images", "texts", "label-column", "json", "quiet", "normalize",
                       "reconstructor", "shrinkage", "budget", "threshold", "threads", "seed", "memory", "drop-invalid"):
            self.assertRegex(text, rf"(?m)^  --{option} .*\[.+\]$")  # with its default
        self.assertEqual(text.count("rer analyze"), 3)  # usage and two examples

    def test_top_level(self):
        self.assertRegex(self.rer("--version").out, r"\Arer \d+\.\d+\.\d+ \(\w+( and AMX)?, OpenBLAS \w+\)\n\Z")
        self.assertIn("rer analyze", self.rer("--help").out)
        bare = subprocess.run([COMMAND], capture_output=True, text=True)  # what it can do
        self.assertEqual((bare.stdout, bare.stderr), (self.rer("--help").out, ""))
        self.assertEqual(bare.returncode, 2)  # a script that lost its command still fails
        self.assertIn("did you mean analyze?", self.rer("analyse", code=2).err)
        self.assertNotIn("did you mean", self.rer("frobnicate", code=2).err)

    @unittest.skipUnless(platform.machine() == "x86_64", "one set of kernels elsewhere")
    def test_kernels_follow_what_the_processor_can_do(self):
        """And not its model, which may be younger than the library: here that of the machine plays no part."""
        flags = set(re.search(r"^flags\s*:(.*)$", open("/proc/cpuinfo").read(), re.M).group(1).split())
        wide = {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= flags
        fast = {"avx2", "fma"} <= flags
        vectors = "avx512" * wide + "vnni" * (wide and "avx512_vnni" in flags) or "avx2" * fast or "baseline"
        said = {**os.environ, "OPENBLAS_CORETYPE": ""}
        del said["OPENBLAS_CORETYPE"]
        named = re.search(r"\((\w+)(?: and AMX)?, OpenBLAS (\w+)\)", self.rer("--version", env=said).out)
        self.assertEqual(named.group(1), vectors)
        if fast:
            self.assertEqual(named.group(2).lower(), "skylakex" if wide else "haswell")
            said["OPENBLAS_CORETYPE"] = "Prescott"  # whoever asks for others gets them
            self.assertIn("OpenBLAS Prescott", self.rer("--version", env=said).out)

    def test_wrong_options(self):
        def fails(*arguments):
            return self.rer("analyze", "X.npy", "y.npy", *arguments, code=2).err

        self.assertIn("--shrinkage?", fails("--shrinkag", "1"))
        self.assertIn("--drop-invalid?", fails("--drop-invalidd"))
        self.assertIn("needs a value", fails("--out"))
        self.assertIn("needs a value", fails("--out", "--json"))
        self.assertIn("takes no value", fails("--json=1"))
        self.assertIn("unknown option -x", fails("-x"))
        self.assertIn("one file too many: z", fails("z"))
        self.assertIn("--out", fails("--out="))
        for name, value in (("shrinkage", "2"), ("threshold", "x"), ("threads", "-1"), ("seed", "1.5"),
                            ("normalize", "l3"), ("budget", "-3"), ("budget", "200%"), ("memory", "much")):
            message = fails("--" + name, value)
            self.assertIn("--" + name, message)
            self.assertIn(value, message)

    def test_missing_inputs(self):
        self.assertIn("usage: rer analyze", self.rer("analyze", code=2).err)
        self.assertIn("labels are missing", self.rer("analyze", "X.npy", code=2).err)
        self.assertIn("twice", self.rer("analyze", "X.csv", "y.npy", "--label-column", "a", code=2).err)
        self.assertIn("usage: rer score", self.rer("score", "model", code=2).err)
        self.assertIn("--seed, which has no meaning here", self.rer("score", "m", "X", "--seed", "1", code=2).err)

    def test_forms_of_options(self):
        X, y = self.save_clusters()
        a = self.rer("analyze", X, y, "--budget", "7", "--drop-invalid", "--quiet", "--out", "a")
        self.rer("analyze", "--budget=7", "--drop_invalid", "--out=b", "--quiet", "--", X, y)
        self.assertEqual(a.out + a.err, "")
        self.assertEqual(self.samples("a"), self.samples("b"))
        options = self.summary("b")["options"]
        self.assertEqual((options["budget"], options["drop-invalid"]), ("7", True))

    def test_labels_of_a_column(self):
        """t.csv:NAME is what --label-column NAME is, and no feature of its own table."""
        rows = [f"{i % 3 * 4 + i % 7 / 7:.3f},{i % 5 / 5:.3f},{(i + (i < 3)) % 3}" for i in range(90)]
        self.save("t.csv", "a,b,kind\n" + "\n".join(rows) + "\n")
        self.save("x.csv", "\n".join(row.rsplit(",", 1)[0] for row in rows) + "\n")
        self.save("y.csv", "\n".join(row.rsplit(",", 1)[1] for row in rows) + "\n")
        tables = []
        for arguments in (("x.csv", "y.csv"), ("t.csv", "--label-column", "kind"), ("t.csv", "t.csv:kind"), ("x.csv", "t.csv:kind")):
            self.rer("analyze", *arguments, "--out", "out", "--quiet")
            tables.append(self.load(self.path("out/samples.csv")))
        self.assertEqual(tables[1:], tables[:1] * 3)
        self.assertIn("no column 'kin'", self.rer("analyze", "x.csv", "t.csv:kin", code=1).err)
        self.assertIn("named twice", self.rer("noise", "t.csv:kind", "--label-column", "a", "--out", "z.csv", code=2).err)
        self.assertIn("is the input t.csv:kind", self.rer("noise", "t.csv:kind", "--out", "t.csv", code=2).err)

    def test_other_columns(self):
        """Columns of the features' own table that are named as ids, texts, groups or subsets are no features."""
        rows = [(f"{i % 3 * 4 + i % 7 / 7:.3f},{i % 5 / 5:.3f}", f"row {i}", f"g{i // 2}", str((i + (i < 3)) % 3)) for i in range(90)]
        for name, part in (("x.csv", 0), ("names.txt", 1), ("groups.txt", 2), ("y.csv", 3)):
            self.save(name, "\n".join(row[part] for row in rows) + "\n")
        self.save("t.csv", "who,a,b,set,kind\n" + "\n".join(f"{n},{x},{g},{k}" for x, n, g, k in rows) + "\n")
        tables = []
        for x, y, ids, groups in (("x.csv", "y.csv", "names.txt", "groups.txt"),
                                  ("t.csv", "t.csv:kind", "t.csv:who", "t.csv:set")):
            self.rer("analyze", x, y, "--ids", ids, "--texts", ids, "--groups", groups, "--out", "out", "--quiet")
            tables.append(self.load(self.path("out/samples.csv")))
        self.assertIn(b"\n5,row 5,", tables[0])
        self.assertEqual(tables[1], tables[0])
        for ids, words in (("t.csv:wo", "no column 'wo'"), ("t.csv:a", "column 'who': 'row 0' is not a number")):
            self.assertIn(words, self.rer("analyze", "t.csv", "t.csv:kind", "--ids", ids, code=1).err)
        self.save("only.csv", "who,kind\na,0\nb,1\n")
        self.assertIn("no column of features", self.rer("analyze", "only.csv", "only.csv:kind", "--ids", "only.csv:who", code=1).err)

    def test_file_after_two_dashes(self):
        message = self.rer("analyze", "--", "--strange.npy", "y.npy", code=1).err
        self.assertIn("--strange.npy", message)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # says what was left out
