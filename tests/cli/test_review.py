"""rer review: what it serves, and from which data."""
import json
import os
import struct
import subprocess
import unittest
import zlib

import numpy as np

from cli_case import COMMAND
from review_case import ReviewCase


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


if __name__ == "__main__":
    unittest.main()
