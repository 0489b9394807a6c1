"""The names of cleanlab.filter: `from rer.filter import find_label_issues`."""

from typing import Any

from rer._confident import Bools
from rer._drop_in import find_label_issues

__all__ = ["find_label_issues", "find_predicted_neq_given"]


def find_predicted_neq_given(
    labels: Any, pred_probs: Any = None, *, multi_label: bool = False, features: Any = None, **options: Any
) -> Bools:
    """Labels whose most probable, or nearest, class is another one: a mask [N]."""
    return find_label_issues(
        *(labels, pred_probs),
        features=features,
        filter_by="predicted_neq_given",
        min_examples_per_class=0,
        multi_label=multi_label,
        **options,
    )
