"""Confident learning from given probabilities, as Northcutt, Jiang and Chuang (2021) describe it.

    1. the threshold of a class: the mean probability of its label among the rows that have it;
    2. the true class of a row is guessed where one class reaches its threshold (of several, the most probable);
    3. the joint: guesses counted by given and true class, scaled so that each given class has its size;
    4. so many rows are flagged: of each class those that look least like it (by class), or for each pair those
       that look most like the other one (by noise rate);
    5. a row whose most probable class is the given one is not flagged.

src/detect/confident.c is the same over blocks of rows; here it takes whatever the caller has, in double.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SLACK = 1e-6  # probabilities this near are the same
_NEVER = 2.0  # a threshold that no probability reaches


def lowest(scores: Floats, among: Bools, count: int) -> Bools:
    """The `count` lowest scores of the rows `among`, those that come first where they are equal; never NaN."""
    rows = np.flatnonzero(among & ~np.isnan(scores))
    mask = np.zeros(len(scores), bool)
    mask[rows[np.argsort(scores[rows], kind="stable")[: max(0, count)]]] = True
    return mask


def _round(values: Floats) -> Codes:
    """Whole numbers with the rounded sum: where there is a difference, what rounding moved furthest goes back."""
    rounded = np.rint(values)
    order = np.argsort(values - rounded)
    missing = int(np.rint(values.sum()) - rounded.sum())
    if missing > 0:
        rounded[order[::-1][:missing]] += 1
    elif missing < 0:
        rounded[order[:-missing]] -= 1
    return rounded.astype(np.int64)


@dataclass(frozen=True)
class Confident:
    """Rows that all have a label: given [N] classes, p [N, C] their probabilities."""

    given: Codes
    p: Floats

    @cached_property
    def own(self) -> Floats:
        return np.take_along_axis(self.p, self.given[:, None], 1)[:, 0]

    @cached_property
    def counts(self) -> Codes:
        return np.bincount(self.given, minlength=self.p.shape[1])

    @cached_property
    def thresholds(self) -> Floats:
        sums = np.bincount(self.given, self.own, minlength=len(self.counts))
        with np.errstate(invalid="ignore"):
            return np.where(self.counts > 0, np.maximum(sums / self.counts, 2 * _SLACK), _NEVER)

    @cached_property
    def guess(self) -> Codes:
        """-1: no class reaches its threshold."""
        reached = self.p >= self.thresholds - _SLACK
        several = np.where(reached.sum(axis=1) > 1, self.p.argmax(axis=1), reached.argmax(axis=1))
        return np.where(reached.any(axis=1), several, -1)

    @cached_property
    def agrees(self) -> Bools:
        """The given class is the most probable one, or as good as."""
        raised = self.p.copy()
        raised[np.arange(len(raised)), self.given] += _SLACK
        return np.asarray(raised.argmax(axis=1) == self.given)

    @cached_property
    def doubted(self) -> Bools:
        return np.asarray((self.guess >= 0) & (self.guess != self.given))

    @cached_property
    def joint(self) -> Codes:
        """[C, C] rows by given and true class."""
        C, sure = len(self.counts), self.guess >= 0
        counted = np.bincount(self.given[sure] * C + self.guess[sure], minlength=C * C).reshape(C, C)
        return calibrated(counted, self.counts)

    @property
    def n_wrong(self) -> int:
        return int((self.doubted & ~self.agrees).sum())

    # ---- scores: 0..1, low is bad ----

    def quality(self, method: str) -> Floats:
        if method == "self_confidence":
            return self.own
        if method == "normalized_margin":
            others = self.p.copy()
            others[np.arange(len(others)), self.given] = -np.inf
            return np.asarray((self.own - others.max(axis=1) + 1) / 2)
        logs = np.log(self.p, where=self.p > 0, out=np.zeros_like(self.p))
        doubt = -(self.p * logs).sum(axis=1) / np.log(self.p.shape[1]) / np.maximum(self.own, _SLACK)
        return np.asarray(np.log1p(doubt) / np.maximum(doubt, _SLACK))

    def adjusted(self) -> "Confident":
        """The same where each class's probability is counted from its threshold on."""
        shifted = self.p - self.thresholds + self.thresholds.max()
        return Confident(self.given, shifted / shifted.sum(axis=1, keepdims=True))

    # ---- flags ----

    def flag(self, by: str, wanted: "Wanted") -> Bools:
        """By the name that cleanlab has for it; only three of them ask how many are wanted."""
        if by == "confident_learning":
            return self.doubted & ~self.agrees
        if by == "predicted_neq_given":
            return ~self.agrees
        if by in ("low_self_confidence", "low_normalized_margin"):
            return lowest(self.quality(by[4:]), np.ones(len(self.p), bool), self.n_wrong)
        masks = {"prune_by_class": self._by_class, "prune_by_noise_rate": self._by_pair}
        flagged = np.ones(len(self.p), bool)
        for name in masks if by == "both" else (by,):
            flagged &= masks[name](wanted)
        return flagged & ~self.agrees

    def _by_class(self, wanted: "Wanted") -> Bools:
        mask = np.zeros(len(self.p), bool)
        for c, count in enumerate(wanted.classes.tolist()):
            mask |= lowest(self.own, self.given == c, count)
        return mask

    def _by_pair(self, wanted: "Wanted") -> Bools:
        mask = np.zeros(len(self.p), bool)
        for c, other in zip(*np.nonzero(wanted.pairs), strict=True):
            mask |= lowest(self.own - self.p[:, other], self.given == c, int(wanted.pairs[c, other]))
        return mask


def calibrated(counted: npt.NDArray[np.int64], sizes: Codes) -> Codes:
    """Counts by given and true class -> the same shares where each given class has its size."""
    counted = counted.astype(float)
    np.fill_diagonal(counted, np.maximum(1, counted.diagonal()))
    scaled = counted / counted.sum(axis=1, keepdims=True) * sizes[:, None]
    # By its own sum, added column by column, so that of two halves the same one goes up as in cleanlab.
    return np.array([_round(row) for row in scaled / scaled.T.copy().sum() * sizes.sum()])


class Wanted(NamedTuple):
    """How many rows to flag."""

    pairs: Codes  # [C, C] by given and true class
    classes: Codes  # [C] by given class


def to_flag(joint: Codes, sizes: Codes, keep: int, share: float) -> Wanted:
    """The joint's, a share of them, `keep` left of each class."""
    right = np.maximum(joint.diagonal(), keep)
    lacks = right - joint.diagonal()
    spread = np.maximum((joint != 0).sum(axis=1) - 1, 1)  # the others share the loss
    wrong = np.maximum(joint - (lacks / spread)[:, None], 0)
    np.fill_diagonal(wrong, 0)
    pairs = (wrong * share).astype(np.int64)
    classes = sizes - (right + (wrong - wrong * share).sum(axis=1)).astype(np.int64)
    few = sizes <= keep
    pairs[few], classes[few] = 0, 0
    return Wanted(pairs, classes)


def share_out(pairs: Codes, classes: Codes) -> Wanted:
    """So many of each class, spread over the others as before."""
    known = pairs.sum(axis=1, keepdims=True) > 0
    shares = np.where(known, pairs, 1 - np.eye(len(pairs)))
    return Wanted(np.array([_round(row / row.sum() * n) for row, n in zip(shares, classes, strict=True)]), classes)
