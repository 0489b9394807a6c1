"""An issue manager for cleanlab's Datalab; importing this module registers it as "rer_label".

    import rer.datalab
    lab = cleanlab.Datalab(data, label_name="label")
    lab.find_issues(features=X, issue_types={"rer_label": {}})
    lab.report()
"""

from typing import Any, ClassVar

import numpy
import pandas
from cleanlab.datalab.internal import issue_finder
from cleanlab.datalab.internal.issue_manager import IssueManager
from cleanlab.datalab.internal.issue_manager_factory import register

import rer

__all__ = ["RerLabelIssueManager"]


@register
class RerLabelIssueManager(IssueManager):  # type: ignore[misc,unused-ignore]
    """Wrong labels by the ratio of reconstruction errors: issue type "rer_label".

    Its arguments, issue_types={"rer_label": {...}}, are the options of rer.analyze.
    """

    description: ClassVar[str] = (
        "Examples that are nearer to another class than to their own, when each class is looked at without\n"
        "    the example. From features alone; no model is trained."
    )
    issue_name: ClassVar[str] = "rer_label"
    verbosity_levels: ClassVar[dict[int, list[str]]] = {0: ["noise_rate", "difficulty"], 1: ["confused"], 2: [], 3: []}

    def __init__(self, datalab: Any, features: Any = None, **options: Any) -> None:
        super().__init__(datalab)
        self.options = options

    def find_issues(self, features: Any = None, **_: Any) -> None:
        """Judges the labels of the Datalab by the features that find_issues was given."""
        if features is None:
            raise ValueError('rer_label needs features: find_issues(features=X, issue_types={"rer_label": {}})')
        result = rer.analyze(features, self.datalab.labels, progress=False, **self.options)
        self.issues = pandas.DataFrame(
            {
                f"is_{self.issue_name}_issue": result.is_label_issue,
                self.issue_score_key: result.label_score,
            }
        )
        self.summary = self.make_summary(score=float(result.label_score.mean()))
        self.info = self.collect_info(result)

    def collect_info(self, result: rer.Result) -> dict[str, Any]:
        """What Datalab.get_info("rer_label") returns besides the columns of the issues."""
        # Datalab numbers the labels 0..K-1; people see them as they wrote them.
        written = numpy.array(self.datalab.class_names)
        classes, confused = result.classes.to_frame(), result.pairs(5).to_frame()
        classes["label"] = written[result.classes["label"]]
        classes["most_confused_with"] = [None if c is None else written[c] for c in result.classes["most_confused_with"]]
        confused["a"], confused["b"] = written[confused["a"]], written[confused["b"]]
        return {
            "num_label_issues": result.n_issues,
            "noise_rate": result.noise_rate,
            "difficulty": result.difficulty,
            "given_label": written[result.given_label],
            "predicted_label": written[result.predicted_label],
            "suggested_label": written[result.suggested_label],
            "classes": classes,
            "confused": confused,
        }


# So that find_issues(features=X) reaches it without being repeated among its arguments.
getattr(issue_finder, "_CLASSIFICATION_ARGS_DICT", {}).setdefault(RerLabelIssueManager.issue_name, ["features"])
