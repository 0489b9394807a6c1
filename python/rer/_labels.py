"""How the caller wrote the labels, so that they come back the same way."""

from typing import Any, Literal, NamedTuple

import numpy as np

from rer._arrays import Array, LabelKind, class_values, is_arrow


class LabelForm(NamedTuple):
    """What labels were, and what held them."""

    kind: LabelKind
    holder: Literal["list", "numpy", "series", "pandas", "arrow", "polars"] = "numpy"
    dtype: Any = None  # the holder's
    index: Any = None  # pandas.Index of the rows, of y or else of X
    name: Any = None  # of a Series

    def values_of(self, names: list[str]) -> Array:
        """The classes' labels [C] of their names, in numpy's own type where y had one."""
        values = class_values(names, self.kind)
        if self.kind == "integer" and isinstance(self.dtype, np.dtype) and self.dtype.kind in "iu":
            return values if values.dtype.kind not in "iu" else values.astype(self.dtype)
        return values

    def hold(self, labels: Array) -> Any:
        """Labels [N] (None: none) as the caller holds labels; pandas' with the index."""
        if self.holder == "list":
            return labels.tolist()
        if self.holder == "arrow":
            import pyarrow

            return pyarrow.array(labels.tolist(), type=self.dtype)
        if self.holder == "polars":
            import polars

            return polars.Series(self.name, labels.tolist(), dtype=self.dtype)
        if self.holder != "numpy":
            import pandas

            held: Any = pandas.array(labels.tolist(), dtype=self.dtype) if not isinstance(self.dtype, np.dtype) else None
            if self.holder == "pandas":
                return held
            plain = held if held is not None else _as_numpy(labels, self.dtype)
            return pandas.Series(plain, index=self.index, name=self.name, dtype=self.dtype)
        return _as_numpy(labels, self.dtype)


def _as_numpy(labels: Array, dtype: Any) -> Array:
    """In numpy's dtype; what is missing as label_array knows it: -1, NaN, "" or None."""
    kind = "" if dtype is None else dtype.kind
    if kind not in "biufSU" or kind == "":
        return labels if kind == "" else labels.astype(object)
    lacks = np.array([label is None for label in labels.tolist()], bool)
    if lacks.any():
        labels = labels.copy()
        labels[lacks] = {"f": np.nan, "S": "", "U": ""}.get(kind, -1)
    if kind == "S":
        return np.char.encode(labels.astype(str), "utf-8")
    return labels.astype(str if kind == "U" else dtype)


def form_of(y: Any, kind: LabelKind, index: Any = None) -> LabelForm:
    """The form of labels `y`, of which label_array said `kind`; index: of X, where y has none."""
    if is_arrow(y):
        return LabelForm(kind, "arrow", y.type, index)
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "null_count") and hasattr(y, "to_arrow"):
        return LabelForm(kind, "polars", dtype, index, y.name)
    if hasattr(y, "index") and hasattr(y, "to_numpy"):  # a Series; of a frame the only column
        y = y.iloc[:, 0] if getattr(y, "ndim", 1) == 2 else y
        return LabelForm(kind, "series", y.dtype, y.index, y.name)
    if hasattr(y, "categories") or (hasattr(dtype, "na_value") and hasattr(y, "to_numpy")):
        return LabelForm(kind, "pandas", dtype, index)
    if isinstance(y, (list, tuple)):
        return LabelForm(kind, "list", None, index)
    return LabelForm(kind, "numpy", dtype if isinstance(dtype, np.dtype) else None, index)
