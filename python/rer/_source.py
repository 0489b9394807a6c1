"""From what the caller has (arrays, tensors, frames, paths) to a data set of the library."""

import importlib.util
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rer import _rer
from rer._arrays import Array, as_array, card_tensor, feature_array, is_path, kind_of_names, label_array, mapped_file
from rer._keywords import python_messages
from rer._labels import LabelForm, form_of
from rer._tables import is_table, names_column, split_table


class Source(NamedTuple):
    data: _rer.Dataset
    form: LabelForm  # what labels come back as
    values: Array | None  # [C] the labels of the classes, where they have other names
    pictures: Array | None  # [N, H, W(, channels)] where the rows have pictures in memory
    features: Any = None  # [N, ...] where they are in memory, or the tensor that lies on a card
    arrays: Mapping[str, Any] | None = None  # then all that an analysis reads, by the names of files
    card: int | None = None  # that the features lie on


_ANALYSED = ("pred_probs", "class_embeddings", "groups", "subsets")
# What is said of classes waits for the labels; from files all of it is read at once.
_OF_CLASSES = ("class_names", "pred_probs", "class_embeddings")


def name_classes(data: _rer.Dataset, class_names: Any) -> None:
    if isinstance(class_names, Mapping):
        by_text = {str(label): str(name) for label, name in class_names.items()}
        class_names = [by_text.get(name, name) for name in data.class_names()]
    data.set_class_names([str(name) for name in class_names])


def attach_images(data: _rer.Dataset, images: Any) -> Array | None:
    """Pictures for the report: a path, names of files, or an array, which is returned."""
    if is_path(images):
        data.open_images(os.fspath(images))
        return None
    if isinstance(images, Sequence) and len(images) > 0 and is_path(images[0]):
        with tempfile.TemporaryDirectory(prefix="rer-") as folder:
            path = os.path.join(folder, "images.txt")
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(os.path.abspath(image) + "\n" for image in images)
            with python_messages({path: "images"}):
                data.open_images(path)
        return None
    array = np.ascontiguousarray(as_array(images, "images"))
    data.set_images(array)
    return array


def attach_texts(data: _rer.Dataset, texts: Any) -> None:
    if is_path(texts):
        data.open_texts(os.fspath(texts))
    else:
        data.set_texts(["" if text is None else str(text) for text in texts])


def _attach(data: _rer.Dataset, name: str, value: Any) -> Array | None:
    """Gives the data set what the caller says of its rows or classes; returns pictures in memory."""
    if name == "images":
        return attach_images(data, value)
    if name == "texts":
        attach_texts(data, value)
    elif name == "class_names":
        name_classes(data, value)
    elif name == "ids":
        data.set_ids([str(item) for item in value])
    elif name == "groups" and isinstance(value, str) and value == "duplicates":
        data.set_groups(None)
    elif name == "groups":
        data.set_groups(label_array(value, name)[0])
    elif name == "subsets":
        data.set_subsets(label_array(value, name)[0])
    elif name == "pred_probs":
        data.set_pred_probs(feature_array(value, name))
    else:
        data.set_class_embeddings(feature_array(value, name))
    return None


def show_openvino() -> None:
    """The library looks into the active environment; here it is the one of this interpreter."""
    found = importlib.util.find_spec("openvino")
    if found is not None and found.submodule_search_locations:
        os.environ.setdefault("RER_OPENVINO", found.submodule_search_locations[0])


def _open(X: Any, y: Any, label_column: str | None, said: dict[str, Any], settings: dict[str, str]) -> Source:
    """A data set of files. What is no path stays in `said`, to be attached."""
    given = {"labels": y, **said}
    later = ("images", "texts")  # a folder of images may want the ids
    files = {name: os.fspath(value) for name, value in given.items() if is_path(value) and name not in later}
    early = [name for name in _OF_CLASSES if name in files]
    if y is not None and "labels" not in files and early:
        raise TypeError(f"{early[0]} is a path where y is an array; give both as paths or both as arrays")
    if label_column is not None:
        files["label_column"] = label_column
    if "model" in files:
        show_openvino()
    data = _rer.open_dataset({"features": os.fspath(X), **files}, settings)
    form = LabelForm("text") if "class_names" in files else None
    if y is not None and "labels" not in files:
        labels, kind = label_array(y)
        form = form_of(y, kind)
        data.set_labels(labels)
    for name in files:
        said.pop(name, None)
    return Source(data, form or LabelForm(kind_of_names(data.class_names())), None, None)


def _wrap(X: Any, y: Any, label_column: str | None, said: dict[str, Any], settings: dict[str, str]) -> Source:
    """A data set of arrays."""
    for name, value in {"y": y, **said}.items():
        if is_path(value) and name not in ("images", "texts") and (name, value) != ("groups", "duplicates"):
            raise TypeError(f"{name} is the path {value!r} where X is an array; give both as paths or both as arrays")
    if label_column is not None:
        raise TypeError("label_column is for tables; give the labels as y")
    lying = card_tensor(X)
    features = feature_array(X) if lying is None else X
    labels, kind = (None, None) if y is None else label_array(y)
    index = X.index if hasattr(X, "iloc") else None  # pandas'
    path, offset = mapped_file(features) if lying is None else (None, 0)
    data = _rer.wrap_dataset(features if lying is None else lying.capsule, labels, settings, path, offset)
    pictures = features if data.picture() is not None else None
    form = LabelForm("integer", index=index) if kind is None else form_of(y, kind, index)
    arrays = {"features": features}
    if labels is not None:
        arrays["labels"] = labels
    return Source(data, form, None, pictures, features, arrays, None if lying is None else lying.card)


def _array_of(name: str, value: Any) -> "Array | str":
    """What is said of rows or classes, as a file holds it."""
    if name in ("pred_probs", "class_embeddings"):
        return feature_array(value, name)
    return value if isinstance(value, str) else label_array(value, name)[0]


def _is_column(X: Any, y: Any) -> bool:
    """Whether y is no file but the name of a column of the file X."""
    return os.fspath(X).endswith((".csv", ".tsv", ".txt")) and not os.path.exists(y) and os.path.basename(y) == y and "." not in y


def make_dataset(
    X: Any,
    y: Any,
    settings: dict[str, str],
    *,
    label_column: str | None = None,
    vectors: str | None = None,
    **others: Any,
) -> Source:
    """Opens paths, wraps anything else; labels may be either, too.

    others: class_names, ids, images, texts, model, subsets, groups, pred_probs, class_embeddings; None: not given.
    """
    said = {name: value for name, value in others.items() if value is not None}
    index = None
    if hasattr(X, "__dask_graph__") and hasattr(X, "columns"):  # a frame; rer.dask leaves it where it is
        X = X.compute()
    if is_path(X) and is_path(y) and label_column is None and _is_column(X, y):
        label_column, y = os.fspath(y), None
    if is_table(X):
        label_column, y = (y, None) if names_column(X, y) and label_column is None else (label_column, y)
        if label_column is not None and y is not None:
            raise TypeError("the labels are given twice: as y and by label_column")
        parts = split_table(X, label_column, vectors, said)
        index = X.index if hasattr(X, "iloc") else None
        X, y, label_column = parts.X, parts.y if y is None else y, None
        said.update(parts.columns)
        if parts.class_names is not None:
            said.setdefault("class_names", parts.class_names)
    elif isinstance(X, Mapping):
        raise TypeError("X is a dict; give a table of it, as pandas.DataFrame(X)")
    elif vectors is not None:
        raise TypeError("vectors is for tables: pandas, polars, pyarrow, datasets, .parquet")
    with python_messages():
        source = (_open if is_path(X) else _wrap)(X, y, label_column, said, settings)
        data, form, values, pictures = source[:4]
        if "class_names" in said:
            values = form.values_of(data.class_names())
        for name, value in said.items():
            shown = _attach(data, name, value)
            pictures = shown if shown is not None else pictures
    form = form if form.index is not None else form._replace(index=index)
    arrays = source.arrays
    if arrays is not None:
        arrays = {**arrays, **{name: _array_of(name, value) for name, value in said.items() if name in _ANALYSED}}
    return Source(data, form, values, pictures, source.features, arrays, source.card)
