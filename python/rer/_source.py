"""From what the caller has (arrays, tensors, frames, paths) to a data set of the library."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from rer import _rer
from rer._arrays import Array, LabelKind, feature_array, is_path, kind_of_names, label_array, mapped_file
from rer._keywords import python_messages
from rer._tables import is_table, split_table


class Source(NamedTuple):
    data: _rer.Dataset
    kind: LabelKind  # what labels come back as
    pictures: Array | None  # [N, H, W(, channels)] where the rows are pictures in memory


def _path(value: Any) -> str | None:
    return None if value is None else os.fspath(value)


def name_classes(data: _rer.Dataset, class_names: Any) -> None:
    if isinstance(class_names, Mapping):
        by_text = {str(label): str(name) for label, name in class_names.items()}
        class_names = [by_text.get(name, name) for name in data.class_names()]
    data.set_class_names([str(name) for name in class_names])


def make_dataset(
    X: Any,
    y: Any,
    texts: dict[str, str],
    *,
    label_column: str | None = None,
    vectors: str | None = None,
    class_names: Any = None,
    ids: Any = None,
) -> Source:
    """Opens paths, wraps anything else; labels may be either, too."""
    if is_table(X):
        label_column, y = (y, None) if isinstance(y, str) and label_column is None else (label_column, y)
        if label_column is not None and y is not None:
            raise TypeError("the labels are given twice: as y and by label_column")
        parts = split_table(X, label_column, vectors, ids)
        X, y, ids, label_column = parts.X, parts.y if y is None else y, parts.ids, None
        class_names = parts.class_names if class_names is None else class_names
    elif vectors is not None:
        raise TypeError("vectors is for tables: pandas, pyarrow, datasets, .parquet")
    pictures: Array | None = None
    kind: LabelKind | None = None
    with python_messages():
        if is_path(X):
            from_file = {"labels": y, "class_names": class_names, "ids": ids}
            files = {name: _path(value) if is_path(value) else None for name, value in from_file.items()}
            if files["labels"] is None and y is not None and files["class_names"] is not None:
                raise TypeError("class_names is a path where y is an array; give the names themselves")
            data = _rer.open_dataset(
                os.fspath(X), files["labels"], label_column, files["class_names"], files["ids"], texts
            )
            if y is not None and files["labels"] is None:
                labels, kind = label_array(y)
                data.set_labels(labels)
            class_names = None if files["class_names"] is not None else class_names
            ids = None if files["ids"] is not None else ids
        else:
            if is_path(y):
                raise TypeError(f"y is the path {y!r} where X is an array; give both as paths or both as arrays")
            if label_column is not None:
                raise TypeError("label_column is for tables; give the labels as y")
            features = feature_array(X)
            labels = None
            if y is not None:
                labels, kind = label_array(y)
            path, offset = mapped_file(features)
            data = _rer.wrap_dataset(features, labels, texts, path, offset)
            pictures = features if data.picture() is not None else None
        if class_names is not None:
            name_classes(data, class_names)
            kind = "text"
        if ids is not None:
            data.set_ids([str(item) for item in ids])
    return Source(data, kind if kind is not None else kind_of_names(data.class_names()), pictures)
