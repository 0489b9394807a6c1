"""A small table that prints itself; pandas can do more where it is there."""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas

_SHOWN = 20


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def need_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("this needs pandas: pip install pandas; to_dict() gives the columns as arrays") from None
    return pandas


class Table:
    """Columns of equal length, by name.

    >>> table = Table({"label": np.array(["cat", "dog"]), "n": np.array([3, 4])})
    >>> table
    label  n
      cat  3
      dog  4
    >>> table["n"]
    array([3, 4])
    >>> table[0]
    {'label': 'cat', 'n': 3}
    >>> len(table)
    2
    """

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]], index: Any = None) -> None:
        self._columns = dict(columns)
        self._index = index  # pandas.Index for to_frame, or None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    @overload
    def __getitem__(self, key: str) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Table": ...
    def __getitem__(self, key: str | int | slice) -> "npt.NDArray[Any] | dict[str, Any] | Table":
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            index = None if self._index is None else self._index[key]
            return Table({name: column[key] for name, column in self._columns.items()}, index)
        if not -len(self) <= key < len(self):
            raise IndexError(f"row {key} of {len(self)}")
        return {name: _plain(column[key]) for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """The columns as numpy arrays."""
        return dict(self._columns)

    def to_frame(self) -> "pandas.DataFrame":
        """As a pandas.DataFrame."""
        frame: pandas.DataFrame = need_pandas().DataFrame(self._columns)
        if self._index is not None:
            frame.index = self._index
        return frame

    def _texts(self) -> list[list[str]]:
        rows = range(min(len(self), _SHOWN))
        return [[name, *(_cell(column[row]) for row in rows)] for name, column in self._columns.items()]

    def _more(self) -> str:
        return f"... {len(self) - _SHOWN:,} more rows" if len(self) > _SHOWN else ""

    def __repr__(self) -> str:
        texts = self._texts()
        widths = [max(map(len, column)) for column in texts]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in zip(*texts, strict=True)
        ]
        return "\n".join([*lines, self._more()] if self._more() else lines)

    def _html(self, pictures: Sequence[str] = ()) -> str:
        """As HTML; pictures: a tag for each row, which comes first in it."""
        head, *rows = ([html.escape(cell) for cell in row] for row in zip(*self._texts(), strict=True))
        shown = [[tag, *row] for tag, row in zip(pictures, rows, strict=True)] if pictures else rows
        return (
            "<table><thead><tr>"
            + "".join(f"<th>{cell}</th>" for cell in ["", *head][not pictures :])
            + "</tr></thead><tbody>"
            + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in shown)
            + f"</tbody></table>{self._more()}"
        )

    def _repr_html_(self) -> str:
        return self._html()
