"""Results without the library's own: those that were pickled, and those of a folder that was written.

A `Kept` answers as `_rer.Result` does. A pickle carries every number, and the files that `write` makes (the
report cannot be made again without the rows); a folder holds these files, and the numbers in them.
"""

import csv
import io
import itertools
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rer import _rer
from rer._arrays import Array

Pair = tuple[int, int, int, int]
ClassRow = tuple[str, int, float, float, int, int, float]

_COMMAND = "analyze"
_BATCH = 65536  # rows of samples.csv that are texts at a time


@dataclass
class Kept:
    """All that a result says, in plain values."""

    text: str  # summary.json
    numbers: dict[str, Any]
    rows: dict[str, Array]  # [N] each
    order: npt.NDArray[np.int64]  # labelled rows, most suspicious first
    neighbors: dict[int, list[int]]
    class_rows: list[ClassRow]
    pair_rows: list[Pair]
    row_names: list[str]
    size: tuple[int, int, int] | None
    packed_model: bytes | None
    files: dict[str, bytes]  # deflated
    why_no_files: str = ""
    chances: dict[int, list[tuple[int, float]]] = field(default_factory=dict)  # of likely classes, by row

    def json(self) -> str:
        return self.text

    def summary(self) -> dict[str, Any]:
        return dict(self.numbers)

    def fill(self, columns: Mapping[str, Array]) -> None:
        for name, column in columns.items():
            column[:] = self.rows[name]

    def near(self, row: int) -> list[int]:
        return list(self.neighbors.get(row, ()))

    def likely(self, row: int) -> list[tuple[int, float]]:
        return list(self.chances.get(row, ()))

    def suspects(self, rows: npt.NDArray[np.int64]) -> int:
        count = min(len(rows), len(self.order))
        rows[:count] = self.order[:count]
        return count

    def expected_wrong(self, count: int) -> float:
        """As rer_result_expected_wrong adds: in the order of rows, and equal odds to the last one's by their number."""
        chosen = self.order[: max(0, count)]
        if len(chosen) == 0:
            return 0.0
        wrong, right = self.rows["mistakenness"], self.rows["label_score"]
        last = chosen[-1]
        ties = (wrong[chosen] == wrong[last]) & (right[chosen] == right[last])
        above = np.sort(chosen[~ties])
        total = float(np.cumsum(wrong[above])[-1]) if len(above) > 0 else 0.0
        return total + int(ties.sum()) * float(wrong[last])

    def pairs(self, count: int) -> list[Pair]:
        return self.pair_rows[: max(0, count)]

    def classes(self) -> list[ClassRow]:
        return list(self.class_rows)

    def model(self) -> _rer.Model | None:
        return None if self.packed_model is None else _rer.unpack_model(self.packed_model)

    def data(self) -> "Kept":
        return self

    def ids(self) -> list[str]:
        return self.row_names

    def picture(self) -> tuple[int, int, int] | None:
        return self.size

    def _file(self, name: str) -> bytes:
        if self.why_no_files:
            raise ValueError(f"the files could not be made when the result was pickled: {self.why_no_files}")
        return zlib.decompress(self.files[name])

    def report(self, path: str) -> None:
        content = self._file("report.html")
        _rer.check_output(path, None)
        target = os.path.realpath(path)
        with tempfile.TemporaryDirectory(prefix=".rer-", dir=os.path.dirname(target)) as folder:
            written = os.path.join(folder, "report.html")
            with open(written, "wb") as file:
                file.write(content)
            os.replace(written, target)

    def write(self, path: str) -> None:
        self._file("report.html")
        _rer.check_output(path, _COMMAND)
        target = os.path.realpath(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".rer-", dir=os.path.dirname(target)) as folder:
            made, before = os.path.join(folder, "made"), os.path.join(folder, "before")
            os.mkdir(made)
            for name in self.files:
                with open(os.path.join(made, name), "wb") as file:
                    file.write(self._file(name))
            if os.path.isdir(target):
                os.rename(target, before)
            os.rename(made, target)


def _read_files(folder: str) -> dict[str, bytes]:
    """The files that a folder's manifest lists, and it."""
    with open(os.path.join(folder, "manifest.json"), "rb") as file:
        manifest = file.read()
    listed = json.loads(manifest)
    if listed.get("command") != _COMMAND:
        raise ValueError(f"{folder}: holds what rer {listed.get('command')} wrote; a folder of rer analyze or score is needed")
    files = {"manifest.json": manifest}
    for entry in listed["files"]:
        with open(os.path.join(folder, os.path.basename(entry["name"])), "rb") as file:
            content = file.read()
        if len(content) != entry["size"] or f"{zlib.crc32(content):08x}" != entry["crc32"]:
            raise ValueError(f"{folder}/{entry['name']}: was changed after it was written (manifest.json has another checksum)")
        files[entry["name"]] = content
    return files


def _deflate(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: zlib.compress(content, 1) for name, content in files.items()}


# ---- pickling ----


def keep(result: "_rer.Result | Kept", rows: dict[str, Array], summary: Mapping[str, Any]) -> Kept:
    """What a pickle carries of a result, whose columns are `rows`."""
    if isinstance(result, Kept):
        return result
    data, model = result.data(), result.model()
    order = np.empty(len(rows["given"]), np.int64)
    order = order[: result.suspects(order)]
    numbers, near, chances = result.summary(), {}, {}
    for row in range(len(rows["given"])):
        if found := result.near(row):
            near[row] = found
        if likely := result.likely(row):
            chances[row] = likely
    files, why = {}, ""
    with tempfile.TemporaryDirectory(prefix="rer-") as folder:
        try:
            result.write(os.path.join(folder, "out"))
            files = _deflate(_read_files(os.path.join(folder, "out")))
        except (OSError, ValueError) as error:  # pictures that are gone; the numbers are there all the same
            why = str(error).replace(folder, "")
    return Kept(
        text=json.dumps(summary),
        numbers=numbers,
        rows=rows,
        order=order,
        neighbors=near,
        class_rows=result.classes(),
        pair_rows=result.pairs(2**62),
        row_names=data.ids(),
        size=data.picture(),
        packed_model=None if model is None else model.pack(),
        files=files,
        why_no_files=why,
        chances=chances,
    )


# ---- folders ----


def _number(cell: str) -> float:
    return float(cell) if cell else np.nan


class _Table:
    """A CSV file of ours, some rows at a time."""

    def __init__(self, content: bytes, safe: bool) -> None:
        self.reader = csv.reader(io.StringIO(content.decode("utf-8", "surrogateescape"), newline=""))
        self.names = next(self.reader)
        self.safe = safe

    def batches(self) -> Iterator[dict[str, tuple[str, ...]]]:
        while batch := list(itertools.islice(self.reader, _BATCH)):
            yield dict(zip(self.names, zip(*batch, strict=True), strict=True))

    def text(self, cell: str) -> str:
        """A text as it was before it was made safe for spreadsheets."""
        return cell[1:] if self.safe and cell.startswith("'") else cell


def _codes(cells: tuple[str, ...], table: _Table, numbers: Mapping[str, int]) -> npt.NDArray[np.int32]:
    return np.array([numbers[table.text(cell)] if cell else -1 for cell in cells], np.int32)


def _sample_columns(cells: Mapping[str, tuple[str, ...]], table: _Table, numbers: Mapping[str, int]) -> dict[str, Array]:
    given, predicted, suggested = (_codes(cells[f"{what}_label"], table, numbers) for what in ("given", "predicted", "suggested"))
    columns: dict[str, Array] = {
        name: np.array([_number(cell) for cell in cells[title]])
        for name, title in (("chi", "rer"), *((name, name) for name in _REALS))
    }
    columns.update(
        given=given,
        predicted=predicted,
        # Of a label that stands, samples.csv has the next best class only where it is the nearest.
        suggested=np.where(suggested >= 0, suggested, np.where(predicted != given, predicted, -1)).astype(np.int32),
        is_issue=np.array([cell == "true" for cell in cells["is_label_issue"]]),
        is_outlier=np.array([cell == "true" for cell in cells["is_outlier"]]),
        is_invalid=predicted < 0,
        duplicates=np.full(len(given), -1, np.int64),
    )
    return columns


_REALS = ("own_error", "best_other_error", "mistakenness", "label_score", "suggestion_probability", "outlier_score")


def _order(rows: Mapping[str, Array]) -> npt.NDArray[np.int64]:
    """Labelled rows by the odds that they are wrong, then by rer, then by place."""
    wrong, right = rows["mistakenness"], rows["label_score"]
    judged = np.flatnonzero(np.isfinite(wrong))
    with np.errstate(divide="ignore"):
        odds = np.where(right < 0.5, np.log1p(-right) - np.log(right), np.log(wrong) - np.log1p(-wrong))
    return judged[np.lexsort((judged, -rows["chi"][judged], -odds[judged]))]


def _pairs(rows: Mapping[str, Array], n_classes: int) -> list[Pair]:
    given, predicted = rows["given"].astype(np.int64), rows["predicted"].astype(np.int64)
    confused = (given >= 0) & (predicted >= 0) & (given != predicted) & np.isfinite(rows["own_error"])
    kinds, counts = np.unique(given[confused] * n_classes + predicted[confused], return_counts=True)
    count = dict(zip(kinds.tolist(), counts.tolist(), strict=True))
    pairs = {(min(divmod(kind, n_classes)), max(divmod(kind, n_classes))) for kind in count}
    listed = [(a, b, count.get(a * n_classes + b, 0), count.get(b * n_classes + a, 0)) for a, b in pairs]
    return sorted(listed, key=lambda pair: (-pair[2] - pair[3], pair[0], pair[1]))


def _class_rows(table: _Table) -> list[ClassRow]:
    rows = [row for batch in table.batches() for row in zip(*batch.values(), strict=True)]
    numbers = {table.text(row[0]): c for c, row in enumerate(rows)}
    return [
        (table.text(name), int(n), _number(chi), _number(rate), int(issues), numbers.get(table.text(other), -1), _number(own))
        for name, n, chi, rate, issues, other, own in rows
    ]


def read_folder(folder: str) -> Kept:
    """What Result.write or the command left in a folder."""
    if not os.path.isfile(os.path.join(folder, "manifest.json")):
        raise FileNotFoundError(f"{folder}: there is no manifest.json; is it the folder of an analysis?")
    files = _read_files(folder)
    text = files["summary.json"].decode()
    summary = json.loads(text)
    safe = bool(summary["options"].get("spreadsheet-safe"))
    class_rows = _class_rows(_Table(files["classes.csv"], safe))
    numbers = {row[0]: c for c, row in enumerate(class_rows)}
    table = _Table(files["samples.csv"], safe)
    pieces, ids, near, first = [], [], {}, 0
    for cells in table.batches():
        pieces.append(_sample_columns(cells, table, numbers))
        ids += [table.text(cell) for cell in cells.get("id", ())]
        for i, cell in enumerate(cells["nearest_rows"]):
            if cell:
                near[first + i] = [int(row) for row in cell.split()]
        first += len(cells["index"])
    rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    for cells in _Table(files["duplicates.csv"], safe).batches() if "duplicates.csv" in files else ():
        rows["duplicates"][[int(cell) for cell in cells["index"]]] = [int(cell) for cell in cells["group"]]
    return Kept(
        text=text,
        numbers={
            **{name: np.nan if value is None else value for name, value in summary.items()},
            "threshold_on_chi": summary["threshold_on"] == "chi",
        },
        rows=rows,
        order=_order(rows),
        neighbors=near,
        class_rows=class_rows,
        pair_rows=_pairs(rows, len(class_rows)),
        row_names=ids,
        size=None,
        packed_model=None,
        files=_deflate(files),
    )
