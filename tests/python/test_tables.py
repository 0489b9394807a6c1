"""pandas, pyarrow, Hugging Face datasets and parquet, against the plain arrays."""
import dask.dataframe
import datasets
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import rer
from conftest import clusters
from rer._tables import _arrow_vectors

NAMES = np.array(["cat", "dog", "owl"])


@pytest.fixture
def data():
    X, y = clusters(planted=6)
    return X, y, [f"f{i}.png" for i in range(len(y))]


def check_same(result, X, y, ids=None, class_names=None):
    expected = rer.analyze(X, y, ids=ids, class_names=class_names)
    frame, other = result.to_frame(), expected.to_frame()
    pandas.testing.assert_frame_equal(frame, other, check_dtype=False, check_names=False)
    assert list(frame.columns) == list(other.columns)


def test_frames(data):
    X, y, ids = data
    wide = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    check_same(rer.analyze(wide, y), X, y)
    labelled = wide.assign(kind=NAMES[y], file=ids)
    for call in (dict(label_column="kind"), dict(y="kind")):
        check_same(rer.analyze(labelled.drop(columns="file"), **call), X, NAMES[y])
    check_same(rer.analyze(labelled, "kind", ids="file"), X, NAMES[y], ids)
    for column in (list(X), X.tolist(), [tuple(row) for row in X.tolist()]):
        vectors = pandas.DataFrame({"embedding": column, "kind": y, "file": ids})
        check_same(rer.analyze(vectors, "kind", vectors="embedding", ids="file"), X.astype("f8"), y, ids)
    check_same(rer.analyze(vectors.drop(columns="file"), "kind"), X.astype("f8"), y)
    check_same(rer.analyze(labelled.sample(frac=1, random_state=0).sort_index(), "kind", ids="file"), X, NAMES[y], ids)


@pytest.mark.parametrize("kind", ["fixed", "list", "large"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_arrow(data, tmp_path, kind, dtype):
    X, y, ids = data
    X = X.astype(dtype)
    values = pa.array(X.ravel())
    offsets = np.arange(0, X.size + 1, X.shape[1])
    column = {"fixed": lambda: pa.FixedSizeListArray.from_arrays(values, X.shape[1]),
              "list": lambda: pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values),
              "large": lambda: pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values)}[kind]()
    table = pa.table({"id": ids, "embedding": column, "label": pa.array(NAMES[y]).dictionary_encode()})
    check_same(rer.analyze(table, "label", ids="id"), X, NAMES[y], ids)
    assert np.shares_memory(_arrow_vectors(table.column("embedding"), "embedding"),
                            np.asarray(values.to_numpy())), "one chunk is not copied"
    chunked = pa.concat_tables([table.slice(0, 100), table.slice(100, 50), table.slice(150)])
    check_same(rer.analyze(chunked, label_column="label", vectors="embedding"), X, NAMES[y])
    check_same(rer.analyze(table.slice(30), "label"), X[30:], NAMES[y[30:]])
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    check_same(rer.analyze(tmp_path / "t.parquet", "label", ids="id"), X, NAMES[y], ids)
    check_same(rer.analyze(str(tmp_path / "t.parquet"), label_column="label"), X, NAMES[y])


def test_hugging_face(data):
    X, y, ids = data
    features = datasets.Features({"embedding": datasets.Sequence(datasets.Value("float32"), length=X.shape[1]),
                                  "label": datasets.ClassLabel(names=["cat", "dog", "owl", "unused"]),
                                  "id": datasets.Value("string")})
    ds = datasets.Dataset.from_dict({"embedding": X, "label": y, "id": ids}, features=features)
    check_same(rer.analyze(ds, "label", ids="id"), X, y, ids, NAMES)
    plain = datasets.Dataset.from_dict({"embedding": X.tolist(), "label": NAMES[y].tolist()})
    check_same(rer.analyze(plain, "label"), X.astype("f8"), NAMES[y])
    keep = np.random.default_rng(0).permutation(300)[:200]
    check_same(rer.analyze(ds.select(keep), "label"), X[keep], y[keep], class_names=NAMES)
    model = rer.analyze(ds, "label").model
    assert model.score(ds.select(range(9)), "label").n_samples == 9
    with pytest.raises(TypeError, match="one split"):
        rer.analyze(datasets.DatasetDict({"train": ds}), "label")


@pytest.mark.parametrize("make", [
    lambda X, names: polars.DataFrame({"v": X.tolist(), "label": names}),
    lambda X, names: polars.DataFrame({"v": X, "label": names, "file": ["x"] * len(X), "n": 1.5}),  # an Array
    lambda X, names: polars.DataFrame(X).with_columns(label=polars.Series(names).cast(polars.Categorical)),
    lambda X, names: pa.table({**{f"f{j}": X[:, j] for j in range(X.shape[1])}, "label": names}),
    lambda X, names: pandas.DataFrame({"v": list(X), "id": np.arange(len(X)), "file": "x", "label": names}),
    lambda X, names: pandas.DataFrame({"v": X.tolist(), "label": pandas.Categorical(names)}),
    lambda X, names: datasets.Dataset.from_dict(
        {"v": X.reshape(len(X), 2, -1), "label": names},
        features=datasets.Features({"v": datasets.Array2D((2, X.shape[1] // 2), "float32"), "label": datasets.Value("string")})),
    lambda X, names: dask.dataframe.from_pandas(pandas.DataFrame(X).assign(label=names), npartitions=3),
], ids=["polars lists", "polars arrays", "polars wide", "arrow wide", "pandas vectors", "pandas categories", "Array2D", "Dask"])
def test_vectors_are_found(data, make):
    X, y, _ = data
    check_same(rer.analyze(make(X, NAMES[y]), y="label"), X, NAMES[y])


def test_columns_of_files_and_of_levels(data, tmp_path):
    X, y, _ = data
    frame = pandas.DataFrame(X).assign(label=NAMES[y])
    frame.to_csv(tmp_path / "table.csv", index=False)
    check_same(rer.analyze(tmp_path / "table.csv", y="label"), X, NAMES[y])
    frame.drop(columns="label").to_csv(tmp_path / "numbers.csv", index=False)
    with pytest.raises(FileNotFoundError, match="labels.npy"):
        rer.analyze(tmp_path / "numbers.csv", y="labels.npy")
    frame.columns = pandas.MultiIndex.from_product([["a"], frame.columns])
    check_same(rer.analyze(frame, y=("a", "label")), X, NAMES[y])
    with pytest.raises(TypeError, match="DataFrame"):
        rer.analyze({"v": X, "label": y}, y="label")


def test_labels_come_back_as_the_column(data):
    X, y, _ = data
    names = NAMES[y].tolist()
    for table, kind in ((polars.DataFrame({"v": X, "label": names}), polars.Series),
                        (pa.table({"v": list(X), "label": names}), pa.Array)):
        fixed = rer.analyze(table, y="label").fixed_labels()
        assert isinstance(fixed, kind)
        assert (np.asarray(fixed) != names).any()


def test_pictures_of_hugging_face(data):
    X, y, _ = data
    pictures = np.random.default_rng(0).integers(0, 255, (len(y), 28, 28)).astype("u1")
    features = datasets.Features({"v": datasets.Sequence(datasets.Value("float32")), "image": datasets.Image(),
                                  "label": datasets.ClassLabel(names=list(NAMES))})
    table = datasets.Dataset.from_dict({"v": X, "image": [Image.fromarray(p) for p in pictures], "label": y}, features=features)
    result = rer.analyze(table, y="label", images="image")
    check_same(result, X, y, class_names=list(NAMES))
    np.testing.assert_array_equal(result._pictures, pictures)
    for images in ({}, {"images": "image"}):  # no vectors: the pictures themselves are what is judged
        check_same(rer.analyze(table.remove_columns("v"), y="label", **images), pictures, y, class_names=list(NAMES))
    sizes = [Image.new("RGB", (200, 100 + row % 2)) for row in range(len(y))]
    large = datasets.Dataset.from_dict({"v": X, "image": sizes, "label": y}, features=features)
    shown = rer.analyze(large, y="label", images="image")._pictures
    assert shown.shape == (len(y), 96, 96, 3) and (shown[0][40:50] == 0).all() and (shown[0][:20] == 255).all()
    with pytest.raises(ValueError, match="pictures of .* features need one size"):
        rer.analyze(large.remove_columns("v"), y="label")


@pytest.mark.parametrize("columns, words", [
    ({"a": "text"}, "no column holds vectors or numbers; these are there: 'a' .*, 'label'"),
    ({"a": "text", "b": "numbers"}, "'a' is not numeric.* these are there: 'a' .*'b' \\(number\\)"),
    ({"a": "vectors", "b": "vectors"}, "candidates: 'a', 'b'"),
])
def test_columns_seen_are_said(data, columns, words):
    X, y, ids = data
    made = {"text": ids, "numbers": X[:, 0].tolist(), "vectors": X.tolist()}
    parts = {name: made[kind] for name, kind in columns.items()} | {"label": NAMES[y].tolist()}
    for table in (polars.DataFrame(parts), pandas.DataFrame(parts), pa.table(parts)):
        with pytest.raises(TypeError, match=words):
            rer.analyze(table, y="label")
    with pytest.raises(TypeError, match="X.collect"):
        rer.analyze(polars.LazyFrame(parts), y="label")


def test_to_parquet(data, tmp_path):
    X, y, ids = data
    result = rer.analyze(X, NAMES[y], ids=ids)
    result.to_parquet(tmp_path / "samples.parquet")
    back = pandas.read_parquet(tmp_path / "samples.parquet").set_index("index")
    pandas.testing.assert_frame_equal(back, result.to_frame(), check_dtype=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "samples.parquet"]
    result.write(tmp_path / "out")
    header = (tmp_path / "out" / "samples.csv").read_text().splitlines()[0]
    assert pq.read_schema(tmp_path / "samples.parquet").names == header.split(",")


@pytest.mark.parametrize("call, kind, words", [
    (dict(label_column="nothing"), ValueError, "no column 'nothing'; there are 'a', 'text', 'label'"),
    (dict(label_column="label"), TypeError, "'text' is not numeric"),
    (dict(label_column="label", vectors="b"), ValueError, "vectors: there is no column 'b'"),
    (dict(label_column="label", vectors="text"), TypeError, "features are numbers"),
    (dict(label_column="label", y=[1]), TypeError, "given twice"),
])
def test_refused_frames(call, kind, words):
    frame = pandas.DataFrame({"a": [1., 2, 3, 4], "text": list("wxyz"), "label": [0, 1, 0, 1]})
    with pytest.raises(kind, match=words):
        rer.analyze(frame, **call)


def test_refused_vectors():
    ragged = pa.table({"v": [[1., 2], [3.], [1., 2]], "w": [[1., 2]] * 3, "y": [0, 1, 0]})
    with pytest.raises(ValueError, match="row 1 has 1 numbers where row 0 has 2"):
        rer.analyze(ragged, "y", vectors="v")
    with pytest.raises(TypeError, match="candidates"):
        rer.analyze(ragged, "y")
    with pytest.raises(ValueError, match="row 2 has no vector"):
        rer.analyze(pa.table({"v": [[1.], [2.], None], "y": [0, 1, 0]}), "y")
    with pytest.raises(ValueError, match="row 1, column 0 is NaN"):
        rer.analyze(pa.table({"v": [[1., 2.], [None, 1.], [3., 4.]], "y": [0, 1, 0]}), "y")
    with pytest.raises(TypeError, match="not vectors"):
        rer.analyze(pa.table({"v": [1., 2.], "y": [0, 1]}), "y", vectors="v")
    with pytest.raises(TypeError, match="vectors is for tables"):
        rer.analyze(np.zeros((4, 2)), [0, 1, 0, 1], vectors="v")
