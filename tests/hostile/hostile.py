#!/usr/bin/env python3
"""A campaign against the rer command that anyone can repeat: make hostile SEED=1 SECONDS=300

    hostile.py --rer RER --asan RER --faults faults.so [--seed N] [--seconds S] [--kept FOLDER]

1. Damaged inputs. Every kind of file that the command reads is made, damaged at random, and read: by a program built
   with AddressSanitizer and UBSan (--asan), and by the ordinary one (--rer) under a limit on its memory. Exit 0
   (the damage did not matter), 1 (bad input) and 3 (no memory) are right; a signal, a finding, more than a minute or a
   failure without a message is not.
2. Kills. A run that replaces the results of another is killed (SIGKILL) at a random time: old or new, whole.
3. Faults. The first, second, third ... call of write, fsync, rename, ..., and of every allocation fails:
   exit 0, 1 or 3, and old or new, whole.

Prints a table; the exit status is 1 where something failed. What a case did depends on the seed and its number alone,
how many there are on the time. A damaged file that failed is kept in --kept, with the command.
"""
import argparse
import concurrent.futures
import errno
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from PIL import Image

ROWS, COLUMNS, CLASSES = 60, 6, 3
MEMORY = 2 << 30  # bytes of addresses: threads and BLAS buffers take most of it
MINUTE = 60
RIGHT = {0, 1, 3}
FINDING = 99
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": f"exitcode={FINDING}:allocator_may_return_null=1:detect_leaks=1",
               "UBSAN_OPTIONS": f"exitcode={FINDING}:halt_on_error=1"}
CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus"


# ---- the inputs ---------------------------------------------------------------------------------

def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def csv(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def picture(kind, **options):
    out = io.BytesIO()
    Image.fromarray(np.arange(40 * 30 * 3, dtype="u1").reshape(40, 30, 3)).save(out, kind, **options)
    return out.getvalue()


def made_data():
    numbers = np.random.default_rng(0)
    y = np.arange(ROWS) % CLASSES
    return (4 * numbers.normal(size=(CLASSES, COLUMNS))[y] + numbers.normal(size=(ROWS, COLUMNS))).astype("f4"), y


def analyze(*more):
    return ["analyze", "X.npy", "y.npy", "--threads", "1", "--quiet", *more]


def hdf5_inputs(folder, rer):
    """The fuzzer's seeds, as far as they are features, with as many labels as each has rows."""
    for rows in range(3, 20):
        (folder / f"{rows}.txt").write_bytes(csv([["ab"[i % 2]] for i in range(rows)]))
        for seed in sorted((CORPUS / "h5").glob("*")):
            (folder / "x.h5").write_bytes(seed.read_bytes())
            arguments = ["analyze", "x.h5:/x", f"{rows}.txt", "--threads", "1", "--quiet"]
            if run([rer, *arguments], folder, True)[0] == 0:
                yield f"hdf5, {seed.name}", ("x.h5", seed.read_bytes(), arguments)


def make_inputs(folder, rer):
    """Writes the files that stay whole; returns kind -> (the file to damage, its whole contents, the arguments)."""
    X, y = made_data()
    words = np.array(["cat", "dog", "owl"])[y]
    pixels = np.random.default_rng(1).integers(0, 256, (ROWS, 12, 10), "u1")
    for name, content in (("X.npy", npy(X)), ("y.npy", npy(y)), ("ok.png", picture("PNG"))):
        (folder / name).write_bytes(content)
    subprocess.run([rer, *analyze("--out", "run", "--save-model", "model")], cwd=folder, check=True)
    subprocess.run([rer, *analyze("--out", "other", "--seed", "1", "--normalize", "unit")], cwd=folder, check=True)
    made_for = "rer:" + json.loads((folder / "run" / "summary.json").read_text())["checksums"]["labels"]
    with_manifest = (folder / "run" / "manifest.json").exists()
    if with_manifest:  # its checksums would hide what lies behind them
        shutil.copytree(folder / "run", folder / "checked")
        (folder / "run" / "manifest.json").unlink()
    shutil.copytree(folder / "run", folder / "reviewed")
    (folder / "photos").mkdir()
    (folder / "photos" / "ok.png").write_bytes(picture("PNG"))
    journal = [{"rer_review": 1, "labels": made_for.removeprefix("rer:")}]
    journal += [{"id": f"{i:032x}", "row": i, "given": str(y[i]), "decision": choice, "label": "2", "reviewer": "ann", "promise": .5}
                for i, choice in enumerate(("keep", "fix", "drop", "unsure"))]
    decisions = [("index", "given_label", "decision", "new_label", "labels_checksum")]
    decisions += [(i, y[i], *choice, made_for) for i, choice in enumerate((("keep", ""), ("fix", 2), ("drop", "")))]
    groups = [f"g{i // 4}" for i in range(ROWS)]
    probabilities = np.full((ROWS, CLASSES), .1, "f4")
    probabilities[np.arange(ROWS), y] = .8

    def labelled(name):
        return ["analyze", name, "y.npy", "--threads", "1", "--quiet"]

    def shown(*options):
        return analyze(*options, "--out", "shown")

    def reviewed(name):
        return f"reviewed/{name}", (folder / "reviewed" / name).read_bytes(), ["review", "reviewed", "--export", "e.csv", "--quiet"]

    kinds = {
        "npy": ("x.npy", npy(X), labelled("x.npy")),
        "npy, float64 Fortran": ("x.npy", npy(np.asfortranarray(X.astype("f8"))), labelled("x.npy")),
        "npz": ("x.npz", npz(a=X, b=y), labelled("x.npz:a")),
        "gzip": ("x.npy.gz", gzip.compress(npy(X), mtime=0), labelled("x.npy.gz")),
        "csv": ("x.csv", csv(X), labelled("x.csv")),
        "csv with labels": ("x.csv", csv([[*"abcdef", "label"], *([*row, word] for row, word in zip(X, words))]),
                            ["analyze", "x.csv", "--label-column", "label", "--threads", "1", "--quiet"]),
        "idx pictures": ("x.idx", idx(pixels), labelled("x.idx")),
        "labels, npy texts": ("l.npy", npy(words), ["analyze", "X.npy", "l.npy", "--threads", "1", "--quiet"]),
        "labels, lines": ("l.txt", csv([[word] for word in words]), ["analyze", "X.npy", "l.txt", "--threads", "1", "--quiet"]),
        "class names": ("n.txt", b"cat\ndog\nowl\n", analyze("--class-names", "n.txt")),
        "ids": ("i.txt", csv([[f"row {i}"] for i in range(ROWS)]), analyze("--ids", "i.txt")),
        "groups": ("g.txt", csv([[group] for group in groups]), analyze("--groups", "g.txt")),
        "subsets": ("s.csv", csv([["part"], *([group] for group in groups)]), analyze("--subsets", "s.csv:part")),
        "probabilities": ("p.npy", npy(probabilities), analyze("--pred-probs", "p.npy")),
        "class embeddings": ("e.npy", npy(X[:CLASSES]), analyze("--detector", "zeroshot", "--class-embeddings", "e.npy")),
        "model": ("m", (folder / "model").read_bytes(), ["score", "m", "X.npy", "--threads", "1", "--quiet"]),
        "picture list": ("l.txt", b"ok.png\n" * ROWS, shown("--images", "l.txt")),
        "texts, jsonl": ("t.jsonl", b"".join(json.dumps({"text": f"text {i}"}).encode() + b"\n" for i in range(ROWS)),
                         shown("--texts", "t.jsonl")),
        "decisions": ("d.csv", csv(decisions), ["apply", "y.npy", "d.csv", "--out", "fixed.npy", "--quiet"]),
        "decisions, journal": ("reviewed/decisions.jsonl", "".join(json.dumps(line) + "\n" for line in journal).encode(),
                               ["apply", "y.npy", "reviewed", "--out", "fixed.npy", "--quiet"]),
        **{f"run folder, reviewed: {name}": reviewed(name)
           for name in ("samples.csv", "classes.csv", "summary.json", "report.html", "inputs.json")},
        "run folder: samples.csv": ("run/samples.csv", (folder / "run" / "samples.csv").read_bytes(),
                                    ["compare", "run", "other", "--quiet"]),
        "run folder: classes.csv": ("run/classes.csv", (folder / "run" / "classes.csv").read_bytes(),
                                    ["compare", "run", "other", "--quiet"]),
        "run folder: summary.json": ("run/summary.json", (folder / "run" / "summary.json").read_bytes(),
                                     ["compare", "run", "other", "--quiet"]),
        "run folder, applied": ("run/samples.csv", (folder / "run" / "samples.csv").read_bytes(),
                                ["apply", "y.npy", "run", "--auto", ".9", "--out", "fixed.npy", "--quiet"]),
        "error rates": ("r.csv", b"run,error_rate\nrun,.1\nother,.2\n",
                        ["compare", "run", "other", "--mode", "datasets", "--error-rates", "r.csv", "--quiet"]),
    }
    if with_manifest:
        kinds["run folder: manifest.json"] = ("checked/manifest.json", (folder / "checked" / "manifest.json").read_bytes(),
                                              ["compare", "checked", "other", "--quiet"])
    (folder / "pictures.txt").write_bytes(b"p\n" * ROWS)
    for kind, options in (("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("WEBP", {})):
        name = " ".join(["picture,", kind, *options])
        kinds[name] = ("p", picture(kind, **options), shown("--images", "pictures.txt"))
    kinds["picture, embedded"] = ("photos/p.jpg", picture("JPEG"), ["embed", "photos", "--out", "F.npy", "--threads", "1", "--quiet"])
    kinds.update(hdf5_inputs(folder, rer))
    for kind, (name, whole, arguments) in kinds.items():
        (folder / name).write_bytes(whole)
        status, message = run([rer, *arguments], folder, True)
        if status != 0:
            sys.exit(f"{kind}: even undamaged, {' '.join(arguments)} ends with {status}: {message.decode()}")
    return kinds


# ---- damage -------------------------------------------------------------------------------------

def damage(whole, chance):
    """One to four changes: a byte, a number of extreme value, a stretch cut, repeated, moved or made of something else."""
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1) if chance.random() < .5 else chance.randrange(min(len(data), 128) + 1)
        length = chance.choice((1, 2, 4, 8, 64, len(data) // 4))
        other = chance.randrange(len(data) + 1)
        change = chance.choice((0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6))
        if change <= 1 and at < len(data):
            data[at] = chance.randrange(256) if change else data[at] ^ 1 << chance.randrange(8)
        elif change == 2:
            value = chance.choice((0, -1, 2**31 - 1, -2**31, 2**62, 2**63 - 1, -2**63))
            data[at:at + 8] = struct.pack(chance.choice("<>") + "q", value)[:max(1, len(data) - at)]
        elif change == 3:
            del data[at:at + length]
        elif change == 4:
            data[at:at] = data[other:other + length]
        elif change == 5:
            data[at:at] = chance.choice((b"\0", b"\xff", b"\n", b",", b'"', b"nan", b"-1e999", b"9" * 40, b"\x1b[2J"))
        else:
            del data[at:]
        data = data or bytearray(b"\0")
    return bytes(data)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(command, folder, limited):
    """(exit status or "hang", standard error)"""
    try:
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=MINUTE, preexec_fn=limit_memory if limited else None, check=False)
    except subprocess.TimeoutExpired:
        return "hang", b""
    return done.returncode, done.stderr


class Table:
    """Outcomes of each kind."""

    def __init__(self):
        self.counts, self.failures, self.lock = {}, [], threading.Lock()

    def add(self, kind, outcome, command="", message=b""):
        with self.lock:
            return self.count(kind, outcome, command, message)

    def count(self, kind, outcome, command, message):
        row = self.counts.setdefault(kind, {"tried": 0, 0: 0, 1: 0, 3: 0, "failed": 0})
        right = outcome in RIGHT and (outcome == 0 or message.startswith(b"rer: "))
        row["tried"] += 1
        row[outcome if right else "failed"] += 1
        if not right:
            self.failures.append(f"{kind}: {outcome}: {command}\n{message.decode(errors='replace')[:2000]}")
        return right

    def print(self):
        total = [sum(row[key] for row in self.counts.values()) for key in ("tried", 0, 1, 3, "failed")]
        print("| what | tried | exit 0 | exit 1 | exit 3 | failed |\n|---|---:|---:|---:|---:|---:|")
        for kind, row in self.counts.items():
            print(f"| {kind} | {row['tried']:,} | {row[0]:,} | {row[1]:,} | {row[3]:,} | {row['failed']:,} |")
        print("| all | {:,} | {:,} | {:,} | {:,} | {:,} |".format(*total))


def try_damaged(kind, number, templates, settings, table):
    folder = templates / f"worker-{number % settings.jobs}"
    name, whole, arguments = settings.kinds[kind]
    chance = random.Random(f"{settings.seed} {kind} {number}")
    (folder / name).write_bytes(damage(whole, chance))
    limited = number // settings.jobs % 2 == 1
    command = [settings.rer if limited else settings.asan, *arguments]
    outcome, message = run(command, folder, limited)
    if not table.add(kind, outcome, " ".join(command), message) and settings.kept:
        kept = pathlib.Path(settings.kept)
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / name, kept / f"{kind.replace(' ', '_').replace('/', '_')}-{number}")
    (folder / name).write_bytes(whole)


def damaged_inputs(folder, settings, table, seconds):
    """Workers have folders of their own, and take every jobs-th case of each kind in turn."""
    settings.kinds = make_inputs(folder, settings.rer)
    for worker in range(settings.jobs):
        shutil.copytree(folder, folder.parent / f"worker-{worker}")
    end = time.monotonic() + seconds

    def work(worker):
        for number in itertools.count(worker, settings.jobs):
            for kind in settings.kinds:
                if time.monotonic() > end:
                    return
                try_damaged(kind, number, folder.parent, settings, table)

    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        for done in [pool.submit(work, worker) for worker in range(settings.jobs)]:
            done.result()


# ---- kills and faults ---------------------------------------------------------------------------

def contents(folder):
    """What a folder of results says, by file; None where it is not there or not whole."""
    try:
        summary = json.loads((folder / "summary.json").read_text())
        return {"samples": (folder / "samples.csv").read_bytes(), "classes": (folder / "classes.csv").read_bytes(),
                "chi": summary["chi"], "ends": (folder / "report.html").read_bytes().rstrip().endswith(b"</html>")}
    except (OSError, ValueError):
        return None


class Replacement:
    """A run whose results take the place of another's in the same folder."""

    def __init__(self, folder, settings):
        self.folder, self.rer = folder, settings.rer
        X, y = made_data()
        (folder / "X.npy").write_bytes(gzip.compress(npy(X)))  # by its first bytes: is unpacked, not mapped
        (folder / "y.npy").write_bytes(npy(y))
        self.commands = [[self.rer, *analyze("--out", "out", "--normalize", way, "--errors", "errors.npy", "--save-model",
                                             "model")] for way in ("unit", "whiten")]
        self.versions = []
        for command in self.commands:
            subprocess.run(command, cwd=folder, check=True)
            self.versions.append(contents(folder / "out"))

    def restore(self):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        subprocess.run(self.commands[0], cwd=self.folder, check=True)

    def state(self):
        now = contents(self.folder / "out")
        return ("old", "new")[self.versions.index(now)] if now in self.versions else "a mixture"


def kills(folder, settings, table, seconds):
    replacement = Replacement(folder, settings)
    chance = random.Random(f"{settings.seed} kills")
    start = time.monotonic()
    replacement.restore()
    took = time.monotonic() - start
    state = "old"
    while time.monotonic() < start + seconds:
        if state != "old":
            replacement.restore()
        process = subprocess.Popen(replacement.commands[1], cwd=folder)
        time.sleep(chance.uniform(0, 1.5 * took))
        process.send_signal(signal.SIGKILL)
        process.wait()
        state = replacement.state()
        table.add("kills", 0 if state != "a mixture" else state, "SIGKILL")


CALLS = {"open": errno.EACCES, "openat": errno.EACCES, "read": errno.EIO, "pread": errno.EIO, "mmap": errno.ENOMEM,
         "allocate": errno.ENOMEM, "write": errno.ENOSPC, "pwrite": errno.ENOSPC, "fdopen": errno.ENOMEM, "fwrite": errno.ENOSPC,
         "fflush": errno.ENOSPC, "ftruncate": errno.ENOSPC, "fsync": errno.EIO, "close": errno.EIO, "mkdir": errno.EACCES,
         "rename": errno.ENOSPC, "unlink": errno.EACCES}


def faults(folder, settings, table, seconds):
    """Each call in turn: its first failing, its second, ... until the run no longer notices, then random places."""
    replacement = Replacement(folder, settings)
    end = time.monotonic() + seconds
    chance = random.Random(f"{settings.seed} faults")
    clean = {**ENVIRONMENT, "LD_PRELOAD": settings.faults}
    state = "new"
    for number in itertools.count(1):
        for call, error in CALLS.items():
            if time.monotonic() > end:
                return
            if state != "old":
                replacement.restore()
            at = number if number <= 40 else chance.randrange(1, 5000 if call == "allocate" else 400)
            fault = f"{call}:{at}:{error}"
            try:
                done = subprocess.run(replacement.commands[1], cwd=folder, env={**clean, "RER_FAULT": fault}, check=False,
                                      capture_output=True, timeout=MINUTE)
                outcome, message = done.returncode, done.stderr
            except subprocess.TimeoutExpired:
                outcome, message = "hang", b""
            state = replacement.state()
            if state == "a mixture" or (outcome == 0 and state == "old"):
                outcome = f"exit {outcome}, but {state}"
            table.add(f"fault: {call}", outcome, fault, message)


def main():
    parser = argparse.ArgumentParser()
    for name in ("rer", "asan", "faults"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kept", type=os.path.abspath)
    settings = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="rer-hostile-") as name:
        for part, share in ((damaged_inputs, .6), (kills, .2), (faults, .2)):
            folder = pathlib.Path(name, part.__name__)
            folder.mkdir()
            part(folder, settings, table, share * settings.seconds)
    print(f"seed {settings.seed}, {settings.seconds:g} seconds, {settings.jobs} at a time\n")
    table.print()
    for failure in table.failures:
        print(f"\nFAILED {failure}", file=sys.stderr)
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
