"""rer.embed: pictures and texts to features."""

import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rer import _rer
from rer._arrays import Array, as_array, is_path
from rer._keywords import option_texts, python_messages, show_keywords
from rer._picture import png
from rer._progress import Bar, Progress
from rer._source import show_openvino

if TYPE_CHECKING:
    from rer._options import EmbedOptions

Path = str | os.PathLike[str]
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp")


def _is_picture_file(item: object) -> bool:
    return isinstance(item, (str, os.PathLike)) and str(os.fspath(item)).lower().endswith(_ENDINGS)


def by_callable(items: Any, model: Callable[[Any], Any], batch_size: int, report: Callable[[str, float], object] | None) -> Array:
    """What a function makes of batches of items, whatever they are."""
    rows = []
    for start in range(0, len(items), batch_size):
        batch = items[start : start + batch_size]
        made = as_array(model(batch), "what the model returned")
        if made.ndim != 2 or len(made) != len(batch):
            raise ValueError(f"the model returned shape {made.shape} for a batch of {len(batch)}; it must be [{len(batch)}, D]")
        rows.append(made)
        if report is not None:
            report("features", (start + len(batch)) / len(items))
    if not rows:
        raise ValueError("there is nothing to embed")
    return np.concatenate(rows)


def _save_pictures(items: Sequence[Any], folder: pathlib.Path) -> dict[str, str]:
    """A file for each, in their order; what they are called there -> what the caller calls them."""
    names = {}
    for row, item in enumerate(items):
        if is_path(item):
            if not _is_picture_file(item):
                raise ValueError(f"{os.fspath(item)}: is no {', '.join(_ENDINGS)}")
            file = folder / f"{row:012}{os.path.splitext(item)[1].lower()}"
            file.symlink_to(os.path.abspath(item))
            names[str(file)] = os.fspath(item)
            continue
        picture = np.asarray(item.convert("RGB") if hasattr(item, "convert") else as_array(item, f"picture {row}"))
        if picture.dtype != np.uint8 or picture.ndim not in (2, 3):
            raise ValueError(f"picture {row}: shape {picture.shape} of {picture.dtype}; uint8 [H, W] or [H, W, 1..4] is a picture")
        file = folder / f"{row:012}.png"
        file.write_bytes(png(picture))
        names[str(file)] = f"picture {row}"
    return names


def _save(items: Any, folder: pathlib.Path) -> tuple[pathlib.Path, dict[str, str]]:
    """Where the library finds them."""
    items = items if isinstance(items, (list, tuple)) else list(items)
    if not items:
        raise ValueError("there is nothing to embed")
    if all(isinstance(item, str) and not _is_picture_file(item) for item in items):
        file = folder / "texts.jsonl"
        file.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        return file, {str(file): "texts"}
    pictures = folder / "pictures"
    pictures.mkdir()
    return pictures, _save_pictures(items, pictures)


@show_keywords
def embed(
    inputs: Any,
    model: Path | Callable[[Any], Any] | None = None,
    *,
    out: Path | None = None,
    output: str | None = None,
    mean: str | None = None,
    std: str | None = None,
    classes: Path | None = None,
    template: str | None = None,
    batch_size: int = 64,
    progress: Progress = None,
    n_jobs: int | None = None,
    **options: "Unpack[EmbedOptions]",
) -> Array:
    """Features of pictures or texts: an array [N, D], of float16 unless dtype="float32" is said.

    inputs: names of .jpg, .png and .webp files, pictures (uint8 arrays [H, W] or [H, W, 1..4], or PIL's), one array of
        them [N, H, W] or [N, H, W, 1..4], or texts; each gets a row, in their order. Or a folder of pictures, in the
        order of their paths, without those that cannot be read; or a file of texts: .txt, .csv:COLUMN, .jsonl.
    model: the encoder: a folder as `optimum-cli export openvino` makes it, or an .onnx file; None: the built-in
        descriptor of pictures. Needs `pip install librer[embed]`. Or a function of a batch of inputs that
        returns [batch, D]: of an array it gets arrays, of a list lists.
    out: a path; the features stay there, X.npy, with X_ids.csv and X_labels.csv of a folder beside them. What was
        stopped goes on there.
    output: the model's output that has the features; None: as its config.json says.
    mean, std: of red, green and blue ("0.485,0.456,0.406"), where the model's folder does not say them.
    classes, template: a file of names, put into "a photo of a {}": their embeddings go to X_classes.npy beside `out`.
    batch_size: inputs that a function gets at once.
    progress: True or False for a bar or none; None: one where somebody watches and it takes long; or a function.
    n_jobs: threads, counted as in joblib; None: one for each core. Never changes a result.
    options: see `rer.options("embed")`.

    >>> import numpy as np, rer
    >>> pictures = np.zeros((3, 64, 64), np.uint8)
    >>> pictures[1, 20:40] = 255
    >>> rer.embed(pictures).shape
    (3, 1956)
    """
    settings = option_texts(options, n_jobs, command="embed")
    if callable(model):
        if is_path(inputs):
            raise TypeError(f"{os.fspath(inputs)!r} is a path; a function gets its inputs in a list or an array")
        with Bar(progress) as bar:
            return by_callable(inputs, model, batch_size, bar.report)
    if model is not None:
        show_openvino()
    with tempfile.TemporaryDirectory(prefix="rer-") as temporary:
        folder = pathlib.Path(temporary)
        names: dict[str, str] = {}
        source = inputs
        if not is_path(inputs):
            source, names = _save(inputs, folder)
            settings["strict"] = "yes"
        target = os.fspath(out) if out is not None else str(folder / "X.npy")
        encoder, named = (None if path is None else os.fspath(path) for path in (model, classes))
        with Bar(progress) as bar, python_messages(names):
            _rer.embed(os.fspath(source), target, encoder, output, mean, std, named, template, settings, bar.report)
        return np.load(target, mmap_mode=None if out is None else "r")  # type: ignore[no-any-return]
