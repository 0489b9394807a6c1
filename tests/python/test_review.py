"""result.review(): a server of its own, its address, what a notebook shows, decisions that become labels."""
import http.client
import json
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


def test_review_of_arrays_says_what_it_cannot(data):
    folder, X, y = data
    with rer.analyze(X, y).review(folder / "review") as review:
        assert "memory" in json.loads(ask(review.address, "state"))["why"]
        decide(review.address, 1, "keep")


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
