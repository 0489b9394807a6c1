"""cleanlab's functions: from features, from predicted probabilities, or from both."""

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._analyze import analyze
from rer._arrays import as_array, feature_array, label_array
from rer._confident import Bools, Codes, Confident, Floats, calibrated, lowest, share_out, to_flag
from rer._keywords import parameters_of, python_messages, suggestion
from rer._result import Result

_METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
_COUNTED = ("prune_by_noise_rate", "prune_by_class", "both")
_FILTERS = (*_COUNTED, "confident_learning", "predicted_neq_given", "low_normalized_margin", "low_self_confidence")


class Labelled(NamedTuple):
    """Labels with the columns of the probabilities that they are."""

    has: Bools  # [N] which rows have a label
    confident: Confident  # of those

    def spread(self, values: npt.NDArray[Any], missing: object) -> npt.NDArray[Any]:
        """Values of the rows with a label, for all rows."""
        whole = np.full(len(self.has), missing, values.dtype)
        whole[self.has] = values
        return whole


def _column_of(names: list[str], n_columns: int) -> Codes:
    """The column of each class: its number where labels are 0, 1, 2, ..., else its place."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        numbers = [-1]
    if all(0 <= number < n_columns for number in numbers):
        return np.array(numbers, np.int64)
    if len(names) != n_columns:
        raise ValueError(f"pred_probs: {n_columns} columns for {len(names)} classes; give one a class, classes sorted")
    return np.arange(n_columns)


def _note_minus_one(note: str, stacklevel: int) -> None:
    """cleanlab would refuse such labels."""
    warnings.warn(f"labels: {note}", stacklevel=stacklevel + 1)


def _columns_of(labels: npt.NDArray[Any], n_columns: int) -> Codes:
    """The column of each label, -1: no label, by the rules of rer.analyze."""
    with python_messages():
        data = _rer.wrap_dataset(np.zeros((len(labels), 1), np.uint8), labels, {})
    names = data.class_names()
    if names == ["-1", "0", "1"]:
        _note_minus_one("-1 is a class beside 0 and 1; an empty label means none", 4)
    elif len(names) == 2 and names[0] == "-1" and names[1].isdecimal() and names[1] != "1":
        _note_minus_one(f"-1 is a class beside {names[1]}; an empty label means none", 4)
    elif labels.dtype.kind in "if" and (labels == -1).any() and "-1" not in names:
        _note_minus_one("-1 means no label, as it does where all other labels are 0 or more", 4)
    return np.append(_column_of(names, n_columns), -1)[np.frombuffer(data.codes(), np.int32)]


def labelled(labels: Any, pred_probs: Any) -> Labelled:
    given, _ = label_array(labels, "labels")
    p = feature_array(pred_probs, "pred_probs").astype(np.float64)
    if p.ndim != 2 or len(p) != len(given):
        raise ValueError(f"pred_probs: has the shape {p.shape} for {len(given)} labels; [N, classes] is needed")
    if not ((p >= 0) & (p <= 1)).all():
        row, column = np.argwhere(~((p >= 0) & (p <= 1)))[0]
        raise ValueError(f"pred_probs: row {row}, column {column} is {p[row, column]:g}; probabilities are 0..1")
    columns = _columns_of(given, p.shape[1])
    has = columns >= 0
    return Labelled(has, Confident(columns[has], p[has]))


def _analyze(labels: Any, pred_probs: Any, features: Any, n_jobs: int | None, options: Any) -> Result:
    result = analyze(features, labels, pred_probs=pred_probs, n_jobs=n_jobs, progress=False, **options)
    for note in result.notes:
        if note.startswith("-1 "):
            _note_minus_one(note, 3)
    return result


def _need_evidence(pred_probs: Any, features: Any, options: dict[str, Any], own: Sequence[str] = ()) -> None:
    for word in options:
        if word not in parameters_of("analyze"):
            raise TypeError(f"there is no keyword {word!r}; {suggestion(word, [*own, *parameters_of('analyze')])}")
    if features is None and pred_probs is None:
        raise TypeError("features or pred_probs are needed: find_label_issues(labels, features=X)")
    if features is None and options:
        raise TypeError(f"{next(iter(options))} is an option of rer.analyze, which needs features")


def _margin(result: Result, pred_probs: Any) -> Floats:
    """0..1, .5 where the own class is as likely as the best other one.

    From features alone it is that of the errors, 1 / (1 + rer). Pooled, the probability of being wrong goes to
    the suggested class as far as pred_probs prefer it to the other ones."""
    if pred_probs is None:
        return 1 / (1 + result.rer)
    p, given, other = as_array(pred_probs, "pred_probs"), result._column("given"), result._column("suggested")
    rows = np.arange(len(p))
    rest = 1 - p[rows, given]
    share = np.divide(p[rows, other], rest, out=np.full(len(p), 1 / max(1, p.shape[1] - 1)), where=rest > 0)
    return np.asarray((result.label_score - result.mistakenness * np.minimum(share, 1) + 1) / 2)


def _quality(result: Result, method: str, pred_probs: Any = None) -> Floats:
    return _margin(result, pred_probs) if method == "normalized_margin" else result.label_score


def _filter(result: Result, filter_by: str, pred_probs: Any) -> Bools:
    scores, everywhere = result.label_score, np.ones(result.n_samples, bool)
    n_wrong = round(result.noise_rate * int(result.summary["n_labelled"]))
    if filter_by in ("prune_by_noise_rate", "confident_learning"):
        return result.is_label_issue.copy()
    if filter_by == "predicted_neq_given":
        differs: Bools = ~np.isnan(scores) & (_margin(result, pred_probs) < 0.5)
        return differs
    if filter_by in ("low_self_confidence", "low_normalized_margin"):
        return lowest(_quality(result, filter_by[4:], pred_probs), everywhere, n_wrong)
    counts = np.nan_to_num(result.classes["noise_rate"]) * result.classes["n"]
    mask = _per_class(result, np.rint(counts).astype(int).tolist())
    return mask & result.is_label_issue if filter_by == "both" else mask


def _per_class(result: Result, counts: Sequence[int]) -> Bools:
    """The counts[c] worst labels of each class."""
    if len(counts) != result.n_classes:
        raise ValueError(f"{len(counts)} counts for {result.n_classes} classes; give one a class")
    given, mask = result._column("given"), np.zeros(result.n_samples, bool)
    for c, count in enumerate(counts):
        mask |= lowest(result.label_score, given == c, int(count))
    return mask


def _flag_by_features(
    result: Result, pred_probs: Any, filter_by: str, share: float, per_class: Sequence[int] | None, keep: int
) -> Bools:
    mask = _filter(result, filter_by, pred_probs) if per_class is None else _per_class(result, per_class)
    if share < 1:
        mask = lowest(result.label_score, mask, round(share * int(mask.sum())))
    given = result._column("given")
    for c, n in enumerate(result.classes["n"].tolist()):  # each class keeps some
        mine = mask & (given == c)
        mask &= ~mine | lowest(result.label_score, mine, n - keep)
    return mask


def _flag_by_probabilities(
    confident: Confident, filter_by: str, share: float, per_class: Sequence[int] | None, keep: int, joint: Any
) -> Bools:
    C = confident.p.shape[1]
    counts = None if per_class is None else np.asarray(per_class, np.int64)
    if counts is not None and counts.shape != (C,):
        raise ValueError(f"{counts.size} counts for {C} classes; give one a class")
    if counts is not None and filter_by not in _COUNTED:
        raise ValueError(f"num_to_remove_per_class is for {', '.join(_COUNTED)}, not for {filter_by}")
    joint = confident.joint if joint is None else np.asarray(joint, np.int64)
    wanted = to_flag(joint, confident.counts, keep, share)
    return confident.flag(filter_by, wanted if counts is None else share_out(wanted.pairs, counts))


def find_label_issues(
    labels: Any,
    pred_probs: Any = None,
    *,
    features: Any = None,
    return_indices_ranked_by: str | None = None,
    rank_by_kwargs: dict[str, Any] | None = None,
    filter_by: str = "prune_by_noise_rate",
    frac_noise: float = 1.0,
    num_to_remove_per_class: Sequence[int] | None = None,
    min_examples_per_class: int = 1,
    confident_joint: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    multi_label: bool = False,
    **options: Any,
) -> npt.NDArray[Any]:
    """As cleanlab.filter.find_label_issues; from features no model and no predicted probabilities are needed.

    Returns a mask [N] of the labels that look wrong, or, with return_indices_ranked_by, their rows from the
    worst one on. Labels may be anything that rer.analyze takes; options are its options.

    pred_probs alone: confident learning, as there. features alone: rer.analyze. Both: their evidence is pooled.

    filter_by, from features: "prune_by_noise_rate" and "confident_learning" are the labels that rer flags;
        "prune_by_class" takes each class's estimated number of wrong labels; "both" wants both;
        "predicted_neq_given" takes the labels whose nearest class is another one; "low_self_confidence" and
        "low_normalized_margin" take the estimated number of wrong labels by that score. confident_joint and
        rank_by_kwargs are then not looked at.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[[7, 100]] = 2
    >>> rer.find_label_issues(y, features=X).sum()
    np.int64(2)
    >>> sorted(rer.find_label_issues(y, features=X, return_indices_ranked_by="self_confidence").tolist())
    [7, 100]
    >>> rer.find_label_issues([0, 0, 1, 1], [[.9, .1], [.8, .2], [.2, .8], [.9, .1]])
    array([False, False, False,  True])
    """
    if multi_label:
        raise ValueError("multi_label: rer judges one label a row; analyse each label on its own")
    if not 0 <= frac_noise <= 1:
        raise ValueError(f"frac_noise: {frac_noise} is not in 0..1")
    if filter_by not in _FILTERS:
        raise ValueError(f"filter_by: {filter_by!r} is none of {', '.join(_FILTERS)}")
    if return_indices_ranked_by is not None and return_indices_ranked_by not in _METHODS:
        raise ValueError(f"return_indices_ranked_by: {return_indices_ranked_by!r} is none of {', '.join(_METHODS)}")
    _need_evidence(pred_probs, features, options, [*inspect.signature(find_label_issues).parameters][:-1])
    how = (filter_by, frac_noise, num_to_remove_per_class, min_examples_per_class)
    if features is not None:
        result = _analyze(labels, pred_probs, features, n_jobs, options)
        mask = _flag_by_features(result, pred_probs, *how)
        scores = _quality(result, return_indices_ranked_by or _METHODS[0], pred_probs)
    else:
        rows = labelled(labels, pred_probs)
        mask = rows.spread(_flag_by_probabilities(rows.confident, *how, confident_joint), False)
        kwargs = rank_by_kwargs or {}
        scores = _scores_of(rows, return_indices_ranked_by or _METHODS[0], **kwargs)
    if verbose:
        print(f"{int(mask.sum())} of {len(mask)} labels look wrong")
    if return_indices_ranked_by is None:
        return mask
    flagged = np.flatnonzero(mask)
    return flagged[np.argsort(scores[flagged], kind="stable")]


def _scores_of(rows: Labelled, method: str, adjust_pred_probs: bool = False) -> Floats:
    if adjust_pred_probs and method == "confidence_weighted_entropy":
        raise ValueError("adjust_pred_probs does nothing for confidence_weighted_entropy; leave it out")
    confident = rows.confident.adjusted() if adjust_pred_probs else rows.confident
    return rows.spread(confident.quality(method), np.nan)


def get_label_quality_scores(
    labels: Any,
    pred_probs: Any = None,
    *,
    features: Any = None,
    method: str = "self_confidence",
    adjust_pred_probs: bool = False,
    n_jobs: int | None = None,
    **options: Any,
) -> npt.NDArray[np.float64]:
    """As cleanlab.rank.get_label_quality_scores: [N] in 0..1, low is bad; a row without a label has NaN.

    pred_probs alone: as there. features alone, or pooled with pred_probs: "self_confidence" and
    "confidence_weighted_entropy" are the probability that the label is right; "normalized_margin" is .5 where
    the best other class is as near as the own one. adjust_pred_probs is then not looked at.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[7] = 2
    >>> rer.get_label_quality_scores(y, features=X).argmin()
    np.int64(7)
    >>> rer.get_label_quality_scores([0, 1], [[.9, .1], [.75, .25]], method="normalized_margin")
    array([0.9 , 0.25])
    """
    if method not in _METHODS:
        raise ValueError(f"method: {method!r} is none of {', '.join(_METHODS)}")
    _need_evidence(pred_probs, features, options, [*inspect.signature(get_label_quality_scores).parameters][:-1])
    if features is None:
        return _scores_of(labelled(labels, pred_probs), method, adjust_pred_probs)
    return _quality(_analyze(labels, pred_probs, features, n_jobs, options), method, pred_probs)


def estimate_joint(labels: Any, pred_probs: Any, features: Any, confident_joint: Any, options: Any) -> Floats:
    """[C, C] shares of the rows by given and true class."""
    if confident_joint is None:
        _need_evidence(pred_probs, features, options)
    if features is not None:
        result = _analyze(labels, pred_probs, features, None, options)
        joint, wrong = np.zeros((result.n_classes,) * 2), result.mistakenness
        rows = np.flatnonzero(~np.isnan(wrong))
        given, other = result._column("given")[rows], result._column("suggested")[rows]
        np.add.at(joint, (given, given), result.label_score[rows])
        np.add.at(joint, (given, other), wrong[rows])
    elif confident_joint is None:
        joint = labelled(labels, pred_probs).confident.joint.astype(float)
    else:
        counted = np.asarray(confident_joint, np.int64)
        sizes = counted.sum(axis=1)
        if labels is not None:
            columns = _columns_of(label_array(labels, "labels")[0], len(counted))
            sizes = np.bincount(columns[columns >= 0], minlength=len(counted))
        joint = calibrated(counted, sizes).astype(float)
    return np.asarray(joint / joint.sum())
