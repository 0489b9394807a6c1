"""cleanlab's two functions, answered from features instead of predicted probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rer._analyze import analyze
from rer._result import Result

Bools = npt.NDArray[np.bool_]

_METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


def _analyze(labels: Any, pred_probs: Any, features: Any, n_jobs: int | None, options: Any) -> Result:
    if features is None:
        hint = "; pred_probs are pooled with what they say" if pred_probs is not None else ""
        raise TypeError(f"features are needed: find_label_issues(labels, features=X){hint}")
    return analyze(features, labels, pred_probs=pred_probs, n_jobs=n_jobs, progress=False, **options)


def _quality(result: Result, method: str) -> npt.NDArray[np.float64]:
    """0..1, low is bad. The margin is .5 where the own class is as near as the best other one."""
    if method not in _METHODS:
        raise ValueError(f"{method!r} is none of {', '.join(_METHODS)}")
    return 1 / (1 + result.rer) if method == "normalized_margin" else result.label_score


def _worst(scores: npt.NDArray[np.float64], among: Bools, count: int) -> Bools:
    """The `count` lowest scores of the rows `among`."""
    rows = np.flatnonzero(among & ~np.isnan(scores))
    mask = np.zeros(len(scores), bool)
    mask[rows[np.argsort(scores[rows], kind="stable")[: max(0, count)]]] = True
    return mask


def _filter(result: Result, filter_by: str) -> Bools:
    scores, everywhere = result.label_score, np.ones(result.n_samples, bool)
    n_wrong = round(result.noise_rate * int(result.summary["n_labelled"]))
    if filter_by in ("prune_by_noise_rate", "confident_learning"):
        return result.is_label_issue.copy()
    if filter_by == "predicted_neq_given":
        differs: Bools = ~np.isnan(scores) & (result._column("given") != result._column("predicted"))
        return differs
    if filter_by == "low_self_confidence":
        return _worst(scores, everywhere, n_wrong)
    if filter_by == "low_normalized_margin":
        return _worst(_quality(result, "normalized_margin"), everywhere, n_wrong)
    if filter_by in ("prune_by_class", "both"):
        counts = np.nan_to_num(result.classes["noise_rate"]) * result.classes["n"]
        mask = _per_class(result, np.rint(counts).astype(int).tolist())
        return mask & result.is_label_issue if filter_by == "both" else mask
    raise ValueError(f"filter_by: {filter_by!r} is no method of cleanlab's")


def _per_class(result: Result, counts: Sequence[int]) -> Bools:
    """The counts[c] worst labels of each class."""
    if len(counts) != result.n_classes:
        raise ValueError(f"{len(counts)} counts for {result.n_classes} classes; give one a class")
    given, mask = result._column("given"), np.zeros(result.n_samples, bool)
    for c, count in enumerate(counts):
        mask |= _worst(result.label_score, given == c, int(count))
    return mask


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
    """As cleanlab.filter.find_label_issues, but from features: no model, no predicted probabilities.

    Returns a mask [N] of the labels that look wrong, or, with return_indices_ranked_by, their rows from the
    worst one on. Labels may be anything that rer.analyze takes; options are its options.

    filter_by: "prune_by_noise_rate" and "confident_learning" are the labels that rer flags; "prune_by_class"
        takes each class's estimated number of wrong labels; "both" wants both; "predicted_neq_given" takes the
        labels whose nearest class is another one; "low_self_confidence" and "low_normalized_margin" take the
        estimated number of wrong labels by that score.
    pred_probs are not needed; where they are given they are pooled with what the features say.
    confident_joint and rank_by_kwargs are accepted and not looked at.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[[7, 100]] = 2
    >>> rer.find_label_issues(y, features=X).sum()
    np.int64(2)
    >>> sorted(rer.find_label_issues(y, features=X, return_indices_ranked_by="self_confidence").tolist())
    [7, 100]
    """
    if multi_label:
        raise ValueError("multi_label: rer judges one label a row; analyse each label on its own")
    if not 0 <= frac_noise <= 1:
        raise ValueError(f"frac_noise: {frac_noise} is not in 0..1")
    if return_indices_ranked_by is not None and return_indices_ranked_by not in _METHODS:
        raise ValueError(f"return_indices_ranked_by: {return_indices_ranked_by!r} is none of {', '.join(_METHODS)}")
    result = _analyze(labels, pred_probs, features, n_jobs, options)
    if num_to_remove_per_class is not None:
        mask = _per_class(result, num_to_remove_per_class)
    else:
        mask = _filter(result, filter_by)
    if frac_noise < 1:
        mask = _worst(result.label_score, mask, round(frac_noise * int(mask.sum())))
    given = result._column("given")
    for c, n in enumerate(result.classes["n"].tolist()):  # each class keeps some
        mine = mask & (given == c)
        mask &= ~mine | _worst(result.label_score, mine, n - min_examples_per_class)
    if verbose:
        print(f"{int(mask.sum())} of {result.n_samples} labels look wrong")
    if return_indices_ranked_by is None:
        return mask
    rows = np.flatnonzero(mask)
    return rows[np.argsort(_quality(result, return_indices_ranked_by)[rows], kind="stable")]


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
    """As cleanlab.rank.get_label_quality_scores, but from features: [N] in 0..1, low is bad.

    "self_confidence" and "confidence_weighted_entropy" are the probability that the label is right;
    "normalized_margin" is 1 / (1 + rer), .5 where the best other class is as near as the own one.
    pred_probs are not needed; where they are given they are pooled with what the features say.
    adjust_pred_probs is accepted and not looked at. A row without a label has NaN.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[7] = 2
    >>> rer.get_label_quality_scores(y, features=X).argmin()
    np.int64(7)
    """
    if method not in _METHODS:
        raise ValueError(f"method: {method!r} is none of {', '.join(_METHODS)}")
    return _quality(_analyze(labels, pred_probs, features, n_jobs, options), method)
