"""Whatever holds numbers or labels -> a numpy array that the library can read in place."""

import numbers
import os
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LabelKind = Literal["integer", "text", "bool"]


def is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


class CardTensor(NamedTuple):
    """Features that lie on a CUDA card, as DLPack hands them over."""

    capsule: object
    card: int


def card_tensor(value: Any) -> CardTensor | None:
    """Numbers [N, D] that lie on a CUDA card, there as float32 in C order; None for anything else."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__") or len(getattr(value, "shape", ())) != 2:
        return None
    kind, card = value.__dlpack_device__()
    if kind not in (2, 13):  # a card's own memory, or managed memory
        return None
    if "complex" in str(getattr(value, "dtype", "")):
        raise TypeError(f"X: dtype {value.dtype} is not supported; features are numbers")
    if hasattr(value, "detach"):  # torch; nothing is copied where nothing has to be
        value = value.detach().float().contiguous()
    elif hasattr(value, "astype"):  # CuPy, or jax, whose arrays are in C order
        value = value.astype("float32", **({"order": "C", "copy": False} if hasattr(value, "flags") else {}))
    return CardTensor(value.__dlpack__(stream=1), int(card))  # in order with the default stream, which the library waits for


def _to_host(value: Any, what: str) -> Any:
    """What lies on a device, copied by its own library."""
    for name in ("cpu", "get"):  # torch, CuPy
        if hasattr(value, name):
            return getattr(value, name)()
    if hasattr(value, "__array__"):  # jax
        return np.asarray(value)
    raise TypeError(f"{what} is on device {tuple(value.__dlpack_device__())}; bring it to the host's memory first")


def _from_tensor(value: Any, what: str) -> Array | None:
    """A view of a tensor of another library through DLPack, or None where it cannot be had."""
    if hasattr(value, "detach"):  # torch: gradients stay behind
        value = value.detach()
    try:
        if value.__dlpack_device__()[0] not in (1, 3):  # neither plain nor pinned memory of the host
            value = _to_host(value, what)
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, AttributeError, ValueError):
        # bfloat16, or a protocol newer or older than numpy's.
        return np.asarray(value.float()) if hasattr(value, "float") else None


def is_arrow(value: Any) -> bool:
    """Whether this is a column of pyarrow's."""
    return hasattr(value, "null_count") and hasattr(value, "type")


def arrow_array(column: Any) -> Array:
    """A column of pyarrow's; what is null is NaN or None."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array: Array = column.to_numpy(zero_copy_only=False) if not hasattr(column, "chunks") else column.to_numpy()
    return array


def as_array(value: Any, what: str = "X") -> Array:
    """A numpy array without a copy where that can be."""
    if value is None:
        raise TypeError(f"{what} is None; an array is needed")
    if isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):  # np.ma
        empty: object = "" if value.dtype.kind in "US" else np.nan
        masked: Any = value if value.dtype.kind in "USf" else value.astype(float)
        return np.asarray(masked.filled(empty))
    if isinstance(value, np.ndarray):
        return np.asarray(value)  # a memmap too: the base class without its attributes
    if hasattr(value, "toarray"):
        raise TypeError(f"{type(value).__name__}: sparse matrices are not supported; give X.toarray()")
    if is_arrow(value):  # those of lists are a table's business
        return arrow_array(value)
    if hasattr(value, "__dlpack_device__"):
        array = _from_tensor(value, what)
        if array is not None:
            return array
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what}: its rows differ in length: {error}") from None


def _native(array: Array) -> Array:
    """C order and the machine's byte order."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array) if array.ndim > 0 else array.reshape(1)


def _stack(array: Array, what: str) -> Array:
    """A column of vectors [N] of objects -> [N, D]."""
    try:
        stacked = np.stack([np.asarray(row, dtype=np.float64 if isinstance(row, list) else None) for row in array])
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: its rows are not numbers, or differ in length: {error}") from None
    return stacked


def feature_array(value: Any, what: str = "X") -> Array:
    """[N, D] of numbers, or pictures, as the library reads them; float16, 32, 64 are not copied."""
    array = as_array(value, what)
    if array.dtype.kind == "O" and array.ndim == 1 and len(array) > 0:
        array = _stack(array, what)
    if array.dtype.kind == "b":
        array = _native(array).view(np.uint8)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what} holds objects that are no numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{what}: dtype {array.dtype} is not supported; features are numbers")
    return _native(array)


_MAPPED_MIN = 64 << 20  # bytes; less is not worth a look


def mapped_file(array: Array) -> tuple[str | None, int]:
    """The file that a large memory map shows, and the place in it; (None, 0) for any other array.

    Read through the file, block by block, a matrix larger than the memory leaves no trace in it; through
    the map every page would count as ours until the system takes it back.
    """
    if array.nbytes < _MAPPED_MIN:
        return None, 0
    first = array.__array_interface__["data"][0]
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                places, access, offset, device, inode, *path = line.rstrip("\n").split(None, 5)
                start, end = (int(place, 16) for place in places.split("-"))
                if start <= first and first + array.nbytes <= end:
                    break
            else:
                return None, 0
        if access[3] != "s" or not path or not path[0].startswith("/"):  # a private map may differ from its file
            return None, 0
        info = os.stat(path[0])
        major, minor = (int(number, 16) for number in device.split(":"))
        if (info.st_ino, os.major(info.st_dev), os.minor(info.st_dev)) == (int(inode), major, minor):
            return path[0], int(offset, 16) + first - start
    except (OSError, ValueError):
        pass
    return None, 0


def _is_missing(value: object) -> bool:
    # pandas.NA first: it answers every comparison with itself, which is neither true nor false.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def missing_labels(labels: Array) -> npt.NDArray[np.bool_]:
    """Which of an array of labels are none; what -1 means is not asked."""
    if labels.dtype.kind == "O":
        return np.fromiter((_is_missing(value) or value == "" for value in labels.ravel()), bool, labels.size)
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    return labels == labels.dtype.type() if labels.dtype.kind in "US" else np.zeros(labels.shape, bool)


def _whole_numbers(present: list[int], missing: npt.NDArray[np.bool_]) -> Array:
    """Python's integers, as large as they may be; texts where no dtype holds them all and the missing."""
    low, high = min(present), max(present)
    if not missing.any() and low >= -(2**63) and high < 2**63:
        return np.array(present, np.int64)
    if missing.any() and -(2**53) <= low and high <= 2**53:
        filled: Array = np.full(len(missing), np.nan)
    else:
        filled = np.full(len(missing), "", dtype=f"U{max(len(str(low)), len(str(high)))}")
    filled[~missing] = present if filled.dtype.kind == "f" else [str(value) for value in present]
    return filled


def _object_labels(array: Array, what: str) -> tuple[Array, LabelKind]:
    missing = np.fromiter((_is_missing(value) for value in array), bool, len(array))
    present = [value for value, lacks in zip(array.tolist(), missing, strict=True) if not lacks]
    kinds = {
        "bool"
        if isinstance(value, (bool, np.bool_))
        else "integer"
        if isinstance(value, numbers.Integral)
        else "text"
        if isinstance(value, (str, bytes))
        else "integer"
        if isinstance(value, numbers.Real) and float(value).is_integer()
        else type(value).__name__
        for value in present
    }
    if kinds == {"text"}:
        texts = [value.decode() if isinstance(value, bytes) else value for value in present]
        filled = np.full(len(array), "", dtype=f"U{max(map(len, texts))}")
        filled[~missing] = texts
        return filled, "text"
    if kinds in ({"integer"}, {"bool"}):
        return _whole_numbers([int(value) for value in present], missing), "bool" if kinds == {"bool"} else "integer"
    raise TypeError(f"{what}: labels are integers or texts, all of one kind; these are: {', '.join(sorted(kinds)) or 'none'}")


def label_array(value: Any, what: str = "y") -> tuple[Array, LabelKind]:
    """Labels as the library reads them, and what they are to come back as."""
    if hasattr(value, "categories") and hasattr(value, "codes"):  # pandas.Categorical
        value = np.asarray(value)
    array = as_array(value, what)
    if array.dtype.kind in "US" and isinstance(value, (list, tuple)) and any(map(_is_missing, value)):
        array = np.array(value, dtype=object)  # numpy has made texts of them: "nan"
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    kind = array.dtype.kind
    if kind == "T":  # numpy's strings of any length
        array, kind = array.astype(object), "O"
    if kind == "O" and array.ndim == 1:
        array, label_kind = _object_labels(array, what)
        return _native(array), label_kind
    if kind == "b":
        return _native(array).view(np.uint8), "bool"
    if kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if kind in "iuf":
        return _native(array), "integer"
    if kind in "US":
        return _native(array), "text"
    raise TypeError(f"{what}: dtype {array.dtype} is not supported; labels are integers or texts")


def class_values(names: list[str], kind: LabelKind) -> Array:
    """The labels of the classes [C] as the caller wrote them."""
    if kind == "bool":
        return np.array([name == "1" for name in names])
    if kind == "integer":
        try:
            values = [int(name) for name in names]
        except ValueError:  # renamed
            return np.array(names, dtype=str)
        fits = all(-(2**63) <= value < 2**63 for value in values)
        return np.array(values, dtype=np.int64 if fits else object)
    return np.array(names, dtype=str)


def kind_of_names(names: list[str]) -> LabelKind:
    """What labels from a file were: integers where every name is one without decoration."""
    try:
        return "integer" if all(str(int(name)) == name for name in names) else "text"
    except ValueError:
        return "text"


def labels_of(codes: Array, values: Array) -> Array:
    """Labels [N] of class numbers [N]; None where there is none, and an array of objects then."""
    lacks = codes < 0
    if not lacks.any():
        return values[codes]
    labels = np.full(len(codes), None, dtype=object)
    labels[~lacks] = values[codes[~lacks]]
    return labels
