"""result.review(): a server of its own, its address, what a notebook shows, decisions that become labels."""
import http.client
import json
import pickle
import urllib.parse

import numpy as np
import pytest

import rer
from conftest import clusters


@pytest.fixture
def data(tmp_path):
    X, y = clusters(planted=10)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    return tmp_path, X, y


def ask(address, path, body=None):
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    headers = {} if body is None else {"Content-Type": "application/json", "Origin": f"http://{parts.netloc}"}
    connection.request("GET" if body is None else "POST", parts.path + path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200, text
    return text


def decide(address, row, decision, label=""):
    entry = {"id": f"{row:016x}", "row": row, "decision": decision, "label": label}
    ask(address, "decide", {"reviewer": "ann", "decisions": [entry]})


def test_review_of_files(data):
    folder, _, y = data
    result = rer.analyze(folder / "X.npy", folder / "y.npy")
    with result.review(folder / "review", reviewer="ann") as review:
        assert str(review) == review.address
        assert f'src="{review.address}"' in review._repr_html_()
        state = json.loads(ask(review.address, "state"))
        assert state["reviewer"] == "ann" and state["why"] is None
        decide(review.address, 3, "fix", "0")
    with result.review(folder / "review") as review:  # goes on where it was
        assert [row[:4] for row in json.loads(ask(review.address, "state"))["decisions"]] == [[3, "ann", "fix", "0"]]
    expected = y.copy()
    expected[3] = 0
    np.testing.assert_array_equal(rer.apply(y, folder / "review"), expected)


def look_again(address):
    again = json.loads(ask(address, "again", {}))["again"]
    while again["state"] == "runs":
        again = json.loads(ask(address, "again"))["again"]
    assert again["state"] == "done", again


def test_look_again_at_arrays(data):
    """Rows in memory, whatever else the analysis was given: a copy is beside the results."""
    folder, X, y = data
    probabilities = np.full((len(y), 3), 0.1, "f4")
    probabilities[np.arange(len(y)), y] = 0.8
    groups = np.arange(len(y)) // 2
    labels = (y, np.array(["ant", "bee", "cow"])[y], y > 0, np.where(np.arange(len(y)) == 50, -1, y))
    for place, (given, more) in enumerate([*((each, {}) for each in labels), (y, {"pred_probs": probabilities, "groups": groups}),
                                           (y, {"class_names": ["one", "two", "three"], "groups": "duplicates"})]):
        result = rer.analyze(X, given, **more)
        with result.review(folder / f"review {place}") as review:
            assert json.loads(ask(review.address, "state"))["why"] is None
            decide(review.address, 1, "drop")
            look_again(review.address)


def test_without_a_copy_of_the_rows(data):
    folder, X, y = data
    with rer.analyze(X, y).review(folder / "review", keep_rows=False) as review:
        assert "memory" in json.loads(ask(review.address, "state"))["why"]
        decide(review.address, 1, "keep")
    assert not (folder / "review" / "rows").exists()


def test_a_large_copy_is_told(data, monkeypatch):
    folder, X, y = data
    monkeypatch.setattr("rer._review._LARGE", X.nbytes)
    with pytest.warns(UserWarning, match="copy of the rows"):
        rer.analyze(X, y).review(folder / "review").close()


def test_likely_labels(data):
    """Their probabilities are parts of what the columns say; a pickle has them too."""
    _, X, y = data
    names = np.array(["ant", "bee", "cow"])
    result = rer.analyze(X, names[y])
    for row in result.issues:
        likely = dict(result.likely_labels(row))
        assert list(likely.values()) == sorted(likely.values(), reverse=True)
        np.testing.assert_allclose(likely.pop(result.given_label[row]), 1 - result.mistakenness[row], atol=1e-7)
        assert next(iter(likely)) == result.suggested_label[row]
        np.testing.assert_allclose(sum(likely.values()), result.mistakenness[row], rtol=1e-6)
        assert pickle.loads(pickle.dumps(result)).likely_labels(row) == result.likely_labels(row)
    assert len(result.issues) > 0
    assert rer.analyze(X, y, detector="knn").likely_labels(result.issues[0]) == []


def test_results_of_other_data_are_left_alone(data):
    folder, X, y = data
    rer.analyze(X, y).write(folder / "review")
    with pytest.raises(ValueError, match="other data"):
        rer.analyze(X, np.roll(y, 1)).review(folder / "review")


def test_what_the_command_says_is_raised(data):
    folder, X, y = data
    result = rer.analyze(X, y)
    with pytest.raises(RuntimeError, match="port"):
        result.review(folder / "review", port=70000)
