"""The plug-in for FiftyOne: its pure part always, its operators where FiftyOne and its database work."""
import importlib.util
import os
import re
import sys

import numpy as np
import pytest

import rer
from conftest import SOURCE, clusters

PLUGIN = SOURCE / "plugins" / "fiftyone"
sys.path.insert(0, str(PLUGIN))
import findings  # noqa: E402


@pytest.fixture
def data():
    X, y = clusters(n=120, planted=3)
    names = np.array(["cat", "dog", "owl"])[y].tolist()
    embeddings = list(X)
    embeddings[50] = None
    names[60] = None
    return X, embeddings, names


def check_fields(fields, flagged, X, names):
    kept = [row for row in range(120) if row != 50]
    expected = rer.analyze(X[kept], np.array([names[row] for row in kept], dtype=object))
    for name in ("mistakenness", "rer"):
        theirs = getattr(expected, name)
        for place, row in enumerate(kept):
            assert fields[name][row] == (None if np.isnan(theirs[place]) else theirs[place])
        assert fields[name][50] is None and fields[name][60] is None
    assert flagged == [kept[row] for row in expected.issues] and sorted(flagged) == [0, 1, 2]
    assert [fields["suggested_label"][row] for row in (0, 1, 2)] == ["cat", "dog", "owl"]
    assert fields["suggested_label"][50] is None and fields["suggested_label"][60] in ("cat", "dog", "owl")
    assert sum(value is not None for value in fields["suggested_label"]) == 4
    return expected


def test_pure_part(data):
    X, embeddings, names = data
    fields, flagged, text = findings.label_mistakes(embeddings, names)
    expected = check_fields(fields, flagged, X, names)
    assert (text["samples"], text["flagged"]) == (119, 3)
    assert text["difficulty"] == round(expected.difficulty, 4) and "cat" in text["hardest"]
    assert all(isinstance(value, (int, float, str)) for value in text.values()), "the App shows plain values"
    only, _ = findings.difficulty(embeddings, names)
    assert only == {"rer": fields["rer"]}
    assert findings.label_mistakes(embeddings, names, budget="10")[2]["flagged"] == 10
    with pytest.raises(ValueError, match="no sample has an embedding"):
        findings.label_mistakes([None, None], ["a", "b"])


def test_manifest():
    text = (PLUGIN / "fiftyone.yml").read_text()
    assert re.search(r"^name: .*@rer/labels", text, re.M) and "find_label_mistakes" in text and "difficulty" in text
    assert f"version: {rer.__version__}" in text


@pytest.mark.skipif(importlib.util.find_spec("fiftyone") is None, reason="FiftyOne is not installed")
def test_operators(data, tmp_path, monkeypatch):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "rer").symlink_to(PLUGIN)
    for name, value in {"FIFTYONE_PLUGINS_DIR": tmp_path / "plugins", "FIFTYONE_DATABASE_DIR": tmp_path / "db",
                        "FIFTYONE_DO_NOT_TRACK": "true", "FIFTYONE_DATABASE_VALIDATION": "false",
                        "HOME": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    import fiftyone as fo
    import fiftyone.operators as foo
    X, embeddings, names = data
    dataset = fo.Dataset("rer-test", overwrite=True)
    dataset.add_samples([
        fo.Sample(f"{row}.png", embedding=embedding, ground_truth=None if name is None else fo.Classification(label=name))
        for row, (embedding, name) in enumerate(zip(embeddings, names))])
    try:
        params = {"labels": "ground_truth", "embeddings": "embedding", "view_target": "DATASET"}
        answer = foo.execute_operator("@rer/labels/find_label_mistakes", {"dataset": dataset, "params": params})
        assert answer.error is None, answer.error
        fields = dict(zip(("mistakenness", "rer", "suggested_label"),
                          dataset.values(["mistakenness", "rer", "suggested_label"])))
        flagged = [row for row, tags in enumerate(dataset.values("tags")) if findings.TAG in tags]
        check_fields(fields, sorted(flagged, key=lambda row: -fields["mistakenness"][row]), X, names)
        assert answer.result["flagged"] == 3
        params["budget"] = "7"
        foo.execute_operator("@rer/labels/find_label_mistakes", {"dataset": dataset, "params": params})
        assert len(dataset.match_tags(findings.TAG)) == 7
        dataset.set_values("rer", [None] * 120)
        answer = foo.execute_operator("@rer/labels/difficulty", {"dataset": dataset, "params": params})
        assert answer.error is None and dataset.values("rer") == fields["rer"]
        operator = foo.get_operator("@rer/labels/find_label_mistakes")
        assert operator.config.label == "rer: find label mistakes"
        context = foo.ExecutionContext(request_params={"dataset_name": dataset.name, "params": {}},
                                       operator_uri=operator.uri)
        form = str(operator.resolve_input(context).to_json())
        assert "'ground_truth'" in form and "'embedding'" in form and "budget" in form
        assert "Hardest classes" in str(operator.resolve_output(context).to_json())
    finally:
        dataset.delete()
        os.environ.pop("FIFTYONE_PLUGINS_DIR", None)
