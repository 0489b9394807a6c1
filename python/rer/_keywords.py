"""Keywords to the texts that the library's table of options takes, and its messages back to keywords."""

import contextlib
import difflib
import functools
import inspect
import numbers
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rer import _rer


class Option(NamedTuple):
    """A row of the table, as keywords need it."""

    name: str  # drop-invalid
    is_flag: bool
    default: object


def _default(text: str, is_flag: bool) -> object:
    if is_flag:
        return text == "yes"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


# As cli/*.c have it (a test compares): what of the table a command has no use for, or all that it has.
_REFUSED = {"scale": ("threshold", "budget", "spreadsheet-safe")}
_ACCEPTED = {
    "noise": ("type", "rate", "threads", "memory", "seed"),
    "bench": (
        *("noise", "rates", "seeds", "bootstrap"),
        *("features", "drop-invalid", "threads", "memory", "seed"),
    ),
    "compare": ("mode", "spreadsheet-safe"),
}


def rows_of(command: str) -> list[tuple[str, str, str, str, bool, str | None]]:
    """The rows of the table that a command, and the function of its name, has."""
    accepted, refused = _ACCEPTED.get(command), _REFUSED.get(command, ())
    return [
        row
        for row in _rer.options(command)
        if (accepted is None or row[0] in accepted) and row[0] not in refused
    ]


@functools.cache
def table(command: str = "analyze") -> dict[str, Option]:
    """The options of a command by keyword: drop_invalid."""
    return {row[0].replace("-", "_"): Option(row[0], row[4], _default(row[2], row[4])) for row in rows_of(command)}


# The options that still mean something when a model is there already.
SCORE_OPTIONS = ("threshold", "budget", "features", "drop_invalid", "spreadsheet_safe", "threads", "memory")


def _text(keyword: str, value: object, is_flag: bool) -> str:
    if isinstance(value, (bool, np.bool_)):
        if not is_flag:
            raise TypeError(f"{keyword}: {value} is no value for it")
        return "yes" if value else "no"
    if is_flag:
        raise TypeError(f"{keyword} is True or False, not {value!r}")
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, Sequence):
        return ",".join(_text(keyword, item, False) for item in value)
    raise TypeError(f"{keyword}: {value!r} is neither a number nor a text")


def _seed(random_state: object) -> int:
    """A seed as scikit-learn understands random_state."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    raise TypeError(f"random_state: {random_state!r} is neither an integer nor a numpy generator")


def _threads(n_jobs: object) -> int:
    """As joblib counts: -1 for every core, -2 for all but one."""
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs: {n_jobs!r} is not an integer")
    jobs = int(n_jobs)
    if jobs == 0:
        raise ValueError("n_jobs: 0 means nothing; -1 is for every core")
    return 0 if jobs == -1 else jobs if jobs > 0 else max(1, len(os.sched_getaffinity(0)) + 1 + jobs)


def option_texts(
    options: Mapping[str, Any],
    n_jobs: object = None,
    random_state: object = None,
    *,
    command: str = "analyze",
    allowed: Sequence[str] | None = None,
) -> dict[str, str]:
    """{"drop_invalid": True, "shrinkage": .1} -> {"drop-invalid": "yes", "shrinkage": "0.1"}."""
    texts = {}
    known = table(command)
    if n_jobs is not None:
        texts["threads"] = str(_threads(n_jobs))
    if random_state is not None:
        texts["seed"] = str(_seed(random_state))
    for keyword, value in options.items():
        if keyword not in known:
            near = difflib.get_close_matches(keyword, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise TypeError(f"there is no keyword {keyword!r}; {hint}")
        name, is_flag, _ = known[keyword]
        if allowed is not None and keyword not in allowed:
            raise TypeError(f"{keyword} was decided when the model was fitted; scoring has: {', '.join(allowed)}")
        if value is None:
            continue
        if name in texts:
            raise TypeError(f"{keyword} is given twice: as {'n_jobs' if name == 'threads' else 'random_state'} too")
        texts[name] = _text(keyword, value, is_flag)
    return texts


_Function = TypeVar("_Function", bound=Callable[..., Any])


def show_keywords(function: _Function) -> _Function:
    """Lets help() and editors see the keywords and their defaults in place of **options."""
    signature = inspect.signature(function)
    options = table(function.__name__)
    shown = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    shown += [
        inspect.Parameter(keyword, inspect.Parameter.KEYWORD_ONLY, default=option.default)
        for keyword, option in options.items()
        if keyword not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function


# Arguments that the command has as files.
_FILES: tuple[str, ...] = ("class_embeddings", "class_names", "column", "detectors", "error_rates", "groups")
_FILES += ("human", "ids", "images", "label_column", "pred_probs", "subsets", "texts")


def _keyword_of(match: re.Match[str]) -> str:
    keyword = match[1].replace("-", "_")
    if keyword in _FILES:
        return keyword
    for command in ("analyze", "noise", "bench", "scale", "compare"):
        if option := table(command).get(keyword):
            return f"{keyword}=True" if option.is_flag else keyword
    return match[0]


@contextlib.contextmanager
def python_messages() -> Iterator[None]:
    """The library's messages name options as the command line does; here they become keywords."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        message = str(error)
        translated = re.sub(r"--([a-z][a-z-]*)(?: FILE)?", _keyword_of, message)
        if translated == message:
            raise
        raise type(error)(translated) from None
