"""Interrupts: the right exit code, old outputs intact, no damaged file even after SIGKILL."""
import os
import re
import signal
import subprocess
import time
import unittest

from cli_case import COMMAND, OUTPUTS, CliCase, wait_until_caught

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Signals(CliCase):
    def start(self, *arguments, **options):
        process = subprocess.Popen([COMMAND, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        return process

    def write_old(self):
        os.makedirs(self.path("out"), exist_ok=True)
        for name in OUTPUTS:
            self.save(os.path.join("out", name), "old")

    def contents(self):
        return {name: self.load(self.path("out", name)) for name in os.listdir(self.path("out"))}

    def assert_old(self):
        self.assertEqual(self.contents(), {name: b"old" for name in OUTPUTS})

    def test_while_reading(self):
        self.save_clusters()
        for number, code in CODES.items():
            self.write_old()
            process = self.start("analyze", "-", "y.npy", "--out", "out", stdin=subprocess.PIPE)
            wait_until_caught(process, number)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=1800), code)
            self.assert_old()

    def test_while_writing_to_a_pipe(self):
        """The error matrix goes to a pipe that nobody reads, so the work cannot end by itself. With one
        thread that write itself is interrupted."""
        X, y = self.save_clusters(n=20_000, classes=8)
        os.mkfifo(self.path("pipe"))
        for number, code in CODES.items():
            self.write_old()
            process = self.start("analyze", X, y, "--out", "out", "--errors", "pipe", "--save-model", "model",
                                 "--threads", "1")
            reader = os.open(self.path("pipe"), os.O_RDONLY)
            time.sleep(0.3)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=1800), code)
            os.close(reader)
            self.assert_old()
            self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "pipe", "out"})

    def test_second_signal_does_not_wait(self):
        X, y = self.save_clusters(n=20_000, classes=8)
        os.mkfifo(self.path("pipe"))
        self.write_old()
        process = self.start("analyze", X, y, "--out", "out", "--errors", "pipe", "--threads", "2")
        reader = os.open(self.path("pipe"), os.O_RDONLY)
        for _ in range(2):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        start = time.monotonic()
        if process.wait(timeout=1800) != -signal.SIGINT:  # the work may end by itself, but not by the alarm
            self.assertEqual(process.returncode, 130)
            self.assertLess(time.monotonic() - start, 5)
        os.close(reader)
        self.assert_old()

    def test_at_any_time(self):
        X, y = self.save_clusters(n=40_000, d=64)
        codes = set()
        for i in range(16):
            self.write_old()
            process = self.start("analyze", X, y, "--out", "out", "--errors", "errors.npy")
            time.sleep(0.01 + 0.02 * i)
            if i == 15:  # at least once not before the program has started
                wait_until_caught(process, signal.SIGINT)
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=1800)
            codes.add(code)
            if code == 0:
                self.assert_new(40_000)
                os.remove(self.path("errors.npy"))
            else:
                self.assertIn(code, (130, -signal.SIGINT))  # the signal may come before the program starts
                self.assert_old()
            self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "out"})
        self.assertIn(130, codes)

    def assert_new(self, n):
        contents = self.contents()
        self.assertEqual(set(contents), OUTPUTS)
        self.assertEqual(contents["samples.csv"].count(b"\n"), n + 1)
        self.assertTrue(contents["report.html"].endswith(b"</html>\n"))
        self.assertTrue(contents["summary.json"].endswith(b"}\n"))

    def test_killed(self):
        X, y = self.save_clusters(n=40_000, d=32)
        for i in range(16):
            self.write_old()
            process = self.start("analyze", X, y, "--out", "out")
            time.sleep(0.01 + 0.02 * i)
            process.kill()
            process.wait(timeout=1800)
            for name, content in self.contents().items():
                if name in OUTPUTS and content != b"old":
                    whole = {"samples.csv": content.count(b"\n") == 40_001, "classes.csv": content.count(b"\n") == 4,
                             "report.html": content.endswith(b"</html>\n"), "summary.json": content.endswith(b"}\n")}
                    self.assertTrue(whole[name], name)
                elif name not in OUTPUTS:
                    self.assertTrue(re.fullmatch(r"\..+\.tmp", name), name)
                    os.remove(self.path("out", name))


if __name__ == "__main__":
    unittest.main()
