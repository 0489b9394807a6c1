"""rer.scale, compare, bench and noise, and what analyze is told of rows and classes: the command's numbers."""
import json
import pathlib
import re
import subprocess

import numpy as np
import pandas
import pytest

import rer
from conftest import COMMAND, clusters

VOLATILE = {"seconds", "peak_memory_bytes", "path", "threads"}


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in VOLATILE}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def run_json(*words):
    done = subprocess.run([COMMAND, *map(str, words), "--json", "--quiet"], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return without_times(json.loads(done.stdout))


@pytest.fixture
def files(tmp_path):
    """Features close enough together for mistakes, true and noisy labels: arrays, and their files."""
    random = np.random.default_rng(5)
    truth = np.arange(600) % 4
    X = (1.6 * random.normal(size=(4, 10))[truth] + random.normal(size=(600, 10))).astype("f4")
    y = truth.copy()
    y[::20] = (y[::20] + 1) % 4
    for name, array in (("X", X), ("y", y), ("truth", truth)):
        np.save(tmp_path / f"{name}.npy", array)
    return X, y, truth, tmp_path


# ---- scale ----


def test_scale(files):
    X, y, _, folder = files
    s = rer.scale(X, y, sizes=[20, 40, 60, 100], repeats=3, accuracy=.9, random_state=2, n_jobs=2)
    words = ["--sizes", "20,40,60,100", "--repeats", 3, "--accuracy", .9, "--seed", 2]
    assert without_times(s.summary) == run_json("scale", folder / "X.npy", folder / "y.npy", *words)
    assert s.points["n"].tolist() == [20, 40, 60, 100, 150] and s.points.columns[3] == "chi"
    assert np.isnan(s.points["chi_sd"][-1])
    law = s.law
    n = s.points["n"]
    fitted = (law["chi_inf"] * n ** law["gamma0"] + law["gamma1"]) / (n ** law["gamma0"] + law["gamma2"])
    np.testing.assert_allclose(fitted, s.points["chi"], atol=.02)
    assert s.forecasts["change"].tolist() == ["prune", "collect"] and s.forecasts["accuracy"].dtype == float
    assert f"chi would be {s.chi_inf:.4f}" in repr(s) and "<svg" in s._repr_html_() and "<table" in s._repr_html_()
    assert (s.chi_inf, s.law["chi_inf"]) == (s.summary["chi_inf"],) * 2
    assert s.notes and f"Note: {s.notes[0]}" in repr(s)
    check_files(s, folder, "scale")
    check_messages(rer.scale, X, y)


def check_files(study, folder, name):
    study.write(folder / "out")
    assert {f"{name}.html", f"{name}.json"} <= {file.name for file in (folder / "out").iterdir()}
    assert without_times(json.loads((folder / "out" / f"{name}.json").read_text())) == without_times(study.summary)
    (folder / "page").mkdir()
    study.report(folder / "page" / "page.html")
    assert [file.name for file in (folder / "page").iterdir()] == ["page.html"]
    assert "<html" in (folder / "page" / "page.html").read_text()
    with pytest.raises(OSError):
        study.write(folder / "X.npy" / "below a file")


def check_messages(function, X, y):
    with pytest.raises(ValueError, match="labels but 600 rows"):
        function(X, y[:-1])
    with pytest.raises(TypeError, match="there is no keyword 'shrinkge'"):
        function(X, y, shrinkge=1)
    with pytest.raises(TypeError, match="X is None"):
        function(None, y)


def check_progress(function):
    """Long enough to be asked; what the callback raises ends the work."""
    X, y = clusters(n=20_000, d=128, classes=20)
    seen = []

    class Enough(Exception):
        pass

    def stop(stage, share):
        seen.append(share)
        raise Enough

    with pytest.raises(Enough):
        function(X, y, progress=stop)
    assert len(seen) == 1 and 0 <= seen[0] <= 1


def test_progress():
    check_progress(rer.scale)
    check_progress(lambda X, y, **options: rer.bench(X, y, detectors="rer,knn", **options))
    check_progress(lambda X, y, **options: rer.noise(y, X, type="confidence", **options))
    check_progress(lambda X, y, **options: rer.analyze(X, clusters="2..30", **options))


# ---- bench ----


def test_bench(files):
    X, y, truth, folder = files
    b = rer.bench(X, truth, noise=["symmetric", "asymmetric"], rates=[.05, .2], seeds=2, bootstrap=50,
                  detectors=["rer", "knn"], human={"y": y, "again": folder / "y.npy"}, random_state=3)
    (folder / "again.npy").write_bytes((folder / "y.npy").read_bytes())
    words = ["--noise", "symmetric,asymmetric", "--rates", "0.05,0.2", "--seeds", 2, "--bootstrap", 50, "--detectors",
             "rer,knn", "--seed", 3, "--human", folder / "y.npy", folder / "again.npy"]
    assert without_times(b.summary) == run_json("bench", folder / "X.npy", folder / "truth.npy", *words)
    assert b.detectors == ["rer", "knn"]
    human = b.scores["noise"] == "human:y"
    assert human.sum() == 2 and (b.scores["wrong"][human] == (y != truth).sum()).all()
    np.testing.assert_array_equal(b.scores["auroc"][human], b.scores["auroc"][b.scores["noise"] == "human:again"])
    assert np.isnan(b.scores["auroc"][0])  # nothing is planted in the first
    assert len(b.winners) == 6 and set(b.winners["winner"]) <= {"rer", "knn"}
    assert "symmetric" in repr(b) and "<svg" in b._repr_html_()
    check_files(b, folder, "bench")


def test_bench_with_class_embeddings(files):
    X, _, truth, folder = files
    embeddings = np.stack([X[truth == c].mean(0) for c in np.unique(truth)]).astype("f4")
    np.save(folder / "e.npy", embeddings)
    words = ["--noise", "symmetric", "--rates", ".1", "--seeds", "1", "--bootstrap", "0", "--detectors", "rer,zeroshot"]
    b = rer.bench(X, truth, noise="symmetric", rates=.1, seeds=1, bootstrap=0, detectors=["rer", "zeroshot"],
                  class_embeddings=embeddings)
    assert without_times(b.summary) == run_json("bench", folder / "X.npy", folder / "truth.npy", *words,
                                                "--class-embeddings", folder / "e.npy")


def test_bench_messages(files):
    X, y, truth, _ = files
    small = dict(noise="symmetric", rates=.1, seeds=1, bootstrap=0, detectors="rer,knn")
    check_messages(lambda X, y, **options: rer.bench(X, y, **small, **options), X, y)
    assert rer.bench(X, truth, **small, human=y).winners["noise"].tolist() == ["human:1", "symmetric"]
    with pytest.raises(ValueError, match="human 1: 599 labels but 600 rows"):
        rer.bench(X, truth, human=[y[1:]])
    with pytest.raises(ValueError, match="human a: has the label '7', which y does not have"):
        rer.bench(X, truth, human={"a": np.where(y == 0, 7, y)})
    with pytest.raises(ValueError, match="mind"):
        rer.bench(X, truth, detectors=["mind"])


# ---- compare ----


def test_compare_versions_of_labels(files):
    X, y, truth, folder = files
    before, after = rer.analyze(X, y), rer.analyze(X, truth)
    c = rer.compare({"before": before, "after": after})
    before.write(folder / "before")
    after.write(folder / "after")
    expected = run_json("compare", folder / "before", folder / "after")
    assert without_times(c.summary) == expected
    assert without_times(rer.compare([folder / "before", str(folder / "after")]).summary) == expected
    assert without_times(rer.compare({"before": folder / "before", "after": after}).summary) == expected
    assert c.mode == "labels" and c.relabellings["n_changed"].tolist() == [30]
    assert c.relabellings["n_flagged_before"][0] == before.is_label_issue[y != truth].sum()
    assert c.runs["chi"].tolist() == pytest.approx([before.chi, after.chi])
    assert "30" in repr(c) and "<table" in c._repr_html_()
    check_files(c, folder, "compare")


def test_compare_features_and_data_sets(files):
    X, y, _, folder = files
    runs = [rer.analyze(X, y), rer.analyze(X[:, :6], y), rer.analyze(X[:, :3], y)]
    c = rer.compare(runs)
    assert c.mode == "samples" and len(c.pairs) == 3 and c.runs["name"].tolist() == ["run 1", "run 2", "run 3"]
    ranks = [pandas.Series(run.rer).rank() for run in runs]
    np.testing.assert_allclose(c.pairs["spearman_samples"][0], np.corrcoef(ranks[0], ranks[1])[0, 1], rtol=1e-5)
    assert len(c.disagreements) > 0
    by_mistakenness = rer.compare(runs, column="mistakenness")
    assert by_mistakenness.summary["column"] == "mistakenness"
    d = rer.compare(dict(zip("abc", runs)), mode="datasets", error_rates={"a": .1, "b": .2, "c": .4})
    assert d.mode == "datasets" and d.regression["n"] == 3
    slope = np.polyfit([run.chi for run in runs], np.log([.1, .2, .4]), 1)[0]
    np.testing.assert_allclose(d.regression["slope"], slope, rtol=1e-6)
    for wrong, kind, words in (({"a/b": runs[0], "c": runs[1]}, ValueError, "no name for a run"), (runs[:1], ValueError, "."),
                               ([runs[0], 3], TypeError, "not int"), ([folder / "none", runs[0]], OSError, "none")):
        with pytest.raises(kind, match=words):
            rer.compare(wrong)
    with pytest.raises(TypeError, match="no keyword 'shrinkage'"):
        rer.compare(runs, shrinkage=.1)


# ---- noise ----


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "confidence", "human"])
@pytest.mark.parametrize("dtype", ["i8", "u1", "U"])
def test_noise_is_the_command_s(files, kind, dtype):
    X, y, truth, folder = files
    names = np.array(["cat", "dog", "owl", "yak"])
    given, other = (names[truth], names[y]) if dtype == "U" else (truth.astype(dtype), y.astype(dtype))
    np.save(folder / "given.npy", given)
    np.save(folder / "other.npy", other)
    words = {"confidence": ["--features", folder / "X.npy"], "human": ["--human", folder / "other.npy"]}.get(kind, [])
    subprocess.run([COMMAND, "noise", folder / "given.npy", "--type", kind, "--rate", "0.04", "--seed", "5", *words,
                    "--out", folder / "noisy.npy", "--quiet"], check=True)
    before = given.copy()
    n = rer.noise(given, X if kind == "confidence" else None, human=other if kind == "human" else None, type=kind,
                  rate=.04, random_state=5)
    expected = np.load(folder / "noisy.npy")
    np.testing.assert_array_equal(n.labels, expected)
    assert n.labels.dtype == expected.dtype == given.dtype
    np.testing.assert_array_equal(given, before)  # the caller's stay as they are
    assert n.n_changed == len(n.rows) == (given != expected).sum() == 24
    np.testing.assert_array_equal(np.flatnonzero(given != np.asarray(n)), n.rows)
    assert repr(n) == "24 of 600 labels (4.00 %) changed"
    assert set(rer.analyze(X, n).given_label) == set(given.tolist())


def test_noise_on_other_containers(files):
    X, _, truth, folder = files
    expected = rer.noise(truth, rate=.1).rows
    for same in (truth.tolist(), pandas.Series(truth), pandas.Categorical(truth), truth.astype(float), truth == 1):
        n = rer.noise(same, rate=.1)
        assert n.n_changed == 60 and len(n) == 600
        if not isinstance(same, np.ndarray) or same.dtype != bool:
            np.testing.assert_array_equal(n.rows, expected)
    missing = np.where(np.arange(600) < 100, -1, truth)
    n = rer.noise(missing, rate=.1)
    assert n.n_changed == 50 and n.rows.min() >= 100 and (n.labels[:100] == -1).all()
    # Labels that lack the first class: the numbers of the others stay what they are.
    other = np.where(truth == 0, 2, truth)
    n = rer.noise(truth, human=other, type="human", rate=.1)
    assert n.n_changed == 60 and (truth[n.rows] == 0).all() and (n.labels[n.rows] == 2).all()
    for wrong, kind, words in (
            (dict(type="human"), TypeError, "goes with"), (dict(human=truth), TypeError, "goes with"),
            (dict(type="confidence"), TypeError, "needs the features"), (dict(rate=2), ValueError, "rate"),
            (dict(shrinkage=1), TypeError, "no keyword")):
        with pytest.raises(kind, match=words):
            rer.noise(truth, **wrong)
    with pytest.raises(TypeError, match="path"):
        rer.noise(folder / "y.npy")


# ---- what is said of rows and classes ----


def check_rows(result, run):
    np.testing.assert_array_equal(result.mistakenness.astype("f4"), run.column("mistakenness").astype("f4"))
    np.testing.assert_array_equal(result.rer.astype("f4"), run.column("rer").astype("f4"))
    ours, theirs = without_times(result.summary), without_times(run.summary)
    assert ours == theirs


def test_groups(files, command):
    X, y, _, folder = files
    X, y, videos = np.repeat(X[:200], 3, axis=0), np.repeat(y[:200], 3), np.repeat(np.arange(200), 3)
    np.save(folder / "g.npy", videos)
    result = rer.analyze(X, y, groups=videos)
    check_rows(result, command("analyze", X, y, "--groups", folder / "g.npy"))
    alone = rer.analyze(X, y, shrinkage=result.summary["shrinkage"])
    # With copies of a row in its class, its own error is too small.
    assert result.own_error.mean() > alone.own_error.mean() * 1.001
    np.testing.assert_array_equal(rer.analyze(X, y, groups=[f"v{v}" for v in videos]).rer, result.rer)
    np.save(folder / "X3.npy", X)
    for given in (videos, folder / "g.npy"):
        np.testing.assert_array_equal(rer.analyze(folder / "X3.npy", y, groups=given).rer, result.rer)
    frame = pandas.DataFrame(X).assign(kind=y, video=videos)
    frame.columns = frame.columns.astype(str)
    np.testing.assert_array_equal(rer.analyze(frame, "kind", groups="video").rer, result.rer)
    found = rer.analyze(X, y, groups="duplicates", duplicates="auto")
    check_rows(found, command("analyze", X, y, "--groups", "duplicates", "--duplicates", "auto"))
    assert found.summary["n_duplicate_groups"] == 200
    assert (found.duplicate_group.reshape(-1, 3) == found.duplicate_group[::3, None]).all()
    with pytest.raises(ValueError, match="599 groups but 600 rows"):
        rer.analyze(X, y, groups=videos[1:])
    with pytest.raises(TypeError, match="groups is the path"):
        rer.analyze(X, y, groups=folder / "g.npy")


def test_pred_probs(files, command):
    X, y, truth, folder = files
    random = np.random.default_rng(0)
    probs = np.where(np.eye(4)[truth] > 0, .85, .05) + random.uniform(0, .02, (600, 4))
    probs /= probs.sum(axis=1, keepdims=True)
    np.save(folder / "p.npy", probs)
    run = command("analyze", X, y, "--pred-probs", folder / "p.npy")
    result = rer.analyze(X, y, pred_probs=probs)
    check_rows(result, run)
    wrong = y != truth
    alone = rer.analyze(X, y)
    assert (1 - result.mistakenness[wrong]).mean() < (1 - alone.mistakenness[wrong]).mean() / 5
    check_rows(rer.analyze(folder / "X.npy", folder / "y.npy", pred_probs=folder / "p.npy"), run)
    np.testing.assert_array_equal(rer.analyze(X, y, pred_probs=pandas.DataFrame(probs)).rer, result.rer)
    np.testing.assert_array_equal(rer.analyze(X, y, pred_probs=np.asfortranarray(probs)).mistakenness, result.mistakenness)
    np.testing.assert_array_equal(rer.find_label_issues(y, probs, features=X), result.is_label_issue)
    np.testing.assert_array_equal(rer.get_label_quality_scores(y, probs, features=X), result.label_score)
    held = rer.analyze(X, y, pred_probs=probs.copy())  # the copy is gone by now
    held.write(folder / "out")
    for wrong in (probs[1:], probs[:, 1:], probs + 1, probs * np.nan):
        with pytest.raises(ValueError, match="robabilit"):
            rer.analyze(X, y, pred_probs=wrong)
    with pytest.raises(TypeError, match="pred_probs: dtype"):
        rer.analyze(X, y, pred_probs=probs.astype(complex))
    with pytest.raises(TypeError, match="pred_probs is a path where y is an array"):
        rer.analyze(folder / "X.npy", y, pred_probs=folder / "p.npy")


def test_subsets_and_details(files, command):
    X, y, _, folder = files
    parts = np.array(["train", "test"])[np.arange(600) // 450]
    np.save(folder / "s.npy", parts)
    result = rer.analyze(X, y, subsets=parts)
    check_rows(result, command("analyze", X, y, "--subsets", folder / "s.npy"))
    result.write(folder / "ours")
    theirs = folder / "command-out"
    ours = {file.name for file in (folder / "ours").iterdir()}
    assert ours | {"inputs.json"} == {file.name for file in theirs.iterdir()}  # arrays are in no file
    assert len(list(theirs.iterdir())) > 4
    for file in theirs.glob("*.csv"):
        assert (folder / "ours" / file.name).read_text() == file.read_text()


def test_class_embeddings(files, command):
    X, y, truth, folder = files
    embeddings = np.stack([X[truth == c].mean(axis=0) for c in range(4)])
    np.save(folder / "e.npy", embeddings)
    result = rer.analyze(X, y, detector="zeroshot", class_embeddings=embeddings)
    check_rows(result, command("analyze", X, y, "--detector", "zeroshot", "--class-embeddings", folder / "e.npy"))
    with pytest.raises(ValueError, match="class_embeddings"):
        rer.analyze(X, y, detector="zeroshot")


@pytest.mark.parametrize("detector", ["confident", "simifeat", "knn"])
def test_detectors(files, command, detector):
    X, y, _, _ = files
    check_rows(rer.analyze(X, y, detector=detector), command("analyze", X, y, "--detector", detector))


def test_clusters(files, command):
    X, y, _, _ = files
    for clusters_of in (4, "3..6"):
        result = rer.analyze(X, clusters=clusters_of)
        check_rows(result, command("analyze", X, "--clusters", clusters_of))
        assert result.given_label.dtype.kind == "i" and "clusters of k-means" in " ".join(result.notes)
    with pytest.raises(ValueError, match="labels are given, and clusters"):
        rer.analyze(X, y, clusters=4)


def pictures_in(page):
    """Row -> picture that a report shows."""
    found = re.search(r'"pictures":(\{[^}]*\})', page)
    return json.loads(found[1]) if found else {}


def test_images_and_texts(files):
    X, y, _, folder = files
    pictures = np.random.default_rng(0).integers(0, 255, (600, 6, 6, 3), dtype=np.uint8)
    result = rer.analyze(X, y)
    result.report(folder / "plain.html")
    plain = (folder / "plain.html").read_text()
    result.report(folder / "pictures.html", images=pictures)
    shown = (folder / "pictures.html").read_text()
    worst = result.issues[0]
    assert pictures_in(plain) == {} and str(worst) in pictures_in(shown)
    del pictures  # the data set holds them
    result.write(folder / "out")
    assert pictures_in((folder / "out" / "report.html").read_text()) == pictures_in(shown)
    words = [f"sentence number {row}" for row in range(600)]
    result.report(folder / "texts.html", texts=words)
    assert f"sentence number {worst}" in (folder / "texts.html").read_text() and "sentence number" not in plain
    (folder / "t.txt").write_text("\n".join(words) + "\n")
    other = rer.analyze(X, y, texts=folder / "t.txt", images=np.zeros((600, 4, 4), np.uint8))
    assert "data:image/png" in other._repr_html_()
    other.report(folder / "both.html")
    assert f"sentence number {worst}" in (folder / "both.html").read_text()
    other.model.score(X, y, texts=words).report(folder / "scored.html")
    assert "sentence number" in (folder / "scored.html").read_text()
    with pytest.raises(ValueError, match="holds no pictures"):
        result.report(folder / "wrong.html", images=np.zeros((600, 4, 4)))
    with pytest.raises(ValueError, match="599"):
        result.report(folder / "wrong.html", texts=words[1:])
    assert not (folder / "wrong.html").exists()


def test_folder_of_pictures(tmp_path):
    """Labels are the sub-folders; what is no picture is left out, or an error."""
    from rer._picture import png
    random = np.random.default_rng(0)
    for row in range(60):
        name = tmp_path / "photos" / ("across", "down")[row % 2] / f"{row:04}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        stripes = np.repeat(random.integers(0, 256, (20 + row, 1)), 30, 1)
        name.write_bytes(png((stripes if row % 2 == 0 else stripes.T).astype(np.uint8)))
    (tmp_path / "photos" / "down" / "0001.png").rename(tmp_path / "photos" / "across" / "0001.png")
    result = rer.analyze(tmp_path / "photos")
    assert [result.suspects(60)["id"][0], result.n_issues] == ["across/0001.png", 1]
    (tmp_path / "photos" / "down" / "none.jpg").write_text("no picture")
    assert any("could not be read" in note for note in rer.analyze(tmp_path / "photos").notes)
    with pytest.raises(ValueError, match="none.jpg"):
        rer.analyze(tmp_path / "photos", strict=True)
    with pytest.raises(ValueError, match="optimum-cli export"):
        rer.analyze(tmp_path / "photos", model=tmp_path / "missing")


def test_files_of_images(files):
    from rer._picture import png
    X, y, _, folder = files
    (folder / "pictures").mkdir()
    names = [folder / "pictures" / f"{row:04}.png" for row in range(600)]
    for row, name in enumerate(names):
        name.write_bytes(png(np.full((5, 5), row % 250, np.uint8)))
    seen = []
    for given in (names, [str(name) for name in names], folder / "pictures"):
        rer.analyze(X, y, images=given).report(folder / "report.html")
        seen.append(pictures_in((folder / "report.html").read_text()))
    assert len(seen[0]) > 20 and seen[0] == seen[1] == seen[2]
    by_id = rer.analyze(folder / "X.npy", y, ids=[name.name for name in reversed(names)], images=folder / "pictures")
    by_id.report(folder / "report.html")
    turned = pictures_in((folder / "report.html").read_text())
    both = [row for row in turned if str(599 - int(row)) in seen[0]]
    assert both and all(turned[row] == seen[0][str(599 - int(row))] for row in both)
    with pytest.raises(ValueError, match="599 pictures"):
        rer.analyze(X, y, images=names[1:])
    assert not list(pathlib.Path(folder).glob(".rer-*"))
