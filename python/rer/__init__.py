"""I have embeddings and labels: which labels are wrong?

    import rer
    r = rer.analyze(X, y)       # X [N, D], y [N]
    r                           # what was found
    r.suspects(20)              # the labels to look at first
    r.to_frame()                # a row for each sample
    r.report("report.html", images="pictures/")
    r.save("model.safetensors")
    rer.load("model.safetensors").score(X2, y2)
    rer.check(X, r.fixed_labels(), before=r)    # what is wrong after the suggestions were taken

Every sample is compared with each class as the class looks without that sample, in closed form.
`X` is best taken from the last layer but one of a trained network.

    rer.embed("photos/", "dinov2/")     # features of pictures or texts, by an encoder
    rer.scale(X, y)             # would more data help?
    rer.compare([r, other])     # two runs, versions of labels or data sets side by side
    rer.bench(X, y)             # which detector finds planted mistakes in these data
    rer.noise(y, rate=.1)       # labels with mistakes, to try things on
    rer.apply(y, "decisions.csv")   # what was decided in the report
"""

from typing import TYPE_CHECKING

from rer._analyze import analyze
from rer._apply import apply
from rer._check import Check, check
from rer._drop_in import find_label_issues, get_label_quality_scores
from rer._embed import embed
from rer._model import Model, load
from rer._result import Result, load_result
from rer._rer import version as __version__
from rer._studies import Bench, Comparison, Noise, Scaling, bench, compare, noise, scale
from rer._table import Table

if TYPE_CHECKING:
    from rer.sklearn import RerClassifier as RerClassifier
    from rer.sklearn import RerDetector as RerDetector

__all__ = [
    "Bench",
    "Check",
    "Comparison",
    "Model",
    "Noise",
    "RerClassifier",
    "RerDetector",
    "Result",
    "Scaling",
    "Table",
    "__version__",
    "analyze",
    "apply",
    "bench",
    "check",
    "compare",
    "embed",
    "find_label_issues",
    "get_label_quality_scores",
    "load",
    "load_result",
    "noise",
    "options",
    "scale",
]

# Names that need another package, and where they are: loaded when they are asked for.
_LAZY = {"RerClassifier": "rer.sklearn", "RerDetector": "rer.sklearn"}
_MODULES = ("dataset", "filter", "rank")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        import importlib

        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in _MODULES:
            return importlib.import_module(f"rer.{name}")
        raise AttributeError(f"module 'rer' has no attribute {name!r}")


def options(command: str = "analyze") -> Table:
    """The options that `analyze`, or another function of this name, takes as keywords.

    >>> import rer
    >>> table = rer.options()
    >>> table[2]["keyword"], table[2]["values"], table[2]["default"]
    ('shrinkage', 'auto|0..1', 'auto')
    """
    import numpy as np

    from rer._keywords import rows_of

    rows = rows_of(command)
    return Table(
        {
            "keyword": np.array([row[0].replace("-", "_") for row in rows], dtype=object),
            "values": np.array(["True|False" if row[4] else row[1] for row in rows], dtype=object),
            "default": np.array(["False" if row[4] else row[2] for row in rows], dtype=object),
            "help": np.array([row[3] for row in rows], dtype=object),
            "only_for": np.array([row[5] or "" for row in rows], dtype=object),
        }
    )
