"""What is written and printed: consistent numbers, labels as they were, the promised shapes."""
import json
import os
import subprocess
import unittest
import zipfile

import jsonschema
import numpy as np

from cli_case import COMMAND, OUTPUTS, SCHEMA, CliCase, clusters, column


class Outputs(CliCase):
    def check_schema(self, summary):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(summary)

    def test_finds_planted_labels(self):
        X, y = self.save_clusters(planted=9)
        done = self.rer("analyze", X, y, "--out", "out")
        self.assertEqual(done.err, "")
        rows = self.samples()
        self.assertEqual([row["index"] for row in rows if row["is_label_issue"] == "true"], [str(i) for i in range(9)])
        self.assertTrue(all(row["is_label_issue"] in ("true", "false") for row in rows))
        self.assert_complete()

    def test_columns(self):
        X, y = self.save_clusters()
        self.rer("analyze", X, y, "--out", "out")
        self.assertEqual(list(self.samples()[0]), [
            "index", "given_label", "predicted_label", "rer", "mistakenness", "label_score", "is_label_issue",
            "own_error", "best_other_error", "suggested_label", "suggestion_probability",
            "outlier_score", "is_outlier", "nearest_rows"])
        self.assertEqual(list(self.classes()[0]), [
            "label", "n", "chi", "noise_rate", "n_issues", "most_confused_with", "own_error"])

    def test_npz(self):
        """samples.npz against samples.csv of the same run: with ids, rows without label and invalid ones."""
        X, y = clusters(n=300, planted=9)
        X[17, 3] = np.nan
        names = np.array(["a", "b\u00e4\U0001F600", "c, d"])[y]
        self.save("X.npy", X)
        self.save("y.txt", "".join(f'"{"" if i == 23 else name}"\n' for i, name in enumerate(names)))
        self.save("ids.txt", "".join(f"\u00e9{i}\n" for i in range(300)))
        run = ("analyze", "X.npy", "y.txt", "--ids", "ids.txt", "--drop-invalid", "--out")
        self.rer(*run, "out")
        done = self.rer(*run, "arrays", "--format", "npz", "--threads", "3")
        self.assertIn("samples.npz", done.out)
        self.assertNotIn("samples.csv", done.out)
        self.assertEqual(sorted(os.listdir(self.path("arrays"))),
                         sorted(name.replace("samples.csv", "samples.npz") for name in os.listdir(self.path("out"))))
        rows = self.samples()
        with zipfile.ZipFile(self.path("arrays", "samples.npz")) as archive:
            self.assertIsNone(archive.testzip())
        arrays = np.load(self.path("arrays", "samples.npz"))
        self.assertEqual(set(arrays.files), {*rows[0], "class_label"})
        for name in ("rer", "mistakenness", "label_score", "own_error", "best_other_error", "suggestion_probability",
                     "outlier_score"):
            self.assertEqual(arrays[name].dtype, np.float32)
            np.testing.assert_array_equal(arrays[name], column(rows, name).astype(np.float32), name)
        for name in ("given_label", "predicted_label", "suggested_label"):
            texts = np.append(arrays["class_label"], "")[arrays[name]]
            self.assertEqual(texts.tolist(), [row[name] for row in rows], name)
        for name in ("is_label_issue", "is_outlier"):
            self.assertEqual(arrays[name].tolist(), [row[name] == "true" for row in rows], name)
        self.assertEqual(arrays["id"].tolist(), [row["id"] for row in rows])
        self.assertEqual(arrays["index"].tolist(), list(range(300)))
        self.assertEqual([" ".join(str(other) for other in near if other >= 0) for near in arrays["nearest_rows"]],
                         [row["nearest_rows"] for row in rows if row["is_label_issue"] == "true"])
        self.assertGreater(arrays["is_label_issue"].sum(), 5)
        for words in (("compare", "out", "arrays"), ("apply", "y.txt", "arrays", "--auto", ".9", "--out", "z.txt")):
            done = self.rer(*words, code=1)
            self.assertIn("samples.npz", done.err)
            self.assertIn("--format npz", done.err)

    def test_json(self):
        X, y = self.save_clusters(planted=5)
        printed = json.loads(self.rer("analyze", X, y, "--json", "--out", "out", "--seed", "3").out)
        self.check_schema(printed)
        self.check_schema(self.summary())
        volatile = ("seconds", "peak_memory_bytes")
        for key in set(printed) - set(volatile):
            self.assertEqual(printed[key], self.summary()[key], key)
        self.assertEqual((printed["seed"], printed["n_samples"], printed["n_features"]), (3, 300, 8))
        quiet = self.rer("analyze", X, y, "--json", "--quiet")
        self.assertEqual(json.loads(quiet.out)["n_issues"], printed["n_issues"])

    def test_numbers_agree(self):
        X, y = self.save_clusters(planted=20, classes=4)
        self.rer("analyze", X, y, "--out", "out")
        rows, summary = self.samples(), self.summary()
        chi, mistakenness = column(rows, "rer"), column(rows, "mistakenness")
        own, other = column(rows, "own_error"), column(rows, "best_other_error")
        issue = np.array([row["is_label_issue"] == "true" for row in rows])
        same = np.array([row["given_label"] == row["predicted_label"] for row in rows])
        np.testing.assert_allclose(chi, own / other, rtol=1e-6)
        np.testing.assert_allclose(column(rows, "label_score"), 1 - mistakenness, atol=1e-6)
        np.testing.assert_allclose(summary["chi"], chi.mean(), rtol=1e-6)
        np.testing.assert_allclose(summary["own_error"], own.mean(), rtol=1e-6)
        np.testing.assert_allclose(summary["error_rate"], 1 - same.mean(), rtol=1e-9)
        self.assertEqual(summary["n_issues"], issue.sum())
        np.testing.assert_array_equal(issue, mistakenness > summary["threshold"])
        np.testing.assert_array_equal(same, own <= other)
        np.testing.assert_allclose(summary["expected_wrong"], mistakenness[issue].sum(), rtol=1e-5, atol=1e-9)
        odds = mistakenness / np.maximum(1 - mistakenness, 1e-15)  # of a printed 1 they would be infinite
        for name, factor in (("noise_low", 1 / 4), ("noise_rate", 1), ("noise_high", 4)):
            counts = (factor * odds > 1) | (factor >= 1)  # beyond doubt is what is still likelier wrong than right
            np.testing.assert_allclose(summary[name], (counts * factor * odds / (1 + factor * odds)).mean(), rtol=1e-4)
        for row, flagged in zip(rows, issue):
            near = [int(text) for text in row["nearest_rows"].split()]
            self.assertEqual((len(near), len(set(near)), int(row["index"]) in near), (10, 10, False) if flagged else (0, 0, False))
        self.assertEqual([budget["n"] for budget in summary["budgets"]],
                         [n for n in (10, 50, 100, 500) if n <= len(rows)])
        for budget in summary["budgets"]:
            first = np.sort(mistakenness)[::-1][:budget["n"]]
            np.testing.assert_allclose(budget["expected_wrong"], first.sum(), rtol=1e-5, atol=1e-9)
        for row in self.classes():
            mine = np.array([sample["given_label"] == row["label"] for sample in rows])
            self.assertEqual(int(row["n"]), mine.sum())
            self.assertEqual(int(row["n_issues"]), issue[mine].sum())
            np.testing.assert_allclose(float(row["chi"]), chi[mine].mean(), rtol=1e-5)
            np.testing.assert_allclose(float(row["noise_rate"]), mistakenness[mine].mean(), rtol=1e-5, atol=1e-9)

    def test_quick_products(self):
        """Where the processor multiplies tiles (AMX) or words (VNNI), the same as without them but for the rounding of float."""
        for variable, classes, apart, far in (("RER_AMX", 40, 4, 1), ("RER_AMX", 40, .35, 1), ("RER_WORDS", 300, 4, 1),
                                              ("RER_WORDS", 300, .35, 1), ("RER_WORDS", 300, 4, 1000)):
            X, y = clusters(n=6000, d=160, classes=classes, planted=60, apart=apart)
            X[:, 0] *= far  # of so much larger a feature the others are lost in words
            X, y = self.save("X.npy", X), self.save("y.npy", y)
            found, scored = {}, {}
            for wanted in "0", "1":
                chosen = {**os.environ, variable: wanted}
                self.rer("analyze", X, y, "--save-model", "model" + wanted, "--out", wanted,
                         "--normalize", "whiten" if far == 1 else "none", env=chosen)
                self.rer("score", "model0", X, y, "--out", "scored" + wanted, env=chosen)
                found[wanted], scored[wanted] = self.samples(wanted), self.samples("scored" + wanted)
            with self.subTest(variable, apart=apart, far=far):
                for name in "predicted_label", "suggested_label", "is_label_issue", "is_outlier", "nearest_rows":
                    self.assertEqual(*([row[name] for row in found[wanted]] for wanted in found), name)
                bar = 3e-6 if far == 1 else 2e-4  # products in float lose digits of it, too
                for name in "rer", "own_error", "best_other_error":
                    without, quick = (column(found[wanted], name) for wanted in "01")
                    np.testing.assert_allclose(quick, without, rtol=bar, err_msg=name)
                for rows in found, scored:
                    np.testing.assert_allclose(*(column(rows[wanted], "mistakenness") for wanted in "01"),
                                               atol=2e-4 if far == 1 else 1e-3)

    def test_error_matrix(self):
        X, y = clusters(n=123, planted=7)
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--errors", "errors.npy", "--out", "out")
        errors = np.load(self.path("errors.npy"))
        self.assertEqual((errors.shape, errors.dtype, errors.flags.f_contiguous), ((3, 123), np.float32, True))
        rows, each = self.samples(), np.arange(123)
        np.testing.assert_allclose(column(rows, "own_error"), errors[y, each], rtol=1e-6)
        np.testing.assert_array_equal(errors.argmin(0), [int(row["predicted_label"]) for row in rows])
        errors[y, each] = np.inf
        np.testing.assert_allclose(column(rows, "best_other_error"), errors.min(0), rtol=1e-6)
        self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "errors.npy", "out"})

    def test_errors_to_a_device(self):
        X, y = self.save_clusters()
        self.rer("analyze", X, y, "--errors", "/dev/null", "--quiet")
        done = subprocess.run([COMMAND, "analyze", X, y, "--errors", "/dev/stdout", "--quiet"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout[:6], len(done.stdout) % 64), (0, b"\x93NUMPY", 300 * 12 % 64))

    def test_budget(self):
        X, y = self.save_clusters(planted=4)
        for budget, count in (("0", 0), ("1", 1), ("50", 50), ("10%", 30), ("100%", 300)):
            self.rer("analyze", X, y, "--budget", budget, "--out", "out")
            rows = self.samples()
            issue = np.array([row["is_label_issue"] == "true" for row in rows])
            self.assertEqual((issue.sum(), self.summary()["n_issues"]), (count, count))
            mistakenness = column(rows, "mistakenness")
            if 0 < count < 300:
                self.assertGreaterEqual(mistakenness[issue].min(), mistakenness[~issue].max())

    def test_labels_come_back_as_written(self):
        names = ['a,b', 'say "hi"', "two\nlines", "ünï 猫", " space ", "</script><img src=x onerror=alert(1)>", "-5"]
        X, y = clusters(n=210, classes=len(names), planted=21)
        text = "".join('"%s"\n' % names[c].replace('"', '""') for c in y)
        ids = "".join(f'"<b>{i}</b>, x"\n' for i in range(210))
        self.rer("analyze", self.save("X.npy", X), self.save("y.csv", text), "--ids", self.save("ids.csv", ids),
                 "--out", "out")
        rows = self.samples()
        self.assertEqual([row["given_label"] for row in rows], [names[c] for c in y])
        self.assertEqual([row["id"] for row in rows], [f"<b>{i}</b>, x" for i in range(210)])
        self.assertEqual(sorted(row["label"] for row in self.classes()), sorted(names))
        with open(self.path("out", "report.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertNotIn("<img", page)
        self.assertEqual(page.count("<script"), 6)  # the data and five of our own
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;/script&gt;", page)

    def test_integer_labels(self):
        X, y = clusters(classes=4)
        big = np.array([-(2**63), -7, 0, 2**63 - 1])[y]
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", big), "--out", "out")
        self.assertEqual([row["given_label"] for row in self.samples()], list(map(str, big)))
        self.assertEqual([row["label"] for row in self.classes()], list(map(str, sorted(set(big.tolist())))))

    def check_suggestions(self, hidden, y):
        rows, summary = self.samples(), self.summary()
        self.assertEqual((summary["n_unlabelled"], summary["n_labelled"]), (hidden.sum(), (~hidden).sum()))
        for i, row in enumerate(rows):
            if hidden[i]:
                self.assertEqual((row["given_label"], row["mistakenness"], row["rer"], row["own_error"]), ("",) * 4)
                self.assertEqual((row["suggested_label"], row["predicted_label"]), (str(y[i]), str(y[i])))
                self.assertGreater(float(row["suggestion_probability"]), 0.5)
                self.assertEqual(row["is_label_issue"], "false")
            else:
                self.assertEqual((row["suggested_label"], row["suggestion_probability"]), ("", ""))

    def test_rows_without_label(self):
        X, y = clusters()
        hidden = np.arange(300) % 10 == 3
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", np.where(hidden, -1, y)), "--out", "out")
        self.check_suggestions(hidden, y)
        text = "".join("\n" if hidden[i] else f"{y[i]}\n" for i in range(300))
        self.rer("analyze", self.path("X.npy"), self.save("y.csv", text), "--out", "out")
        self.check_suggestions(hidden, y)

    def test_class_names(self):
        X, y = self.save_clusters()
        self.rer("analyze", X, y, "--class-names", self.save("names.txt", "zebra\nant\ncat\n"), "--out", "out")
        self.assertEqual([row["label"] for row in self.classes()], ["zebra", "ant", "cat"])
        self.assertEqual([row["given_label"] for row in self.samples()[:3]], ["zebra", "ant", "cat"])

    def test_same_from_standard_input_and_table(self):
        X, y = clusters()
        self.rer("analyze", self.save("X.npy", X), self.save("y.npy", y), "--out", "a")
        with open(self.path("X.npy"), "rb") as file:
            self.rer("analyze", "-", "y.npy", "--out", "b", stdin=file)
        lines = ["f%d," * 8 % tuple(range(8)) + "kind"] + [",".join(map(repr, map(float, x))) + f",{c}" for x, c in zip(X, y)]
        self.rer("analyze", self.save("X.csv", "\n".join(lines) + "\n"), "--label-column", "kind", "--out", "c")
        self.assertEqual(self.samples("a"), self.samples("b"))
        self.assertEqual(self.samples("a"), self.samples("c"))

    def test_saved_model(self):
        X, y = self.save_clusters(planted=6)
        self.rer("analyze", X, y, "--save-model", "m.safetensors", "--quiet")
        self.rer("score", "m.safetensors", X, y, "--out", "out", "--errors", "errors.npy")
        self.assertEqual(set(os.listdir(self.path("out"))), OUTPUTS - {"inputs.json"})  # there is nothing to analyze again
        self.assert_whole()
        self.check_schema(self.summary())
        self.assertEqual([row["index"] for row in self.samples() if row["is_label_issue"] == "true"], list("012345"))
        np.testing.assert_allclose(column(self.samples(), "best_other_error")[6:],
                                   np.sort(np.load(self.path("errors.npy")), 0)[1, 6:], rtol=1e-6)
        done = self.rer("score", "m.safetensors", X, "--out", "new")
        self.assertLessEqual(len(done.out.splitlines()), 25)
        self.check_suggestions_only("new")
        self.check_schema(self.summary("new"))

    def test_new_labels_of_a_clean_model(self):
        """That all of a model's own labels may be right excuses no label that comes later."""
        X, y = clusters(n=3000)
        self.rer("analyze", self.save("X.npy", X[:1500]), self.save("y.npy", y[:1500]), "--save-model", "model", "--out", "own")
        self.assertLess(column(self.samples("own"), "mistakenness").max(), .5)
        y[1500:1510] = (y[1500:1510] + 1) % 3
        self.rer("score", "model", self.save("X.npy", X[1500:]), self.save("y.npy", y[1500:]), "--out", "new")
        wrong = column(self.samples("new"), "mistakenness")
        self.assertGreater(wrong[:10].min(), .99)
        self.assertLess(wrong[10:].max(), .5)

    def check_suggestions_only(self, out):
        rows = self.samples(out)
        self.assertEqual({row["given_label"] for row in rows}, {""})
        self.assertEqual([int(row["suggested_label"]) for row in rows], [i % 3 for i in range(300)])


if __name__ == "__main__":
    unittest.main()
