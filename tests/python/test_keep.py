"""Results that were pickled, copied, or read back from a folder, against those that they were."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest

import rer
from conftest import COMMAND, clusters

ARRAYS = ("rer", "mistakenness", "label_score", "is_label_issue", "own_error", "best_other_error", "outlier_score",
          "suggestion_probability", "is_outlier", "duplicate_group", "given_label", "predicted_label",
          "suggested_label", "issues")


def make(**options):
    X, y = clusters(n=600, d=20, classes=5, planted=30)
    y[[40, 41]] = -1
    X[50] = X[51]
    X[99, 3] = np.nan
    return rer.analyze(X, y, drop_invalid=True, duplicates="auto", **options)


def check_same(again, result, digits="f8"):
    """Everything that a result says is equal; digits="f4": as samples.csv has it."""
    def same(ours, theirs, name):
        if getattr(ours, "dtype", None) == np.float64:
            ours, theirs = ours.astype(digits), theirs.astype(digits)
        np.testing.assert_array_equal(ours, theirs, name)
        assert type(ours) is type(theirs), name

    for name in ARRAYS:
        same(getattr(again, name), getattr(result, name), name)
    for name, column in result.classes.to_dict().items():
        same(again.classes[name], column, name)
    for ours, theirs in ((again.pairs(99), result.pairs(99)), (again.suspects(600), result.suspects(600))):
        assert ours.columns == theirs.columns
        for name in ours.columns:
            same(ours[name], theirs[name], name)
    suspects = result.suspects(600)
    same(suspects["suggested_label"], result.suggested_label[suspects["index"]], "suspects")
    assert [again.nearest_rows(row) for row in result.issues] == [result.nearest_rows(row) for row in result.issues]
    for name in ("n_samples", "n_features", "n_classes", "n_outliers", "n_issues", "noise_rate", "chi", "difficulty",
                 "error_rate", "threshold"):  # summary.json has 15 digits
        assert getattr(again, name) == pytest.approx(getattr(result, name), rel=0 if digits == "f8" else 1e-14, abs=0, nan_ok=True), name
    assert again.notes == result.notes
    for count in (-1, 0, 1, 7, 30, 31, 590, 10**6):  # sums of what has so many digits
        assert again.expected_wrong(count) == pytest.approx(result.expected_wrong(count), rel=0 if digits == "f8" else 1e-6, abs=0, nan_ok=True)
    assert again.expected_wrong() == pytest.approx(result.expected_wrong(), rel=0 if digits == "f8" else 1e-14, abs=0, nan_ok=True)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("options", [{}, {"threshold": "paper", "probability": "density"}, {"budget": 17},
                                     {"class_names": list("vwxyz"), "ids": [f"row {i}" for i in range(600)]}])
def test_pickle(options, tmp_path):
    result = make(**options)
    again = pickle.loads(pickle.dumps(result))
    check_same(again, result)
    assert again.summary == result.summary and repr(again) == repr(result)
    pandas.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    assert [again.nearest_rows(row) for row in range(600)] == [result.nearest_rows(row) for row in range(600)]
    np.testing.assert_array_equal(again.best_other_label, result.best_other_label)
    X, _ = clusters(n=50, d=20, classes=5)
    check_same(again.model.score(X), result.model.score(X))
    check_same(pickle.loads(pickle.dumps(again)), result)
    again.write(tmp_path / "deep" / "out")  # as the result would have: with its report
    if "class_names" not in options:  # of classes with names, files have the names alone
        check_same(rer.load_result(tmp_path / "deep" / "out"), result, "f4")
    again.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == (tmp_path / "deep" / "out" / "report.html").read_bytes()
    again.write(tmp_path / "deep" / "out")  # takes the place of earlier results
    (tmp_path / "deep" / "out" / "mine").touch()
    with pytest.raises(ValueError, match="mine"):
        again.write(tmp_path / "deep" / "out")
    with pytest.raises(ValueError, match="give images and texts"):
        again.report(tmp_path / "report.html", texts=["a"] * 600)


def test_pickle_reaches_another_process():
    result = make()
    code = "import pickle, sys; r = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(r.mistakenness))"
    answer = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(result), capture_output=True, check=True)
    np.testing.assert_array_equal(pickle.loads(answer.stdout), result.mistakenness)


def test_scored_results_and_pictures():
    X, y = clusters(planted=9)
    scored = rer.analyze(X, y).model.score(X, y)
    again = pickle.loads(pickle.dumps(scored))
    check_same(again, scored)
    with pytest.raises(ValueError, match="no model"):
        again.model
    pictures = np.random.default_rng(0).integers(0, 99, (60, 8, 8), dtype=np.uint8)
    pictures[::2] += 100
    seen = rer.analyze(pictures, np.arange(60) % 2)
    assert pickle.loads(pickle.dumps(seen))._repr_html_() == seen._repr_html_()


def test_copies():
    result = make()
    result.mistakenness
    result.summary
    for copied in (copy.copy(result), copy.deepcopy(result)):
        check_same(copied, result)
    copied.mistakenness[:] = 7
    copied.summary["notes"].append("x")
    assert not (result.mistakenness == 7).any() and "x" not in result.notes, "a deep copy has its own"


@pytest.mark.parametrize("options", [{}, {"threshold": "paper", "probability": "density"}])
def test_load_result(tmp_path, options):
    result = make(**options)
    result.write(tmp_path / "out")
    again = rer.load_result(tmp_path / "out")
    check_same(again, result, "f4")
    assert again.summary.keys() == result.summary.keys()
    assert {k: v for k, v in again.summary.items() if k != "seconds"} == {
        k: v for k, v in result.summary.items() if k != "seconds"}
    again.write(tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "out")
    check_same(pickle.loads(pickle.dumps(again)), again)


def test_load_result_of_the_command(tmp_path):
    X, y = clusters(planted=9)
    names = np.array(["=a", "'b", "c,\"\u2028\n d"])[y]
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", names)
    (tmp_path / "ids").write_text("".join(f"+{i}\n" for i in range(300)), encoding="utf-8")
    for how in (["--format", "npz"], [], ["--spreadsheet-safe"]):
        subprocess.run([COMMAND, "analyze", tmp_path / "X.npy", tmp_path / "y.npy", "--ids", tmp_path / "ids", *how,
                        "--out", tmp_path / "out", "--quiet"], check=True, timeout=1800)
        expected = rer.analyze(X, names, ids=[f"+{i}" for i in range(300)])
        check_same(rer.load_result(tmp_path / "out"), expected, "f4")
    samples = tmp_path / "out" / "samples.csv"
    samples.write_bytes(samples.read_bytes().replace(b"true", b"TRUE"))
    with pytest.raises(ValueError, match="samples.csv: was changed"):
        rer.load_result(tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="no manifest.json"):
        rer.load_result(tmp_path)
    rer.scale(X, y).write(tmp_path / "scale")
    with pytest.raises(ValueError, match="rer scale"):
        rer.load_result(tmp_path / "scale")
