"""Tables with named columns: pandas, polars, pyarrow, Hugging Face datasets, parquet files.

The vectors are the one column that holds a vector in each row, or else all columns of numbers together."""

import io
import os
from collections.abc import Mapping, Sequence
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


def _is_polars(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_arrow") and not hasattr(value, "column_names")


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "schema") and hasattr(value, "column")


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "with_format")


def is_table(value: object) -> bool:
    """Whether the columns of `value` have names."""
    if hasattr(value, "collect_schema") and not hasattr(value, "to_numpy"):
        raise TypeError("a LazyFrame has no rows yet; give X.collect()")
    kinds = (_is_pandas, _is_polars, _is_arrow, _is_dataset)
    return any(is_kind(value) for is_kind in kinds) or is_parquet(value)


def names_column(table: Any, y: object) -> bool:
    """Whether `y` is the name of a column, of several levels perhaps, and no labels."""
    return isinstance(y, str) or (isinstance(y, tuple) and getattr(getattr(table, "columns", None), "nlevels", 1) > 1)


def _columns_of(value: Any) -> list[str]:
    if is_parquet(value):
        import pyarrow.parquet

        names: list[str] = list(pyarrow.parquet.read_schema(value).names)
        return names
    return list(value.columns) if _is_pandas(value) or _is_polars(value) else list(value.column_names)


def _check(names: list[str], column: str, what: str) -> str:
    if column not in names:
        shown = ", ".join(repr(name) for name in names[:20])
        raise ValueError(f"{what}: there is no column {column!r}; there are {shown}")
    return column


def _choose(kinds: Mapping[str, str], taken: Sequence[str]) -> list[str]:
    """The columns that are the features, of {name: "vectors", "picture", "number" or what else it holds}."""
    free = {name: kind for name, kind in kinds.items() if name not in taken}
    for wanted in ("vectors", "picture"):
        found = [name for name, kind in free.items() if kind == wanted]
        if len(found) == 1:
            return found
        if found:
            names = ", ".join(map(repr, found))
            raise TypeError(f"vectors= names the column of the features; candidates: {names}")
    numbers = [name for name, kind in free.items() if kind == "number"]
    others = [name for name, kind in free.items() if kind != "number"]
    if numbers and not others:
        return numbers
    seen = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:20])
    if not numbers:
        raise TypeError(f"no column holds vectors or numbers; these are there: {seen}")
    raise TypeError(
        f"column {others[0]!r} is not numeric: drop it, or name the column of the vectors, vectors=...; these are there: {seen}"
    )


def _arrow_vectors(column: Any, name: str) -> Array:
    """A column of lists of numbers -> [N, D]; one chunk without gaps is not copied."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return _arrow_tensors(column, name)
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


def _arrow_tensors(column: Any, name: str) -> Array:
    """A column of arrays of one shape, as Array2D of Hugging Face: pictures of uint8 stay so, others are laid flat."""
    arrays = np.asarray(column.to_pylist())
    if arrays.ndim < 2 or arrays.dtype.kind not in "fiu":
        raise ValueError(f"column {name!r}: its arrays differ in shape, or hold no numbers")
    values = column.type.storage_type
    while hasattr(values, "value_type"):
        values = values.value_type
    arrays = arrays.astype(values.to_pandas_dtype())
    return arrays if arrays.dtype == np.uint8 and arrays.ndim in (3, 4) else arrays.reshape(len(arrays), -1)


def _pandas_kind(column: Any) -> str:
    """What a column of a frame holds, by its type and its first value."""
    if column.dtype.kind in "fiub":
        return "number"
    first = next((value for value in column.head(100) if value is not None and value is not np.nan), None)
    if isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) >= 1:
        return "vectors"
    return "nothing" if first is None else "text" if isinstance(first, str) else type(first).__name__


def _from_pandas(
    frame: Any, label_column: str | None, vectors: str | None, named: Mapping[str, str], taken: list[str]
) -> Parts:
    if vectors is None:
        chosen = _choose({name: _pandas_kind(frame[name]) for name in frame.columns}, taken)
    else:
        chosen = [vectors]
    one = len(chosen) == 1 and (vectors is not None or _pandas_kind(frame[chosen[0]]) == "vectors")
    return Parts(
        frame[chosen[0]].to_numpy() if one else frame[chosen].to_numpy(),
        None if label_column is None else frame[label_column],
        None,
        {name: frame[column].to_numpy() for name, column in named.items()},
    )


def _is_picture(kind: Any) -> bool:
    """Whether an arrow type is that of Hugging Face's pictures, {"bytes": ..., "path": ...}."""
    import pyarrow as pa

    return bool(pa.types.is_struct(kind)) and {kind.field(i).name for i in range(kind.num_fields)} == {"bytes", "path"}


def _arrow_kind(kind: Any) -> str:
    import pyarrow as pa

    is_vector = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    if any(is_kind(kind) for is_kind in is_vector) or isinstance(kind, pa.BaseExtensionType):
        return "vectors"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return "number"
    return "picture" if _is_picture(kind) else str(kind)


def _arrow_features(table: Any, chosen: list[str], is_named: bool) -> Array:
    """[N, D], or pictures [N, H, W, channels] that are all of one size."""
    kind = table.schema.field(chosen[0]).type
    if len(chosen) == 1 and _is_picture(kind):
        pictures = _decode(table.column(chosen[0]), chosen[0])
        sizes = {picture.shape for picture in pictures}
        if len(sizes) > 1:
            shown = " and ".join(map(str, sorted(sizes)[:2]))
            raise ValueError(f"column {chosen[0]!r}: pictures of {shown} pixels; features need one size, or vectors of them")
        return np.stack(pictures)
    if is_named or _arrow_kind(kind) == "vectors":
        return _arrow_vectors(table.column(chosen[0]), chosen[0])
    return np.stack([arrow_array(table.column(name)) for name in chosen], axis=1)


# ---- pictures of Hugging Face ----

_SIDE = 96  # pixels of a thumbnail, where pictures differ in size


def _decode(column: Any, name: str) -> list[Array]:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"column {name!r} holds pictures, which need pillow: pip install pillow") from None
    pictures = []
    for row, cell in enumerate(column.to_pylist()):
        if cell is None or (cell["bytes"] is None and cell["path"] is None):
            raise ValueError(f"column {name!r}: row {row} has no picture")
        with Image.open(cell["path"] if cell["bytes"] is None else io.BytesIO(cell["bytes"])) as picture:
            pictures.append(np.asarray(picture if picture.mode in ("L", "RGB") else picture.convert("RGB")))
    return pictures


def _thumbnails(column: Any, name: str) -> Array:
    """Pictures for the report, [N, H, W(, 3)]: as they are where all have one small size, else fitted into a square."""
    pictures = _decode(column, name)
    shapes = {picture.shape for picture in pictures}
    if len(shapes) == 1 and max(next(iter(shapes))[:2]) <= _SIDE:
        return np.stack(pictures)
    from PIL import Image

    squares = np.full((len(pictures), _SIDE, _SIDE, 3), 255, np.uint8)
    for square, picture in zip(squares, pictures, strict=True):
        small = Image.fromarray(picture).convert("RGB")
        small.thumbnail((_SIDE, _SIDE))
        top, left = (_SIDE - small.height) // 2, (_SIDE - small.width) // 2
        square[top : top + small.height, left : left + small.width] = np.asarray(small)
    return squares


def _named_column(table: Any, name: str, column: str) -> Any:
    found = table.column(column)
    return _thumbnails(found, column) if name == "images" and _is_picture(found.type) else arrow_array(found)


# ---- all of them ----


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
    class_names = held = None
    if _is_dataset(table):
        if not hasattr(table, "select_columns") or not hasattr(table, "__len__"):
            raise TypeError("the data set has to be there as a whole; a stream has no end that is known")
        if label_column is not None and hasattr(table.features[label_column], "names"):
            class_names = dict(enumerate(table.features[label_column].names))
        schema = table.features.arrow_schema
    elif is_parquet(table):
        import pyarrow.parquet

        schema = pyarrow.parquet.read_schema(table)
    else:
        held = None if label_column is None else table[label_column]
        table = table.to_arrow() if _is_polars(table) else table
        schema = table.schema
    # The features may be what the report shows, too.
    free = [name for name in taken if name != named.get("images")]
    kinds = {field.name: _arrow_kind(field.type) for field in schema}
    chosen = [vectors] if vectors is not None else _choose(kinds, taken if "vectors" in kinds.values() else free)
    wanted = list(dict.fromkeys([*chosen, *taken]))
    if is_parquet(table):
        table = pyarrow.parquet.read_table(table, columns=wanted, memory_map=True)
    elif _is_dataset(table):
        table = table.select_columns(wanted).with_format("arrow")[:]
    return Parts(
        _arrow_features(table, chosen, vectors is not None),
        held if held is not None or label_column is None else arrow_array(table.column(label_column)),
        class_names,
        {name: _named_column(table, name, column) for name, column in named.items()},
    )
