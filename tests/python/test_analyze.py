"""rer.analyze and what it returns, against the command on the same data."""
import json
import pickle

import numpy as np
import pytest

import rer
from conftest import clusters

VOLATILE = {"seconds", "peak_memory_bytes"}


def check_same(result, run):
    """Every number and label of the package is the command's."""
    for ours, theirs in (("rer", "rer"), ("mistakenness", "mistakenness"), ("label_score", "label_score"),
                         ("own_error", "own_error"), ("best_other_error", "best_other_error"),
                         ("suggestion_probability", "suggestion_probability")):
        # samples.csv has as many digits as tell one float32 from the next.
        np.testing.assert_array_equal(getattr(result, ours).astype("f4"), run.column(theirs).astype("f4"), ours)
    assert [row["is_label_issue"] == "true" for row in run.samples] == result.is_label_issue.tolist()
    for name in ("given_label", "predicted_label", "suggested_label"):
        theirs = [row[name] for row in run.samples]
        if name == "suggested_label":  # the file leaves those empty that stay
            theirs = [suggested or row["given_label"] for suggested, row in zip(theirs, run.samples)]
        assert theirs == ["" if v is None else str(v) for v in getattr(result, name)], name
    summary = json.loads(json.dumps(result.summary))
    assert {k: v for k, v in summary.items() if k not in VOLATILE} == {
        k: v for k, v in run.summary.items() if k not in VOLATILE}
    assert [str(v) for v in result.classes["label"]] == [row["label"] for row in run.classes]
    for name in ("n", "chi", "noise_rate", "n_issues", "own_error"):
        theirs = [float(row[name] or "nan") for row in run.classes]
        np.testing.assert_array_equal(result.classes[name].astype("f4"), np.array(theirs, "f4"), name)
    assert ["" if v is None else str(v) for v in result.classes["most_confused_with"]] == [
        row["most_confused_with"] for row in run.classes]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
def test_same_as_command(command, dtype):
    X, y = clusters(planted=9)
    X = (10 * X + 100).astype(dtype) if dtype in ("i4", "u1") else X.astype(dtype)
    check_same(rer.analyze(X, y), command("analyze", X, y))


def test_same_as_command_with_options(command):
    X, y = clusters(n=500, classes=5, planted=20)
    result = rer.analyze(X, y, shrinkage=.3, budget="3%", random_state=7, n_jobs=1)
    check_same(result, command("analyze", X, y, "--shrinkage", .3, "--budget", "3%", "--seed", 7, "--threads", 1))
    result = rer.analyze(X, y, reconstructor="subspace", rank=2, folds=3)
    check_same(result, command("analyze", X, y, "--reconstructor", "subspace", "--rank", 2, "--folds", 3))


def test_texts_and_missing_labels(command):
    X, y = clusters(planted=4)
    names = np.array(["Käse", "a,b", ""])[y]
    check_same(rer.analyze(X[y < 2], names[y < 2]), command("analyze", X[y < 2], names[y < 2]))
    names = np.array(["Käse", "a,b", "owl"])[y]
    names[::10] = ""
    result = rer.analyze(X, names)
    check_same(result, command("analyze", X, names))
    assert result.given_label[0] is None and result.suggested_label[0] in ("Käse", "a,b", "owl")


def test_pictures(command):
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.integers(0, 60, (60, 12, 12)).astype("u1")
    X[y == 1, :, 4:8] += 150
    X[y == 0, 4:8] += 150
    y[3] = 0
    result = rer.analyze(X, y)
    check_same(result, command("analyze", X, y))
    assert result.issues.tolist() == [3]
    assert "data:image/png" in result._repr_html_()


def test_paths(command, tmp_path):
    X, y = clusters(planted=3)
    run = command("analyze", X, y)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    check_same(rer.analyze(tmp_path / "X.npy", tmp_path / "y.npy"), run)
    check_same(rer.analyze(str(tmp_path / "X.npy"), y), run)
    np.savez(tmp_path / "both.npz", X=X, y=y)
    check_same(rer.analyze(f"{tmp_path}/both.npz:X", f"{tmp_path}/both.npz:y"), run)
    check_same(rer.analyze(np.load(tmp_path / "X.npy", mmap_mode="r"), y), run)
    with open(tmp_path / "table.csv", "w", encoding="utf-8") as file:
        file.write("a,b,kind\n" + "".join(f"{x[0]!r},{x[1]!r},{label}\n" for x, label in zip(X.tolist(), y)))
    check_same(rer.analyze(tmp_path / "table.csv", label_column="kind"),
               command("analyze", tmp_path / "table.csv", "--label-column", "kind"))


def test_class_names_and_ids(tmp_path):
    X, y = clusters(planted=1)
    ids = [f"file{i}.png" for i in range(300)]
    for names in (["cat", "dog", "owl"], {0: "cat", 1: "dog", 2: "owl", 9: "none"}):
        result = rer.analyze(X, y, class_names=names, ids=ids)
        assert result.classes["name"].tolist() == ["cat", "dog", "owl"]
        assert result.suspects(1)[0]["id"] == "file0.png"
        assert result.to_frame()["id"].tolist() == ids
    result.write(tmp_path / "out")
    assert "file0.png,dog,cat" in (tmp_path / "out" / "samples.csv").read_text()
    with pytest.raises(ValueError, match="2 class names but the labels have 3 classes"):
        rer.analyze(X, y, class_names=["a", "b"])
    with pytest.raises(ValueError, match="1 ids but 300 rows"):
        rer.analyze(X, y, ids=["a"])


def test_to_frame_is_samples_csv(command, tmp_path):
    import pandas
    X, y = clusters(planted=5)
    result = rer.analyze(X, y)
    result.write(tmp_path / "out")
    written = pandas.read_csv(tmp_path / "out" / "samples.csv", index_col="index")
    frame = result.to_frame()
    assert list(frame.columns) == list(written.columns)
    np.testing.assert_allclose(frame["mistakenness"], written["mistakenness"], rtol=2e-7, atol=1e-30)
    assert frame["given_label"].dtype.kind == "i"


def test_order_of_suspects():
    X, y = clusters(n=900, planted=30, seed=2)
    result = rer.analyze(X, y)
    suspects = result.suspects(50)
    assert len(suspects) == 50 and (np.diff(suspects["mistakenness"]) <= 0).all()
    np.testing.assert_array_equal(suspects["index"][: result.n_issues], result.issues)
    np.testing.assert_array_equal(np.sort(result.issues), np.flatnonzero(result.is_label_issue))
    np.testing.assert_allclose(result.expected_wrong(50), suspects["mistakenness"].sum())
    np.testing.assert_allclose(result.expected_wrong(), result.mistakenness[result.issues].sum())
    assert len(result.suspects(10**9)) == 900 and len(result.suspects(0)) == 0 and len(result.suspects(-1)) == 0


def test_save_load_score(command, tmp_path):
    X, y = clusters(planted=5)
    X2, y2 = clusters(n=90, planted=2, seed=0)
    path = tmp_path / "model.safetensors"
    result = rer.analyze(X, y)
    result.save(path)
    run = command("score", path, X2, y2)
    loaded = rer.load(path)
    for model in (loaded, result.model, pickle.loads(pickle.dumps(loaded))):
        check_same(model.score(X2, y2), run)
        assert model.classes.tolist() == [0, 1, 2] and model.n_features == 8
    check_same(loaded.score(X2), command("score", path, X2))
    check_same(loaded.score(X2, y2, threshold=.9), command("score", path, X2, y2, "--threshold", .9))
    with pytest.raises(ValueError, match="none of its own"):
        loaded.score(X2).model
    with pytest.raises(TypeError, match="decided when the model was fitted"):
        loaded.score(X2, shrinkage=.1)
    with pytest.raises(ValueError, match="no class '5'"):
        loaded.score(X2, np.full(90, 5))
    with pytest.raises(ValueError, match="fitted on 8"):
        loaded.score(X2[:, :5])


def test_errors_file(tmp_path):
    X, y = clusters()
    result = rer.analyze(X, y, errors=tmp_path / "errors.npy")
    errors = np.load(tmp_path / "errors.npy")
    assert errors.shape == (3, 300)
    np.testing.assert_allclose(errors[y, np.arange(300)], result.own_error, rtol=1e-6)
    result.model.score(X, errors=tmp_path / "again.npy")
    assert np.load(tmp_path / "again.npy").shape == (3, 300)


def test_report(tmp_path):
    X, y = clusters(planted=2)
    result = rer.analyze(X, y)
    result.report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text() and len(list(tmp_path.iterdir())) == 1


def test_what_people_see():
    X, y = clusters(planted=6)
    result = rer.analyze(X, y)
    text, html = repr(result), result._repr_html_()
    for words in ("300 samples, 3 classes, 8 features", "6 flagged", f"chi {result.chi:.3f}"):
        assert words in text and words in html
    assert "<svg" in html and "<table" in html and html.count("<tr>") == 11
    assert result.suspects(2)._repr_html_().count("<tr>") == 3
    assert repr(rer.analyze(X, np.array(["<b>", "&", "x"])[y]).classes)
    assert "<b>" not in rer.analyze(X, np.array(["<b>", "&", "x"])[y])._repr_html_().split("<table")[1]
