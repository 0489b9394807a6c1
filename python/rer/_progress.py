"""A progress bar for whoever watches: tqdm where it is there, else a line of text."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

Progress = bool | Callable[[str, float], object] | None

_PATIENCE = 1.0  # seconds before a bar is worth its place


def _in_notebook() -> bool:
    """Whether this runs in a kernel; that its package is loaded says little."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() or _in_notebook()


class Bar:
    """Shows progress while it is open; `report` is what the library calls."""

    def __init__(self, progress: Progress) -> None:
        self.wanted = _is_watched() if progress is None else bool(progress)
        self.patience = 0.0 if progress is True else _PATIENCE
        self.started = time.monotonic()
        self.bar: Any = None
        self.line = ""
        if callable(progress):
            self.report: Callable[[str, float], object] | None = progress
        else:
            self.report = self._show if self.wanted else None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            if kind is None:
                self.bar.update(1 - self.bar.n)
            self.bar.close()
        elif self.line:
            sys.stderr.write("\r" + " " * len(self.line) + "\r")
            sys.stderr.flush()

    def _show(self, stage: str, fraction: float) -> None:
        if self.bar is None and not self.line:
            if time.monotonic() - self.started < self.patience:
                return
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

                self.bar = tqdm(total=1.0, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")
            except ImportError:
                pass
        if self.bar is not None:
            self.bar.set_description(stage, refresh=False)
            self.bar.update(max(0.0, fraction - self.bar.n))
        else:
            self.line = f"\r{stage}: {100 * fraction:.0f} %".ljust(len(self.line))
            sys.stderr.write(self.line)
            sys.stderr.flush()
