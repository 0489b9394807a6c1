"""The drop-in functions beside the real ones, and the issue manager in a real Datalab."""
import importlib
import inspect

import cleanlab
import cleanlab.dataset
import numpy as np
import pandas
import pytest
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
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


NAMES = [("filter", name) for name in rer.filter.__all__] + [("rank", name) for name in rer.rank.__all__] + [
    ("dataset", name) for name in rer.dataset.__all__]


@pytest.mark.parametrize("module, name", NAMES)
def test_same_arguments(module, name):
    """Every call that works there works here; order and defaults too."""
    ours, theirs = (getattr(importlib.import_module(f"{package}.{module}"), name) for package in ("rer", "cleanlab"))
    here, there = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    kept = [name for name in here if name in there]
    assert kept == list(there)
    for name, parameter in there.items():
        assert here[name].kind == parameter.kind
        if name not in ("pred_probs", "rank_by_kwargs"):  # where there are features, nobody needs the one; {} is None
            assert here[name].default == parameter.default


def random_case(seed):
    """Labels and probabilities that agree with most of them; many classes, few rows, halves to be rounded."""
    random = np.random.default_rng(seed)
    classes = int(random.integers(2, 20))
    n = int(random.integers(3 * classes, 400))
    y = np.concatenate([np.arange(classes), random.integers(0, classes, n - classes)])
    p = random.dirichlet(np.full(classes, .3 if seed % 2 else 1), n)
    right = random.random(n) < .8
    p[right] = .5 * p[right] + .5 * np.eye(classes)[y[right]]
    return y, p


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_probabilities_alone_are_cleanlab_s(seed):
    y, p = random_case(seed)
    for filter_by in FILTERS:
        for options in ({}, {"frac_noise": .5}, {"min_examples_per_class": 5}, {"min_examples_per_class": 0}):
            np.testing.assert_array_equal(rer.find_label_issues(y, p, filter_by=filter_by, **options),
                                          find_label_issues(y, p, filter_by=filter_by, n_jobs=1, **options))
    counts = np.bincount(y) // 3
    np.testing.assert_array_equal(
        rer.find_label_issues(y, p, filter_by="prune_by_class", num_to_remove_per_class=counts),
        find_label_issues(y, p, filter_by="prune_by_class", num_to_remove_per_class=counts, n_jobs=1))
    joint = cleanlab.count.compute_confident_joint(y, p)
    np.testing.assert_array_equal(rer.find_label_issues(y, p, confident_joint=joint), find_label_issues(y, p, n_jobs=1))
    for rank in RANKS:
        for adjust in (False, True) if rank != "confidence_weighted_entropy" else (False,):
            np.testing.assert_allclose(rer.get_label_quality_scores(y, p, method=rank, adjust_pred_probs=adjust),
                                       get_label_quality_scores(y, p, method=rank, adjust_pred_probs=adjust), rtol=1e-12)
        np.testing.assert_array_equal(rer.find_label_issues(y, p, return_indices_ranked_by=rank),
                                      find_label_issues(y, p, return_indices_ranked_by=rank, n_jobs=1))


@pytest.mark.parametrize("asymmetric", [False, True])
def test_dataset_health_is_cleanlab_s(asymmetric):
    for seed in range(6):
        y, p = random_case(seed)
        names = [f"class {c}" for c in range(p.shape[1])]
        ours, theirs = (module.health_summary(y, p, class_names=names, asymmetric=asymmetric, verbose=False)
                        for module in (rer.dataset, cleanlab.dataset))
        assert ours.keys() == theirs.keys()
        assert ours["overall_label_health_score"] == theirs["overall_label_health_score"]
        np.testing.assert_allclose(ours["joint"], theirs["joint"], atol=1e-15)
        for table, key in (("classes_by_label_quality", ["Label Quality Score", "Class Index"]),
                           ("overlapping_classes", ["Joint Probability", "Class Index A", "Class Index B"])):
            assert ours[table].columns.tolist() == theirs[table].columns.tolist()
            pandas.testing.assert_frame_equal(*(frame[table].round(12).sort_values(key, ignore_index=True)
                                                for frame in (ours, theirs)), check_dtype=False)
        joint = cleanlab.count.compute_confident_joint(y, p, calibrate=False)
        assert rer.dataset.overall_label_health_score(y, confident_joint=joint, verbose=False) == pytest.approx(
            cleanlab.dataset.overall_label_health_score(y, confident_joint=joint, verbose=False))


def image_tutorial(lib, labels, pred_probs):
    """Rank the issues, look at the first; then the worst by a score of one's own."""
    ranked = lib.filter.find_label_issues(labels, pred_probs, return_indices_ranked_by="self_confidence")
    scores = lib.rank.get_label_quality_scores(labels, pred_probs)
    return ranked, lib.rank.find_top_issues(scores, top=20), scores


def health_tutorial(lib, labels, pred_probs):
    """What is the state of the labels, and which classes overlap?"""
    summary = lib.dataset.health_summary(labels, pred_probs, class_names=[str(c) for c in range(10)])
    pairs = lib.dataset.find_overlapping_classes(joint=summary["joint"], num_examples=len(labels))
    return (summary["overall_label_health_score"], summary["joint"],
            summary["classes_by_label_quality"]["Class Index"].to_numpy()[:3], pairs["Joint Probability"].to_numpy())


def ranking_tutorial(lib, labels, pred_probs):
    """A mask by one filter, ordered by another score."""
    mask = lib.filter.find_label_issues(labels=labels, pred_probs=pred_probs, filter_by="both")
    order = lib.rank.order_label_issues(mask, labels, pred_probs, rank_by="normalized_margin")
    entropy = lib.rank.get_confidence_weighted_entropy_for_each_label(labels, pred_probs)
    return mask, order, entropy, lib.filter.find_predicted_neq_given(labels, pred_probs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tutorial", [image_tutorial, health_tutorial, ranking_tutorial])
def test_tutorials_with_the_import_changed(tutorial, capsys):
    """The calls of cleanlab's tutorials on images, on the health of a data set, and on ranking."""
    X, y = load_digits(return_X_y=True)
    labels = rer.noise(y, rate=.08, random_state=1).labels
    pred_probs = cross_val_predict(LogisticRegression(max_iter=300), X / 16, labels, cv=3, method="predict_proba")
    for ours, theirs in zip(tutorial(rer, labels, pred_probs), tutorial(cleanlab, labels, pred_probs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    capsys.readouterr()


def test_probabilities_with_other_labels():
    """Texts, gaps, classes that are absent: as far as cleanlab goes its answers, and beyond."""
    y, p = random_case(3)
    expected = rer.find_label_issues(y, p)
    names = np.array([f"{c:02}" for c in range(p.shape[1])])
    np.testing.assert_array_equal(rer.find_label_issues(names[y], p), expected)
    gaps = np.append(y, [-1, -1])
    more = np.vstack([p, p[:2]])
    np.testing.assert_array_equal(rer.find_label_issues(gaps, more), np.append(expected, [False, False]))
    scores = rer.get_label_quality_scores(gaps, more)
    assert np.isnan(scores[-2:]).all() and scores[:-2].tolist() == p[np.arange(len(y)), y].tolist()
    absent = y != 1
    np.testing.assert_array_equal(rer.find_label_issues(y[absent], p[absent]),
                                  find_label_issues(y[absent], p[absent], n_jobs=1))


def test_both_are_pooled(noisy):
    """Two kinds of evidence, each with errors of its own, find more together; by every score."""
    X, given, wrong, probabilities = noisy
    random = np.random.default_rng(0)
    weak = probabilities ** .3 * random.uniform(.3, 1, probabilities.shape)  # as another model's would be
    weak /= weak.sum(axis=1, keepdims=True)
    half = X[:, :6] + random.normal(scale=1.5, size=(1200, 6)).astype("f4")
    for method in RANKS:
        areas = [roc_auc_score(~wrong, rer.get_label_quality_scores(given, method=method, **evidence))
                 for evidence in ({"features": half, "pred_probs": weak}, {"features": half}, {"pred_probs": weak})]
        assert areas[0] > max(areas[1:]), (method, areas)
        scores = rer.get_label_quality_scores(given, weak, features=half, method=method)
        ranked = rer.find_label_issues(given, weak, features=half, return_indices_ranked_by=method)
        assert 0 <= scores.min() and scores.max() <= 1 and (np.diff(scores[ranked]) >= 0).all()
    health = rer.dataset.health_summary(given, weak, features=half, verbose=False)
    assert health["joint"].sum() == pytest.approx(1)
    assert health["overall_label_health_score"] == pytest.approx(
        1 - rer.analyze(half, given, pred_probs=weak).mistakenness.mean())
    assert health["overall_label_health_score"] == pytest.approx((~wrong).mean(), abs=.05)


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
    with pytest.raises(TypeError, match="features or pred_probs are needed"):
        rer.find_label_issues(given)
    with pytest.raises(TypeError, match="budget is an option of rer.analyze, which needs features"):
        rer.find_label_issues(given, probabilities, budget=9)
    for wrong, message in ((2 * probabilities, r"row \d+, column \d is .*0..1"), (probabilities[:, :3], "3 columns for 4"),
                           (probabilities[:-1], r"shape \(1199, 4\) for 1200 labels")):
        with pytest.raises(ValueError, match=message):
            rer.get_label_quality_scores(given, wrong)
    with pytest.raises(ValueError, match="num_to_remove_per_class is for"):
        rer.find_label_issues(given, probabilities, filter_by="confident_learning", num_to_remove_per_class=[1] * 4)
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
    assert list(info["suggested_label"]) == result.suggested_label.tolist()
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
