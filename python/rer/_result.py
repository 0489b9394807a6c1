"""What an analysis leaves, and the model in it."""

import copy
import html
import json
import os
import tempfile
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._arrays import Array, feature_array, kind_of_names, labels_of
from rer._files import folder_beside
from rer._keep import Kept, keep, read_folder
from rer._keywords import python_messages
from rer._labels import LabelForm
from rer._picture import Page, histogram, image_tag
from rer._plot import places, plot
from rer._review import Review, review
from rer._source import attach_images, attach_texts
from rer._table import Table, need_pandas

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas

    from rer._model import Model

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_PICTURED = 10  # suspects whose pictures a notebook shows

# Members of a sample in C -> their dtype.
_MEMBERS = {
    "given": np.int32,
    "predicted": np.int32,
    "suggested": np.int32,
    "chi": np.float64,
    "own_error": np.float64,
    "best_other_error": np.float64,
    "mistakenness": np.float64,
    "label_score": np.float64,
    "suggestion_probability": np.float64,
    "is_issue": np.bool_,
    "is_invalid": np.bool_,
    "outlier_score": np.float64,
    "is_outlier": np.bool_,
    "duplicates": np.int64,
}


class Result:
    """The findings on a labelled data set. Printed, it is a summary; in a notebook, a picture and a table.

    >>> import numpy as np, rer
    >>> random = np.random.default_rng(0)
    >>> y = np.arange(300) % 3
    >>> X = 4 * np.eye(3, 8)[y] + random.normal(size=(300, 8))
    >>> y[7] = 2                                     # a mistake
    >>> r = rer.analyze(X, y)
    >>> r.n_issues, r.issues.tolist()
    (1, [7])
    >>> row = r.suspects(3)[0]
    >>> row["index"], row["given_label"], row["suggested_label"]
    (7, 2, 1)
    >>> 0 < r.difficulty < 1
    True
    """

    _features: Any = None  # [N, ...] as they were analysed, where they are in memory or on a card
    _arrays: "Mapping[str, Any] | None" = None  # then all that an analysis reads, by the names of files

    def __init__(
        self,
        result: _rer.Result | Kept,
        form: LabelForm,
        values: Array | None = None,
        pictures: "Array | Mapping[int, Array] | None" = None,
    ) -> None:
        self._result = result
        self._form = form
        self._pictures = pictures
        self._summary = result.summary()
        self._names = np.array([row[0] for row in result.classes()], dtype=str)
        self._is_named = values is not None
        self._values = values if values is not None else form.values_of(self._names.tolist())
        self._data = result.data()

    def __reduce__(self) -> tuple[Any, ...]:
        self.summary  # as it is now: writing takes time, too, and counts it
        shown = self._pictures
        if shown is not None:
            shown = {row: shown[row] for row in self._suspects(_PICTURED).tolist()}
        kept = keep(self._result, {name: self._column(name) for name in _MEMBERS}, self.summary)
        return Result, (kept, self._form, self._values if self._is_named else None, shown)

    def __copy__(self) -> "Result":
        copied = Result.__new__(Result)
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> "Result":
        """What the library made never changes and is shared; arrays and dicts are the copy's own."""
        copied = self.__copy__()
        for name in ("_rows", "summary"):
            if name in self.__dict__:
                copied.__dict__[name] = copy.deepcopy(self.__dict__[name], memo)
        return copied

    # ---- the whole data set ----

    @property
    def n_samples(self) -> int:
        """Rows, labelled or not."""
        return int(self._summary["n_samples"])

    @property
    def n_features(self) -> int:
        """Numbers that a row was judged by."""
        return int(self._summary["n_features"])

    @property
    def n_outliers(self) -> int:
        """Rows that fit no class."""
        return int(self._summary["n_outliers"])

    @property
    def n_classes(self) -> int:
        """Distinct labels."""
        return int(self._summary["n_classes"])

    @property
    def n_issues(self) -> int:
        """Flagged labels."""
        return int(self._summary["n_issues"])

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong labels."""
        return float(self._summary["noise_rate"])

    @property
    def chi(self) -> float:
        """The mean of `rer`: 1 where classes look alike. It depends on the kind of features."""
        return float(self._summary["chi"])

    @property
    def difficulty(self) -> float:
        """error_rate relative to that of chance: 0 trivial, 1 where labels carry no information."""
        return float(self._summary["difficulty"])

    @property
    def error_rate(self) -> float:
        """How often the nearest class is not the given one."""
        return float(self._summary["error_rate"])

    @property
    def threshold(self) -> float:
        """Labels above it are flagged; on the scale that summary["threshold_on"] names."""
        return float(self._summary["threshold"])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers of the data set, the options and the notes: what summary.json holds."""
        with python_messages():
            summary: dict[str, Any] = json.loads(self._result.json())
        return summary

    @property
    def notes(self) -> list[str]:
        """What a user should know besides."""
        return list(self.summary["notes"])

    # ---- rows ----

    def _columns(self, *members: str) -> None:
        wanted = [member for member in members if member not in self._rows]
        arrays: dict[str, Array] = {member: np.empty(self.n_samples, _MEMBERS[member]) for member in wanted}
        if arrays:
            self._result.fill(arrays)
            self._rows.update(arrays)

    @cached_property
    def _rows(self) -> dict[str, Array]:
        return {}

    def _column(self, member: str) -> Array:
        self._columns(member)
        return self._rows[member]

    @property
    def rer(self) -> Floats:
        """Own error over the best other class's, [N]; above 1 another class is nearer."""
        return self._column("chi")

    @property
    def mistakenness(self) -> Floats:
        """Probability that the given label is wrong, [N]; NaN where there is no label."""
        return self._column("mistakenness")

    @property
    def label_score(self) -> Floats:
        """1 - mistakenness, [N]: low is bad, as cleanlab has it."""
        return self._column("label_score")

    @property
    def is_label_issue(self) -> Bools:
        """Flagged labels, [N]."""
        return self._column("is_issue")

    @property
    def own_error(self) -> Floats:
        """Distance to the own class as it looks without the row, [N]."""
        return self._column("own_error")

    @property
    def best_other_error(self) -> Floats:
        """Distance to the nearest other class, [N]."""
        return self._column("best_other_error")

    @property
    def suggestion_probability(self) -> Floats:
        """For rows without a label: probability of the suggested one, [N]; else NaN."""
        return self._column("suggestion_probability")

    @property
    def outlier_score(self) -> Floats:
        """How much a row looks like a sample of no class here, 0..1, [N]."""
        return self._column("outlier_score")

    @property
    def is_outlier(self) -> Bools:
        """Rows that fit no class, [N]."""
        return self._column("is_outlier")

    @property
    def duplicate_group(self) -> npt.NDArray[np.int64]:
        """Group of near-duplicates of each row, [N], those whose labels disagree first; -1: none, or not searched."""
        return self._column("duplicates")

    @property
    def given_label(self) -> Array:
        """The labels as they were given, [N]; None where there is none."""
        return labels_of(self._column("given"), self._values)

    @property
    def predicted_label(self) -> Array:
        """Label of the nearest class of all, [N]."""
        return labels_of(self._column("predicted"), self._values)

    @property
    def best_other_label(self) -> Array:
        """Label of the nearest class other than the given one, [N]."""
        return labels_of(self._column("suggested"), self._values)

    @cached_property
    def _better(self) -> npt.NDArray[np.int32]:
        """Class of the label that each row should have: another one where it is flagged or has none."""
        self._columns("given", "suggested", "is_issue")
        given = self._column("given")
        return np.where(self.is_label_issue | (given < 0), self._column("suggested"), given)

    @property
    def suggested_label(self) -> Array:
        """The label that each row should have, [N]: the given one where nothing better is suggested."""
        return labels_of(self._better, self._values)

    def fixed_labels(self) -> Any:
        """`suggested_label` as y was: a list, an array or Series of its type, with its index.

        >>> import pandas, rer
        >>> y = pandas.Series(["cat", "dog"] * 50, index=range(100, 200), dtype="category")
        >>> X = [[1 + i % 3, i % 2 * 9, i % 5] for i in range(100)]
        >>> y[107] = "cat"                               # it is a dog
        >>> fixed = rer.analyze(X, y).fixed_labels()
        >>> fixed[107], fixed.dtype == y.dtype, fixed.index.equals(y.index)
        ('dog', True, True)
        """
        return self._form.hold(self.suggested_label)

    @property
    def issues(self) -> npt.NDArray[np.int64]:
        """Rows of the flagged labels, most suspicious first."""
        return self._suspects(self.n_samples, flagged=True)

    def _suspects(self, count: int, flagged: bool = False) -> npt.NDArray[np.int64]:
        rows = np.empty(min(max(0, count), self.n_samples), np.int64)
        rows = rows[: self._result.suspects(rows)]
        return rows[self.is_label_issue[rows]] if flagged else rows

    def _labels(self, what: str, codes: Array) -> dict[str, Array]:
        """Columns of labels: as they were given and, where the classes have names, by name."""
        columns = {f"{what}_label": labels_of(codes, self._values)}
        if self._is_named:
            columns[f"{what}_name"] = labels_of(codes, self._names)
        return columns

    def to_dict(self) -> dict[str, Array]:
        """The columns of samples.csv as arrays [N]; the suggestion as `suggested_label` has it."""
        self._columns(*_MEMBERS)
        ids = self._data.ids()
        return {
            "index": np.arange(self.n_samples),
            **({"id": np.array(ids, dtype=object)} if ids else {}),
            **self._labels("given", self._column("given")),
            **self._labels("predicted", self._column("predicted")),
            "rer": self.rer,
            "mistakenness": self.mistakenness,
            "label_score": self.label_score,
            "is_label_issue": self.is_label_issue,
            "own_error": self.own_error,
            "best_other_error": self.best_other_error,
            **self._labels("suggested", self._better),
            "suggestion_probability": self.suggestion_probability,
            "outlier_score": self.outlier_score,
            "is_outlier": self.is_outlier,
            "nearest_rows": np.array(
                [
                    " ".join(map(str, self.nearest_rows(i))) if flagged else ""
                    for i, flagged in enumerate(self.is_label_issue)
                ],
                dtype=object,
            ),
        }

    def nearest_rows(self, row: int) -> list[int]:
        """The rows nearest to one that had a second look, of the classes that it was compared with, nearest first (at most
        ten); none for other rows."""
        return self._result.near(row)

    def likely_labels(self, row: int) -> list[tuple[Any, float]]:
        """What a row that had a second look may be: (label, probability), the likeliest first, at most five.

        The given label is among them, with 1 - mistakenness; `suggested_label` of a flagged row comes before all
        others. None for other rows, where another detector has judged, and after rer.load_result.

        >>> import rer
        >>> y = ["cat", "dog"] * 50
        >>> X = [[1 + i % 3, i % 2 * 9, i % 5] for i in range(100)]
        >>> y[7] = "cat"                                 # it is a dog
        >>> [label for label, probability in rer.analyze(X, y).likely_labels(7)]
        ['dog', 'cat']
        """
        likely = self._result.likely(row)
        labels = labels_of(np.array([c for c, _ in likely], np.int32), self._values)
        return [(label, probability) for label, (_, probability) in zip(labels.tolist(), likely, strict=True)]

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas.DataFrame with a row for each sample and the columns of samples.csv; the index is that of y or X."""
        frame: pandas.DataFrame = need_pandas().DataFrame(self.to_dict()).set_index("index")
        if self._form.index is not None:
            frame.index = self._form.index
        return frame

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the columns of samples.csv to a parquet file; needs pyarrow."""
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportError("this needs pyarrow: pip install pyarrow; write() makes CSV files without it") from None
        table = pyarrow.table(self.to_dict())
        with folder_beside(path) as (folder, target):
            written = os.path.join(folder, "samples.parquet")
            pyarrow.parquet.write_table(table, written)
            os.replace(written, target)

    # ---- what to look at ----

    def suspects(self, count: int = 20) -> Table:
        """The labels that are most probably wrong, flagged or not, worst first; suggestions as `suggested_label` has them."""
        rows = self._suspects(count)
        ids = self._data.ids()
        return Table(
            {
                "index": rows,
                **({"id": np.array(ids, dtype=object)[rows]} if ids else {}),
                **self._labels("given", self._column("given")[rows]),
                **self._labels("suggested", self._better[rows]),
                "mistakenness": self.mistakenness[rows],
                "rer": self.rer[rows],
                "is_label_issue": self.is_label_issue[rows],
            },
            None if self._form.index is None else self._form.index[rows],
        )

    def expected_wrong(self, count: int | None = None) -> float:
        """How many of the `count` most suspicious labels are wrong (None: of the flagged ones)."""
        if count is None:
            return float(self._summary["expected_wrong"])
        return self._result.expected_wrong(count)

    @cached_property
    def classes(self) -> Table:
        """Each class: its size, difficulty, noise rate, and what it is taken for."""
        rows = self._result.classes()
        confused = np.array([row[5] for row in rows], np.int64)
        return Table(
            {
                "label": self._values,
                **({"name": self._names} if self._is_named else {}),
                "n": np.array([row[1] for row in rows], np.int64),
                "chi": np.array([row[2] for row in rows]),
                "noise_rate": np.array([row[3] for row in rows]),
                "n_issues": np.array([row[4] for row in rows], np.int64),
                "most_confused_with": labels_of(confused, self._values),
                "own_error": np.array([row[6] for row in rows]),
            }
        )

    def pairs(self, count: int = 10) -> Table:
        """The classes that are most often taken for each other."""
        rows = np.array(self._result.pairs(count), np.int64).reshape(-1, 4)
        return Table(
            {
                "a": self._values[rows[:, 0]],
                "b": self._values[rows[:, 1]],
                **({"a_name": self._names[rows[:, 0]], "b_name": self._names[rows[:, 1]]} if self._is_named else {}),
                "a_as_b": rows[:, 2],
                "b_as_a": rows[:, 3],
            }
        )

    # ---- pictures ----

    def map(self, X: Any = None, *, method: str | None = None, random_state: int = 0) -> Floats:
        """A place in the plane for each row, [N, 2]: what is alike lies together.

        X: the features, where the result was read from files; else those that were analysed.
        method: "pca", two principal directions, or "umap"; None: UMAP where umap-learn is installed, else PCA.
        random_state: seed of UMAP, and of the rows that directions are found from where there are many.
        """
        X = self._features if X is None else X
        if X is None:
            raise TypeError("the features are not in memory; give them: map(X)")
        features = feature_array(X)
        if len(features) != self.n_samples:
            raise ValueError(f"X: {len(features)} rows where the result has {self.n_samples}")
        return places(features, method, random_state)

    def plot(self, charts: "str | Sequence[str] | None" = None, *, truth: Any = None, axes: Any = None) -> Any:
        """Draws with matplotlib; returns the array of its axes.

        charts: of "classes" (how many labels of each class are wrong), "reliability", "confusion" (flagged
            labels and what they should be) and "map" (the rows in the plane, flagged ones red); None: all.
        truth: the right labels [N], where they are known: reliability then compares what was said with what is
            so; without them it shows how many wrong labels are expected among the most suspicious ones.
        axes: where to draw, one for each chart.
        """
        return plot(self, charts, truth, axes)

    # ---- files ----

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Makes a folder of samples.csv, classes.csv, summary.json, report.html and manifest.json.

        It takes the place of earlier results as a whole; a folder that holds anything else is an error."""
        with python_messages():
            self._result.write(os.fspath(folder))

    def report(self, path: str | os.PathLike[str] | None = None, *, images: Any = None, texts: Any = None) -> Page | None:
        """Writes the report, one HTML file, with a picture or text of each row as rer.analyze takes them.

        Without a path nothing is written: what comes back shows the report in a notebook, as high as the window.
        """
        with python_messages():
            for attach, value in ((attach_images, images), (attach_texts, texts)):
                if value is None:
                    continue
                if isinstance(self._data, Kept):
                    raise ValueError(
                        "a result that was pickled or loaded shows what it was made with; give images and texts to rer.analyze"
                    )
                attach(self._data, value)
            if path is not None:
                self._result.report(os.fspath(path))
                return None
        with tempfile.TemporaryDirectory(prefix="rer-") as folder:
            written = os.path.join(folder, "report.html")
            with python_messages({written: "the report"}):
                self._result.report(written)
            with open(written, encoding="utf-8") as file:
                return Page(file.read())

    def review(
        self,
        folder: str | os.PathLike[str] = "rer-review",
        *,
        reviewer: str | None = None,
        port: int = 0,
        keep_rows: bool = True,
    ) -> Review:
        """Serves the report to a browser on this machine: decisions are saved as they are made.

        folder: for the results and the decisions. Where these results are there already, the review goes on.
        reviewer: whose decisions they are; None: the login's.
        port: of 127.0.0.1; 0: any that is free.
        keep_rows: looking again needs the rows. Where X is in memory, a copy of it and of y is written beside the
            results, as large as they are (a warning says so from a gigabyte on); False: no copy, and no looking again.

        What comes back has the address, and a notebook shows the page. Whole pictures and texts need data that was given
        as paths of files.
        """
        return review(self, folder, reviewer, port, keep_rows)

    @cached_property
    def model(self) -> "Model":
        """The fitted model, for new rows: r.model.score(X2, y2)."""
        from rer._model import Model

        model = self._result.model()
        if model is None:
            raise ValueError("there is no model: a result of scoring has none of its own, a folder of results holds none")
        return Model(model, self._form._replace(index=None, name=None), self._values if self._is_named else None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the model as a safetensors file; rer.load reads it."""
        self.model.save(path)

    # ---- for people ----

    def _headline(self) -> list[str]:
        summary = self._summary
        judged = int(np.isfinite(self.mistakenness).sum())
        low, n_wrong, high = (
            0 if np.isnan(share) else round(share * judged)
            for share in (float(summary[name]) for name in ("noise_low", "noise_rate", "noise_high"))
        )
        percent = [f"{100 * float(summary[name]):.1f}" for name in ("noise_low", "noise_rate", "noise_high")]
        if 0 < float(summary["noise_rate"]) < 0.0005:
            percent[1] = "under 0.1"
        between = f"{percent[0]} to {percent[2]} %, about {n_wrong:,}"
        labels = "label looks" if n_wrong == 1 else "labels look"
        if n_wrong == 0:
            found = "Hardly any label looks wrong" + (f", at most {high:,}" if high > 0 else "")
        elif low == high or high == 0:  # another detector's estimate has no range
            found = f"About {n_wrong:,} {labels} wrong ({percent[1]} %)"
        elif low == 0:
            found = f"Up to {high:,} {'label' if high == 1 else 'labels'} may be wrong ({between})"
        else:
            labels = "label is" if low == 1 else "labels are"
            found = f"At least {low:,} {labels} wrong, perhaps up to {high:,} ({between})"
        lines = [
            f"{self.n_samples:,} samples, {self.n_classes:,} classes, {self.n_features:,} features"
            + (" of pictures" if self._data.picture() is not None else ""),
            f"{found}; {self.n_issues:,} flagged.",
        ]
        if not np.isnan(self.difficulty):
            lines.append(
                f"Difficulty {self.difficulty:.3f} of 1 (chi {self.chi:.3f}); "
                f"the nearest class is not the given one for {100 * self.error_rate:.1f} %."
            )
        return lines

    def __repr__(self) -> str:
        parts = ["\n".join(self._headline())]
        if len(suspects := self.suspects(_PICTURED)) > 0:
            parts.append(f"Most suspicious:\n{suspects!r}")
        if self.notes:
            parts.append("\n".join(f"Note: {note}" for note in self.notes))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        suspects = self.suspects(_PICTURED)
        text = "<br>".join(html.escape(line) for line in [*self._headline(), *(f"Note: {note}" for note in self.notes)])
        tags = []
        if self._pictures is not None:
            tags = [image_tag(self._pictures[row["index"]], f"row {row['index']}: {row['given_label']}") for row in suspects]
        return (
            f"<div><p>{text}</p>{histogram(self.rer, self.is_label_issue)}"
            f"{suspects._html(tags) if len(suspects) > 0 else ''}</div>"
        )


def load_result(folder: str | os.PathLike[str]) -> Result:
    """Reads the folder that Result.write or the command wrote: all that its files hold, with their digits (float32).

    >>> import numpy as np, rer, tempfile
    >>> X, y = np.random.default_rng(0).normal(size=(90, 5)), np.arange(90) % 3
    >>> r = rer.analyze(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     r.write(f"{folder}/out")
    ...     again = rer.load_result(f"{folder}/out")
    >>> again.n_issues == r.n_issues, bool((again.suggested_label == r.suggested_label).all())
    (True, True)
    """
    kept = read_folder(os.fspath(folder))
    return Result(kept, LabelForm(kind_of_names([row[0] for row in kept.classes()])))
