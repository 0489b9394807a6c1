"""Tables with a column of vectors: pandas, pyarrow, Hugging Face datasets, parquet files."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rer._arrays import Array, arrow_array, is_path


class Parts(NamedTuple):
    X: Any
    y: Any
    class_names: dict[int, str] | None
    columns: dict[str, Any]  # what else is said of rows: ids, texts, subsets, groups


def is_parquet(value: object) -> bool:
    return is_path(value) and os.fspath(value).endswith((".parquet", ".pq"))  # type: ignore[call-overload]


def _is_pandas(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_numpy") and hasattr(value, "iloc")


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "schema") and hasattr(value, "column")


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "with_format")


def is_table(value: object) -> bool:
    """Whether the columns of `value` have names."""
    return _is_pandas(value) or _is_arrow(value) or _is_dataset(value) or is_parquet(value)


def _columns_of(value: Any) -> list[str]:
    if is_parquet(value):
        import pyarrow.parquet

        names: list[str] = list(pyarrow.parquet.read_schema(value).names)
        return names
    return list(value.columns) if _is_pandas(value) else list(value.column_names)


def _check(names: list[str], column: str, what: str) -> str:
    if column not in names:
        shown = ", ".join(repr(name) for name in names[:20])
        raise ValueError(f"{what}: there is no column {column!r}; there are {shown}")
    return column


def _arrow_vectors(column: Any, name: str) -> Array:
    """A column of lists of numbers -> [N, D]; one chunk without gaps is not copied."""
    import pyarrow as pa

    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk) > 0]
    kind = column.type
    if not (pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise TypeError(f"column {name!r} holds {kind}, not vectors; vectors= names the column that does")
    if column.null_count > 0:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"column {name!r}: row {row} has no vector")
    if not chunks:
        raise ValueError(f"column {name!r} is empty")
    width, pieces, first = None, [], 0
    for chunk in chunks:
        lengths = (
            np.array([kind.list_size])
            if pa.types.is_fixed_size_list(kind)
            else np.asarray(chunk.value_lengths().to_numpy(zero_copy_only=False))
        )
        width = int(lengths[0]) if width is None else width
        if (lengths != width).any():
            row = int(np.flatnonzero(lengths != width)[0])
            raise ValueError(f"column {name!r}: row {first + row} has {lengths[row]} numbers where row 0 has {width}")
        values = chunk.flatten()
        if values.null_count > 0:
            values = values.cast(pa.float64()) if not pa.types.is_floating(values.type) else values
        pieces.append(values.to_numpy(zero_copy_only=False).reshape(-1, width))
        first += len(chunk)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _from_pandas(
    frame: Any, label_column: str | None, vectors: str | None, named: Mapping[str, str], taken: list[str]
) -> Parts:
    if vectors is not None:
        X: Any = frame[vectors].to_numpy()
    else:
        rest = frame.drop(columns=taken)
        numeric = rest.select_dtypes(include=["number", "bool"])
        others = [name for name in rest.columns if name not in numeric.columns]
        if numeric.shape[1] > 0 and others:
            raise TypeError(
                f"column {others[0]!r} is not numeric; drop it, or name the column of the vectors: vectors={others[0]!r}"
            )
        if numeric.shape[1] == 0 and len(others) != 1:
            raise TypeError(f"no column holds numbers; vectors= names the one of the vectors: {others}")
        X = numeric.to_numpy() if numeric.shape[1] > 0 else rest[others[0]].to_numpy()
    return Parts(
        X,
        None if label_column is None else frame[label_column],
        None,
        {name: frame[column].to_numpy() for name, column in named.items()},
    )


def _only_vectors(schema: Any, taken: list[str]) -> str:
    import pyarrow as pa

    found = [
        field.name
        for field in schema
        if field.name not in taken
        and (pa.types.is_fixed_size_list(field.type) or pa.types.is_list(field.type) or pa.types.is_large_list(field.type))
    ]
    if len(found) != 1:
        raise TypeError(f"vectors= names the column of the vectors; candidates: {found}")
    return str(found[0])


def split_table(table: Any, label_column: str | None, vectors: str | None, said: Mapping[str, Any]) -> Parts:
    """The vectors, the labels, the names of classes, and the columns that `said` names: {"ids": "file"}."""
    if _is_dataset(table) and isinstance(table.column_names, dict):
        raise TypeError("give one split of the data set: data['train']")
    names = _columns_of(table)
    for column, what in ((label_column, "label_column"), (vectors, "vectors"), (said.get("ids"), "ids")):
        if isinstance(column, str):
            _check(names, column, what)
    named = {name: column for name, column in said.items() if isinstance(column, str) and column in names}
    taken = list(dict.fromkeys([*([] if label_column is None else [label_column]), *named.values()]))
    if _is_pandas(table):
        return _from_pandas(table, label_column, vectors, named, taken)
    class_names = None
    if is_parquet(table):
        import pyarrow.parquet

        vectors = vectors or _only_vectors(pyarrow.parquet.read_schema(table), taken)
        table = pyarrow.parquet.read_table(table, columns=[vectors, *taken], memory_map=True)
    elif _is_dataset(table):
        if not hasattr(table, "select_columns") or not hasattr(table, "__len__"):
            raise TypeError("the data set has to be there as a whole; a stream has no end that is known")
        if label_column is not None and hasattr(table.features[label_column], "names"):
            class_names = dict(enumerate(table.features[label_column].names))
        vectors = vectors or _only_vectors(table.features.arrow_schema, taken)
        table = table.select_columns([vectors, *taken]).with_format("arrow")[:]
    vectors = vectors or _only_vectors(table.schema, taken)
    return Parts(
        _arrow_vectors(table.column(vectors), vectors),
        None if label_column is None else arrow_array(table.column(label_column)),
        class_names,
        {name: arrow_array(table.column(column)) for name, column in named.items()},
    )
