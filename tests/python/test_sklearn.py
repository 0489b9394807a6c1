"""RerDetector and RerClassifier as scikit-learn wants its estimators, and against rer.analyze."""
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rer
from conftest import clusters
from rer import RerClassifier, RerDetector


@parametrize_with_checks([RerDetector(), RerClassifier(), RerClassifier(reconstructor="subspace")])
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
