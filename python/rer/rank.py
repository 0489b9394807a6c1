"""The names of cleanlab.rank: `from rer.rank import get_label_quality_scores`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rer._confident import Floats
from rer._drop_in import get_label_quality_scores

__all__ = [
    "find_top_issues",
    "get_confidence_weighted_entropy_for_each_label",
    "get_label_quality_scores",
    "get_normalized_margin_for_each_label",
    "get_self_confidence_for_each_label",
    "order_label_issues",
]


def find_top_issues(quality_scores: Any, *, top: int = 10) -> npt.NDArray[np.int64]:
    """The rows of the `top` lowest scores, lowest first."""
    return np.asarray(quality_scores).argsort(kind="stable")[:top]


def order_label_issues(
    label_issues_mask: Any,
    labels: Any,
    pred_probs: Any = None,
    *,
    rank_by: str = "self_confidence",
    rank_by_kwargs: Mapping[str, Any] | None = None,
    features: Any = None,
    **options: Any,
) -> npt.NDArray[np.int64]:
    """The rows of a mask, worst first."""
    options.update(rank_by_kwargs or {}, method=rank_by)
    scores = get_label_quality_scores(labels, pred_probs, features=features, **options)
    rows = np.flatnonzero(np.asarray(label_issues_mask))
    return rows[np.argsort(scores[rows], kind="stable")]


def get_self_confidence_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """The probability of each given label."""
    return get_label_quality_scores(labels, pred_probs)


def get_normalized_margin_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """How much more probable the given label is than the best other one, from -1..1 to 0..1."""
    return get_label_quality_scores(labels, pred_probs, method="normalized_margin")


def get_confidence_weighted_entropy_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """Entropy over the probability of the given label, mapped to 0..1, low is bad."""
    return get_label_quality_scores(labels, pred_probs, method="confidence_weighted_entropy")
