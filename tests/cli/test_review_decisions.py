"""rer review: decisions that last, and those of several reviewers. RER_REVIEW_DECISIONS says how many the long test takes."""
import http.client
import os
import random
import secrets
import threading
import time
import unittest

import numpy as np

from review_case import ReviewCase

DECISIONS = int(os.environ.get("RER_REVIEW_DECISIONS", "100"))


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


if __name__ == "__main__":
    unittest.main()
