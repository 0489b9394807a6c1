"""The analysis on a Dask cluster: the data stays where it is, sums and scores travel.

    import rer.dask
    r = rer.dask.analyze(X, y)      # X a dask.array [N, D]; y [N] numpy or dask

The result is that of rer.analyze on one machine, bit for bit on the same kind of processor. X is gone
through three times, block by block, and never held; persist it first where it fits into the cluster's
memory and is slow to make.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import dask
import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._arrays import feature_array, label_array
from rer._keywords import option_texts, python_messages
from rer._labels import form_of
from rer._result import Result
from rer._source import name_classes

if TYPE_CHECKING:
    from rer._options import Options

__all__ = ["analyze"]

_BLOCK = 1024  # RER_PART_ROWS: parts begin at multiples of it
_REDUCE = 8  # answers that are merged at a time


def _cut(sizes: Sequence[int]) -> tuple[int, ...]:
    """Chunk sizes moved to the nearest multiples of a block, the last one as it is.

    >>> _cut([1000, 1000, 1000])
    (1024, 1024, 952)
    >>> _cut([5000, 5000])
    (5120, 4880)
    >>> _cut([10, 10, 10])
    (30,)
    """
    ends = np.cumsum(sizes)
    cuts = [0, *sorted({int(round(end / _BLOCK)) * _BLOCK for end in ends[:-1]} - {0}), int(ends[-1])]
    kept = [cut for cut in cuts[:-1] if cut < cuts[-1]] + [cuts[-1]]
    return tuple(int(size) for size in np.diff(kept))


def _answer(rows: Any, codes: npt.NDArray[np.int32], first: int, threads: int, task: bytes) -> bytes:
    return _rer.part_answer(feature_array(rows), codes, first, threads, task)


def _merge(answers: Iterable[bytes]) -> bytes:
    first, *others = answers
    for other in others:
        first = _rer.part_merge(first, other)
    return first


def _client() -> Any:
    """The cluster that is in use, or None."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


class _Asker:
    """Has every chunk answer a task; answers that may be merged are, in a tree, where they are made."""

    def __init__(self, chunks: list[Any], sizes: Sequence[int], threads: int) -> None:
        self.chunks = chunks
        self.firsts = [0, *np.cumsum(sizes).tolist()]
        self.threads = threads
        self.codes: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def __call__(self, task: bytes, merge: bool) -> Iterator[bytes]:
        client = _client()
        # On every worker, so that one that dies takes nothing along.
        sent: Any = dask.delayed(task) if client is None else client.scatter(task, broadcast=True, hash=False)
        answer, merged = dask.delayed(_answer, pure=False), dask.delayed(_merge, pure=False)
        answers = [
            answer(chunk, self.codes[first:end], first, self.threads, sent)
            for chunk, first, end in zip(self.chunks, self.firsts[:-1], self.firsts[1:], strict=True)
        ]
        while merge and len(answers) > 1:
            answers = [merged(answers[i : i + _REDUCE]) for i in range(0, len(answers), _REDUCE)]
        yield from dask.compute(*answers)


def analyze(
    X: Any,
    y: Any,
    *,
    class_names: Any = None,
    ids: Any = None,
    n_jobs: int = 1,
    random_state: Any = None,
    **options: "Unpack[Options]",
) -> Result:
    """rer.analyze for a Dask array, on the cluster of the current client or, without one, on Dask's threads.

    X: dask.array [N, D] of numbers, or a Dask frame of numeric columns. Chunks are moved to multiples of
        1,024 rows, with all features in each; those of a few MB to a few hundred are good.
    y: a label for each row: numpy, dask, or anything that rer.analyze takes.
    n_jobs: threads of each task; 1 suits workers that run as many tasks as they have cores.
    options: as for rer.analyze, with reconstructor="centroid" and without details.

    >>> import dask.array, numpy as np, rer, rer.dask
    >>> y = np.arange(3000) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(3000, 8))
    >>> y[7] = 2
    >>> r = rer.dask.analyze(dask.array.from_array(X, chunks=(1000, 8)), y)
    >>> bool((r.mistakenness == rer.analyze(X, y).mistakenness).all())
    True
    """
    if not hasattr(X, "rechunk"):
        if not hasattr(X, "to_dask_array"):
            raise TypeError(f"X is a {type(X).__name__}, not a dask.array; rer.analyze is for what one machine holds")
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; features are [N, D]")
    if any(np.isnan(size) for size in X.chunks[0]):
        X = X.compute_chunk_sizes()
    sizes = _cut(X.chunks[0])
    X = X.rechunk((sizes, (X.shape[1],)))
    y = y.compute() if hasattr(y, "compute") else y
    labels, kind = label_array(y)
    form = form_of(y, kind)
    texts = option_texts(options, None, random_state)
    asker = _Asker(X.to_delayed().ravel().tolist(), sizes, n_jobs)
    with python_messages():
        data = _rer.apart_dataset(X.shape[0], X.shape[1], labels, asker)
        asker.codes = np.frombuffer(data.codes(), np.int32)
        values = None
        if class_names is not None:
            values = form.values_of(data.class_names())
            name_classes(data, class_names)
        if ids is not None:
            data.set_ids([str(item) for item in ids])
        result = _rer.analyze(data, texts, None, None)
    return Result(result, form, values)
