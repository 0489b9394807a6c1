"""What the tests of the rer command share: a folder, a run, data that has an answer.

RER_COMMAND names the program and RER_SCHEMA docs/summary.schema.json."""
import csv
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import zlib

import numpy as np

COMMAND = os.environ["RER_COMMAND"]
SCHEMA = os.environ["RER_SCHEMA"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
OUTPUTS = {"samples.csv", "classes.csv", "summary.json", "report.html", "inputs.json", "manifest.json"}


def clusters(n=300, d=8, classes=3, seed=0, planted=0, apart=4):
    """Well separated classes; the labels of the first `planted` rows are moved on by one."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = (apart * random.normal(size=(classes, d))[y] + random.normal(size=(n, d))).astype("f4")
    y[:planted] = (y[:planted] + 1) % classes
    return X, y


def wait_until_caught(process, number):
    """Until the program catches the signal; how long its start takes is the machine's business."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
        if caught >> (number - 1) & 1:
            break
        time.sleep(.01)


def wait_until_worked(process, seconds):
    """Until the program has used so much of the processor."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            used = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        if used >= seconds * os.sysconf("SC_CLK_TCK"):
            break
        time.sleep(.01)


class CliCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rer-cli-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def save(self, name, content):
        """An array as .npy, text or bytes as they are; returns the path."""
        path = self.path(name)
        if isinstance(content, np.ndarray):
            np.save(path, content, allow_pickle=True)
        else:
            with open(path, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        return path

    def load(self, path):
        with open(path, "rb") as file:
            return file.read()

    def save_clusters(self, **options):
        X, y = clusters(**options)
        return self.save("X.npy", X), self.save("y.npy", y)

    def on_terminal(self, *arguments, columns=100, **environment):
        """Both outputs of a command on a terminal of so many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
        process = subprocess.Popen([COMMAND, *arguments], stdout=slave, stderr=slave, cwd=self.folder,
                                   env={**clean, "TERM": "xterm", **environment})
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:
            pass  # the other end is closed
        os.close(master)
        self.assertEqual(process.wait(), 0, text)
        return text.decode()

    def rer(self, *arguments, code=0, **options):
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, timeout=1800, cwd=self.folder,
                              **options)
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}: {done.out}{done.err}")
        if code not in (0, 130, 143):
            self.assertRegex(done.err, r"\Arer: .+\n\Z", "one line, starting with rer:")
            self.assertEqual(done.out, "")
        return done

    def samples(self, out="out"):
        with open(self.path(out, "samples.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def classes(self, out="out"):
        with open(self.path(out, "classes.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def summary(self, out="out"):
        with open(self.path(out, "summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_complete(self, out="out"):
        self.assertEqual(set(os.listdir(self.path(out))), OUTPUTS)
        self.assert_whole(out)

    def assert_whole(self, out="out"):
        """The folder holds what its manifest lists, byte by byte, and nothing else."""
        with open(self.path(out, "manifest.json"), encoding="utf-8") as file:
            files = json.load(file)["files"]
        self.assertEqual(set(os.listdir(self.path(out))), {file["name"] for file in files} | {"manifest.json"})
        for file in files:
            content = self.load(self.path(out, file["name"]))
            self.assertEqual((len(content), f"{zlib.crc32(content):08x}"), (file["size"], file["crc32"]), file["name"])


def column(rows, name):
    """A column as float, NaN where the cell is empty."""
    return np.array([float(row[name]) if row[name] else np.nan for row in rows])
