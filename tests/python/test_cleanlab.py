"""The drop-in functions beside the real ones, and the issue manager in a real Datalab."""
import inspect

import cleanlab
import numpy as np
import pytest
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import rer
import rer.datalab
from conftest import clusters

RANKS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
FILTERS = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "predicted_neq_given",
           "low_normalized_margin", "low_self_confidence")


@pytest.fixture(scope="module")
def noisy():
    """Features, noisy labels, the truth, and probabilities of a cross-validated model."""
    random = np.random.default_rng(3)
    y = np.arange(1200) % 4
    X = (2.2 * random.normal(size=(4, 12))[y] + random.normal(size=(1200, 12))).astype("f4")
    wrong = random.choice(1200, 100, replace=False)
    given = y.copy()
    given[wrong] = (given[wrong] + random.integers(1, 4, 100)) % 4
    probabilities = cross_val_predict(LogisticRegression(max_iter=500), X, given, cv=5, method="predict_proba")
    return X, given, given != y, probabilities


@pytest.mark.parametrize("ours, theirs", [(rer.find_label_issues, find_label_issues),
                                          (rer.get_label_quality_scores, get_label_quality_scores)])
def test_same_arguments(ours, theirs):
    """Every call that works there works here once features are named; order and defaults too."""
    here, there = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    kept = [name for name in here if name in there]
    assert kept == list(there)
    for name, parameter in there.items():
        assert here[name].kind == parameter.kind
        if name != "pred_probs":  # which nobody needs here
            assert here[name].default == parameter.default


@pytest.mark.parametrize("filter_by", FILTERS)
def test_same_types_and_much_the_same_issues(noisy, filter_by):
    X, given, wrong, probabilities = noisy
    theirs = find_label_issues(given, probabilities, filter_by=filter_by)
    ours = rer.find_label_issues(given, features=X, filter_by=filter_by)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    both, either = (ours & theirs).sum(), (ours | theirs).sum()
    assert both / either > .7
    assert wrong[ours].mean() > .7 and ours[wrong].mean() > .7


@pytest.mark.parametrize("rank", RANKS)
def test_same_order_and_sign(noisy, rank):
    X, given, wrong, probabilities = noisy
    theirs = find_label_issues(given, probabilities, return_indices_ranked_by=rank)
    ours = rer.find_label_issues(given, features=X, return_indices_ranked_by=rank)
    assert ours.dtype == theirs.dtype and ours.ndim == 1
    scores = rer.get_label_quality_scores(given, features=X, method=rank)
    their_scores = get_label_quality_scores(given, probabilities, method=rank)
    assert scores.shape == their_scores.shape and scores.dtype == np.float64
    assert 0 <= scores.min() and scores.max() <= 1
    assert (np.diff(scores[ours]) >= 0).all(), "worst first, as there"
    assert (np.diff(their_scores[theirs]) >= -1e-12).all()
    assert scores[wrong].mean() < scores[~wrong].mean() and their_scores[wrong].mean() < their_scores[~wrong].mean()
    np.testing.assert_array_equal(np.sort(ours), np.flatnonzero(rer.find_label_issues(given, features=X)))


def test_scores_are_analyze_s(noisy):
    X, given, _, _ = noisy
    result = rer.analyze(X, given)
    np.testing.assert_array_equal(rer.get_label_quality_scores(given, features=X), result.label_score)
    np.testing.assert_array_equal(rer.find_label_issues(given, features=X), result.is_label_issue)
    margin = rer.get_label_quality_scores(given, features=X, method="normalized_margin")
    np.testing.assert_array_equal(margin < .5, result.rer > 1)


def test_how_many(noisy):
    X, given, _, _ = noisy
    everything = rer.find_label_issues(given, features=X)
    half = rer.find_label_issues(given, features=X, frac_noise=.5)
    assert half.sum() == round(.5 * everything.sum()) and (everything | half == everything).all()
    exact = rer.find_label_issues(given, features=X, num_to_remove_per_class=[5, 0, 1, 400])
    counts = np.bincount(given[exact], minlength=4)
    assert counts[:3].tolist() == [5, 0, 1] and counts[3] == (given == 3).sum() - 1  # one is kept
    kept = rer.find_label_issues(given, features=X, num_to_remove_per_class=[400] * 4, min_examples_per_class=10)
    assert (np.bincount(given[~kept]) == 10).all()
    assert rer.find_label_issues(given, features=X, budget=17).sum() == 17


def test_refused(noisy):
    X, given, _, probabilities = noisy
    for wrong in ({}, {"pred_probs": probabilities}):
        with pytest.raises(TypeError, match="features are needed"):
            rer.find_label_issues(given, **wrong)
    for wrong in ({"multi_label": True}, {"frac_noise": 2}, {"filter_by": "x"}, {"return_indices_ranked_by": "x"},
                  {"num_to_remove_per_class": [1]}):
        with pytest.raises(ValueError):
            rer.find_label_issues(given, features=X, **wrong)
    with pytest.raises(ValueError):
        rer.get_label_quality_scores(given, features=X, method="x")


def test_datalab(noisy, capsys):
    X, given, wrong, _ = noisy
    names = np.array(["cat", "dog", "owl", "yak"])[given]
    result = rer.analyze(X, names)
    lab = cleanlab.Datalab({"label": names.tolist()}, label_name="label")
    lab.find_issues(features=X, issue_types={"rer_label": {}, "label": {}})
    issues = lab.get_issues("rer_label")
    assert issues["is_rer_label_issue"].tolist() == result.is_label_issue.tolist()
    np.testing.assert_allclose(issues["rer_label_score"], result.label_score)
    info = lab.get_info("rer_label")
    assert list(info["given_label"]) == names.tolist()
    assert list(info["suggested_label"]) == result.best_other_label.tolist()
    summary = lab.get_issue_summary("rer_label")
    assert summary["num_issues"].tolist() == [result.n_issues]
    capsys.readouterr()
    lab.report(num_examples=3)
    text = capsys.readouterr().out
    assert "rer_label issues" in text and f"Number of examples with this issue: {result.n_issues}" in text
    assert "--- label issues" in text.replace("------", "---")  # cleanlab's own stands beside it
    for row in result.suspects(3)["index"]:
        assert str(row) in text
    assert info["noise_rate"] == result.noise_rate


def test_datalab_options(noisy):
    X, given, _, _ = noisy
    lab = cleanlab.Datalab({"label": given}, label_name="label", verbosity=0)
    lab.find_issues(features=X, issue_types={"rer_label": {"budget": 9}})
    assert lab.get_issues("rer_label")["is_rer_label_issue"].sum() == 9
    with pytest.raises(Exception, match="."):
        lab.find_issues(issue_types={"rer_label": {}})
        lab.get_issues("rer_label")["missing"]
