"""Tasks and answers of parts, which are safetensors: reading their heads, cutting and joining them."""

import json
from typing import Any

import numpy as np

from rer._arrays import Array

_DTYPES = {"F32": "f4", "F64": "f8", "I32": "i4", "I64": "i8", "U8": "u1"}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_ASKING = ("row", "x", "class")  # [rows that ask, ...] of a search for near rows
_ANSWERED = 10 * 8 + 3 * 4  # bytes of the answer for a row and a class: RER_NEAR_KEPT neighbours, RER_NEAR distances


def _read(message: bytes) -> tuple[dict[str, str], dict[str, Array]]:
    """What it says of itself, and its arrays, which lie in it."""
    length = int.from_bytes(message[:8], "little")
    head = json.loads(message[8 : 8 + length])
    said = head.pop("__metadata__")
    body = memoryview(message)[8 + length :]
    arrays = {}
    for name, entry in head.items():
        first, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(body[first:end], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return said, arrays


def _write(said: dict[str, str], arrays: dict[str, Array]) -> bytes:
    head: dict[str, Any] = {"__metadata__": said}
    at = 0
    for name, array in arrays.items():
        entry = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        head[name] = entry
        at += array.nbytes
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(np.ascontiguousarray(a).data for a in arrays.values())])


def stage_of(message: bytes) -> str:
    """The stage that a task or an answer belongs to."""
    length = int.from_bytes(message[:8], "little")
    return str(json.loads(message[8 : 8 + length])["__metadata__"]["stage"])


def split_task(task: bytes, room: int, answers: int) -> list[bytes]:
    """A search for near rows as several, every one for some of the rows that ask.

    So many of them that a worker with `room` bytes can hold a task twice, and so many answers to it."""
    said, arrays = _read(task)
    asking = max(1, len(arrays["row"]))
    each = 2 * sum(arrays[name].nbytes for name in _ASKING) // asking + answers * _ANSWERED * arrays["class"].shape[1]
    fixed = 2 * sum(array.nbytes for name, array in arrays.items() if name not in _ASKING)
    parts = min(asking, -(-asking * each // max(1, room - fixed, room // 4)))
    if parts == 1:
        return [task]
    cuts = [asking * i // parts for i in range(parts + 1)]
    return [
        _write(said, {name: array[a:b] if name in _ASKING else array for name, array in arrays.items()})
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]


def join_answers(answers: list[bytes]) -> bytes:
    """The answers to what a task was cut into, each of all rows, as the answer to all of it."""
    read = [_read(answer) for answer in answers]
    said, first = read[0]
    return _write(said, {name: np.concatenate([arrays[name] for _, arrays in read]) for name in first})
