"""result.review(): the report, alive, served by the command `rer review`."""

import atexit
import html
import json
import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from rer._arrays import as_array

if TYPE_CHECKING:
    from rer._result import Result

_LARGE = 2**30  # bytes


class Review:
    """A review that is being served; a notebook shows its page. str() of it is the address.

    Decisions are kept in its folder as they are made: rer.apply(y, review.folder) makes labels of them. It ends with
    close(), at the end of a `with`, or with the process.
    """

    def __init__(self, folder: str, reviewer: str | None, port: int) -> None:
        words = [sys.executable, "-m", "rer", "review", folder, "--port", str(port)]
        if reviewer is not None:
            words += ["--reviewer", reviewer]
        self.folder = folder
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert self._process.stdout is not None and self._process.stderr is not None
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            message = self._process.stderr.read().decode().strip().removeprefix("rer: ")
            self._process.communicate()
            raise RuntimeError(message)
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server; what was decided is kept."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
        self._process.communicate()

    def __enter__(self) -> "Review":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"<a review at {self.address}>"

    def _repr_html_(self) -> str:
        address = html.escape(self.address, quote=True)
        return (
            f'<iframe src="{address}" title="rer review" style="width: 100%; height: 90vh; min-height: 600px; border: 0">'
            f'</iframe><p><a href="{address}" target="_blank" rel="noreferrer">in a window of its own</a></p>'
        )


def _keep_rows(result: "Result", folder: str) -> None:
    """Rows that were in memory become files of the run, which inputs.json names: the last step."""
    inputs, rows = os.path.join(folder, "inputs.json"), os.path.join(folder, "rows")
    if result._arrays is None or os.path.exists(inputs):
        return
    size = sum(array.nbytes for array in result._arrays.values() if not isinstance(array, str))
    if size >= _LARGE:
        warnings.warn(f"{rows} gets a copy of the rows, {size / 2**30:.1f} GiB; keep_rows=False does without", stacklevel=4)
    os.makedirs(rows, exist_ok=True)
    named = {}
    for name, array in result._arrays.items():
        named[name] = array if isinstance(array, str) else os.path.abspath(os.path.join(rows, f"{name}.npy"))
        if not isinstance(array, str):
            np.save(named[name], as_array(array))
    if result._is_named:
        named["class_names"] = os.path.abspath(os.path.join(rows, "class_names.txt"))
        with open(named["class_names"], "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in result._names)
    with open(f"{inputs}.new", "w", encoding="utf-8") as file:
        json.dump(named, file)
    os.replace(f"{inputs}.new", inputs)


def review(
    result: "Result", folder: str | os.PathLike[str], reviewer: str | None, port: int, keep_rows: bool
) -> Review:
    """Writes the result where it is not there yet, and serves it."""
    path = os.fspath(folder)
    try:
        with open(os.path.join(path, "summary.json"), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        result.write(path)
    else:
        if found["checksums"] != result.summary["checksums"]:
            raise ValueError(f"{path}: holds the results of other data; name another folder")
    if keep_rows:
        _keep_rows(result, path)
    return Review(path, reviewer, port)
