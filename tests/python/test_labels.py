"""Labels in every form that people have them in: what means "no label", and what comes back."""
import contextlib
import warnings

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import rer
from conftest import clusters

NAMES = np.array(["cat", "dog", "owl"])
HIDDEN = [10, 20, 30]


@pytest.fixture(scope="module")
def data():
    X, y = clusters(planted=6)
    hidden = y.astype(float)
    hidden[HIDDEN] = np.nan
    return X, y, rer.analyze(X, hidden)


def missing(values, what):
    """A list of Python's own values with `what` in the places of no label."""
    values = values.tolist()
    for row in HIDDEN:
        values[row] = what
    return values


FORMS = {
    "objects with pandas.NA": lambda y: np.array(missing(NAMES[y], pandas.NA), dtype=object),
    "objects with None": lambda y: np.array(missing(NAMES[y], None), dtype=object),
    "objects with NaN": lambda y: np.array(missing(NAMES[y], np.nan), dtype=object),
    "whole numbers with pandas.NA": lambda y: np.array(missing(y, pandas.NA), dtype=object),
    "a list with None": lambda y: missing(y, None),
    "a list of texts with NaN": lambda y: missing(NAMES[y], np.nan),
    "polars": lambda y: polars.Series("kind", missing(NAMES[y], None)),
    "polars categories": lambda y: polars.Series("kind", missing(NAMES[y], None), dtype=polars.Enum(list(NAMES))),
    "polars numbers": lambda y: polars.Series("kind", missing(y, None), dtype=polars.Int16),
    "strings": lambda y: pandas.Series(missing(NAMES[y], None), dtype="string"),
    "arrow strings": lambda y: pandas.Series(missing(NAMES[y], None), dtype=pandas.ArrowDtype(pa.string())),
    "arrow numbers": lambda y: pandas.Series(missing(y, None), dtype=pandas.ArrowDtype(pa.int16())),
    "Int64": lambda y: pandas.Series(missing(y, None), dtype="Int64"),
    "UInt8 array": lambda y: pandas.array(missing(y, None), dtype="UInt8"),
    "categories": lambda y: pandas.Series(missing(NAMES[y], None), dtype="category"),
    "a Categorical": lambda y: pandas.Categorical(missing(NAMES[y], None)),
    "floats": lambda y: pandas.Series(missing(y, np.nan)),
    "object Series": lambda y: pandas.Series(missing(NAMES[y], pandas.NA), dtype=object),
    "pyarrow": lambda y: pa.array(missing(NAMES[y], None)),
    "pyarrow chunks": lambda y: pa.chunked_array([missing(NAMES[y], None)[:100], missing(NAMES[y], None)[100:]]),
}


def listed(labels):
    """Labels as a list of Python's values, None where there is none."""
    return [None if value is None or value is pandas.NA or value != value else value
            for value in (labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels))]


@pytest.mark.parametrize("form", FORMS)
def test_no_label_in_every_form(data, form):
    X, y, expected = data
    labels = FORMS[form](y)
    before = listed(labels)
    result = rer.analyze(X, labels)
    np.testing.assert_array_equal(result.mistakenness, expected.mistakenness)
    assert [row for row, label in enumerate(result.given_label) if label is None] == HIDDEN
    own = NAMES if isinstance(before[0], str) else np.arange(3)
    assert result.suggested_label.tolist() == own[expected.suggested_label.astype(int)].tolist()
    fixed = result.fixed_labels()
    kind = pa.Array if isinstance(labels, pa.ChunkedArray) else type(labels)
    assert isinstance(fixed, kind) and getattr(fixed, "dtype", None) == getattr(labels, "dtype", None)
    assert listed(fixed) == result.suggested_label.tolist(), "whole: nothing is left without a label here"
    assert listed(labels) == before, "what was given stays"


def test_booleans_with_gaps():
    X, y = clusters(classes=2, planted=4)
    plain = rer.analyze(X, np.where(np.arange(300) == 10, np.nan, y))
    for labels in (pandas.Series(y == 1, dtype="boolean"), pandas.Series(y == 1, dtype=pandas.ArrowDtype(pa.bool_())),
                   pandas.Series(y == 1, dtype=object)):
        labels[10] = pandas.NA
        result = rer.analyze(X, labels)
        np.testing.assert_array_equal(result.mistakenness, plain.mistakenness)
        assert result.given_label[10] is None and result.given_label[11] in (True, False)
        fixed = result.fixed_labels()
        assert fixed.dtype == labels.dtype and fixed[0] == (y[0] != 1)


def test_detector_and_drop_in_know_no_label(data):
    X, y, expected = data
    for labels in (np.where(np.isin(np.arange(300), HIDDEN), -1, y), FORMS["objects with None"](y), FORMS["Int64"](y),
                   FORMS["strings"](y), FORMS["floats"](y)):
        detector = rer.RerDetector().fit(X, labels)
        np.testing.assert_array_equal(detector.mistakenness_, expected.mistakenness)
        codes = np.searchsorted(detector.classes_, detector.suggested_labels_)
        assert codes.tolist() == expected.suggested_label.tolist() and len(detector.classes_) == 3
        np.testing.assert_array_equal(rer.find_label_issues(labels, features=X), expected.is_label_issue)
        np.testing.assert_array_equal(rer.get_label_quality_scores(labels, features=X), expected.label_score)


@pytest.mark.parametrize("form", [np.asarray, list, pandas.Series, lambda y: pandas.Series(y, dtype="Int8")])
def test_minus_one(form):
    """A class among -1, 0, 1 and beside one other; no label beside more classes; a class again beside other negatives."""
    X, y = clusters(n=400, classes=4, planted=8)
    for values, n_classes, note in (((-1, 0, 1, 0), 3, "-1 is a class"), ((-1, 1, -1, 1), 2, None),
                                    ((-1, 2, -1, 2), 2, "-1 is a class beside 2"), ((-1, 0, -1, 0), 2, "-1 is a class beside 0"),
                                    ((-1, 0, 1, 2), 3, "-1 means no label"), ((-1, -2, 0, 1), 4, None)):
        labels = form(np.array(values)[y])
        result = rer.analyze(X, labels)
        assert result.n_classes == n_classes and len(rer.RerDetector().fit(X, labels).classes_) == n_classes
        assert [text for text in result.notes if "-1" in text[:3]] == ([] if note is None else [
            text for text in result.notes if text.startswith(note)]) and (note is None or any(
                text.startswith(note) for text in result.notes))
        assert rer.RerDetector().fit(X, labels).notes_ == result.notes
        with pytest.warns(UserWarning, match=note) if note else contextlib.nullcontext():
            scores = rer.get_label_quality_scores(labels, features=X)
        np.testing.assert_array_equal(scores, result.label_score)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rer.get_label_quality_scores(labels, np.full((400, n_classes), 1 / n_classes))
        assert [str(warning.message).startswith(f"labels: {note}") for warning in caught] == [True] * bool(note)
        assert np.isnan(scores).sum() == (100 - 2 + 2 if note == "-1 means no label" else 0)


def test_suggestions_are_labels(data):
    """The given label where nothing better is there; of the type that came in, also where classes have names."""
    X, y, _ = data
    for dtype in ("i1", "u2", "i8", "f4"):
        labels = y.astype(dtype)
        result = rer.analyze(X, labels, class_names=NAMES)
        for name in ("given_label", "suggested_label", "predicted_label", "best_other_label"):
            assert getattr(result, name).dtype == (labels.dtype if dtype != "f4" else "i8"), name
        assert result.fixed_labels().dtype == labels.dtype
        np.testing.assert_array_equal(result.given_label, labels)
        flagged = result.is_label_issue
        assert 0 < flagged.sum() < 20
        np.testing.assert_array_equal(result.suggested_label[~flagged], labels[~flagged])
        assert (result.suggested_label[flagged] != labels[flagged]).all()
        np.testing.assert_array_equal(result.suggested_label[flagged], result.best_other_label[flagged])
        row = result.suspects(1)[0]
        assert row["given_name"] == NAMES[row["given_label"]] and row["suggested_name"] == NAMES[row["suggested_label"]]
        assert result.classes["name"].tolist() == NAMES.tolist() and result.classes["label"].tolist() == [0, 1, 2]
        detector = rer.RerDetector().fit(X, labels)
        np.testing.assert_array_equal(detector.suggested_labels_, result.suggested_label)
        assert detector.suggested_labels_.dtype == labels.dtype
    scored = result.model.score(X[:9], labels[:9])  # by the labels, though the model has names
    assert scored.given_label.tolist() == labels[:9].tolist()
    np.testing.assert_array_equal(scored.mistakenness, rer.analyze(X, labels).model.score(X[:9], labels[:9]).mistakenness)
    assert rer.analyze(X, y, class_names={2: "hoot"}).suspects(300)["given_name"].tolist().count("hoot") == (y == 2).sum()


def test_index_goes_through(data):
    X, y, _ = data
    index = pandas.date_range("2020-01-01", periods=300)
    frame = pandas.DataFrame(X, index=index)
    for result in (rer.analyze(frame, y), rer.analyze(X, pandas.Series(y, index=index, name="kind")),
                   rer.analyze(frame.assign(kind=y).rename(columns=str), "kind")):
        assert result.to_frame().index.equals(index)
        suspects = result.suspects(5)
        assert suspects.to_frame().index.equals(index[suspects["index"]])
        assert suspects[:2].to_frame().index.equals(index[suspects["index"][:2]])
    fixed = rer.analyze(X, pandas.Series(y, index=index, name="kind")).fixed_labels()
    assert fixed.index.equals(index) and fixed.name == "kind" and fixed.dtype == y.dtype
    assert rer.analyze(X, y).to_frame().index.name == "index"
    scored = rer.analyze(frame, y).model.score(frame.iloc[:9], y[:9])
    assert scored.to_frame().index.equals(index[:9])
