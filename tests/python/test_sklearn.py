"""RerDetector and RerClassifier as scikit-learn wants its estimators, and against rer.analyze."""
import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rer
from conftest import clusters
from rer import RerClassifier, RerDetector


def expected_failures(estimator):
    """Rows that are there twice vouch for each other; a row of weight 2 does not, where it can be left out whole."""
    failures = {"check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is left out as a whole"}
    if estimator.reconstructor != "centroid":
        for check in ("check_sample_weights_list", "check_sample_weights_not_overwritten"):
            failures[check] = "only the centroid leaves groups out"
    return failures


@parametrize_with_checks([RerDetector(), RerClassifier(), RerClassifier(reconstructor="subspace")],
                         expected_failed_checks=expected_failures)
def test_checks(estimator, check):
    check(estimator)


def test_detector_is_analyze():
    X, y = clusters(n=600, planted=12)
    names = np.array(["cat", "dog", "owl"])[y]
    expected = rer.analyze(X, names, shrinkage=.2)
    detector = RerDetector(shrinkage=.2)
    answer = detector.fit_predict(X, names)
    np.testing.assert_array_equal(answer, np.where(expected.is_label_issue, -1, 1))
    np.testing.assert_array_equal(detector.mistakenness_, expected.mistakenness)
    np.testing.assert_array_equal(detector.suggested_labels_, expected.suggested_label)
    assert (detector.noise_rate_, detector.difficulty_) == (expected.noise_rate, expected.difficulty)
    assert detector.classes_.tolist() == ["cat", "dog", "owl"]
    X2, y2 = clusters(n=90, planted=5)
    names2 = np.array(["cat", "dog", "owl"])[y2]
    scored = expected.model.score(X2, names2)
    np.testing.assert_array_equal(detector.score_samples(X2, names2), scored.label_score)
    np.testing.assert_array_equal(detector.predict(X2, names2) == -1, scored.is_label_issue)
    np.testing.assert_array_equal(detector.decision_function(X2, names2) < 0, scored.is_label_issue)
    np.testing.assert_array_equal(detector.score_samples(X2), expected.model.score(X2).suggestion_probability)
    with pytest.raises(ValueError, match="'cow' was not there"):
        detector.predict(X2, np.full(90, "cow"))


@pytest.mark.parametrize("options", [{"budget": 20}, {"threshold": "paper"}, {"threshold": .9}])
def test_offset(options):
    X, y = clusters(n=600, planted=12)
    detector = RerDetector(**options)
    flagged = detector.fit_predict(X, y) == -1
    np.testing.assert_array_equal(flagged, rer.analyze(X, y, **options).is_label_issue)
    assert 0 <= detector.offset_ <= 1 and detector.label_score_[flagged].max() <= detector.offset_ + 1e-12


def test_parameters():
    detector = RerDetector(shrinkage=.3, n_jobs=2)
    assert clone(detector).get_params() == detector.get_params()
    assert set(detector.get_params()) == (set(rer.options()["keyword"]) - {"threads", "seed"}) | {"n_jobs", "random_state"}
    assert detector.set_params(folds=3).folds == 3
    assert "shrinkage=0.3" in repr(detector)
    with pytest.raises(TypeError, match="no parameter 'shrinkge'"):
        RerDetector(shrinkge=.3)
    with pytest.raises(ValueError, match="shrinkage"):
        RerDetector(shrinkage=3).fit(*clusters())


def test_pipeline_search_and_pickle():
    X, y = make_blobs(400, 8, centers=4, random_state=0, cluster_std=3)
    pipeline = make_pipeline(StandardScaler(), RerClassifier(normalize="none"))
    assert cross_val_score(pipeline, X, y).mean() > .9
    search = GridSearchCV(RerClassifier(), {"shrinkage": [.02, .5, .95]}, cv=3).fit(X, y)
    assert search.best_params_["shrinkage"] in (.02, .5, .95)
    again = pickle.loads(pickle.dumps(pipeline.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    detector = make_pipeline(StandardScaler(), RerDetector()).fit(X, y)
    assert set(detector.predict(X)) <= {-1, 1} and detector.score_samples(X).shape == (400,)


def test_classifier_on_digits():
    """Against linear discriminant analysis, which it is close to; probabilities hold what they say."""
    X, y = load_digits(return_X_y=True)
    train, test, labels, truth = train_test_split(X, y, random_state=0)
    classifier = RerClassifier().fit(train, labels)
    linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(train, labels)
    assert accuracy_score(truth, classifier.predict(test)) > accuracy_score(truth, linear.predict(test)) - .02 > .9
    proba = classifier.predict_proba(test)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.classes_[proba.argmax(axis=1)], classifier.predict(test))
    np.testing.assert_array_equal(classifier.classes_[classifier.decision_function(test).argmax(axis=1)],
                                  classifier.predict(test))
    share, confidence = calibration_curve(proba.argmax(axis=1) == truth, proba.max(axis=1), n_bins=4)
    assert abs(share[-1] - confidence[-1]) < .03


def test_weights():
    """A weight is so many rows, which do not vouch for each other; without weight a row is judged by the others."""
    X, y = clusters(n=600, planted=12)
    plain = RerDetector().fit(X, y)
    np.testing.assert_array_equal(RerDetector().fit(X, y, sample_weight=np.ones(600)).mistakenness_, plain.mistakenness_)
    weight = np.random.default_rng(0).integers(0, 4, 600)
    detector = RerDetector().fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(600), weight)
    expected = rer.analyze(X[rows], y[rows], groups=rows)
    for name, values in (("mistakenness_", expected.mistakenness), ("is_label_issue_", expected.is_label_issue),
                         ("suggested_labels_", expected.best_other_label)):
        if name != "suggested_labels_":
            np.testing.assert_array_equal(getattr(detector, name)[rows], values)
        assert len(getattr(detector, name)) == 600
    out = np.flatnonzero(weight == 0)
    np.testing.assert_array_equal(detector.mistakenness_[out], expected.model.score(X[out], y[out]).mistakenness)
    assert detector.is_label_issue_[:12].all() and detector.is_label_issue_.sum() == 12
    np.testing.assert_array_equal(RerClassifier().fit(X, y, sample_weight=weight).predict(X),
                                  expected.model.score(X).suggested_label)
    lone = np.where(y == 2, 0, 1)  # nothing is known of class 2
    detector = RerDetector().fit(X, y, sample_weight=lone)
    assert np.isnan(detector.mistakenness_[y == 2]).all() and not detector.is_label_issue_[y == 2].any()
    assert detector.classes_.tolist() == [0, 1] and np.isfinite(detector.mistakenness_[y != 2]).all()
    for wrong, words in (([.5] * 600, "sample_weight: 0.5 is not whole"), ([-1] * 600, "[Nn]egative"), ([1] * 5, "shape")):
        with pytest.raises(ValueError, match=words):
            RerDetector().fit(X, y, sample_weight=wrong)


def test_groups():
    X, y = clusters(n=300, planted=6)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    groups = np.repeat([f"video {i}" for i in range(300)], 3)
    detector = RerDetector().fit(X, y, groups=groups)
    np.testing.assert_array_equal(detector.mistakenness_, rer.analyze(X, y, groups=groups).mistakenness)
    assert detector.is_label_issue_[:18].all() and not RerDetector().fit(X, y).is_label_issue_[:18].all()
    np.testing.assert_array_equal(RerDetector().fit_predict(X, y, groups=groups) == -1, detector.is_label_issue_)
    weighted = RerDetector().fit(X, y, sample_weight=np.tile([1, 0, 0], 300), groups=groups)
    np.testing.assert_array_equal(weighted.mistakenness_[::3], RerDetector().fit(X[::3], y[::3]).mistakenness_)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        RerDetector().fit(X, y, groups=groups[:5])


def test_metadata_is_routed():
    """Weights and groups reach fit through a Pipeline, cross-validation and a search."""
    X, y = clusters(n=300, planted=6)
    X, y, groups = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(300), 2)
    with config_context(enable_metadata_routing=True):
        classifier = RerClassifier().set_fit_request(groups=True, sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), classifier)
        pipeline.fit(X, y, groups=groups, sample_weight=np.ones(600))
        direct = RerClassifier().fit(StandardScaler().fit_transform(X), y, groups=groups)
        np.testing.assert_array_equal(pipeline.predict_proba(X), direct.predict_proba(StandardScaler().fit_transform(X)))
        classifier.set_score_request(sample_weight=True)
        scores = cross_validate(pipeline, X, y, cv=GroupKFold(4), params={"groups": groups, "sample_weight": np.ones(600)})
        assert scores["test_score"].min() > .9
        GridSearchCV(pipeline, {"rerclassifier__shrinkage": [.1, .9]}, cv=GroupKFold(4)).fit(
            X, y, groups=groups, sample_weight=np.ones(600))


def test_output_is_set():
    """transform: the errors under each class, in a frame with names where that is asked for."""
    X, y = clusters(n=90)
    names = np.array(["cat", "dog", "owl"])[y]
    for estimator in (RerClassifier(), RerDetector()):
        errors = estimator.fit(X, names).transform(X)
        assert errors.shape == (90, 3)
        if isinstance(estimator, RerClassifier):
            np.testing.assert_array_equal(estimator.classes_[errors.argmin(axis=1)], estimator.predict(X))
        frame = estimator.set_output(transform="pandas").transform(X)
        assert list(frame.columns) == [f"{type(estimator).__name__.lower()}{c}" for c in range(3)]
        np.testing.assert_array_equal(frame.to_numpy(), errors)
        assert estimator.set_output(transform="polars").transform(X).shape == (90, 3)
