"""rer.check: how many labels are wrong after some of them were changed."""

import html
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._analyze import analyze
from rer._arrays import label_array, labels_of
from rer._keywords import python_messages
from rer._result import Result
from rer._table import Table

if TYPE_CHECKING:
    from rer._arrays import Array

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Check:
    """What is wrong with changed labels. Made by `rer.check`; printed, it says how many are left.

    mistakenness: probability that each label, as it is now, is wrong, [N]; NaN where it is not known.
    changed: labels that are not what they were, [N].
    by_rer: those of them that are what rer suggested, [N].
    evidence: the analysis that this comes from, in which they are still what they were.
    """

    def __init__(self, evidence: Result, now: Codes, changed: Bools, by_rer: Bools, mistakenness: Floats) -> None:
        self.evidence = evidence
        self.changed = changed
        self.by_rer = by_rer
        self.mistakenness = mistakenness
        self._now = now

    @property
    def expected_wrong(self) -> float:
        """How many labels are wrong."""
        return float(np.nansum(self.mistakenness))

    @property
    def noise_rate(self) -> float:
        """The share of them."""
        return self.expected_wrong / max(1, int(np.isfinite(self.mistakenness).sum()))

    def suspects(self, count: int = 20) -> Table:
        """The labels that are now most probably wrong, worst first."""
        order = np.argsort(-self.mistakenness, kind="stable")[: max(0, count)]
        rows = order[np.isfinite(self.mistakenness[order])]
        return Table(
            {
                "index": rows,
                "label": labels_of(self._now[rows], self.evidence._values),
                "before": labels_of(self.evidence._column("given")[rows], self.evidence._values),
                "mistakenness": self.mistakenness[rows],
                "changed": self.changed[rows],
            }
        )

    def _lines(self) -> list[str]:
        by_rer, changed = int(self.by_rer.sum()), int(self.changed.sum())
        among = float(np.nansum(self.mistakenness[self.by_rer]))
        return [
            f"{changed:,} labels were changed: {by_rer:,} to what rer suggested, {changed - by_rer:,} otherwise.",
            "What rer suggested is no evidence that it was right: those rows count as they were before.",
            f"About {self.expected_wrong:,.0f} labels are wrong now ({100 * self.noise_rate:.1f} %): "
            f"{among:,.0f} of the {by_rer:,}, {self.expected_wrong - among:,.0f} of the others.",
        ]

    def __repr__(self) -> str:
        return "\n".join(self._lines()) + f"\n\nMost suspicious now:\n{self.suspects(10)!r}"

    def _repr_html_(self) -> str:
        text = "<br>".join(html.escape(line) for line in self._lines())
        return f"<div><p>{text}</p>{self.suspects(10)._repr_html_()}</div>"


def _codes_now(y: Any, before: Result) -> Codes:
    """The classes that labels are of, among those of the result."""
    labels, kind = label_array(y)
    if len(labels) != before.n_samples:
        raise ValueError(f"y: {len(labels)} labels for {before.n_samples} rows; check takes the rows that were analysed")
    with python_messages():
        data = _rer.wrap_dataset(np.zeros((len(labels), 1), np.uint8), labels, {})
    known = {str(int(value) if kind == "bool" else value): c for c, value in enumerate(before._values.tolist())}
    unknown = [name for name in data.class_names() if name not in known]
    if unknown:
        raise ValueError(f"y: the label {unknown[0]!r} was not there before; analyse these labels on their own")
    places = np.array([*(known[name] for name in data.class_names()), -1], np.int32)
    return places[np.frombuffer(data.codes(), np.int32)]


def _again(X: Any, labels: "Array", before: Result, options: dict[str, Any]) -> Result:
    """The analysis of other labels with the options of the one before."""
    same = {name.replace("-", "_"): value for name, value in before.summary["options"].items()}
    return analyze(X, labels, progress=False, **{**same, **options})


def check(X: Any, y: Any, before: Result, **options: Any) -> Check:
    """How many of the labels `y` are wrong, after some were changed to what `before` suggested.

    rer.analyze(X, y) would find them all right: it made them so. Here rows whose label is now what rer suggested
    give no evidence; they count with the label that they had, and the new one is judged by the model of the
    classes alone. Rows that were changed otherwise are taken as they are now, and all is analysed again.

    X: the rows, as rer.analyze took them. before: what it returned.
    options: what else rer.analyze was given besides options (groups, pred_probs, vectors).

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> y[[7, 100]] = 2
    >>> r = rer.analyze(X, y)
    >>> print(str(rer.check(X, r.fixed_labels(), before=r)).split("\\n")[0])
    2 labels were changed: 2 to what rer suggested, 0 otherwise.
    """
    now, given = _codes_now(y, before), before._column("given")
    changed = now != given
    by_rer = changed & (now >= 0) & (now == before._column("suggested"))
    evidence = before
    if (changed & ~by_rer).any():
        evidence = _again(X, labels_of(np.where(by_rer, given, now), before._values), before, options)
    mistakenness = evidence.mistakenness.copy()
    if by_rer.any():
        vectors = {name: options[name] for name in ("vectors", "label_column") if name in options}
        new = evidence.model.score(X, progress=False, **vectors)
        other = 1 - new.suggestion_probability
        # Of another class than the likeliest, no more is known than that.
        wrong = np.where(new._column("suggested") == now, other, np.maximum(0.5, 1 - other))
        mistakenness[by_rer] = wrong[by_rer]
    return Check(evidence, now, changed, by_rer, mistakenness)
