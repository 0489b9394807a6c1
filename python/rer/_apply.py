"""rer.apply: the decisions of a report, or an analysis's own suggestions, become labels."""

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rer import _rer
from rer._arrays import Array, as_array, is_path, label_array
from rer._keywords import option_texts, python_messages, show_keywords
from rer._result import Result

if TYPE_CHECKING:
    from rer._options import ApplyOptions

Path = str | os.PathLike[str]


def _names(class_names: Any, labels: Array | None) -> list[str]:
    """A name for each class, in the order of the sorted labels."""
    if labels is None or not isinstance(class_names, Mapping):
        return [str(name) for name in class_names]
    by_text = {str(label): str(name) for label, name in class_names.items()}
    found = _rer.wrap_dataset(np.zeros((len(labels), 1), np.uint8), labels, {}).class_names()
    return [by_text.get(name, name) for name in found]


def _in_their_type(y: Any, before: Array, after: Array) -> Any:
    """The labels as y has them, with those of `after` where they are others; None where a list of objects lost one."""
    same = (before == after) | ((before != before) & (after != after))
    rows = np.flatnonzero(~same)
    own = as_array(y, "y")
    labels: Any = after
    if own.dtype.kind == "O":
        labels = own.reshape(-1).copy()
        known = {key: value for key, value in zip(before.tolist(), labels.tolist(), strict=True)}
        lost = ("", -1)
        labels[rows] = [known.get(v, None if v in lost or v != v else v) for v in after[rows].tolist()]  # or a new one
    elif own.dtype.kind == "b":
        labels = after.astype(bool) if (after[rows] <= 1).all() else np.where(after > 1, None, after == 1)
    if hasattr(y, "index") and hasattr(y, "iloc"):  # a pandas.Series
        return type(y)(labels, index=y.index, name=y.name)
    return labels


@show_keywords
def apply(
    y: Any,
    decisions: "Path | Result",
    *,
    label_column: str | None = None,
    class_names: Any = None,
    weights: bool = False,
    **options: "Unpack[ApplyOptions]",
) -> Any:
    """The labels y with the decisions that were made in a report, or with an analysis's suggestions.

    y: the labels that were judged; others are refused. An array, a pandas.Series, or the path of a file.
    decisions: decisions.csv, as report.html exports it, or the folder of a review, where the majority of its reviewers
        counts; or, with auto, a rer.Result or the folder that its write made: every suggestion is taken whose label is
        wrong with a probability above auto.
    label_column: where y is the path of a table, the column of the labels.
    class_names: as they were given to rer.analyze, where decisions is a folder.
    weights: instead of labels, a weight for each row [N]: 0 where a decision changed or dropped the label, else 1;
        of results, the probability that the label is right.

    A row that was dropped has no label: -1, NaN, "" or None, as y can hold it.

    >>> import numpy as np, rer
    >>> y = np.array(["cat", "dog", "owl"])[np.arange(300) % 3]
    >>> X = 4 * np.eye(3, 8)[np.arange(300) % 3] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[5] = "cat"                                 # it is an owl
    >>> fixed = rer.apply(y, rer.analyze(X, y), auto=.9)
    >>> np.flatnonzero(fixed != y), fixed[5]
    (array([5]), np.str_('owl'))
    """
    settings = option_texts(options, command="apply")
    if not (isinstance(decisions, Result) or is_path(decisions)):
        raise TypeError(f"decisions is a {type(decisions).__name__}; give decisions.csv, a folder, or a rer.Result")
    if "auto" not in settings and isinstance(decisions, Result):
        raise TypeError("auto says above which probability the suggestions of an analysis are taken: auto=.9")
    if isinstance(class_names, Mapping) and is_path(y):
        raise TypeError("class_names is a dict where y is a path; give the names in the order of the sorted labels")
    with tempfile.TemporaryDirectory(prefix="rer-") as folder:

        def ours(name: str) -> str:
            return os.path.join(folder, name)

        known = {ours("y.npy"): "y", ours("results"): "decisions", ours("names.txt"): "class_names", ours("out.npy"): "y"}
        before, labels = None, y
        if not is_path(y):
            before, labels = label_array(y)[0], ours("y.npy")
            np.save(labels, before)
        with python_messages(known):
            if isinstance(decisions, Result):
                class_names = decisions._names if class_names is None else class_names
                decisions.write(ours("results"))
                decisions = ours("results")
            names = os.fspath(class_names) if is_path(class_names) else None
            if class_names is not None and names is None:
                names = ours("names.txt")
                with open(names, "w", encoding="utf-8") as file:
                    file.writelines(name + "\n" for name in _names(class_names, before))
            out, weighed = (None, ours("out.npy")) if weights else (ours("out.npy"), None)
            _rer.apply(os.fspath(labels), os.fspath(decisions), label_column, names, out, weighed, settings)
        after = np.load(ours("out.npy"))
    return after if weights or before is None else _in_their_type(y, before, after)
