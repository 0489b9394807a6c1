"""pip's `rer` is the command, and rer.apply is `rer apply` on arrays."""
import csv
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

import rer
from conftest import COMMAND, clusters

OWN = [str(pathlib.Path(sys.executable).parent / "rer")]
NAMES = np.array(["cat", "dog", "owl"])


@pytest.fixture
def files(tmp_path):
    X, y = clusters(planted=12)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    return X, y


@pytest.mark.parametrize("words", [OWN, [sys.executable, "-m", "rer"]], ids=["rer", "python -m rer"])
def test_same_command(tmp_path, files, words):
    for place, program in enumerate((words, [COMMAND])):
        done = subprocess.run([*program, "analyze", "X.npy", "y.npy", "--out", f"out{place}"], cwd=tmp_path,
                              capture_output=True, text=True, check=True)
        if place == 0:
            printed = done.stdout
    assert printed.replace("out0", "out1") == done.stdout and "12 labels" in printed
    for name in ("samples.csv", "classes.csv"):
        assert (tmp_path / "out0" / name).read_bytes() == (tmp_path / "out1" / name).read_bytes()


def test_exit_codes(tmp_path):
    for words in (["--version"], ["--help"], [], ["analyse"], ["analyze", "nothing.npy", "y.npy", "--out", "o"],
                  ["analyze", "a", "b", "--wrong"], ["completions", "bash"]):
        own, other = (subprocess.run([*program, *words], cwd=tmp_path, capture_output=True) for program in (OWN, [COMMAND]))
        assert (own.returncode, own.stdout, own.stderr) == (other.returncode, other.stdout, other.stderr), words


def test_interrupt(tmp_path):
    """Ctrl-C ends it as it ends the command: nothing is left."""
    rows = np.random.default_rng(0).normal(size=(20000, 200)).astype("f4")
    np.save(tmp_path / "X.npy", rows)
    np.save(tmp_path / "y.npy", np.arange(20000) % 10)
    run = subprocess.Popen([*OWN, "bench", "X.npy", "y.npy", "--out", "out"], cwd=tmp_path, stderr=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    time.sleep(2)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=1800)
    assert run.returncode == 130 and b"Traceback" not in said
    assert {path.name for path in tmp_path.iterdir()} == {"X.npy", "y.npy"}


# ---- rer.apply ----


@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "text", "bytes", "object", "bool", "series", "list"])
def test_apply_is_the_command_s(tmp_path, kind):
    X, y = clusters(classes=2 if kind == "bool" else 3, planted=12)
    labels = {"text": lambda: NAMES[y], "bytes": lambda: NAMES[y].astype("S"), "object": lambda: NAMES[y].astype(object),
              "bool": lambda: y == 1, "series": lambda: pandas.Series(NAMES[y], index=np.arange(300) * 2, name="kind"),
              "list": lambda: y.tolist()}.get(kind, lambda: y.astype(kind))()
    result = rer.analyze(X, labels)
    fixed = rer.apply(labels, result, auto=.9)
    truth = clusters(classes=2 if kind == "bool" else 3)[1]
    expected = {"text": NAMES, "bytes": NAMES.astype("S"), "object": NAMES, "series": NAMES,
                "bool": np.array([False, True])}.get(kind, np.arange(3))[truth]
    np.testing.assert_array_equal(np.asarray(fixed), expected)
    if kind == "series":
        assert fixed.index.equals(labels.index) and fixed.name == "kind"
    elif kind != "list":
        assert fixed.dtype == labels.dtype
    if kind in ("int64", "text"):  # as the command has it
        np.save(tmp_path / "y.npy", labels)
        result.write(tmp_path / "results")
        subprocess.run([COMMAND, "apply", "y.npy", "results", "--auto", ".9", "--out", "fixed.npy"], cwd=tmp_path, check=True,
                       capture_output=True)
        np.testing.assert_array_equal(np.load(tmp_path / "fixed.npy"), fixed)
        np.testing.assert_array_equal(rer.apply(tmp_path / "y.npy", tmp_path / "results", auto=.9), fixed)
    np.testing.assert_allclose(rer.apply(labels, result, auto=.9, weights=True), result.label_score, rtol=1e-6)


def test_apply_decisions(tmp_path):
    """decisions.csv of a report that was made from arrays; dropped rows have no label."""
    X, y = clusters(planted=12)
    result = rer.analyze(X, y, class_names=list(NAMES))
    checksum = f"rer:{result.summary['checksums']['labels']}"
    with open(tmp_path / "decisions.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["index", "given_label", "decision", "new_label", "labels_checksum"])
        rows.writerows([[0, y[0], "fix", 0, checksum], [1, y[1], "drop", "", checksum], [2, y[2], "keep", "", checksum],
                        [3, y[3], "new", 7, checksum]])
    expected = y.copy()
    expected[:2], expected[3] = (0, -1), 7
    np.testing.assert_array_equal(rer.apply(y, tmp_path / "decisions.csv"), expected)
    objects = rer.apply(y.astype(object), tmp_path / "decisions.csv")
    assert objects[1] is None and objects[0] == 0 and objects[2] == y[2] and objects[3] == 7
    weights = rer.apply(y, tmp_path / "decisions.csv", weights=True)
    assert weights[:4].tolist() == [0, 0, 1, 0] and (weights[4:] == 1).all()
    # Other names of classes, from the result itself or given as for rer.analyze.
    truth = clusters()[1]
    np.testing.assert_array_equal(rer.apply(y, result, auto=.9), truth)
    result.write(tmp_path / "out")
    for names in (list(NAMES), dict(enumerate(NAMES))):
        np.testing.assert_array_equal(rer.apply(y, tmp_path / "out", auto=.9, class_names=names), truth)
    with pytest.raises(ValueError, match="class_names missing"):
        rer.apply(y, tmp_path / "out", auto=.9)
