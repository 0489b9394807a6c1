"""Interrupts: the right exit code, old outputs intact, no damaged file even after SIGKILL."""
import glob
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from cli_case import COMMAND, CliCase, clusters, wait_until_caught

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Signals(CliCase):
    def start(self, *arguments, **options):
        process = subprocess.Popen([COMMAND, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        return process

    def write_old(self):
        """Results of 60 rows, with details."""
        self.results = self.make_old() if not hasattr(self, "results") else self.results
        shutil.rmtree(self.path("out"), ignore_errors=True)
        os.mkdir(self.path("out"))
        for name, content in self.results.items():
            self.save(os.path.join("out", name), content)

    def make_old(self):
        X, y = clusters(n=60)
        self.save("oldX.npy", X), self.save("oldy.npy", y)
        self.rer("analyze", "oldX.npy", "oldy.npy", "--details", "--out", "out", "--quiet")
        os.remove(self.path("oldX.npy")), os.remove(self.path("oldy.npy"))
        return self.contents()

    def contents(self):
        return {name: self.load(self.path("out", name)) for name in os.listdir(self.path("out"))}

    def assert_old(self):
        self.assertEqual(self.contents(), self.results)

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
        self.assertEqual(process.wait(timeout=1800), 130)
        self.assertLess(time.monotonic() - start, 5)  # not by the alarm
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
        self.assert_complete()
        self.assertEqual(self.summary()["n_samples"], n)

    def test_in_the_middle_of_writing(self):
        """The second signal ends the program at once, also while a picture is being decoded for the report."""
        X, y = self.save_clusters(n=40_000, d=8)
        codes = []
        while 130 not in codes and len(codes) < 20:
            self.write_old()
            process = self.start("analyze", X, y, "--out", "out", "--save-model", "model")
            while process.poll() is None and not glob.glob(self.path(".out.*.tmp")):
                time.sleep(.001)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(timeout=1800))
            if codes[-1] == 0:
                self.assert_new(40_000)
                os.remove(self.path("model"))
            else:
                self.assertIn(codes[-1], (130, 143))
                self.assert_old()
                codes[-1] = 130
            self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "out"})
        self.assertIn(130, codes)

    def test_killed(self):
        """Old or new, whole, whenever it happens; RER_KILLS says how often."""
        random.seed(0)
        X, y = self.save_clusters(n=300)
        self.write_old()
        start = time.monotonic()
        self.rer("analyze", X, y, "--out", "out")
        seconds = time.monotonic() - start
        seen = set()
        for _ in range(int(os.environ.get("RER_KILLS", 30))):
            self.write_old()
            process = self.start("analyze", X, y, "--out", "out")
            time.sleep(1.2 * seconds * random.random())
            process.kill()
            process.communicate()
            self.assert_whole()
            rows = self.summary()["n_samples"]
            self.assertIn(rows, (60, 300))
            seconds *= 1.25 if rows == 60 else .8  # other work on the machine comes and goes
            self.assertEqual("details.json" in self.contents(), rows == 60)
            seen.add(rows)
            for name in glob.glob(self.path(".out.*")):
                self.assertRegex(name, r"/\.out\.[0-9a-f]{6}\.tmp$")
                shutil.rmtree(name)
            self.assertEqual(set(os.listdir(self.folder)), {"X.npy", "y.npy", "out"})
        self.assertEqual(seen, {60, 300})


if __name__ == "__main__":
    unittest.main()
