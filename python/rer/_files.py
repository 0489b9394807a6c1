"""Files of ours that no caller should hear of."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

from rer._keywords import python_messages


@contextlib.contextmanager
def folder_beside(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """A folder of our own next to `path`, and `path` itself: made there, the last step is a rename."""
    target = os.path.abspath(path)
    try:
        folder = tempfile.TemporaryDirectory(prefix=".rer-", dir=os.path.dirname(target))
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    with folder, python_messages({folder.name: os.fspath(path)}):
        yield folder.name, target
