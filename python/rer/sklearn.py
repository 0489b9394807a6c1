"""Estimators for scikit-learn: RerDetector finds wrong labels, RerClassifier predicts labels."""

import inspect
import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

import rer
from rer._arrays import as_array, labels_of, missing_labels
from rer._keywords import python_messages, suggestion, table

if TYPE_CHECKING:
    from rer._model import Model
    from rer._options import Options
    from rer._result import Result

Floats = npt.NDArray[np.float64]

__all__ = ["RerClassifier", "RerDetector"]

# The table's options but these two, which scikit-learn has its own words for.
_OPTIONS = {keyword: option for keyword, option in table().items() if keyword not in ("threads", "seed")}


def _show_parameters(function: Callable[..., None]) -> Callable[..., None]:
    """scikit-learn asks the signature of __init__ for the parameters."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [inspect.Parameter(name, kind, default=option.default) for name, option in _OPTIONS.items()]
    parameters += [inspect.Parameter(name, kind, default=None) for name in ("n_jobs", "random_state")]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def _without_gaps(y: Any) -> tuple[Any, npt.NDArray[np.bool_]]:
    """Labels for scikit-learn's checks, which know no missing ones: those are some other label. And which they are."""
    labels = as_array(y, "y")
    missing = missing_labels(labels)
    if labels.ndim != 1 or not missing.any() or missing.all():
        return y, np.zeros(labels.shape[:1], bool)
    labels = labels.copy()
    labels[missing] = labels[~missing][0]
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else labels, missing


def _with_gaps(labels: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    if not missing.any():
        return labels
    gaps = labels.astype(object)
    gaps[missing] = None
    return gaps


def _copies(sample_weight: Any, X: Any) -> npt.NDArray[np.int64]:
    """How many rows each row stands for, [N]."""
    weights = np.asarray(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
    if (weights != np.rint(weights)).any():
        wrong = weights[weights != np.rint(weights)][0]
        raise ValueError(f"sample_weight: {wrong:g} is not whole; a row of weight 3 counts as three, one of weight 0 as none")
    return weights.astype(np.int64)


class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """What both share: options as parameters, fitting, and the errors under each class."""

    classes_: npt.NDArray[Any]
    _rows: npt.NDArray[np.int64] | None
    model_: "Model"

    @_show_parameters
    def __init__(self, *, n_jobs: int | None = None, random_state: Any = None, **options: "Unpack[Options]") -> None:
        for name, option in _OPTIONS.items():
            setattr(self, name, options.get(name, option.default))
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            names = [*_OPTIONS, "n_jobs", "random_state"]
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}; {suggestion(unknown[0], names)}")
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = bool(getattr(self, "drop_invalid", False))
        return tags

    def _check(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        finite = not getattr(self, "drop_invalid", False)
        checked = {"reset": reset, "dtype": "numeric", "ensure_all_finite": finite, "order": "C"}
        return validate_data(self, X, **checked) if y is None else validate_data(self, X, y, **checked)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> "Result":
        """The result on the rows that count, each as often as it does: those are `_rows`."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: "
                "the labels to be judged"
            )
        y, missing = _without_gaps(y)
        X, y = self._check(X, y, reset=True)
        check_classification_targets(y)
        rows, together = np.arange(len(X)), groups
        if groups is not None and not isinstance(groups, str):
            together = np.asarray(groups)
            check_consistent_length(X, together)
        if sample_weight is not None:
            copies = _copies(sample_weight, X)
            rows = np.repeat(rows, copies)
            # Copies must not vouch for each other.
            together = rows if groups is None and (copies > 1).any() else together
            together = together[rows] if groups is not None and not isinstance(groups, str) else together
        options: Any = {name: getattr(self, name) for name in _OPTIONS}
        self._rows = None if sample_weight is None else rows
        used = (X, _with_gaps(y, missing)) if sample_weight is None else (X[rows], _with_gaps(y[rows], missing[rows]))
        result = rer.analyze(
            *used, groups=together, progress=False, n_jobs=self.n_jobs, random_state=self.random_state, **options
        )
        self.classes_ = result.classes["label"].astype(y.dtype)
        self._n_features_out = len(self.classes_)
        self.model_ = result.model
        return result

    def _known(self, y: Any) -> npt.NDArray[Any]:
        """The labels of new rows, where they have one: all of classes that were there."""
        y, missing = _without_gaps(y)
        y = np.asarray(y)
        if y.dtype.kind in "if" and -1 not in self.classes_:
            missing = missing | (y == -1)
        unknown = y[~missing & ~np.isin(y, self.classes_)]
        if len(unknown) > 0:
            raise ValueError(f"y: the label {unknown.tolist()[0]!r} was not there when the model was fitted")
        return _with_gaps(y, missing)

    def _score(self, X: Any, y: Any = None, errors: str | None = None) -> "Result":
        options: Any = {"drop_invalid": getattr(self, "drop_invalid", False)}
        return self.model_.score(X, y, errors=errors, progress=False, n_jobs=self.n_jobs, **options)

    def transform(self, X: Any) -> Floats:
        """The error of each row under each class, [N, C]: its distance to the class."""
        return self._errors(X)

    def _errors(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with tempfile.TemporaryDirectory(prefix="rer-") as folder:  # errors pass through a file, as the library has it
            path = os.path.join(folder, "errors.npy")
            with python_messages({path: "errors"}):
                self._score(X, errors=path)
            errors: Floats = np.load(path).T.astype(np.float64)
        return errors


class RerDetector(_Estimator):
    """Finds wrong labels: fit it on features and their labels.

    predict and fit_predict say -1 for a label that looks wrong and 1 for the others, as scikit-learn's
    detectors do; higher scores are better. New rows come with their labels, predict(X, y); without them
    (as in a Pipeline) each is judged by how sure its nearest class is.

    After fit, for the rows it was fitted on: `mistakenness_`, `label_score_`, `is_label_issue_`,
    `suggested_labels_` [N] (the given one where nothing better is suggested); `noise_rate_`, `difficulty_`, `offset_`,
    `classes_`, `model_`, `notes_`.

    >>> import numpy as np
    >>> from rer import RerDetector
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[7] = 2
    >>> detector = RerDetector().fit(X, y)
    >>> np.flatnonzero(detector.is_label_issue_), detector.suggested_labels_[7]
    (array([7]), np.int64(1))
    >>> detector.predict(4 * np.eye(3, 8), [0, 2, 2])
    array([ 1, -1,  1])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Judges the labels y [N] of X [N, D] and keeps a model for new rows.

        sample_weight: whole numbers [N]; a row of weight 3 counts as three that are left out together, one of
            weight 0 is judged by the others alone.
        groups: rows that are left out together, as rer.analyze takes them.
        """
        result = self._fit(X, y, sample_weight, groups)
        self.mistakenness_ = result.mistakenness
        self.label_score_ = result.label_score
        self.is_label_issue_ = result.is_label_issue
        self.suggested_labels_ = labels_of(result._better, self.classes_)
        if self._rows is not None:
            self._spread(X, y, self._rows)
        self.noise_rate_ = result.noise_rate
        self.difficulty_ = result.difficulty
        self.notes_ = result.notes
        if result.summary["threshold_on"] == "mistakenness":
            self.offset_ = 1 - result.threshold
        else:  # the paper's, on another scale: what it came to here
            flagged = self.label_score_[self.is_label_issue_]
            self.offset_ = float(flagged.max()) if len(flagged) > 0 else 0.0
        return self

    def _spread(self, X: Any, y: Any, rows: npt.NDArray[np.int64]) -> None:
        """What was found of the rows that count -> all rows: the first copy's, or as new ones where there is none."""
        y, missing = _without_gaps(y)
        X, y = self._check(X, y, reset=False)
        places = np.searchsorted(rows, np.arange(len(X)))
        left_out = np.ones(len(X), bool)
        left_out[rows] = False
        known = np.isin(y, self.classes_) | missing
        new = np.flatnonzero(left_out & known)
        scored = self._score(X[new], _with_gaps(y[new], missing[new])) if len(new) > 0 else None
        for name, of_new in (
            ("mistakenness_", "mistakenness"),
            ("label_score_", "label_score"),
            ("is_label_issue_", "is_label_issue"),
            ("suggested_labels_", "suggested_label"),
        ):
            found = getattr(self, name)
            all_rows = found[np.minimum(places, len(found) - 1)]
            if scored is not None:
                all_rows[new] = getattr(scored, of_new)
            nobody = left_out & ~known  # its class has no row that counts
            all_rows[nobody] = y[nobody] if name == "suggested_labels_" else np.nan if all_rows.dtype.kind == "f" else False
            setattr(self, name, all_rows)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> npt.NDArray[np.int64]:
        """fit, and 1 or -1 for each label."""
        return np.where(self.fit(X, y, sample_weight, groups).is_label_issue_, -1, 1)

    def score_samples(self, X: Any, y: Any = None) -> Floats:
        """Probability that the label is right, [N]; without y, that the nearest class is."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if y is None:
            return self._score(X).suggestion_probability
        return self._score(X, self._known(y)).label_score

    def decision_function(self, X: Any, y: Any = None) -> Floats:
        """score_samples less `offset_`: negative where predict says -1."""
        return self.score_samples(X, y) - self.offset_

    def predict(self, X: Any, y: Any = None) -> npt.NDArray[np.int64]:
        """-1 for labels that look wrong, 1 for the others."""
        return np.where(self.decision_function(X, y) < 0, -1, 1)


class RerClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc,unused-ignore]
    """The nearest-reconstructor classifier: the class with the smallest error.

    >>> import numpy as np
    >>> from rer import RerClassifier
    >>> y = np.array(["cat", "dog", "owl"])[np.arange(300) % 3]
    >>> X = 4 * np.eye(3, 8)[np.arange(300) % 3] + np.random.default_rng(0).normal(size=(300, 8))
    >>> classifier = RerClassifier().fit(X, y)
    >>> classifier.predict(4 * np.eye(3, 8))
    array(['cat', 'dog', 'owl'], dtype='<U3')
    >>> classifier.predict_proba(4 * np.eye(3, 8)).argmax(axis=1)
    array([0, 1, 2])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fits a model of each class.

        sample_weight: whole numbers [N]; a row of weight 3 counts as three, one of weight 0 as none.
        groups: rows that are left out together, as rer.analyze takes them.
        """
        result = self._fit(X, y, sample_weight, groups)
        self.temperature_ = float(result.summary["temperature"])
        return self

    def _scores(self, X: Any) -> Floats:
        """-t error^2 / 2 of the rows under each class, [N, C]."""
        errors = np.asarray(self._errors(X))
        scores: Floats = -self.temperature_ / 2 * errors**2
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of the nearest class, [N]."""
        check_is_fitted(self)
        nearest = self._score(self._check(X, reset=False))._column("predicted")
        return labels_of(nearest, self.classes_)

    def decision_function(self, X: Any) -> Floats:
        """Log of predict_proba before its sum is made 1, [N, C]; for two classes the second's less the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """exp(-t error^2 / 2) over its sum, [N, C], with the temperature t that fits the labels seen."""
        scores = self._scores(X)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = scores / scores.sum(axis=1, keepdims=True)
        return probabilities
