"""What the tests of rer.dask share; workers import it too, so it imports little."""
import numpy as np
import pytest

import rer
from conftest import clusters

COLUMNS = ("rer", "mistakenness", "label_score", "is_label_issue", "own_error", "best_other_error",
           "suggestion_probability", "predicted_label", "suggested_label", "given_label")
VOLATILE = {"seconds", "peak_memory_bytes", "checksums"}


def check_same(result, expected):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), name)
    ours, theirs = (({k: v for k, v in r.summary.items() if k not in VOLATILE}) for r in (result, expected))
    assert ours == theirs
    assert repr(result.classes) == repr(expected.classes)


def make_data(n):
    X, y = clusters(n=n, d=20, classes=5, planted=60)
    y[100:130] = -1
    return X, y, rer.analyze(X, y)


@pytest.fixture(scope="module")
def data():
    return make_data(3500)
