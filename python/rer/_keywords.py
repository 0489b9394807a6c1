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
    words: tuple[str, ...]  # values that are words


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
    "apply": ("auto",),
    "embed": (
        *("dtype", "preset", "size", "crop", "interpolation"),
        *("strict", "spreadsheet-safe", "threads", "memory"),
    ),
    # What still means something when a model is there already.
    "score": ("threshold", "budget", "features", "drop-invalid", "spreadsheet-safe", "threads", "memory"),
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
    return {
        row[0].replace("-", "_"): Option(row[0], row[4], _default(row[2], row[4]), tuple(row[1].split("|")))
        for row in rows_of(command)
    }


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


# What other packages call it; a name that is written almost so is found without.
_ELSEWHERE = {
    "njobs": ("n_jobs", "threads"),
    "n_threads": ("n_jobs", "threads"),
    "num_workers": ("n_jobs", "threads"),
    "n_workers": ("n_jobs", "threads"),
    "workers": ("n_jobs", "threads"),
    "random_seed": ("random_state", "seed"),
    "rng": ("random_state",),
    "label": ("y", "label_column"),
    "labels": ("y",),
    "target": ("y",),
    "data": ("X",),
    "embeddings": ("X",),
    "verbose": ("progress",),
    "probabilities": ("pred_probs",),
    "paths": ("images",),
}

# The parameters of each function whose options are in the table, in the order that help() shows.
_parameters: dict[str, list[str]] = {}


def parameters_of(function: str) -> list[str]:
    """Of one that show_keywords has seen, the options too."""
    return _parameters[function]


def suggestion(word: str, names: Sequence[str]) -> str:
    """What to say of a keyword that is not there: those of `names` that it looks or sounds like, or all."""
    meant = [name for name in _ELSEWHERE.get(word.lower(), ()) if name in names]
    meant = meant or difflib.get_close_matches(word.lower(), names, 1)
    return f"did you mean {' or '.join(map(repr, meant))}?" if meant else f"there are: {', '.join(names)}"


def option_texts(
    options: Mapping[str, Any],
    n_jobs: object = None,
    random_state: object = None,
    *,
    command: str = "analyze",
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
            if command == "score" and keyword in table():
                raise TypeError(f"{keyword} was decided when the model was fitted; scoring has: {', '.join(known)}")
            raise TypeError(f"there is no keyword {keyword!r}; {suggestion(keyword, _parameters[command])}")
        name, is_flag, *_ = known[keyword]
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
    _parameters[function.__name__] = [parameter.name for parameter in shown if parameter.name != "self"]
    return function


# Arguments that the command has as files, and what other words of it are here.
_FILES: tuple[str, ...] = ("class_embeddings", "class_names", "column", "detectors", "error_rates", "groups", "human", "ids")
_FILES += ("classes", "images", "label_column", "output", "pred_probs", "subsets", "template", "texts")
_WORDS = {"save_model": "Result.save", "weights": "weights=True"}
_COMMANDS = ("analyze", "noise", "bench", "scale", "compare", "apply", "embed")


def _is_value(option: Option, word: str) -> bool:
    """Whether a message's next word is what the option should be: auto, 2, P."""
    return word in option.words or word.isupper() or word.replace(".", "", 1).isdigit()


def _keyword_of(match: re.Match[str]) -> str:
    """--rank auto -> rank="auto", --drop-invalid -> drop_invalid=True, --ids -> ids."""
    keyword, word = match[1].replace("-", "_"), match[2] or ""
    rest = f" {word}" if word and word != "FILE" else ""
    if keyword in _WORDS:
        return _WORDS[keyword] + rest
    if keyword in _FILES:
        return keyword + rest
    for command in _COMMANDS:
        if option := table(command).get(keyword):
            if option.is_flag:
                return f"{keyword}=True{rest}"
            if not _is_value(option, word):
                return keyword + rest
            return f"{keyword}={word}" if word.isupper() or word[0].isdigit() else f'{keyword}="{word}"'
    return match[0]


_ATTACHED = {"names": "class_names", "probabilities": "pred_probs", "embeddings": "class_embeddings"}
# What the library calls things when it speaks to those who write commands, and what they are here.
_SAID: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\brer analyze --out\b"), "Result.write"),
    (re.compile(r"\brer (analyze|score|scale|bench|compare|apply|noise|embed)\b"), r"rer.\1"),
    (re.compile(r"--model DIR\b"), "model=..."),
    (re.compile(r"--([a-z][a-z-]*)(?: ([A-Za-z0-9.]*[A-Za-z0-9]))?"), _keyword_of),
    (re.compile(r"^(class|predicted) (names|probabilities|embeddings):"), lambda match: f"{_ATTACHED[match[2]]}:"),
    (re.compile(r"a file of labels, or a label column"), "y, or label_column of a table"),
    (re.compile(r"give one name a line, "), "give one name each, "),
    (re.compile(r"(^|but |of )features(?=:| has)"), r"\1X"),
    (re.compile(r"(^|but |of )labels(?=:| has)"), r"\1y"),
)


def translated(message: str) -> str:
    """A message of the library in the words of a Python caller."""
    for pattern, said in _SAID:
        message = pattern.sub(said, message)
    return message


@contextlib.contextmanager
def python_messages(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """The library's messages name options and files as the command line does; here they become arguments.

    names: paths of ours -> what the caller knows it as."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        message = str(error)
        for path, name in (names or {}).items():
            message = message.replace(path, name)
        message = translated(message)
        if message == str(error):
            raise
        raise type(error)(message) from None
