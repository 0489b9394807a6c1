"""Where outputs go: never over an input, over each other, or over what is not ours."""
import json
import os
import unittest

import numpy as np

from cli_case import CliCase, clusters


class Places(CliCase):
    def setUp(self):
        super().setUp()
        self.X, self.y = self.save_clusters(n=60)

    def tree(self):
        return {os.path.join(folder, name): self.load(os.path.join(folder, name))
                for folder, _, names in os.walk(self.folder) for name in names}

    def refused(self, *arguments, words=(), code=2, **options):
        before = self.tree()
        message = self.rer(*arguments, code=code, **options).err
        for word in words:
            self.assertIn(word, message)
        self.assertEqual(self.tree(), before)

    def test_inputs(self):
        os.link(self.X, self.path("hard.npy"))
        os.symlink("y.npy", self.path("soft.npy"))
        np.savez(self.path("both.npz"), X=np.load(self.X), y=np.load(self.y))
        self.save("ids.txt", "a\n" * 60)
        for option, path in (("--errors", "X.npy"), ("--save-model", "y.npy"), ("--errors", "hard.npy"),
                             ("--save-model", "soft.npy"), ("--errors", "./../" + os.path.basename(self.folder) + "/X.npy")):
            self.refused("analyze", "X.npy", "y.npy", option, path, words=(option, path))
        self.refused("analyze", "both.npz:X", "both.npz:y", "--errors", "both.npz", words=("both.npz",))
        self.refused("analyze", "X.npy", "y.npy", "--ids", "ids.txt", "--errors", "ids.txt", words=("ids.txt",))
        with open(self.X, "rb") as file:
            self.refused("analyze", "-", "y.npy", "--errors", "X.npy", stdin=file)
        self.refused("noise", "y.npy", "--out", "y.npy", words=("y.npy",))
        self.refused("noise", "y.npy", "--out", "soft.npy", words=("soft.npy",))
        self.refused("sweep", "X.npy", "y.npy", "--over", "shrinkage=.1,.2", "--out", "X.npy", words=("X.npy",))
        self.rer("score", *self.model(), "X.npy", "y.npy", "--quiet")
        self.refused("score", "model", "X.npy", "y.npy", "--errors", "model", words=("model",))

    def model(self):
        self.rer("analyze", "X.npy", "y.npy", "--save-model", "model", "--quiet")
        return ("model",)

    def test_runs_as_inputs(self):
        for name in ("a", "b"):
            self.rer("analyze", "X.npy", "y.npy", "--out", name, "--quiet")
        self.refused("compare", "a", "b", "--out", "a", words=("--out a",))
        self.refused("apply", "y.npy", "a", "--auto", ".9", "--out", "y.npy", words=("y.npy",))
        self.refused("apply", "y.npy", "a", "--auto", ".9", "--weights", "a/samples.csv", words=("a/samples.csv",))
        self.refused("analyze", "a/samples.csv", "--label-column", "given_label", "--out", "a", words=("a/samples.csv",))

    def test_what_is_embedded_or_reviewed(self):
        """What rer embed writes beside X.npy replaces no input either, and nothing replaces a picture."""
        for name in ("T_ids.csv", "T_labels.csv", "T_skipped.csv", "T_classes.npy"):
            self.save(name, "a\nb\n")
            self.refused("embed", name, "--model", "m", "--out", "T.npy", words=("--out T.npy", name))
        self.refused("embed", "T_ids.csv:id", "--model", "m", "--out", "T", words=("--out T:", "T_ids.csv:id"))
        self.save("names.txt", "a\nb\n")
        self.refused("embed", "T_ids.csv", "--model", "m", "--classes", "names.txt", "--out", "names.txt", words=("names.txt",))
        self.refused("analyze", "X.npy", "--labels", "y.npy", "--errors", "y.npy", words=("y.npy",))
        os.makedirs(self.path("photos/cat"))
        picture = self.save("photos/cat/a.PNG", "")
        os.symlink(picture, self.path("linked.npy"))
        for out in ("photos/cat/a.PNG", "linked.npy"):
            self.refused("embed", "photos", "--out", out, words=(out, "picture"))
        self.rer("analyze", "X.npy", "y.npy", "--out", "run", "--quiet")
        for name in ("samples.csv", "report.html", "manifest.json"):
            self.refused("review", "run", "--export", f"run/{name}", words=(f"run/{name}",))

    def test_folder_with_the_input(self):
        os.mkdir(self.path("data"))
        for name in ("X.npy", "y.npy"):
            os.rename(self.path(name), self.path("data", name))
        for out in ("data", "."):
            self.refused("analyze", "X.npy", "y.npy", "--out", self.path("data") if out == "." else "../data",
                         preexec_fn=lambda: os.chdir(self.path("data")), words=("X.npy",))

    def test_two_outputs(self):
        self.refused("analyze", "X.npy", "y.npy", "--errors", "e", "--save-model", "./e", words=("--errors", "--save-model"))
        self.refused("analyze", "X.npy", "y.npy", "--out", "e", "--save-model", "e", words=("--out", "--save-model"))
        self.rer("analyze", "X.npy", "y.npy", "--out", "out", "--quiet")
        for name in ("samples.csv", "model"):
            self.refused("analyze", "X.npy", "y.npy", "--out", "out", "--save-model", f"out/{name}", words=(f"out/{name}",))
        self.rer("analyze", "X.npy", "y.npy", "--errors", "/dev/null", "--save-model", "/dev/null", "--quiet")

    def test_second_run_leaves_nothing_of_the_first(self):
        self.rer("analyze", "X.npy", "y.npy", "--out", "out", "--details", "--quiet")
        self.assert_whole()
        self.assertIn("details.json", os.listdir(self.path("out")))
        self.rer("analyze", "X.npy", "y.npy", "--out", "out/", "--quiet")
        self.assert_complete()
        self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "out"})

    def test_what_is_not_ours(self):
        self.rer("analyze", "X.npy", "y.npy", "--out", "out", "--quiet")
        self.save("out/decisions.csv", "index,decision\n")
        self.refused("analyze", "X.npy", "y.npy", "--out", "out", words=("decisions.csv", "move it away"))
        self.refused("scale", "X.npy", "y.npy", "--out", "out", words=("rer analyze",))
        os.remove(self.path("out", "decisions.csv"))
        self.refused("bench", "X.npy", "y.npy", "--out", "out", words=("rer analyze",))
        os.remove(self.path("out", "manifest.json"))
        self.refused("analyze", "X.npy", "y.npy", "--out", "out", words=("manifest.json is missing",))
        os.mkdir(self.path("empty"))
        self.rer("analyze", "X.npy", "y.npy", "--out", "empty", "--quiet")
        self.assert_complete("empty")
        self.refused("analyze", self.X, self.y, "--out", ".", words=("working folder",),
                     preexec_fn=lambda: os.chdir(self.path("empty")))

    def test_every_folder_has_a_manifest(self):
        for name in ("a", "b"):
            self.rer("analyze", "X.npy", "y.npy", "--out", name, "--quiet")
        self.rer("scale", "X.npy", "y.npy", "--sizes", "4,8", "--out", "scale", "--quiet")
        self.rer("compare", "a", "b", "--out", "compare", "--quiet")
        self.rer("bench", "X.npy", "y.npy", "--noise", "symmetric", "--rates", ".1", "--seeds", "1", "--detectors", "rer,knn",
                 "--out", "bench", "--quiet")
        for name, command in (("a", "analyze"), ("scale", "scale"), ("compare", "compare"), ("bench", "bench")):
            self.assert_whole(name)
            with open(self.path(name, "manifest.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["command"], command)

    def test_readers_check_the_manifest(self):
        for name in ("a", "b"):
            self.rer("analyze", "X.npy", "y.npy", "--out", name, "--quiet")
        whole = self.load(self.path("a", "samples.csv"))
        for changed in (whole.replace(b"0,0,0,", b"0,0,1,", 1), whole[:-1], whole + b"\n"):
            self.assertNotEqual(changed, whole)
            self.save("a/samples.csv", changed)
            self.refused("compare", "a", "b", code=1, words=("a/samples.csv", "CRC-32"))
            self.refused("apply", "y.npy", "a", "--auto", ".9", "--out", "z.npy", code=1, words=("a/samples.csv",))
        self.save("a/samples.csv", whole)
        classes = self.load(self.path("b", "classes.csv"))
        self.save("a/classes.csv", classes + b" ")
        self.refused("compare", "b", "a", code=1, words=("a/classes.csv",))
        self.save("a/classes.csv", classes)
        self.save("a/manifest.json", "[")
        self.refused("compare", "a", "b", code=1, words=("a/manifest.json",))
        os.remove(self.path("a", "manifest.json"))  # as the message says: files are taken as they are
        self.rer("compare", "a", "b")
        for name in ("samples.csv", "classes.csv", "summary.json"):  # nothing is waited for, or read for ever
            os.rename(self.path("a", name), self.path("whole"))
            for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
                make(self.path("a", name))
                commands = [("compare", "a", "b"), ("review", "a", "--export", "e.csv")]
                commands += [("apply", "y.npy", "a", "--auto", ".9", "--out", "z.npy")] * (name != "classes.csv")
                for arguments in commands:
                    self.assertIn(f"a/{name}: is no file", self.rer(*arguments, code=1).err)
                os.remove(self.path("a", name))
            os.rename(self.path("whole"), self.path("a", name))
        os.remove(self.path("a", "inputs.json"))
        os.mkfifo(self.path("a", "inputs.json"))
        self.rer("review", "a", "--export", "e.csv", "--quiet")  # without its data

    def test_spreadsheet_safe(self):
        X, y = clusters(n=90, planted=4)
        names = np.array(["=1+1", "-2", "'quoted"])
        self.save("y.txt", "".join(f"{names[c]}\n" for c in y))
        self.save("X.npy", X)
        self.save("ids.txt", "".join(f"@{i}\n" for i in range(90)))
        run = ("analyze", "X.npy", "y.txt", "--ids", "ids.txt", "--quiet", "--out")
        self.rer(*run, "plain")
        self.rer(*run, "safe", "--spreadsheet-safe")
        for plain, safe in zip(self.samples("plain"), self.samples("safe")):
            for column in plain:
                is_text = column in ("id", "given_label", "predicted_label", "suggested_label")
                self.assertEqual(safe[column], "'" + plain[column] if is_text and plain[column] else plain[column])
        self.assertEqual([row["label"] for row in self.classes("safe")], ["'" + row["label"] for row in self.classes("plain")])
        for name in ("plain", "safe"):
            self.rer("apply", "y.txt", name, "--auto", ".5", "--out", f"{name}.txt", "--quiet")
        self.assertEqual(self.load(self.path("plain.txt")), self.load(self.path("safe.txt")))
        self.assertNotEqual(self.load(self.path("plain.txt")), self.load(self.path("y.txt")))
        agreement = json.loads(self.rer("compare", "plain", "safe", "--json").out)
        self.assertEqual(agreement["mode"], "samples")  # the same labels and ids
        self.assertAlmostEqual(agreement["pairs"][0]["spearman_classes"], 1)


if __name__ == "__main__":
    unittest.main()
