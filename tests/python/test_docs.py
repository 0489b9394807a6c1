"""docs/python.md: its code runs as it stands there, and what it says of inputs, results and errors holds."""
import ast
import csv
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import textwrap
import threading

import cleanlab
import dask.array
import dask.dataframe
import datasets
import distributed
import matplotlib
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import rer
from conftest import SOURCE, clusters

matplotlib.use("Agg")
TEXT = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
NAMES = np.array(["cat", "dog", "owl"])


def code_blocks():
    """(first words, code) of each indented block."""
    blocks = re.findall(r"(?:^|\n\n)((?: {4}[^\n]*\n|\n(?= {4}))+)", TEXT)
    return [textwrap.dedent(block) for block in blocks if block.strip()]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """What the page's code takes for granted, and a folder to run it in."""
    folder = tmp_path_factory.mktemp("docs")
    X, y = clusters(n=600, d=16, planted=12)
    (folder / "pictures").mkdir()
    shades = np.random.default_rng(0).integers(0, 255, (600, 8, 8)).astype("u1")
    for row, shade in enumerate(shades):
        Image.fromarray(shade).save(folder / "pictures" / f"{row:04}.png")
    checksum = rer.analyze(X, y).summary["checksums"]["labels"]
    with open(folder / "decisions.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["index", "given_label", "decision", "new_label", "labels_checksum"])
        rows.writerow([0, y[0], "fix", 0, f"rer:{checksum}"])
    pandas.DataFrame(X).assign(label=y).to_csv(folder / "table.csv", index=False)
    frame = pandas.DataFrame({"embedding": list(X), "file": [f"{row}.png" for row in range(600)], "label": NAMES[y]})
    features = datasets.Features({"embedding": datasets.Sequence(datasets.Value("float32")), "image": datasets.Image(),
                                  "label": datasets.ClassLabel(names=list(NAMES))})
    dataset = datasets.Dataset.from_dict({"embedding": X, "image": [Image.fromarray(s) for s in shades], "label": y},
                                         features=features)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    client = distributed.Client(cluster)
    yield folder, dict(
        X=X, y=y, X2=X[:90], y2=y[:90], labels=y, frame=frame, dataset=dataset, video=np.arange(600) // 2,
        again=rer.analyze(X, y, shrinkage=.3), darray=dask.array.from_array(X, chunks=(200, 16)),
        dframe=dask.dataframe.from_pandas(pandas.DataFrame(X).rename(columns=str).assign(label=NAMES[y]), npartitions=2),
        pred_probs=np.where(np.eye(3, dtype=bool)[y], .8, .1),
        lab=cleanlab.Datalab({"X": X, "y": y}, label_name="y", verbosity=0))
    client.close()
    cluster.close()


def test_all_code_runs(given, monkeypatch):
    """Every statement; what a name stands for changes with what the page is about."""
    folder, names = given
    monkeypatch.chdir(folder)
    seen = dict(names)
    blocks = code_blocks()
    lines = [line for line in TEXT.splitlines() if line.startswith("    ")]
    assert sum(len(block.split("\n")) - block.split("\n").count("") for block in blocks) == len(lines) > 30
    for block in blocks:
        if "rer.bench" in block:  # a short one; its own y2 has a label for every row
            block = block.replace('human={"worse": y2}', 'human={"worse": noisy}, noise="none", detectors=["rer", "knn"]')
            seen["noisy"] = rer.noise(names["y"], rate=.1).labels
        for statement in ast.parse(block).body:
            source = ast.unparse(statement)
            try:
                exec(compile(source, "docs/python.md", "exec"), seen)
            except Exception as error:
                raise AssertionError(f"{source}: {error}") from error
    matplotlib.pyplot.close("all")
    assert (folder / "report.html").exists() and (folder / "model.safetensors").exists()


def test_what_the_comments_say(given, monkeypatch):
    folder, names = given
    monkeypatch.chdir(folder)
    X, y = names["X"], names["y"]
    r = rer.analyze(X, y)
    r.write("out")
    with open("out/samples.csv", newline="") as file:
        assert next(csv.reader(file)) == ["index", *r.to_frame().columns]
    assert len(r.suspects(20)) == 20 and {"n", "chi", "noise_rate"} <= set(r.classes.columns)
    assert "<svg" in r._repr_html_() and "<table" in r._repr_html_()
    fixed = rer.apply(y, "decisions.csv")
    assert fixed[0] == 0 and (fixed[1:] == y[1:]).all()
    sure = r.is_label_issue & (r.mistakenness > .95)
    np.testing.assert_array_equal(np.flatnonzero(rer.apply(y, r, auto=.95) != y), np.flatnonzero(sure))
    assert len(r.plot()) == 4 and r.map().shape == (600, 2)
    matplotlib.pyplot.close("all")


def test_installing():
    """One distribution, import and command; numpy is all that it needs."""
    needed = [name for name in importlib.metadata.requires("librer") if "extra ==" not in name]
    assert [re.match(r"\w+", name)[0] for name in needed] == ["numpy"]
    command = pathlib.Path(sys.executable).parent / "rer"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["rer", rer.__version__]
    blocked = "import sys\nfor name in ('pandas', 'polars', 'pyarrow', 'sklearn', 'matplotlib', 'tqdm', 'dask'): sys.modules[name] = None\n"
    work = "import numpy as np, rer\ny = np.arange(90) % 3\nprint(repr(rer.analyze(np.eye(3, 5)[y] + np.random.default_rng(0).normal(size=(90, 5)), y))[:10])"
    done = subprocess.run([sys.executable, "-c", blocked + work], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("90 samples")
    assert importlib.metadata.metadata("librer")["Requires-Python"] == ">=3.11"


def test_what_goes_in(given, tmp_path, monkeypatch):
    """Each kind of X and y that the table names, against the plain arrays."""
    folder, names = given
    monkeypatch.chdir(tmp_path)
    X, y = names["X"], names["y"]
    expected = rer.analyze(X, y).mistakenness
    np.save("X.npy", X)
    np.save("y.npy", y)
    np.savez("file.npz", name=X)
    pandas.DataFrame(X).assign(label=y).to_csv("table.csv", index=False)
    table = pa.table({"v": list(X), "label": y})
    pq.write_table(table, "data.parquet")
    wholes = [(np.load("X.npy", mmap_mode="r"), y), (memoryview(X), y), (X, y.tolist()), (X, pandas.Series(y)), ("X.npy", "y.npy"),
              ("file.npz:name", "y.npy"), (table, "label"), (polars.from_arrow(table), "label"), ("data.parquet", "label"),
              (names["frame"], "label"), (names["dataset"], "label"), (X, NAMES[y]), (X, pandas.Categorical(NAMES[y]))]
    for features, labels in wholes:
        found = rer.analyze(features, labels).mistakenness
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12, err_msg=f"{type(features)}, {type(labels)}")
    np.testing.assert_allclose(rer.analyze("table.csv", label_column="label").mistakenness, expected, rtol=1e-4, atol=1e-9)
    for nothing in (None, np.nan, ""):
        some = NAMES[y].astype(object)
        some[5] = nothing
        assert rer.analyze(X, some).suggested_label[5] in NAMES
    lone = y.copy()
    lone[5] = -1
    assert rer.analyze(X, lone).given_label[5] is None
    assert rer.analyze(X, y == 1).suggested_label[0] in (True, False)
    assert "zero" in repr(rer.analyze(X, y, class_names={0: "zero"}).classes)
    assert rer.analyze(X, y, groups="duplicates").n_samples == 600
    assert rer.analyze(X, y, subsets=y % 2, texts=["a"] * 600, ids=np.arange(600), class_embeddings=np.eye(3, 16),
                       detector="zeroshot").n_samples == 600
    assert {"shrinkage", "budget"} <= set(rer.options()["keyword"])
    np.testing.assert_array_equal(rer.analyze(X, y, n_jobs=1).mistakenness, rer.analyze(X, y, n_jobs=-1).mistakenness)


def test_errors(given, tmp_path):
    X, y = given[1]["X"], given[1]["y"]
    for call, kind in ((lambda: rer.analyze(X, y[:5]), ValueError), (lambda: rer.analyze(X, y, sede=1), TypeError),
                       (lambda: rer.analyze(tmp_path / "no.npy", y), OSError), (lambda: rer.load(tmp_path / "no"), OSError)):
        with pytest.raises(kind):
            call()


def test_what_comes_out(given, tmp_path):
    X, y = given[1]["X"], given[1]["y"]
    r = rer.analyze(X, y)
    np.testing.assert_allclose(r.label_score, 1 - r.mistakenness, atol=1e-15)
    assert set(r.issues) == set(np.flatnonzero(r.is_label_issue)) and (np.diff(r.mistakenness[r.issues]) <= 0).all()
    assert np.isclose(r.expected_wrong(100), np.sort(r.mistakenness)[::-1][:100].sum())
    r.write(tmp_path / "out")
    r.to_parquet(tmp_path / "samples.parquet")
    assert pandas.read_csv(tmp_path / "out" / "samples.csv").columns.tolist() == pq.read_schema(tmp_path / "samples.parquet").names
    assert "height: 90vh" in r.report()._repr_html_()


def test_studies_are_of_one_shape(given, tmp_path):
    X, y = given[1]["X"], given[1]["y"]
    r = rer.analyze(X, y)
    stages = []
    bench = rer.bench(X, y, noise="symmetric", rates=.1, seeds=2, detectors=["rer", "chi"],
                      progress=lambda stage, share: stages.append(stage))
    before = next(stage for stage in stages if stage != "3 rounds")  # said before anything has run
    assert len(before) < 30, "the command's line of progress has room for 31 letters"
    assert re.fullmatch(r"3 rounds, about \d+ s in all", before) and re.fullmatch(r"comparing, \d+ s in all", stages[-1])
    for study, table in ((rer.scale(X, y), "points"), (rer.compare([r, r]), "runs"), (bench, "scores")):
        assert len(repr(study)) > 50 and "<svg" in study._repr_html_() or table == "runs"
        assert study.summary and len(getattr(study, table).to_frame()) > 0
        study.write(tmp_path / table)
        study.report(tmp_path / f"{table}.html")
        assert any(path.suffix == ".html" for path in (tmp_path / table).iterdir())
    assert set(rer.options("scale")["keyword"]) > {"sizes", "accuracy"}


def test_other_threads_run(given):
    """While the library works."""
    X, y = np.tile(given[1]["X"], (40, 4)), np.tile(given[1]["y"], 40)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            done.wait(.001)

    thread = threading.Thread(target=count)
    thread.start()
    rer.analyze(X, y)
    done.set()
    thread.join()
    assert counted[0] > 3
