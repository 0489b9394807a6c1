"""The names of cleanlab.dataset: `from rer.dataset import health_summary`. Tables are pandas.DataFrames.

All take labels with pred_probs, with features=X (and options of rer.analyze) or with both.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from rer._arrays import as_array
from rer._confident import Floats
from rer._drop_in import estimate_joint, labelled
from rer._table import need_pandas

if TYPE_CHECKING:
    import pandas

__all__ = ["find_overlapping_classes", "health_summary", "overall_label_health_score", "rank_classes_by_label_quality"]


def _refuse_many(multi_label: bool) -> None:
    if multi_label:
        raise ValueError("multi_label: rer judges one label a row; analyse each label on its own")


def _joint(
    labels: Any, pred_probs: Any, features: Any, joint: Any, confident_joint: Any, multi_label: bool, options: dict[str, Any]
) -> Floats:
    """The joint that was given, or what the others say of it."""
    _refuse_many(multi_label)
    return estimate_joint(labels, pred_probs, features, confident_joint, options) if joint is None else np.asarray(joint)


def _count(labels: Any, num_examples: int | None, confident_joint: Any) -> int:
    if num_examples is not None:
        return num_examples
    if labels is not None:
        return len(as_array(labels, "labels"))
    if confident_joint is not None:
        return int(np.sum(confident_joint))
    raise ValueError("num_examples: give it where there is a joint without labels")


def rank_classes_by_label_quality(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    class_names: Any = None,
    num_examples: int | None = None,
    joint: Any = None,
    confident_joint: Any = None,
    multi_label: bool = False,
    features: Any = None,
    **options: Any,
) -> "pandas.DataFrame":
    """The classes from the one whose labels are worst on: how many labels are wrong, and how many lack."""
    joint = _joint(labels, pred_probs, features, joint, confident_joint, multi_label, options)
    n = _count(labels, num_examples, confident_joint)
    right, given, true = joint.diagonal(), joint.sum(axis=1), joint.sum(axis=0)
    noise = (given - right) / np.maximum(given, 1e-6)
    columns = {
        "Class Index": np.arange(len(joint)),
        "Label Issues": np.rint((given - right) * n).astype(int),
        "Inverse Label Issues": np.rint((true - right) * n).astype(int),
        "Label Noise": noise,
        "Inverse Label Noise": (true - right) / np.maximum(true, 1e-6),
        "Label Quality Score": 1 - noise,
    }
    if class_names is not None:
        columns = {"Class Name": np.array(list(class_names), dtype=object), **columns}
    frame: pandas.DataFrame = need_pandas().DataFrame(columns)
    return frame.sort_values("Label Quality Score").reset_index(drop=True)


def find_overlapping_classes(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    asymmetric: bool = False,
    class_names: Any = None,
    num_examples: int | None = None,
    joint: Any = None,
    confident_joint: Any = None,
    multi_label: bool = False,
    features: Any = None,
    **options: Any,
) -> "pandas.DataFrame":
    """Pairs of classes, those most often labelled as each other first."""
    joint = _joint(labels, pred_probs, features, joint, confident_joint, multi_label, options)
    n = _count(labels, num_examples, confident_joint)
    shares: Floats = joint if asymmetric else joint + joint.T
    a, b = np.nonzero(~np.eye(len(joint), dtype=bool)) if asymmetric else np.triu_indices(len(joint), 1)
    columns = {
        "Class Index A": a,
        "Class Index B": b,
        "Num Overlapping Examples": np.rint(shares[a, b] * n).astype(int),
        "Joint Probability": shares[a, b],
    }
    if class_names is not None:
        names = np.array(list(class_names), dtype=object)
        columns = {"Class Name A": names[a], "Class Name B": names[b], **columns}
    frame: pandas.DataFrame = need_pandas().DataFrame(columns)
    return frame.sort_values("Joint Probability", ascending=False).reset_index(drop=True)


def overall_label_health_score(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    num_examples: int | None = None,
    confident_joint: Any = None,
    joint: Any = None,
    multi_label: bool = False,
    verbose: bool = True,
    features: Any = None,
    **options: Any,
) -> float:
    """The share of the labels that look right, 0..1."""
    _refuse_many(multi_label)
    n = _count(labels, num_examples, confident_joint)
    if features is None and pred_probs is not None and labels is not None:
        n_wrong = labelled(labels, pred_probs).confident.n_wrong
        health = 1 - n_wrong / n
    else:
        joint = _joint(labels, pred_probs, features, joint, confident_joint, multi_label, options)
        health = float(np.trace(joint))
        n_wrong = round((1 - health) * n)
    if verbose:
        print(f"About {n_wrong:,} of {n:,} labels look wrong; the health of the labels is {health:.2f}.")
    return health


def health_summary(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    asymmetric: bool = False,
    class_names: Any = None,
    num_examples: int | None = None,
    joint: Any = None,
    confident_joint: Any = None,
    multi_label: bool = False,
    verbose: bool = True,
    features: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """All of the above: {"overall_label_health_score", "joint", "classes_by_label_quality", "overlapping_classes"}."""
    joint = _joint(labels, pred_probs, features, joint, confident_joint, multi_label, options)
    n = _count(labels, num_examples, confident_joint)
    classes = rank_classes_by_label_quality(class_names=class_names, num_examples=n, joint=joint)
    pairs = find_overlapping_classes(asymmetric=asymmetric, class_names=class_names, num_examples=n, joint=joint)
    if verbose:
        print(f"{n:,} labels of {len(joint):,} classes.\n\nClasses, the worst labelled first:\n{classes}")
        print(f"\nClasses that overlap, most often labelled as each other first:\n{pairs}\n")
    known = (labels, pred_probs) if features is None else (None, None)  # features: by the joint, which is there
    health = overall_label_health_score(*known, num_examples=n, joint=joint, verbose=verbose)
    return {
        "overall_label_health_score": health,
        "joint": joint,
        "classes_by_label_quality": classes,
        "overlapping_classes": pairs,
    }
