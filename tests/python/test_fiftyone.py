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
    groups = [row // 2 for row in range(120)]
    kept = [row for row in range(120) if row != 50]
    together = rer.analyze(X[kept], np.array([names[row] for row in kept], dtype=object), groups=[groups[row] for row in kept])
    grouped = findings.label_mistakes(embeddings, names, groups)[0]["mistakenness"]
    np.testing.assert_array_equal([np.nan if grouped[row] is None else grouped[row] for row in kept], together.mistakenness)
    nested = [[1, 2], None, [], [3]]
    assert findings.flatten(nested) == ([1, 2, 3], [0, 0, 3]) and findings.unflatten("abc", nested) == [["a", "b"], None, [], ["c"]]
    assert findings.FIELDS["mistakenness"] != "mistakenness", "that is the Brain's"
    assert findings.label_mistakes(embeddings, names, budget="10")[2]["flagged"] == 10
    with pytest.raises(ValueError, match="no sample has an embedding"):
        findings.label_mistakes([None, None], ["a", "b"])


def test_manifest():
    text = (PLUGIN / "fiftyone.yml").read_text()
    assert re.search(r"^name: .*@rer/labels", text, re.M) and "find_label_mistakes" in text and "difficulty" in text
    assert f"version: {rer.__version__}" in text


def check_detections(dataset, run, X, names):
    """Two patches in each of 60 samples; one sample has none."""
    import fiftyone as fo

    per_sample = [[fo.Detection(label=names[row] or "cat", bounding_box=[0, 0, 1, 1], embedding=X[row].tolist())
                   for row in (2 * sample, 2 * sample + 1)] for sample in range(60)] + [[]] + [None] * 59
    dataset.set_values("patches", [None if found is None else fo.Detections(detections=found) for found in per_sample])
    dataset.add_sample_field("patches.detections.embedding", fo.VectorField)
    text = run("find_label_mistakes", labels="patches", embeddings="embedding", mistakenness_field="doubt")
    labels = np.array([name or "cat" for name in names])
    expected = rer.analyze(X, labels, groups=np.arange(120) // 2)
    assert text["samples"] == 120 and text["flagged"] == expected.n_issues
    doubt = [value for of_sample in dataset.values("patches.detections.doubt") for value in of_sample or ()]
    np.testing.assert_allclose(doubt, expected.mistakenness)
    flagged = [findings.TAG in tags for found in dataset.values("patches.detections.tags") for tags in found or ()]
    np.testing.assert_array_equal(flagged, expected.is_label_issue)


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
        dataset.set_values("mistakenness", [.5] * 120)  # as the Brain leaves it

        def run(name, **more):
            answer = foo.execute_operator(f"@rer/labels/{name}", {"dataset": dataset, "params": params | more})
            assert answer.error is None, answer.error
            return answer.result

        def tagged(tag=findings.TAG):
            return [row for row, tags in enumerate(dataset.values("tags")) if tag in tags]

        assert run("find_label_mistakes")["flagged"] == 3
        fields = dict(zip(findings.FIELDS, dataset.values(list(findings.FIELDS.values()))))
        check_fields(fields, sorted(tagged(), key=lambda row: -fields["mistakenness"][row]), X, names)
        assert dataset.values("mistakenness") == [.5] * 120
        run("find_label_mistakes", budget="7", tag="look", mistakenness_field="doubt")
        assert len(tagged("look")) == 7 and len(tagged()) == 3 and dataset.values("doubt") == fields["mistakenness"]
        run("difficulty", rer_field="ratio")
        assert dataset.values("ratio") == fields["rer"]
        check_detections(dataset, run, X, names)
        operator = foo.get_operator("@rer/labels/find_label_mistakes")
        assert operator.config.label == "rer: find label mistakes"
        context = foo.ExecutionContext(request_params={"dataset_name": dataset.name, "params": {}},
                                       operator_uri=operator.uri)
        form = str(operator.resolve_input(context).to_json())
        assert "'ground_truth'" in form and "'embedding'" in form and "budget" in form and "rer_mistakenness" in form
        assert "Hardest classes" in str(operator.resolve_output(context).to_json())
    finally:
        dataset.delete()
        os.environ.pop("FIFTYONE_PLUGINS_DIR", None)
