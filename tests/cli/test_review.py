"""rer review: what it serves and to whom, decisions that last, several reviewers, looking again.

RER_REVIEW_DECISIONS and RER_REVIEW_HOSTILE say how many decisions and hostile requests the long tests take."""
import http.client
import json
import os
import random
import secrets
import socket
import struct
import subprocess
import threading
import time
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.optimize import minimize

from cli_case import COMMAND, column
from review_case import ReviewCase

DECISIONS = int(os.environ.get("RER_REVIEW_DECISIONS", "100"))
HOSTILE = int(os.environ.get("RER_REVIEW_HOSTILE", "300"))


def png(width, height, shade):
    """A grey picture as the bytes of a file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Served(ReviewCase):
    def test_page_with_its_policy(self):
        self.analyze()
        server = self.serve("--reviewer", "ann")
        status, headers, page = server.get("")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        policy = headers["Content-Security-Policy"]
        self.assertTrue(policy.startswith("default-src 'none'; "), policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn(b"http-equiv", page)
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertEqual(server.json("state")["reviewer"], "ann")
        self.assertEqual(server.end(), 130)
        self.assertEqual(server.err, "")

    def test_signals_and_exit_codes(self):
        self.analyze()
        self.assertEqual(self.serve().end(15), 143)
        self.assertIn("--port 70000", self.rer("review", "out", "--port", "70000", code=2).err)
        server = self.serve()
        self.assertIn("in use", self.rer("review", "out", "--port", server.port, code=3).err)
        self.assertIn("summary.json", self.rer("review", ".", code=1).err)
        with open("/dev/full", "wb") as full:  # nobody could learn the address
            lost = subprocess.run([COMMAND, "review", "out"], stdout=full, stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual(lost.returncode, 3, lost.stderr)

    def test_other_versions_are_refused(self):
        self.analyze()
        os.remove(self.path("out", "manifest.json"))
        with open(self.path("out", "report.html"), "a", encoding="utf-8") as file:
            file.write("<!-- -->")  # what follows is not ours to judge: no script of it runs
        self.serve().end()
        self.save("out/report.html", self.load(self.path("out", "report.html")).replace(b"startReview", b"startreview"))
        self.assertIn("report.html: is no report of this version", self.rer("review", "out", code=1).err)
        summary = json.loads(self.load(self.path("out", "summary.json")))
        for wrong in ({"options": {"quality": "best"}}, {"n_samples": 2**62}, {"n_samples": -1}):
            self.save("out/summary.json", json.dumps({**summary, **wrong}))
            self.assertRegex(self.rer("review", "out", code=1).err, r"\Arer: out/(summary\.json|samples\.csv): ")

    def test_rows_by_number_id_label_and_text(self):
        self.save("ids.txt", "".join(f"sample-{i:03d}\n" for i in range(200)))
        self.save("texts.txt", "".join(f"text of {i} {'Straße ' if i == 77 else ''}\n" for i in range(200)))
        self.save("names.txt", "ant\nbee\ncat\ndog\n")
        self.analyze("--ids", self.path("ids.txt"), "--texts", self.path("texts.txt"), "--class-names", self.path("names.txt"))
        server = self.serve()
        samples = self.samples()
        found = server.json("rows?find=17")
        self.assertEqual(found["rows"][0]["row"], 17)
        self.assertEqual(found["rows"][0]["text"], "text of 17 ")
        self.assertEqual(found["rows"][0]["given"], [samples[17]["given_label"], str(self.y()[17])])
        np.testing.assert_allclose(found["rows"][0]["p"], float(samples[17]["mistakenness"]), rtol=1e-6)
        self.assertEqual([row["row"] for row in server.json("rows?find=SAMPLE-123")["rows"]], [123])
        self.assertEqual([row["row"] for row in server.json("rows?find=stra%C3%9Fe")["rows"]], [77])
        bees, after = [], 0
        while after >= 0:
            part = server.json(f"rows?find=bee&after={after}")
            bees += [row["row"] for row in part["rows"]]
            after = part["next"]
        self.assertEqual(bees, [i for i, row in enumerate(samples) if row["given_label"] == "bee"])
        self.assertEqual(server.get("text?row=77")[2].decode(), "text of 77 Straße ")

    def y(self):
        return np.load(self.path("y.npy"))

    def test_pictures_of_the_list_alone(self):
        os.mkdir(self.path("pictures"))
        content = [png(40 + i % 7, 30, i) for i in range(200)]
        for i in range(200):
            self.save(f"pictures/{i:03d}.png", content[i])
        self.analyze("--images", self.path("pictures"))
        server = self.serve()
        status, headers, got = server.get("picture?row=150")
        self.assertEqual((status, headers["Content-Type"], got), (200, "image/png", content[150]))
        self.assertEqual(server.json("rows?find=150")["rows"][0]["file"], self.path("pictures/150.png"))
        for query in ("row=200", "row=-1", "row=1e3", "row=", "", "row=0x10", "row=/etc/passwd", "row=99999999999999999999"):
            self.assertEqual(server.get(f"picture?{query}")[0], 404, query)
        self.save("pictures/150.png", "root:x:0:0:root")  # no picture any more
        self.assertEqual(server.get("picture?row=150")[0], 404)
        os.remove(self.path("pictures/151.png"))
        os.mkfifo(self.path("pictures/151.png"))
        self.assertEqual(server.get("picture?row=151")[0], 404)

    def test_data_that_is_gone(self):
        self.analyze()
        os.rename(self.path("X.npy"), self.path("elsewhere.npy"))
        server = self.serve()
        self.assertIn("X.npy", server.json("state")["why"])
        status, _, text = server.post("again", {})
        self.assertEqual(status, 400)
        self.assertIn(b"X.npy", text)
        self.saved(server.decide(3, "keep"))

    def test_data_that_would_be_waited_for(self):
        self.analyze()
        os.mkfifo(self.path("pipe"))
        inputs = json.loads(self.load(self.path("out", "inputs.json")))
        for name in ("-", "-:a", "pipe", "pipe:a", "/dev/zero"):
            for member in ("features", "labels", "texts"):
                self.save("out/inputs.json", json.dumps({**inputs, member: name if name[0] in "-/" else self.path(name)}))
                server = self.serve()
                self.assertIn("which is no file", server.json("state")["why"])
                server.end()


class Decisions(ReviewCase):
    def test_kept_over_a_kill_and_counted_once(self):
        self.analyze()
        server = self.serve("--reviewer", "ann")
        identity = secrets.token_hex(16)
        for _ in range(3):
            self.saved(server.decide(5, "fix", "2", identity=identity))
        self.saved(server.decide(6, "drop", note="too <b>blurred</b>"))
        server.end(9)
        server = self.serve()
        self.saved(server.decide(5, "fix", "2", identity=identity))
        self.assertEqual(server.json("state")["decisions"], [[5, "ann", "fix", "2", ""],
                                                             [6, "ann", "drop", "", "too <b>blurred</b>"]])
        lines = self.journal()
        self.assertEqual([(line["row"], line["decision"], line["given"]) for line in lines],
                         [(5, "fix", str(np.load(self.path("y.npy"))[5])), (6, "drop", str(np.load(self.path("y.npy"))[6]))])
        np.testing.assert_allclose(lines[0]["promise"], float(self.samples()[5]["mistakenness"]), rtol=1e-6)

    def test_the_last_one_holds(self):
        self.analyze()
        server = self.serve()
        for decision in ("keep", "drop", "open"):
            self.saved(server.decide(1, decision))
        self.saved(server.decide(2, "drop"))
        self.saved(server.decide(2, "choose", "3"))
        self.assertEqual([row[:4] for row in server.json("state")["decisions"]], [[2, "ann", "choose", "3"]])

    def test_torn_and_damaged_lines(self):
        self.analyze()
        server = self.serve()
        self.saved(server.decide(1, "keep"))
        server.end(9)
        whole = self.load(self.path("out", "decisions.jsonl"))
        for torn in (b'{"id":"0123', b'{"id":"0123456789abcdef","row":4,"given":"1","decision":"keep","reviewer":"a"}', b"\0" * 30, b"x" * 999):
            self.save("out/decisions.jsonl", whole + torn)
            server = self.serve()
            self.assertEqual([row[0] for row in server.json("state")["decisions"]], [1])
            self.saved(server.decide(2, "keep"))
            server.end(9)
            self.assertEqual([line["row"] for line in self.journal()], [1, 2])
        self.save("out/decisions.jsonl", whole + whole.splitlines(True)[1])  # twice the same id: once
        server = self.serve()
        self.saved(server.decide(1, "open"))
        server.end(9)
        self.save("out/decisions.jsonl", self.load(self.path("out", "decisions.jsonl")) + whole.splitlines(True)[1])
        server = self.serve()
        self.assertEqual(server.json("state")["decisions"], [])
        server.end(9)
        self.save("out/decisions.jsonl", whole.replace(b'"row":1', b'"row":x') + whole.splitlines(True)[1])
        self.assertIn("decisions.jsonl: line 2", self.rer("review", "out", code=1).err)
        self.save("out/decisions.jsonl", whole.replace(b'"labels":"', b'"labels":"0'))
        self.assertIn("other labels", self.rer("review", "out", code=1).err)

    def test_an_analysis_does_not_replace_them(self):
        self.analyze()
        self.serve().end()
        before = self.load(self.path("out", "decisions.jsonl"))
        done = self.rer("analyze", "X.npy", "y.npy", "--out", "out", code=2)
        self.assertIn("holds decisions.jsonl, the decisions of a review", done.err)
        self.assertEqual(self.load(self.path("out", "decisions.jsonl")), before)

    def test_bad_decisions_are_told_and_not_kept(self):
        self.analyze()
        server = self.serve()
        good = {"id": "0" * 16, "row": 1, "decision": "keep"}
        for change in ({"row": 200}, {"row": -1}, {"row": "1"}, {"row": 1.5}, {"id": "xyz"}, {"id": 7}, {"id": "0" * 41},
                       {"decision": "burn"}, {"decision": None}, {"decision": "fix"}, {"decision": "choose", "label": ""},
                       {"decision": "fix", "label": "a\nb"}, {"decision": "fix", "label": "x" * 1001}, {"note": 5},
                       {"note": "y" * 1001}):
            status, _, text = server.post("decide", {"decisions": [{**good, **change}]})
            self.assertEqual(status, 400, (change, text))
        for body in ({}, [], {"decisions": []}, {"decisions": [good] * 501}, {"decisions": {}}, {"decisions": [1]}, 7,
                     {"decisions": [good], "reviewer": "z" * 61}):
            self.assertEqual(server.post("decide", body)[0], 400, body)
        self.assertEqual(self.journal(), [])

    def test_full_disk_is_told(self):
        self.analyze()
        server = self.serve()
        self.saved(server.decide(1, "keep"))
        import resource
        size = os.path.getsize(self.path("out", "decisions.jsonl"))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 20, size + 20))
        status, _, text = server.decide(2, "keep")
        self.assertEqual(status, 500)
        self.assertIn(b"decisions.jsonl", text)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 20, size + 20))
        self.assertEqual([line["row"] for line in self.journal()], [1])

    def test_two_reviewers_while_the_server_is_killed(self):
        """None that was answered is lost, none is doubled, whatever the moment of the kill."""
        self.analyze()
        state = {"server": self.serve(), "kills": 0}
        lock = threading.Lock()
        acknowledged = {"ann": [], "bob": []}

        def work(name):
            while len(acknowledged[name]) < DECISIONS // 2 or state["kills"] < 3:
                entry = {"id": secrets.token_hex(16), "row": random.randrange(200), "decision": random.choice(["keep", "drop"])}
                while True:  # as the page does: again, with the same id
                    with lock:
                        server = state["server"]
                    try:
                        if server.post("decide", {"reviewer": name, "decisions": [entry]})[0] == 200:
                            break
                    except (OSError, http.client.HTTPException):
                        time.sleep(.01)
                acknowledged[name].append(entry)

        threads = [threading.Thread(target=work, args=(name,)) for name in acknowledged]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(random.uniform(.01, .1))
            state["server"].end(9)
            state["kills"] += 1
            with lock:
                state["server"] = self.serve()
        for thread in threads:
            thread.join()
        lines = self.journal()
        ids = [line["id"] for line in lines]
        self.assertEqual(len(ids), len(set(ids)), "doubled")
        for name, entries in acknowledged.items():
            kept = [(line["id"], line["row"], line["decision"]) for line in lines if line["reviewer"] == name]
            self.assertEqual(kept, [(entry["id"], entry["row"], entry["decision"]) for entry in entries])

    def test_two_servers_of_one_folder(self):
        self.analyze()
        ann, bob = self.serve("--reviewer", "ann"), self.serve("--reviewer", "bob")
        for i in range(20):
            self.saved((ann, bob)[i % 2].post("decide", {"decisions": [{"id": f"{i:016x}", "row": i, "decision": "keep"}]}))
        for server in (ann, bob):
            self.assertEqual([row[:2] for row in server.json("state")["decisions"]],
                             [[i, ("ann", "bob")[i % 2]] for i in range(20)])


class Reviewers(ReviewCase):
    def decide_all(self, server, votes):
        for row, names in votes.items():
            for name, (decision, label) in names.items():
                self.saved(server.decide(row, decision, label, reviewer=name))

    def test_majority_ties_and_what_apply_makes_of_them(self):
        self.analyze()
        y = np.load(self.path("y.npy"))
        server = self.serve()
        self.decide_all(server, {
            3: {"ann": ("fix", "1"), "bob": ("keep", ""), "cyd": ("choose", "1")},
            4: {"ann": ("drop", ""), "bob": ("drop", "")},
            5: {"ann": ("keep", ""), "bob": ("unsure", "")},
            6: {"ann": ("fix", "0"), "bob": ("fix", "2")}})
        self.assertEqual(server.json("taught")["disagreements"], [3, 6])
        self.assertIn("row 6;", self.rer("apply", "y.npy", "out", "--out", "clean.npy", code=1).err)
        self.assertFalse(os.path.exists(self.path("clean.npy")))
        self.saved(server.decide(6, "fix", "2", reviewer="cyd"))
        expected = y.copy()
        expected[[3, 4, 6]] = 1, -1, 2
        self.rer("apply", "y.npy", "out", "--out", "clean.npy")
        np.testing.assert_array_equal(np.load(self.path("clean.npy")), expected)
        self.rer("review", "out", "--export", "decisions.csv")
        self.rer("apply", "y.npy", "decisions.csv", "--out", "again.npy")
        np.testing.assert_array_equal(np.load(self.path("again.npy")), expected)
        with open(self.path("decisions.csv"), newline="", encoding="utf-8") as file:
            self.assertEqual(file.read(), server.get("decisions.csv")[2].decode())
        weights = self.rer("apply", "y.npy", "out", "--weights", "w.npy")
        np.testing.assert_array_equal(np.load(self.path("w.npy")), (expected == y).astype("f4"))

    def test_new_labels_and_none_fits(self):
        self.analyze()
        server = self.serve()
        self.decide_all(server, {3: {"ann": ("new", "7"), "bob": ("new", "7"), "cyd": ("keep", "")},
                                 4: {"ann": ("none", ""), "bob": ("none", "")},
                                 5: {"ann": ("none", ""), "bob": ("drop", "")},
                                 6: {"ann": ("new", "8"), "bob": ("new", "9")}})
        self.assertEqual(server.json("taught")["disagreements"], [3, 6])
        self.assertEqual(server.json("taught")["wrong"], 3)
        self.assertIn("row 6;", self.rer("apply", "y.npy", "out", "--out", "clean.npy", code=1).err)
        self.saved(server.decide(6, "open", reviewer="bob"))
        expected = np.load(self.path("y.npy"))
        expected[[3, 4, 5, 6]] = 7, -1, -1, 8
        self.rer("apply", "y.npy", "out", "--out", "clean.npy")
        np.testing.assert_array_equal(np.load(self.path("clean.npy")), expected)
        self.assertEqual(server.look_again()["state"], "done")

    def test_apply_without_decisions(self):
        self.analyze()
        self.assertIn("holds no decisions", self.rer("apply", "y.npy", "out", "--out", "clean.npy", code=1).err)

    def test_one_reviewer_twice_in_a_file(self):
        self.analyze()
        server = self.serve()
        self.saved(server.decide(3, "keep"))
        lines = server.get("decisions.csv")[2].decode().splitlines(True)
        self.save("twice.csv", "".join(lines + lines[1:]))
        self.assertIn("a reviewer decides twice about row 3", self.rer("apply", "y.npy", "twice.csv", "--out", "c.npy", code=1).err)


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


class Strangers(ReviewCase):
    """Nobody without the token, and no page from elsewhere, gets anything."""

    def setUp(self):
        super().setUp()
        self.analyze()
        self.server = self.serve()
        self.secret = self.load(self.path("out", "report.html"))[:200]

    def refused(self, method, path, body=None, codes=(400, 403, 404, 405, 413, 414, 415, 431), **headers):
        status, _, text = self.server.ask(method, path, body, **headers)
        self.assertIn(status, codes, (method, path, headers, text[:100]))
        self.assertLess(len(text), 2000)
        self.assertNotIn(b"rer_review", text)

    def test_no_other_address_is_listened_on(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", self.server.port), timeout=10).close()

    def test_token_host_and_origin(self):
        root, host = self.server.root, self.server.host
        token = root.strip("/")
        for path in ("/", "/state", f"/{token}", f"/{token[:-1]}/", f"/{token[:-1]}0/" if token[-1] != "0" else f"/{token[:-1]}1/",
                     f"/{token.upper()}/" if token.upper() != token else "/A/", f"/{'0' * 32}/", f"//{token}/", f"/x/{token}/"):
            self.refused("GET", path, codes=(403,))
        for name in ("evil.example", f"evil.example:{self.server.port}", "127.0.0.1.evil.example", "127.0.0.1:80:80", "[::1]",
                     "localhost.evil", "127.0.0.1:", "127.0.0.1:12x", ""):
            self.refused("GET", root + "state", codes=(400, 403), Host=name)
        for origin in ("http://evil.example", f"https://{host}", "null", f"http://{host}.evil", "http://127.0.0.1:1"):
            self.refused("GET", root + "state", codes=(403,), Origin=origin)
            self.refused("POST", root + "decide", "{}", codes=(403,), Origin=origin, **{"Content-Type": "application/json"})
        self.refused("POST", root + "decide", "{}", codes=(403,), **{"Content-Type": "application/json"})
        self.refused("POST", root + "decide", "{}", codes=(415,), Origin=f"http://{host}", **{"Content-Type": "text/plain"})
        self.refused("GET", root + "state", codes=(403,), Origin=f"http://{host}", **{"Sec-Fetch-Site": "cross-site"})
        for tunnel in ("localhost:9999", "127.0.0.1:1"):  # another port at the other end of a tunnel
            self.assertEqual(self.server.ask("GET", root + "state", Host=tunnel)[0], 200)
        for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"):
            status, _, text = self.server.ask(method, root)
            self.assertIn(status, (400, 405))
        self.assertEqual(self.server.ask("GET", root + "decide")[0], 404)
        self.assertEqual(self.server.ask("POST", root + "state", "{}", Origin=f"http://{host}",
                                         **{"Content-Type": "application/json"})[0], 404)

    def raw(self, text):
        """What comes back for bytes as they are, until there is silence: half a request waits for its other half."""
        got = b""
        try:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=1) as connection:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    got += piece
        except OSError:
            pass
        return got

    def hostile(self, r):
        """One request that must not be served."""
        host, root = self.server.host.encode(), self.server.root.encode()
        junk = bytes(r.randrange(256) for _ in range(r.randrange(60)))
        paths = [b"/../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd", root[:-1] + b"/../../../etc/passwd", root + b"picture?row=../../etc/passwd",
                 root + b"picture?row=%00", root + b"..%2f..%2fetc%2fpasswd", root + b"report.html", root + b"decisions.jsonl",
                 root + b"text?row=%s" % (b"9" * 30), b"/" + junk.hex().encode(), b"/" + b"a" * r.randrange(1, 60000), root[:20] + b"/",
                 root + junk.replace(b"\n", b"").replace(b" ", b"").replace(b"?", b"") + b"~", b"*", b"http://evil/" + root]
        kinds = [
            lambda: b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (r.choice(paths), host),
            lambda: b"GET %sstate HTTP/1.1\r\nHost: evil.example\r\n\r\n" % root,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{}" % (root, host, 10**r.randrange(12)),
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: 2097152\r\n\r\n" % (root, host, host) + b"x" * 2097152,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n" % (root, host, host),
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (root, host, host, len(junk)) + junk,
            lambda: b"GET %s HTTP/1.1\r\nHost: %s\r\n" % (root, host) + b"X: y\r\n" * r.randrange(6000) + b"X: " + b"z" * 40000 + b"\r\n\r\n",
            lambda: junk + b"\r\n\r\n",
            lambda: b"GET",
            lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + junk,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n" % (root, host, host) + b"[" * 40000,
        ]
        return r.choice(kinds)()

    def test_hostile_requests(self):
        r = random.Random(17)
        with ThreadPoolExecutor(16) as pool:
            for request, got in pool.map(lambda text: (text, self.raw(text)), [self.hostile(r) for _ in range(HOSTILE)]):
                self.assertNotRegex(got[:20], rb"^HTTP/1.\d 2", request[:100])
                self.assertNotIn(b"root:", got)
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.journal(), [])
        self.saved(self.server.decide(1, "keep"))
        self.assertEqual(self.server.end(), 130)
        self.assertEqual(self.server.err, "")

    def is_open(self, connection):
        connection.setblocking(False)
        try:
            return connection.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def test_slow_ones_make_way(self):
        idle = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(200)]
        for connection in idle:
            self.addCleanup(connection.close)
            try:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            except OSError:
                pass  # it was shown the door
        start = time.monotonic()
        while sum(map(self.is_open, idle)) > 60:  # sooner than idle ones are closed anyway
            self.assertLess(time.monotonic() - start, 10)
            time.sleep(.01)
        for i in range(20):
            self.saved(self.server.decide(i, "keep"))


if __name__ == "__main__":
    unittest.main()
