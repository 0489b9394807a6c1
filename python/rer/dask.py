"""The analysis on a Dask cluster: the data stays where it is, sums and scores travel.

    import rer.dask
    r = rer.dask.analyze(X, y)          # X a dask.array [N, D]; y [N] numpy or dask
    r = rer.dask.analyze(frame, "label")

The result is that of rer.analyze on one machine, bit for bit on the same kind of processor. X is gone
through a few times, block by block, and never held; persist it first where it fits into the cluster's
memory and is slow to make.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import dask
import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._analyze import analyze as _analyze_here
from rer._arrays import feature_array, is_path, label_array
from rer._exchange import join_answers, split_task, stage_of
from rer._keywords import option_texts, python_messages
from rer._labels import form_of
from rer._progress import Bar, Progress
from rer._result import Result
from rer._source import attach_images, attach_texts, name_classes

if TYPE_CHECKING:
    from rer._options import Options

__all__ = ["analyze"]

_BLOCK = 1024  # RER_PART_ROWS: parts begin at multiples of it
_REDUCE = 8  # answers that are merged at a time
_JOINED = 32 << 20  # bytes of small chunks that are taken together
_TRIES = 4  # how often a part is sent out, where workers are lost
_STAGES = ("class sums", "scatter", "scores", "near rows")


# ---- where the parts begin ----


class Piece(NamedTuple):
    """Rows first..end of the whole, and the chunks that they lie in: (chunk, from, to)."""

    first: int
    end: int
    slices: list[tuple[int, int, int]]


def _pieces(sizes: Sequence[int], row_bytes: int) -> list[Piece]:
    """Parts that begin at multiples of a block, wherever chunks do.

    The inside of a large chunk is a part; the rows around its borders are one with those of its neighbour, and
    small chunks are taken together.

    >>> _pieces([3000, 3000], 1 << 20)
    [Piece(first=0, end=2048, slices=[(0, 0, 2048)]), Piece(first=2048, end=3072, slices=[(0, 2048, 3000), (1, 0, 72)]), \
Piece(first=3072, end=6000, slices=[(1, 72, 3000)])]
    >>> _pieces([10, 10, 10], 4)
    [Piece(first=0, end=30, slices=[(0, 0, 10), (1, 0, 10), (2, 0, 10)])]
    """
    ends = np.cumsum(sizes).tolist()
    borders = {cut * _BLOCK for end in ends[:-1] for cut in (end // _BLOCK, -(-end // _BLOCK))}
    cuts = sorted({0, ends[-1], *(border for border in borders if border < ends[-1])})
    spans: list[list[int]] = []
    for first, end in zip(cuts[:-1], cuts[1:], strict=True):
        if spans and (end - spans[-1][0]) * row_bytes <= _JOINED:
            spans[-1][1] = end
        else:
            spans.append([first, end])
    return [Piece(first, end, _slices(first, end, ends)) for first, end in spans]


def _slices(first: int, end: int, ends: list[int]) -> list[tuple[int, int, int]]:
    chunk = int(np.searchsorted(ends, first, "right"))
    slices = []
    while first < end:
        start = ends[chunk - 1] if chunk > 0 else 0
        last = min(end, ends[chunk])
        if last > first:  # a chunk may be empty
            slices.append((chunk, first - start, last - start))
        first, chunk = last, chunk + 1
    return slices


# ---- on the workers ----


class _Source:
    """A chunk that is made where it is needed, by the task that needs it, and gone with that."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __call__(self) -> Any:
        return self.node()


def _sources(X: Any) -> list[Any]:
    """What makes each chunk: a _Source where that is one step of Dask's, else the delayed chunk."""
    chunks = X.to_delayed().ravel().tolist()
    try:
        from dask._task_spec import Alias, Task
    except ImportError:  # before 2024.12
        return list(chunks)
    graph = dict(chunks[0].__dask_graph__())
    sources = []
    for chunk in chunks:
        node = graph.get(chunk.key)
        while isinstance(node, Alias):
            node = graph.get(node.target)
        sources.append(_Source(node) if isinstance(node, Task) and not node.dependencies else chunk)
    return sources


class Slice(NamedTuple):
    """Rows of a chunk that are a part, or belong to one."""

    first: int
    end: int
    place: int = -1  # of the part's first row in the whole; -1: its rows are wanted, to be joined with others
    codes: Any = None


def _work(source: Any, slices: list[Slice], threads: int, task: bytes) -> list[Any]:
    """For each slice the answer, or a copy of the rows."""
    chunk = feature_array(source() if isinstance(source, _Source) else source)
    return [
        _rer.part_answer(chunk[one.first : one.end], one.codes, one.place, threads, task)
        if one.place >= 0
        else np.array(chunk[one.first : one.end])
        for one in slices
    ]


def _answer_joined(rows: list[Any], place: int, codes: Any, threads: int, task: bytes) -> bytes:
    return _rer.part_answer(np.concatenate(rows), codes, place, threads, task)


def _merge(answers: Iterable[bytes]) -> bytes:
    first, *others = answers
    for other in others:
        first = _rer.part_merge(first, other)
    return first


# ---- who runs it ----


class _Threads:
    """Dask's own scheduler, whichever is set, where there is no cluster."""

    slots = os.cpu_count() or 1
    room: int | None = None

    def send(self, task: bytes) -> Any:
        return dask.delayed(task)

    def results(self, make: Sequence[Callable[[Any], Any]], task: bytes, at_once: int) -> Iterator[tuple[int, Any]]:
        """(place, result) of each delayed value that `make` gives for the task."""
        sent = self.send(task)
        for i in range(0, len(make), at_once):
            yield from enumerate(dask.compute(*(one(sent) for one in make[i : i + at_once])), i)


class _Cluster:
    """A client's workers. What is lost with one of them is sent out again."""

    def __init__(self, client: Any) -> None:
        self.client = client
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.slots = max(1, sum(worker["nthreads"] for worker in workers))
        room = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker.get("memory_limit")]
        self.room: int | None = min(room, default=None)  # bytes of memory of a task

    def send(self, task: bytes) -> Any:
        """To every worker, so that one that dies takes nothing along; once more where one dies meanwhile."""
        for _ in range(_TRIES - 1):
            try:
                return self.client.scatter(task, broadcast=True, hash=False)
            except (OSError, TimeoutError, ValueError):  # CommClosedError is one; ValueError: no worker was left
                self.client.wait_for_workers(1, timeout=600)
        return self.client.scatter(task, hash=False)

    def results(self, make: Sequence[Callable[[Any], Any]], task: bytes, at_once: int) -> Iterator[tuple[int, Any]]:
        from distributed import as_completed

        sent, waiting, running = self.send(task), list(enumerate(make))[::-1], as_completed()
        places: dict[Any, int] = {}
        tries = dict.fromkeys(range(len(make)), 0)
        try:
            while waiting or places:
                while waiting and len(places) < at_once:
                    place, one = waiting.pop()
                    future = self.client.compute(one(sent))
                    places[future] = place
                    running.add(future)
                future = next(running)
                place = places.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    tries[place] += 1
                    if not _is_loss(error) or tries[place] >= _TRIES:
                        raise
                    sent = self.send(task)  # it may be gone with them
                    waiting.append((place, make[place]))
                    continue
                yield place, result
        finally:
            for future in places:
                future.cancel()


def _is_loss(error: BaseException) -> bool:
    """Whether a worker was lost, not the work wrong."""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as Cancelled

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    return isinstance(error, (KilledWorker, CancelledError, Cancelled, CommClosedError))


def _runner() -> "_Threads | _Cluster":
    try:
        from distributed import default_client

        return _Cluster(default_client())
    except (ImportError, ValueError):
        return _Threads()


class _Asker:
    """Has every part answer a task; answers that may be merged are, some at a time, where they are made."""

    def __init__(self, sources: list[Any], sizes: Sequence[int], row_bytes: int, threads: int, report: Any) -> None:
        self.sources = sources
        self.pieces = _pieces(sizes, row_bytes)
        self.threads = threads
        self.report = report
        self.shown = 0.0
        self.codes: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def _codes(self, piece: Piece) -> npt.NDArray[np.int32]:
        return self.codes[piece.first : piece.end]

    def _answers(self, pieces: Sequence[Piece], sent: Any) -> list[Any]:
        """One task goes through a chunk, for all that is wanted of it."""
        wanted: dict[int, list[Slice]] = {}
        places = []  # of each piece's slices: (chunk, number)
        for piece in pieces:
            alone = (piece.first, self._codes(piece)) if len(piece.slices) == 1 else ()
            for chunk, first, end in piece.slices:
                wanted.setdefault(chunk, []).append(Slice(first, end, *alone))
            places.append([(chunk, len(wanted[chunk]) - 1) for chunk, _, _ in piece.slices])
        work, join = dask.delayed(_work, pure=False), dask.delayed(_answer_joined, pure=False)
        done = {chunk: work(self.sources[chunk], slices, self.threads, sent) for chunk, slices in wanted.items()}
        found = [[done[chunk][number] for chunk, number in place] for place in places]
        return [
            parts[0] if len(parts) == 1 else join(parts, piece.first, self._codes(piece), self.threads, sent)
            for piece, parts in zip(pieces, found, strict=True)
        ]

    def _merged(self, pieces: Sequence[Piece], sent: Any) -> Any:
        answers = self._answers(pieces, sent)
        while len(answers) > 1:
            answers = [dask.delayed(_merge, pure=False)(answers[i : i + _REDUCE]) for i in range(0, len(answers), _REDUCE)]
        return answers[0]

    def _show(self, stage: str, share: float) -> None:
        """The stages in turn; how long each takes is not known before."""
        if self.report is not None and stage in _STAGES:
            self.shown = max(self.shown, (_STAGES.index(stage) + share) / len(_STAGES))
            self.report(stage, self.shown)

    def _pass(self, task: bytes, merge: bool, stage: str, done: float, share: float) -> Iterator[bytes]:
        """One pass over all parts; it is `share` of the stage, `done` of which is."""
        runner = _runner()
        each = max(_REDUCE, 2 * runner.slots) if merge else 1
        groups = [self.pieces[i : i + each] for i in range(0, len(self.pieces), each)]
        make = [lambda sent, group=group: self._merged(group, sent) for group in groups]
        # Unmerged answers wait on the workers until they are taken: not many of them.
        at_once = 2 if merge else 2 * runner.slots
        for count, (_, answer) in enumerate(runner.results(make, task, at_once), 1):
            self._show(stage, done + share * count / len(groups))
            yield answer

    def __call__(self, task: bytes, merge: bool) -> Iterator[bytes]:
        stage, room = stage_of(task), _runner().room
        # A third of a worker's memory, beside a chunk, what makes it, and Python: the answers of a merge and its own.
        tasks = split_task(task, room // 3, _REDUCE + 1) if stage == "near rows" and room is not None else [task]
        if len(tasks) == 1:
            yield from self._pass(task, merge, stage, 0, 1)
            return
        answers = []
        for i, one in enumerate(tasks):
            answers.append(_merge(self._pass(one, True, stage, i / len(tasks), 1 / len(tasks))))
        yield join_answers(answers)


# ---- data ----


def _as_array(X: Any) -> Any:
    """A dask.array whose chunks have all features and known sizes."""
    if not hasattr(X, "rechunk"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; features are [N, D]")
    if any(np.isnan(size) for size in X.chunks[0]):
        X = X.compute_chunk_sizes()
    if X.numblocks[1] > 1:  # where whole rows of a chunk are too many, fewer of them
        rows = max(_BLOCK, 4 * _JOINED // max(1, X.shape[1] * X.dtype.itemsize))
        X = X.rechunk((rows if max(X.chunks[0]) > rows else X.chunks[0], -1))
    return X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_dask_array") and hasattr(X, "columns")


def _split_frame(frame: Any, y: Any, named: dict[str, Any]) -> tuple[Any, Any]:
    """The features and the labels of a Dask frame; what `named` has as names of columns becomes these."""
    taken = [name for name in (y, *named.values()) if isinstance(name, str)]
    missing = [name for name in taken if name not in frame.columns and name != "duplicates"]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; there are {', '.join(map(repr, frame.columns[:20]))}")
    y = frame[y].compute() if isinstance(y, str) else y
    for name, column in named.items():
        if isinstance(column, str) and column in frame.columns:
            named[name] = frame[column].compute()
    rest = frame.drop(columns=[name for name in dict.fromkeys(taken) if name in frame.columns])
    others = [name for name, dtype in rest.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
    if others:
        raise TypeError(f"column {others[0]!r} is not numeric; drop it, or name it: y, ids, groups or subsets")
    return rest, y


def _here(value: Any) -> Any:
    return value.compute() if hasattr(value, "compute") else value


def _spool(X: Any, path: str, report: Any) -> None:
    """The rows as a .npy file on this machine, chunk after chunk."""
    chunks = X.to_delayed().ravel().tolist()
    header = {"descr": np.lib.format.dtype_to_descr(X.dtype), "fortran_order": False, "shape": X.shape}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_2_0(file, header)
        start, row_bytes = file.tell(), X.shape[1] * X.dtype.itemsize
        firsts = np.concatenate([[0], np.cumsum(X.chunks[0])])
        make = [lambda _, chunk=chunk: chunk for chunk in chunks]
        for count, (place, rows) in enumerate(_runner().results(make, b"", 2), 1):
            file.seek(start + int(firsts[place]) * row_bytes)
            file.write(np.ascontiguousarray(rows, X.dtype).data)
            if report is not None:
                report("fetching rows", count / len(chunks))


def _needs_rows(texts: dict[str, str], said: dict[str, Any]) -> bool:
    """Whether rows are wanted beside each other, which parts cannot have."""
    apart = {"reconstructor": "centroid", "detector": "rer", "duplicates": "off", "details": "no", "clusters": "0"}
    return bool(said) or any(texts.get(name, value) != value for name, value in apart.items())


def analyze(
    X: Any,
    y: Any = None,
    *,
    label_column: str | None = None,
    class_names: Any = None,
    ids: Any = None,
    images: Any = None,
    texts: Any = None,
    groups: Any = None,
    subsets: Any = None,
    pred_probs: Any = None,
    class_embeddings: Any = None,
    progress: Progress = None,
    n_jobs: int = 1,
    random_state: Any = None,
    **options: "Unpack[Options]",
) -> Result:
    """rer.analyze for a Dask array, on the cluster of the current client or, without one, on Dask's threads.

    X: dask.array [N, D] of numbers in any chunks that the workers can hold, or a Dask frame of numeric columns.
    y: a label for each row: numpy, dask, or anything that rer.analyze takes; of a frame, the name of a column, as
        ids, groups and subsets may be (label_column is another word for it).
    n_jobs: threads of each task; 1 suits workers that run as many tasks as they have cores.
    options, and all else: as for rer.analyze.

    Parts of tasks that are lost with a worker are sent out again. groups, subsets, pred_probs, duplicates, details,
    clusters, other reconstructors and other detectors want rows beside each other: the rows are then fetched, chunk
    after chunk, into a temporary file on this machine (TMPDIR says where) and analysed here. The report shows no
    bars of features where the rows stay away; images and texts it shows.

    >>> import dask.array, numpy as np, rer, rer.dask
    >>> y = np.arange(3000) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(3000, 8))
    >>> y[7] = 2
    >>> r = rer.dask.analyze(dask.array.from_array(X, chunks=(1000, 8)), y)
    >>> bool((r.mistakenness == rer.analyze(X, y).mistakenness).all())
    True
    """
    if not hasattr(X, "rechunk") and not _is_frame(X):
        raise TypeError(f"X is a {type(X).__name__}, not a dask.array; rer.analyze is for what one machine holds")
    if label_column is not None and y is not None:
        raise TypeError("the labels are given twice: as y and by label_column")
    y = label_column if y is None else y
    named = {"ids": ids, "groups": groups, "subsets": subsets}
    if _is_frame(X):
        X, y = _split_frame(X, y, named)
    elif is_path(y):
        raise TypeError(f"y is {y!r} where X is an array; give the labels themselves")
    X, y = _as_array(X), _here(y)
    settings = option_texts(options, None, random_state)
    ids = _here(named.pop("ids"))
    said = {**named, "pred_probs": pred_probs, "class_embeddings": class_embeddings}
    said = {name: _here(value) for name, value in said.items() if value is not None}
    with Bar(progress) as bar:
        if _needs_rows(settings, said):
            with tempfile.TemporaryDirectory(prefix="rer-") as folder:
                path = os.path.join(folder, "rows.npy")
                _spool(X, path, bar.report)
                more = {"class_names": class_names, "ids": ids, "images": images, "texts": texts, **said}
                settled: Any = {**options, "random_state": random_state, "progress": bar.report or False}
                # The map outlives the file's name, and no message names it.
                return _analyze_here(np.load(path, mmap_mode="r"), y, **more, **settled)
        return _analyze_apart(X, y, class_names, ids, (images, texts), settings, n_jobs, bar.report)


def _analyze_apart(
    X: Any, y: Any, class_names: Any, ids: Any, shown: tuple[Any, Any], settings: dict[str, str], n_jobs: int, report: Any
) -> Result:
    labels, kind = label_array(y)
    form, values = form_of(y, kind), None
    asker = _Asker(_sources(X), X.chunks[0], X.shape[1] * X.dtype.itemsize, n_jobs, report)
    with python_messages():
        data = _rer.apart_dataset(X.shape[0], X.shape[1], labels, asker)
        asker.codes = np.frombuffer(data.codes(), np.int32)
        if class_names is not None:
            values = form.values_of(data.class_names())
            name_classes(data, class_names)
        if ids is not None:
            data.set_ids([str(item) for item in ids])
        pictures = None if shown[0] is None else attach_images(data, shown[0])
        if shown[1] is not None:
            attach_texts(data, shown[1])
        result = _rer.analyze(data, settings, None, None)
    return Result(result, form, values, pictures)
