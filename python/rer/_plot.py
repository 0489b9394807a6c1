"""Pictures of a result for people who have matplotlib, and its rows in the plane."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rer._arrays import Array, label_array, labels_of

if TYPE_CHECKING:
    from rer._result import Result

Floats = npt.NDArray[np.float64]

_SHOWN = 20  # classes
_FITTED = 5000  # rows that principal directions are found from
_BLOCK = 4096  # rows at a time
_POINTS = 20000  # of rows that nobody suspects
_BINS = 10
_CALM, _ALARM = "#9aa7bd", "#c0392b"


# ---- the plane ----


def _principal(X: Array, seed: int) -> Floats:
    """Places on the two directions along which the rows, or 5,000 of them, spread most."""
    N = len(X)
    rows = np.arange(N) if N <= _FITTED else np.sort(np.random.default_rng(seed).choice(N, _FITTED, replace=False))
    sample = np.asarray(X[rows], np.float64)
    mean = sample.mean(axis=0)
    directions = np.linalg.svd(sample - mean, full_matrices=False)[2][:2]
    # A direction has no sign of its own: its largest part is positive.
    directions *= np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])[:, None]
    places = np.zeros((N, 2))
    for first in range(0, N, _BLOCK):
        block = np.asarray(X[first : first + _BLOCK], np.float64)
        places[first : first + _BLOCK, : len(directions)] = (block - mean) @ directions.T
    return places


def _umap() -> Any:
    try:
        import umap
    except ImportError:
        return None
    return umap


def places(X: Array, method: str | None, seed: int) -> Floats:
    """[N, 2] of rows [N, ...]; method: "pca", "umap", or None for the better one that is there."""
    if method not in (None, "pca", "umap"):
        raise ValueError(f"method: {method!r} is neither 'pca' nor 'umap'")
    X = X.reshape(len(X), -1)
    finite = np.isfinite(X).all(axis=1)
    found = np.full((len(X), 2), np.nan)
    umap = _umap() if method != "pca" else None
    if umap is not None:
        found[finite] = umap.UMAP(n_components=2, random_state=seed).fit_transform(X[finite])
    elif method == "umap":
        raise ImportError("this needs umap-learn: pip install umap-learn; method='pca' works without it")
    else:
        found[finite] = _principal(X[finite] if not finite.all() else X, seed)
    return found


# ---- charts ----


def _by_class(axes: Any, result: "Result", truth: Array | None) -> None:
    """How many labels of each class are wrong."""
    wrong = np.nan_to_num(result.classes["noise_rate"]) * result.classes["n"]
    rows = np.argsort(-wrong, kind="stable")[:_SHOWN][::-1]
    axes.barh([str(label) for label in result.classes["label"][rows]], wrong[rows], color=_ALARM)
    axes.set(title="Wrong labels, by given label", xlabel="labels expected to be wrong")


def _reliability(axes: Any, result: "Result", truth: Array | None) -> None:
    """With the truth: how often labels are wrong that are said to be so. Else: what looking at more of them finds."""
    p = result.mistakenness
    judged = np.isfinite(p)
    if truth is None:
        share = np.cumsum(np.sort(p[judged])[::-1]) / np.arange(1, judged.sum() + 1)
        axes.plot(np.arange(1, len(share) + 1), share, color=_ALARM)
        axes.axvline(max(1, result.n_issues), color=_CALM, linestyle="--", label=f"{result.n_issues:,} flagged")
        axes.set(title="Expected to be wrong among the most suspicious", xlabel="labels looked at", ylabel="share wrong")
        axes.set(xscale="log", ylim=(0, 1.02))
        axes.legend()
        return
    wrong = (labels_of(result._column("given"), result._values) != truth)[judged]
    bins = np.minimum((p[judged] * _BINS).astype(int), _BINS - 1)
    count = np.bincount(bins, minlength=_BINS)
    used = count > 0
    said, found = (np.bincount(bins, weights=values, minlength=_BINS)[used] / count[used] for values in (p[judged], wrong))
    axes.plot([0, 1], [0, 1], color=_CALM, linestyle="--")
    axes.plot(said, found, "o-", color=_ALARM)
    axes.set(title="Reliability", xlabel="mistakenness", ylabel="share that is wrong", xlim=(0, 1), ylim=(0, 1))


def _confusion(axes: Any, result: "Result", truth: Array | None) -> None:
    """The flagged labels: what they are, and what they should be."""
    given, suggested = result._column("given"), result._column("suggested")
    flagged = result.is_label_issue & (given >= 0) & (suggested >= 0)
    counts = np.zeros((result.n_classes, result.n_classes))
    np.add.at(counts, (given[flagged], suggested[flagged]), result.mistakenness[flagged])
    shown = np.sort(np.argsort(-(counts.sum(axis=0) + counts.sum(axis=1)), kind="stable")[:_SHOWN])
    axes.figure.colorbar(axes.imshow(counts[np.ix_(shown, shown)], cmap="Reds"), ax=axes, label="expected wrong")
    names = [str(label) for label in result.classes["label"][shown]]
    axes.set_xticks(range(len(shown)), names, rotation=90)
    axes.set_yticks(range(len(shown)), names)
    axes.set(title="Flagged labels", xlabel="suggested label", ylabel="given label")


def _map(axes: Any, result: "Result", truth: Array | None) -> None:
    """All rows in the plane, flagged ones red."""
    found = result.map()
    flagged = result.is_label_issue
    calm = np.flatnonzero(~flagged)
    if len(calm) > _POINTS:
        calm = np.random.default_rng(0).choice(calm, _POINTS, replace=False)
    axes.scatter(*found[calm].T, s=4, color=_CALM, linewidths=0)
    axes.scatter(*found[flagged].T, s=12, color=_ALARM, linewidths=0, label="flagged")
    axes.set(title="Map of suspects", xticks=[], yticks=[])
    if flagged.any():
        axes.legend()


_CHARTS: dict[str, Callable[[Any, "Result", Array | None], None]] = {
    "classes": _by_class,
    "reliability": _reliability,
    "confusion": _confusion,
    "map": _map,
}


def plot(result: "Result", charts: str | Sequence[str] | None, truth: Any, axes: Any) -> Any:
    """See Result.plot."""
    names = [charts] if isinstance(charts, str) else list(_CHARTS if charts is None else charts)
    unknown = [name for name in names if name not in _CHARTS]
    if unknown:
        raise ValueError(f"charts: {unknown[0]!r} is none of {', '.join(_CHARTS)}")
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("this needs matplotlib: pip install matplotlib; report() needs nothing") from None
        columns = min(2, len(names))
        rows = -(-len(names) // columns)
        figure = pyplot.figure(figsize=(6 * columns, 4.5 * rows), layout="constrained")
        axes = [figure.add_subplot(rows, columns, place + 1) for place in range(len(names))]
    axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(axes) != len(names):
        raise ValueError(f"axes: {len(axes)} for {len(names)} charts; give one for each")
    right = None
    if truth is not None:
        right = np.asarray(label_array(truth, "truth")[0])
        if len(right) != result.n_samples:
            raise ValueError(f"truth: {len(right)} labels but {result.n_samples} rows; each row needs one")
    for name, where in zip(names, axes, strict=True):
        _CHARTS[name](where, result, right)
    return axes
