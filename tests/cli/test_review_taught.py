"""rer review: what decisions teach, and looking again."""
import json
import os
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.optimize import minimize

from cli_case import column
from review_case import ReviewCase

SPREADS = 1.0, .25, 1.0  # of the shift, the slope, a pair of classes


class Taught(ReviewCase):
    def lesson(self, samples, decided, y):
        """The regression of src/stats/grouped_logistic.h by scipy, with its curvature by finite differences: expected
        number of wrong ones worth a look, and its deviation."""
        p = column(samples, "mistakenness")
        p = p.clip(1e-9, 1 - 1e-9)
        L = np.clip(np.log(p) - np.log1p(-p), -7, 7)
        suggested = [row["suggested_label"] or (row["predicted_label"] if row["predicted_label"] != row["given_label"] else "")
                     for row in samples]
        pair = [(row["given_label"], other) for row, other in zip(samples, suggested)]
        rows = np.array(sorted(decided))
        wrong = np.array([decided[row] for row in rows], float)
        pairs = sorted({pair[row] for row in rows})
        place = {name: i for i, name in enumerate(pairs)}
        X = np.zeros((len(y), 2 + len(pairs)))
        X[:, 0], X[:, 1] = 1, L
        for i, name in enumerate(pair):
            if name in place:
                X[i, 2 + place[name]] = 1
        precision = np.array([1 / SPREADS[0]**2, 1 / SPREADS[1]**2] + [1 / SPREADS[2]**2] * len(pairs))

        def objective(b):
            odds = L[rows] + X[rows] @ b
            return np.sum(np.logaddexp(0, odds) - wrong * odds) + .5 * np.sum(precision * b * b)

        def gradient(b):
            odds = L[rows] + X[rows] @ b
            return X[rows].T @ (1 / (1 + np.exp(-odds)) - wrong) + precision * b

        b = minimize(objective, np.zeros(X.shape[1]), jac=gradient, method="BFGS", options={"gtol": 1e-9}).x
        step = 1e-5
        H = np.array([(gradient(b + step * e) - gradient(b - step * e)) / (2 * step) for e in np.eye(len(b))])
        q = 1 / (1 + np.exp(-(L + X @ b)))
        is_next = np.array([row not in decided for row in range(len(y))]) & (q >= .05)
        slopes = (q * (1 - q))[is_next] @ X[is_next]
        fresh = np.array([name not in place for name in pair]) & is_next
        variance = np.sum((q * (1 - q))[is_next]) + slopes @ np.linalg.solve(H, slopes) + np.sum((q * (1 - q))[fresh]**2)
        return b, is_next.sum(), q[is_next].sum(), np.sqrt(variance), 1 / (1 + np.exp(-L[rows]))

    def test_numbers_are_those_of_scipy(self):
        X, y = self.save_clusters(n=400, d=3, classes=3, planted=40, seed=3)
        truth = np.arange(400) % 3
        self.rer("analyze", X, y, "--out", "out", "--quiet")
        server = self.serve()
        samples, y = self.samples(), np.load(self.path("y.npy"))
        order = np.argsort(-column(samples, "mistakenness"), kind="stable")
        decided = {}
        for row in order[:50]:
            row = int(row)
            is_wrong = truth[row] != y[row]
            decided[row] = is_wrong
            self.saved(server.decide(row, *(("fix", str(truth[row])) if is_wrong else ("keep", ""))))
        taught = server.json("taught")
        b, n, expected, spread, promised = self.lesson(samples, decided, y)
        self.assertEqual((taught["looked"], taught["wrong"], taught["next"]), (50, sum(decided.values()), n))
        np.testing.assert_allclose(taught["promised"], promised.sum(), rtol=1e-5)
        np.testing.assert_allclose([taught["shift"], taught["slope"]], b[:2], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(taught["expected"], expected, rtol=1e-4)
        np.testing.assert_allclose(taught["high"], min(n, expected + 1.959964 * spread), rtol=1e-4)
        np.testing.assert_allclose(taught["low"], max(0, expected - 1.959964 * spread), rtol=1e-4, atol=1e-4)

    def test_looking_again_is_the_analysis_of_the_corrected_labels(self):
        self.analyze(n=300, d=2, seed=4)
        server = self.serve()
        y = np.load(self.path("y.npy"))
        order = np.argsort(-column(self.samples(), "mistakenness"), kind="stable")
        fixed, dropped, kept = [int(row) for row in order[:6]], int(order[6]), [int(row) for row in order[7:10]]
        corrected = y.copy()
        for row in fixed:
            corrected[row] = (y[row] - 1) % 4
            self.saved(server.decide(row, "fix", str(corrected[row])))
        corrected[dropped] = -1
        self.saved(server.decide(dropped, "drop"))
        for row in kept:
            self.saved(server.decide(row, "keep"))
        answer = server.look_again()
        self.assertEqual((answer["state"], answer["looks"]), ("done", 1), answer)
        self.save("corrected.npy", corrected)
        self.rer("analyze", "X.npy", "corrected.npy", "--out", "other", "--quiet")
        before = column(self.samples(), "mistakenness")
        found, after = {}, 0
        while after >= 0:
            part = server.json(f"rows?find=&after={after}")
            found.update({row["row"]: row["p"] for row in part["rows"]})
            after = part["next"]
        decided = {*fixed, dropped, *kept}
        still_open = [row for row in range(300) if row not in decided]
        first, now = (self.odds(out)[still_open] for out in ("out", "other"))
        slope, shift = np.polyfit(now[first >= np.median(first)], first[first >= np.median(first)], 1)
        expected = 1 / (1 + np.exp(-(first + shift + slope * now) / 2))
        np.testing.assert_allclose([found[row] for row in still_open], expected, rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose([found[row] for row in sorted(decided)], before[sorted(decided)], rtol=1e-5)
        page = server.get("")[2].decode()
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        shown = [suspect[0] for suspect in data["suspects"]]
        self.assertFalse(decided & set(shown))
        promises = [suspect[3] for suspect in data["suspects"] if suspect[5] & 4]
        self.assertEqual(promises, sorted(promises, reverse=True))
        self.assertEqual(data["checksum"], json.loads(self.load(self.path("out", "decisions.jsonl")).splitlines()[0])["labels"])
        self.assertEqual(set(os.listdir(self.path("out"))) - {"decisions.jsonl"},
                         {"samples.csv", "classes.csv", "summary.json", "report.html", "inputs.json", "manifest.json"})
        self.assert_unchanged_by(server)

    def odds(self, out):
        """Of a wrong label, as samples.csv has them; the score has the digits that a probability near 1 has lost."""
        samples = self.samples(out)
        wrong, right = (column(samples, name).astype("f4").astype("f8") for name in ("mistakenness", "label_score"))
        with np.errstate(divide="ignore"):
            return np.clip(np.log(wrong) - np.log1p(-wrong), -16, 16) if out == "out" else np.clip(np.log(wrong / right), -16, 16)

    def assert_unchanged_by(self, server):
        """The run's own files are read alone."""
        with open(self.path("out", "manifest.json"), encoding="utf-8") as file:
            for entry in json.load(file)["files"]:
                content = self.load(self.path("out", entry["name"]))
                self.assertEqual(f"{zlib.crc32(content):08x}", entry["crc32"], entry["name"])

    def test_everything_at_once(self):
        """Answers while looking again goes on: none fails, and a build with ThreadSanitizer stays silent."""
        self.analyze(n=2000, d=16)
        server = self.serve()

        def ask(i):
            if i % 8 == 0:
                self.saved(server.decide(i, "keep"))
            elif i % 8 == 1:
                server.post("again", {})
            else:
                path = ("", "state", "taught", "rows?find=1", "decisions.csv", "again")[i % 8 - 2]
                self.assertEqual(server.get(path)[0], 200)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(160)))
        self.assertEqual(server.look_again()["state"], "done")
        self.assertEqual((server.end(), server.err), (130, ""))
        self.assertEqual(len(self.journal()), 20)

    def test_ended_while_looking_again(self):
        self.analyze(n=5000, d=64)
        server = self.serve()
        self.saved(server.decide(0, "fix", "0"))
        server.post("again", {})
        self.assertEqual(server.end(), 130)
        self.assertEqual(len(self.journal()), 1)


if __name__ == "__main__":
    unittest.main()
