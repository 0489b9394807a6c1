"""What X and y may be: shapes, strides, dtypes, label types, tensors, and what is refused."""
import array
import ctypes
import gc
import re
import weakref

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import rer
from conftest import clusters
from rer._arrays import feature_array, label_array, mapped_file

hypothesis.settings.register_profile("here", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.load_profile("here")


class Tensor:
    """A tensor of another library: all that is known of it is DLPack."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Bfloat16:
    """As torch has it: DLPack that numpy does not know, and .float()."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def float(self):
        return self.values.astype("f4")

    def __dlpack__(self, **_):
        raise BufferError("bfloat16")

    def __dlpack_device__(self):
        return (1, 0)


# ---- features ----


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("wrap", [lambda x: x, Tensor, memoryview, lambda x: np.lib.stride_tricks.as_strided(x)])
def test_no_copy(dtype, wrap):
    X, y = clusters(dtype=dtype)
    assert np.shares_memory(feature_array(wrap(X)), X)
    np.testing.assert_array_equal(rer.analyze(wrap(X), y).rer, rer.analyze(X, y).rer)


def test_memory_is_held_while_it_is_needed(tmp_path):
    """The rows of a result are read again for its report: by then the caller may have let go of them."""
    X, y = clusters()
    rer.analyze(X, y, ids=range(300)).write(tmp_path / "expected")
    copy = X.copy()
    alive = weakref.ref(copy)
    held = rer.analyze(copy, y, ids=range(300))
    del copy
    gc.collect()
    others = [np.full_like(X, np.nan) for _ in range(50)]  # would take its place
    assert alive() is not None
    held.write(tmp_path / "held")
    for name in ("samples.csv", "classes.csv", "report.html"):
        theirs, ours = (re.sub("<dt>seconds</dt><dd>[0-9.]+", "", (tmp_path / folder / name).read_text())
                        for folder in ("expected", "held"))
        assert ours == theirs, name
    del held, others
    gc.collect()
    assert alive() is None
    buffer = np.zeros((30, 2))
    buffer[::2, 0] = 1
    result = rer.analyze(buffer + np.arange(30)[:, None] / 100, np.arange(30) % 2)
    assert result.summary["checksums"]["features"]


def test_large_maps_are_read_from_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr("rer._arrays._MAPPED_MIN", 0)
    X, y = clusters(n=2000, d=16, planted=20)
    y = y[100:]
    expected = rer.analyze(X[100:], y).rer
    np.save(tmp_path / "X.npy", X)
    X.tofile(tmp_path / "raw file")
    shown = {
        "npy": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "written": np.load(tmp_path / "X.npy", mmap_mode="r+"),
        "raw": np.memmap(tmp_path / "raw file", "f4", "r", shape=X.shape),
        "private": np.load(tmp_path / "X.npy", mmap_mode="c"),
    }
    for name, array in shown.items():
        path, offset = mapped_file(np.asarray(array[100:]))
        assert (path is None) == (name == "private")
        if path is not None:
            with open(path, "rb") as file:
                file.seek(offset)
                assert file.read(64) == X[100].tobytes()
        np.testing.assert_array_equal(rer.analyze(array[100:], y).rer, expected)
    (tmp_path / "X.npy").rename(tmp_path / "moved")
    np.save(tmp_path / "X.npy", X + 1)  # another file of that name
    assert mapped_file(np.asarray(shown["npy"]))[0] == str(tmp_path / "moved")
    (tmp_path / "moved").unlink()
    assert mapped_file(np.asarray(shown["npy"])) == (None, 0)
    np.testing.assert_array_equal(rer.analyze(shown["npy"][100:], y).rer, expected)
    assert mapped_file(X) == (None, 0)


@hypothesis.given(
    st.sampled_from(["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]),
    st.sampled_from("<>="), st.sampled_from(["C", "F"]), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_dtypes_and_strides(dtype, order, layout, row_step, column_step, backwards):
    """Any dtype, byte order, layout and stride gives what a plain copy gives."""
    random = np.random.default_rng(1)
    n, d = 60, 4
    values = random.integers(0, 2 if dtype == "?" else 100, (n * row_step, d * column_step))
    X = np.array(values, dtype=np.dtype(dtype).newbyteorder(order), order=layout)[::row_step, ::column_step]
    X = X[::-1] if backwards else X
    y = np.arange(n) % 3
    plain = np.ascontiguousarray(X, dtype="f8" if X.dtype.itemsize > 2 else "f4")
    ours, theirs = rer.analyze(X, y), rer.analyze(plain, y)
    np.testing.assert_array_equal(ours.own_error, theirs.own_error)
    assert ours.chi == theirs.chi


@hypothesis.given(st.integers(0, 4), st.lists(st.integers(0, 5), min_size=0, max_size=4), st.integers(0, 12))
def test_shapes(rank, shape, n_labels):
    """Any shape is analysed or refused with a message, never a crash."""
    X = np.random.default_rng(0).normal(size=shape[:rank])
    try:
        result = rer.analyze(X, np.arange(n_labels) % 2)
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 10
    else:
        assert result.n_samples == X.shape[0] == n_labels and result.n_features == X.shape[1]


def test_other_containers():
    X, y = clusters(n=60, d=3)
    expected = rer.analyze(X.astype("f8"), y).rer
    as_ctypes = ((ctypes.c_double * 3) * 60)(*map(tuple, X.tolist()))
    for same in (X.tolist(), [tuple(row) for row in X.tolist()], list(X.astype("f8")), as_ctypes,
                 np.array(list(X.astype("f8")) + [None], dtype=object)[:-1], np.asmatrix(X.astype("f8")),
                 np.ma.array(X.astype("f8")), X.astype(object)):
        np.testing.assert_array_equal(rer.analyze(same, y).rer, expected)
    np.testing.assert_array_equal(rer.analyze(Bfloat16(X), y).rer, rer.analyze(X, y).rer)
    labels = array.array("h", y.tolist())
    np.testing.assert_array_equal(rer.analyze(X.astype("f8"), labels).rer, expected)
    longdouble = X.astype(np.longdouble)
    np.testing.assert_array_equal(rer.analyze(longdouble, y).rer, expected)


@pytest.mark.parametrize("X, kind, words", [
    (np.zeros(5), ValueError, "A single feature is"),
    (np.zeros((3, 3, 3)), ValueError, "neither features"),
    (np.zeros((4, 2), complex), TypeError, "complex128"),
    (np.array([["a", "b"]] * 4), TypeError, "features are numbers"),
    ([[1, 2], [3]], ValueError, "X: its rows differ in length"),
    (np.array([[1, None]] * 4, dtype=object), (TypeError, ValueError), "."),
    (np.array([[1], "x"] * 2, dtype=object), TypeError, "rows are not numbers"),
    (Tensor(np.zeros((4, 2)), (2, 0)), TypeError, "bring it to the host"),
    (None, TypeError, "."),
    (np.zeros((0, 3)), ValueError, "."),
    (np.zeros((4, 0)), ValueError, "."),
    (np.zeros((1, 1, 1, 1, 1)), TypeError, "dimensions"),
    (np.zeros((4, 2), "M8[s]"), TypeError, "datetime64"),
])
def test_refused_features(X, kind, words):
    with pytest.raises(kind, match=words):
        rer.analyze(X, [0, 1, 0, 1])


def test_sparse_is_refused_with_a_remedy():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="toarray"):
        rer.analyze(scipy_sparse.eye(4), [0, 1, 0, 1])


# ---- labels ----

EXPECTED = rer.analyze(*clusters(n=60))


@hypothesis.given(st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U", "S", "O"]),
                  st.sampled_from("<>="), st.integers(1, 3), st.integers(-100, 100))
def test_label_types(dtype, order, step, offset):
    """The classes are what they are, whatever they are written as; they come back as they were."""
    X, y = clusters(n=60)
    y = y + (abs(offset) if dtype[0] == "u" else offset)
    if dtype in "US":
        names = (y + 1000).astype("U5" if dtype == "U" else "S5")
    elif dtype == "O":
        names = np.array(y.tolist(), dtype=object)
    else:
        names = y.astype(np.dtype(dtype).newbyteorder(order))
    result = rer.analyze(X, np.repeat(names, step)[::step])
    if not (y.min() == -1 and (y < 0).sum() == (y == -1).sum()):
        np.testing.assert_array_equal(result.rer, EXPECTED.rer)
        back = [value.decode() if isinstance(value, bytes) else value for value in names.tolist()]
        assert result.given_label.tolist() == back


@pytest.mark.parametrize("labels", ([None] * 60, [""] * 60, ["", None] * 30, ["a"] * 60, ["a"] + [""] * 59))
def test_no_two_classes(labels):
    with pytest.raises((ValueError, TypeError), match="y: |class"):
        rer.analyze(clusters(n=60)[0], np.array(labels, dtype=object))


@hypothesis.given(st.lists(st.one_of(st.text(max_size=6), st.none()), min_size=60, max_size=60))
def test_any_texts(texts):
    """Any text is a label, or refused with a message."""
    X, _ = clusters(n=60)
    labels = np.array(texts, dtype=object)
    try:
        result = rer.analyze(X, labels)
    except (ValueError, TypeError) as error:
        assert str(error)
        return
    given = [text.rstrip("\0") if text else None for text in texts]
    assert [value if value else None for value in result.given_label] == [text or None for text in given]


def test_missing_labels():
    X, y = clusters(n=60, classes=3)
    hidden = {0, 7}
    for missing in (None, float("nan")):
        for values in (y.tolist(), np.array(["cat", "dog", "owl"])[y].tolist(), [bool(v) for v in y]):
            labels = np.array([missing if i in hidden else v for i, v in enumerate(values)], dtype=object)
            result = rer.analyze(X, labels)
            assert set(np.flatnonzero(result.given_label == None)) == hidden  # noqa: E711
            assert result.given_label[1] == values[1] and type(result.given_label.tolist()[1]) is type(values[1])
            assert set(np.flatnonzero(~np.isnan(result.suggestion_probability))) == hidden
    labels = y.astype(float)
    labels[list(hidden)] = np.nan
    assert rer.analyze(X, labels).given_label[0] is None
    labels = np.where(np.isin(np.arange(60), list(hidden)), -1, y)
    assert rer.analyze(X, labels).given_label[7] is None


def test_large_integers_and_masks():
    X, y = clusters(n=60)
    for large in (2**53, 2**63 - 2, 2**64, 10**30):
        values = [int(v) + large for v in y]
        assert rer.analyze(X, np.array(values, dtype=object)).given_label.tolist() == values
        values[5] = None
        assert rer.analyze(X, np.array(values, dtype=object)).given_label.tolist() == values
    masked = np.ma.array(y, mask=np.arange(60) == 4)
    assert rer.analyze(X, masked).given_label[4] is None
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        rer.analyze(np.ma.array(X, mask=(np.arange(60)[:, None] == 2) & (np.arange(8) == 1)), y)


def test_booleans_and_pandas():
    import pandas
    X, y = clusters(n=60, classes=2)
    result = rer.analyze(X, y == 1)
    assert result.classes["label"].dtype == bool and result.given_label.tolist() == (y == 1).tolist()
    names = np.array(["b", "a"])[y]
    expected = rer.analyze(X, names)
    for column in (pandas.Series(names), pandas.Categorical(names), pandas.Series(names, dtype="category"),
                   pandas.Series(names, dtype="string"), pandas.Index(names)):
        result = rer.analyze(pandas.DataFrame(X), column)
        np.testing.assert_array_equal(result.rer, expected.rer)
        assert result.given_label.tolist() == names.tolist()
    gaps = pandas.Series(y, dtype="Int64")
    gaps[3] = pandas.NA
    assert rer.analyze(X, gaps).given_label[3] is None
    assert rer.analyze(X, gaps).given_label.tolist()[4] == y[4]


@pytest.mark.parametrize("y, kind, words", [
    ([0, 1, 0], ValueError, "3 labels but 4 rows"),
    ([0, 0, 0, 0], ValueError, "at least two classes"),
    ([0, 1, 2, 3], ValueError, "no class has two samples"),
    ([0, 1.5, 0, 1], ValueError, "not a whole number"),
    (np.array([0, "a", 0, "a"], dtype=object), TypeError, "all of one kind"),
    (np.array([object()] * 4), TypeError, "integers or texts"),
    (np.array([None] * 4), TypeError, "these are: none"),
    (np.zeros((4, 2), int), ValueError, "one label a row"),
    (np.zeros(4, complex), TypeError, "complex"),
    (np.array(["2020"] * 4, "M8[Y]"), TypeError, "datetime"),
    (None, ValueError, "labels are needed"),
    ("labels.npy", TypeError, "path"),
])
def test_refused_labels(y, kind, words):
    X = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.raises(kind, match=words):
        rer.analyze(X, y)


def test_refused_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.npy"):
        rer.analyze(tmp_path / "missing.npy", tmp_path / "y.npy")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY rubbish")
    with pytest.raises(ValueError, match="bad.npy"):
        rer.analyze(tmp_path / "bad.npy", tmp_path / "bad.npy")
    with pytest.raises(ValueError, match="bad.npy"):
        rer.load(tmp_path / "bad.npy")
    X, y = clusters(n=60)
    with pytest.raises(OSError):
        rer.analyze(X, y).save(tmp_path / "no" / "folder" / "model")
    with pytest.raises(TypeError, match="label_column"):
        rer.analyze(X, y, label_column="kind")


def test_label_array_keeps_what_it_can():
    y = np.arange(10)
    assert label_array(y)[0] is y or np.shares_memory(label_array(y)[0], y)
    texts = np.array(["a", "bc"] * 5)
    assert np.shares_memory(label_array(texts)[0], texts)
