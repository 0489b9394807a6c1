"""rer.scale, rer.compare, rer.bench and rer.noise: as rer.analyze, each with what it leaves."""

import csv
import html
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._arrays import Array, as_array, class_values, is_path, label_array
from rer._files import folder_beside
from rer._keywords import option_texts, python_messages, show_keywords
from rer._labels import LabelForm
from rer._progress import Bar, Progress
from rer._result import Result
from rer._source import make_dataset
from rer._table import Table

if TYPE_CHECKING:
    from rer._options import BenchOptions, CompareOptions, NoiseOptions, Options, ScaleOptions

Path = str | os.PathLike[str]
Codes = npt.NDArray[np.int32]


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Objects of a JSON file with the same members; null becomes NaN among numbers."""
    names = list(rows[0]) if rows else []
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        is_number = all(value is None or isinstance(value, (int, float)) for value in values)
        whole = is_number and all(isinstance(value, int) for value in values)
        kind: Any = np.int64 if whole else np.float64 if is_number else object
        columns[name] = np.array(values, dtype=kind)
    return Table(columns)


class _Study:
    """What all of them have: numbers, notes, files."""

    def __init__(self, study: _rer.Study) -> None:
        self._study = study

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers, as the command's .json file has them."""
        with python_messages():
            summary: dict[str, Any] = json.loads(self._study.json())
        return summary

    @property
    def notes(self) -> list[str]:
        """What a user should know besides."""
        return list(self.summary.get("notes", []))

    def write(self, folder: Path) -> None:
        """Writes the files that the command of this name writes: a page, tables, charts."""
        with python_messages():
            self._study.write(os.fspath(folder))

    def report(self, path: Path) -> None:
        """Writes the page alone, one HTML file."""
        with folder_beside(path) as (folder, target):
            self.write(folder)
            os.replace(next(pathlib.Path(folder).glob("*.html")), target)

    def _charts(self) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="rer-") as folder:
            self.write(folder)
            return [file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).glob("*.svg"))]

    def _headline(self) -> list[str]:
        raise NotImplementedError

    def _shown(self) -> list[tuple[str, Table]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        parts = ["\n".join(self._headline())]
        parts += [f"{title}:\n{table!r}" for title, table in self._shown() if len(table) > 0]
        if self.notes:
            parts.append("\n".join(f"Note: {note}" for note in self.notes))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        lines = [*self._headline(), *(f"Note: {note}" for note in self.notes)]
        tables = "".join(
            f"<p>{html.escape(title)}</p>{table._repr_html_()}" for title, table in self._shown() if len(table) > 0
        )
        return f"<div><p>{'<br>'.join(map(html.escape, lines))}</p>{''.join(self._charts()[:3])}{tables}</div>"


# ---- scale ----


class Scaling(_Study):
    """How difficulty depends on the number of samples of a class; from `rer.scale`."""

    @cached_property
    def points(self) -> Table:
        """What was measured at each size: means over the subsets, and standard deviations."""
        return _table(self.summary["points"])

    @property
    def chi_inf(self) -> float:
        """chi with unlimited data, by the law; NaN where there is none."""
        value = self.summary["chi_inf"]
        return float("nan") if value is None else float(value)

    @property
    def law(self) -> dict[str, float | None]:
        """chi(n) = (chi_inf n^gamma0 + gamma1) / (n^gamma0 + gamma2), and its r2."""
        return {name: self.summary[name] for name in ("chi_inf", "gamma0", "gamma1", "gamma2", "r2")}

    @property
    def forecasts(self) -> Table:
        """What pruning and collecting, as the options say, would do."""
        return _table([{"change": name, **values} for name, values in self.summary["forecasts"].items()])

    def _headline(self) -> list[str]:
        summary, now = self.summary, self.points[-1]
        lines = [f"{summary['n_samples']:,} samples, {summary['n_classes']:,} classes, {summary['n_features']:,} features"]
        if not np.isnan(self.chi_inf):
            lines.append(
                f"With unlimited data chi would be {self.chi_inf:.4f}; "
                f"{now['chi'] - self.chi_inf:.4f} of the present {now['chi']:.4f} is the sample size."
            )
        return lines

    def _shown(self) -> list[tuple[str, Table]]:
        points = Table({name: self.points[name] for name in ("n", "chi", "chi_sd", "chi0", "chi_rand", "error_rate")})
        return [("By samples of a class", points), ("What a change would do", self.forecasts)]


@show_keywords
def scale(
    X: Any,
    y: Any = None,
    *,
    label_column: str | None = None,
    vectors: str | None = None,
    progress: Progress = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **options: "Unpack[ScaleOptions]",
) -> Scaling:
    """Measures how difficulty depends on the number of samples, and what more or fewer would do.

    X, y and the other arguments are those of rer.analyze; options: see `rer.options("scale")`.

    >>> import numpy as np, rer
    >>> y = np.arange(600) % 3
    >>> X = 2 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(600, 8))
    >>> s = rer.scale(X, y, sizes=[20, 40, 80, 120])
    >>> s.points["n"]
    array([ 20.,  40.,  80., 120., 200.])
    >>> bool(s.chi_inf < s.points["chi"][0])        # more samples make it easier
    True
    """
    settings = option_texts(options, n_jobs, random_state, command="scale")
    source = make_dataset(X, y, settings, label_column=label_column, vectors=vectors)
    with Bar(progress) as bar, python_messages():
        return Scaling(_rer.scale(source.data, settings, bar.report))


# ---- bench ----


class Bench(_Study):
    """How well detectors find planted mistakes; from `rer.bench`."""

    @property
    def detectors(self) -> list[str]:
        """Those that were compared."""
        return list(self.summary["detectors"])

    @cached_property
    def scores(self) -> Table:
        """A row for each kind of noise, rate and detector, with all metrics: means over the seeds."""
        rows = [
            {"noise": cell["noise"], "rate": cell["rate"], "detector": detector}
            | {name: value for name, value in metrics.items() if not isinstance(value, dict)}
            for cell in self.summary["cells"]
            for detector, metrics in cell["detectors"].items()
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return _table([{name: row.get(name) for name in names} for row in rows])

    @property
    def winners(self) -> Table:
        """The detector with the highest AUROC for each kind of noise and rate."""
        cells = [cell for cell in self.summary["cells"] if cell["winner"] is not None]
        return _table([{name: cell[name] for name in ("noise", "rate", "winner")} for cell in cells])

    def _headline(self) -> list[str]:
        summary = self.summary
        return [
            f"{summary['n_samples']:,} samples, {summary['n_classes']:,} classes, {summary['n_features']:,} features; "
            f"{len(self.detectors)} detectors on the same mistakes"
        ]

    def _shown(self) -> list[tuple[str, Table]]:
        names = ("noise", "rate", "detector", "auroc", "average_precision", "f1", "noise_rate_error", "seconds")
        planted = np.array([noise != "none" for noise in self.scores["noise"]])
        columns = {name: self.scores[name][planted] for name in names if name in self.scores.columns}
        return [("Winners", self.winners), ("Scores", Table(columns))]


def _codes_of(data: _rer.Dataset, labels: Any, what: str) -> Codes:
    """Other labels of the same rows as classes of `data`."""
    if is_path(labels):
        return np.frombuffer(data.read_labels(os.fspath(labels)), np.int32)
    names = {name: c for c, name in enumerate(data.class_names())}
    other = _labels_only(labels, what)
    classes = other.class_names()
    unknown = [name for name in classes if name not in names]
    if unknown:
        raise ValueError(f"{what}: has the label {unknown[0]!r}, which y does not have")
    codes = np.frombuffer(other.codes(), np.int32)
    if len(codes) != data.shape()[0]:
        raise ValueError(f"{what}: {len(codes)} labels but {data.shape()[0]} rows; each row needs both")
    moved = np.array([*(names[name] for name in classes), -1], np.int32)  # the last for rows without a label
    return np.ascontiguousarray(moved[codes])


def _labels_only(labels: Any, what: str) -> _rer.Dataset:
    """Labels with the numbers of their classes; the features are of no account."""
    array, _ = label_array(labels, what)
    return _rer.wrap_dataset(np.zeros((len(array), 1), np.uint8), array, {})


def _named(human: Any) -> list[tuple[str, Any]]:
    if human is None:
        return []
    if isinstance(human, Mapping):
        return [(str(name), labels) for name, labels in human.items()]
    if is_path(human) or (hasattr(human, "ndim") and human.ndim == 1):
        human = [human]
    return [
        (pathlib.Path(labels).stem if is_path(labels) else str(place + 1), labels)
        for place, labels in enumerate(human)
    ]


@show_keywords
def bench(
    X: Any,
    y: Any = None,
    *,
    label_column: str | None = None,
    vectors: str | None = None,
    human: Any = None,
    detectors: str | Sequence[str] | None = None,
    class_embeddings: Any = None,
    progress: Progress = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **options: "Unpack[BenchOptions]",
) -> Bench:
    """Plants mistakes in the labels y, which should be right, and compares detectors on the same features.

    human: {name: labels} that people gave, with their mistakes; labels are arrays or paths.
    detectors: names of those to compare; None: the usual ones; "all": confident learning's slower variants too.
    class_embeddings: a row for each class, in the order of the sorted labels: the zero-shot detector takes part.
    The others are those of rer.analyze; options: see `rer.options("bench")`.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> b = rer.bench(X, y, noise="symmetric", rates=.1, seeds=1, detectors=["rer", "knn"], bootstrap=0)
    >>> b.scores["detector"].tolist()
    ['rer', 'knn', 'rer', 'knn']
    >>> bool(b.scores["auroc"][2] > .95)
    True
    """
    settings = option_texts(options, n_jobs, random_state, command="bench")
    source = make_dataset(X, y, settings, label_column=label_column, vectors=vectors, class_embeddings=class_embeddings)
    wanted = detectors if detectors is None or isinstance(detectors, str) else ",".join(detectors)
    with Bar(progress) as bar, python_messages():
        others = [(name, _codes_of(source.data, labels, f"human {name}")) for name, labels in _named(human)]
        return Bench(_rer.bench(source.data, wanted, others, settings, bar.report))


# ---- compare ----


class Comparison(_Study):
    """Runs side by side; from `rer.compare`."""

    @property
    def mode(self) -> str:
        """What the runs have in common: "samples", "labels" (only the samples), or "datasets" (nothing)."""
        return str(self.summary["mode"])

    @property
    def runs(self) -> Table:
        """Each run: size, difficulty, noise; with error rates also what its difficulty leads to expect."""
        return _table(self.summary["runs"])

    @property
    def pairs(self) -> Table:
        """How far two runs on the same samples agree: rank correlations and nDCG."""
        return _table(self.summary["pairs"])

    @property
    def disagreements(self) -> Table:
        """The samples that the runs rank most differently."""
        return _table(self.summary["disagreements"])

    @property
    def relabellings(self) -> Table:
        """What changed from the labels of the first run to those of each other one."""
        return _table(self.summary["relabellings"])

    @property
    def regression(self) -> dict[str, Any]:
        """log(model error) = slope chi + intercept over the data sets."""
        return dict(self.summary["regression"])

    def _headline(self) -> list[str]:
        meaning = {"samples": "the same samples and labels", "labels": "the same samples, other labels"}
        return [f"{len(self.runs)} runs: {meaning.get(self.mode, 'different data sets')}"]

    def _shown(self) -> list[tuple[str, Table]]:
        runs = {name: self.runs[name] for name in ("name", "n_samples", "chi", "difficulty", "error_rate", "noise_rate")}
        changes = self.relabellings
        shown = ("before", "after", "n_changed", "n_flagged_before", "n_flagged_after", "chi_change")
        changed = Table({name: changes[name] for name in shown} if len(changes) > 0 else {})
        return [("Runs", Table(runs)), ("Agreement", self.pairs), ("Changes", changed)]


def _folders(runs: Mapping[str, Any] | Sequence[Any], scratch: str) -> list[str]:
    """Folders of the runs; results are written into `scratch`, as are other names of folders."""
    named = runs.items() if isinstance(runs, Mapping) else ((None, run) for run in runs)
    folders = []
    for place, (name, run) in enumerate(named):
        if name is None and is_path(run):
            folders.append(os.fspath(run))
            continue
        label = str(name) if name is not None else f"run {place + 1}"
        if "/" in label or label in ("", ".", "..") or len(label.encode()) > 200:
            raise ValueError(f"{label!r} is no name for a run: it becomes the name of a folder")
        folder = os.path.join(scratch, label)
        if isinstance(run, Result):
            run.write(folder)
        elif is_path(run):
            os.symlink(os.path.abspath(run), folder)
        else:
            raise TypeError(f"a run is a folder that write() filled, or a rer.Result; not {type(run).__name__}")
        folders.append(folder)
    return folders


@show_keywords
def compare(
    runs: Mapping[str, Any] | Sequence[Any],
    *,
    column: str | None = None,
    error_rates: Path | Mapping[str, float] | None = None,
    **options: "Unpack[CompareOptions]",
) -> Comparison:
    """Compares runs: the same samples, versions of their labels, or different data sets.

    runs: results of rer.analyze, or folders that Result.write or `rer analyze --out` filled; or {name: run}.
    column: of samples.csv to compare, instead of rer.
    error_rates: {name of the run: error rate of a model}, or a CSV file of them: how they follow difficulty.
    options: mode="samples", "labels" or "datasets" instead of what the runs look like.

    >>> import numpy as np, rer
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(300, 8))
    >>> wrong = y.copy()
    >>> wrong[7] = 2
    >>> c = rer.compare({"before": rer.analyze(X, wrong), "after": rer.analyze(X, y)})
    >>> c.mode, c.relabellings["n_changed"]
    ('labels', array([1]))
    """
    settings = option_texts(options, command="compare")
    with (
        tempfile.TemporaryDirectory(prefix="rer-") as scratch,
        python_messages({os.path.join(scratch, "error rates.csv"): "error_rates", f"{scratch}/": ""}),
    ):
        if isinstance(error_rates, Mapping):
            path = os.path.join(scratch, "error rates.csv")
            with open(path, "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("run", "error_rate"), *((k, repr(float(v))) for k, v in error_rates.items())])
            error_rates = path
        rates = None if error_rates is None else os.fspath(error_rates)
        return Comparison(_rer.compare(_folders(runs, scratch), column, rates, settings))


# ---- noise ----


class Noise:
    """Labels with mistakes that were made on purpose; from `rer.noise`. numpy takes it for `labels`."""

    def __init__(self, labels: Array, rows: npt.NDArray[np.int64], n_labelled: int) -> None:
        self.labels = labels
        self.rows = rows
        self._n_labelled = n_labelled

    labels: Array
    """The labels, as y had them, [N]."""
    rows: npt.NDArray[np.int64]
    """Those whose label is another one now."""

    @property
    def n_changed(self) -> int:
        """How many labels are others now."""
        return len(self.rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.labels, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        share = 100 * self.n_changed / max(1, self._n_labelled)
        return f"{self.n_changed:,} of {self._n_labelled:,} labels ({share:.2f} %) changed"


@show_keywords
def noise(
    y: Any,
    X: Any = None,
    *,
    human: Any = None,
    progress: Progress = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **options: "Unpack[NoiseOptions]",
) -> Noise:
    """Makes exactly round(rate x N) of the labels y wrong, to see what finds them.

    X: features, for type="confidence": the wrong class that a classifier finds most probable.
    human: other labels of the same rows, an array or a path, for type="human".
    random_state: another one changes other rows; a higher rate changes the same rows and more.
    options: see `rer.options("noise")`.

    >>> import numpy as np, rer
    >>> y = np.array(["cat", "dog", "owl"])[np.arange(300) % 3]
    >>> n = rer.noise(y, rate=.1)
    >>> n
    30 of 300 labels (10.00 %) changed
    >>> bool((np.flatnonzero(n.labels != y) == n.rows).all())
    True
    """
    settings = option_texts(options, n_jobs, random_state, command="noise")
    if is_path(y):
        raise TypeError(f"y is the path {y!r}; give the labels themselves, or use `rer noise` for files")
    kind = settings.get("type", "symmetric")
    if (kind == "human") != (human is not None):
        raise TypeError('human, the other labels, goes with type="human"')
    if kind == "confidence" and X is None:
        raise TypeError('type="confidence" needs the features: noise(y, X)')
    values, label_kind = label_array(y)
    data = _labels_only(y, "y")
    given, classes = np.frombuffer(data.codes(), np.int32), data.class_names()
    with python_messages():
        target = None
        if kind == "human":
            target = _codes_of(data, human, "human")
        elif kind == "confidence":
            target = _likely(X, given, settings, progress)
        noisy = np.empty_like(given)
        _rer.plant_noise(noisy, given, target, len(classes), settings)
    rows = np.flatnonzero(noisy != given)
    labels = np.array(as_array(y, "y") if not hasattr(y, "categories") else values).reshape(-1)
    labels[rows] = class_values(classes, label_kind)[noisy[rows]]
    return Noise(labels, rows, int((given >= 0).sum()))


def _likely(X: Any, given: Codes, settings: Mapping[str, str], progress: Progress) -> Codes:
    """The wrong class that logistic regression, fitted to the other rows, finds most probable."""
    # The seed of the noise chooses rows: what they may become stays the same.
    chosen = {name: value for name, value in settings.items() if name in ("threads", "memory")}
    texts = {**chosen, "detector": "confident", "seed": "0"}
    source = make_dataset(X, given, texts)
    with Bar(progress) as bar:
        result = Result(_rer.analyze(source.data, texts, None, bar.report), LabelForm("integer"))
    return np.ascontiguousarray(result._column("suggested"), np.int32)
