"""Fitted models: new rows against old classes."""

import os
from typing import TYPE_CHECKING, Any, Unpack

from rer import _rer
from rer._arrays import kind_of_names
from rer._keywords import option_texts, python_messages, show_keywords
from rer._labels import LabelForm
from rer._progress import Bar, Progress
from rer._result import Result
from rer._source import make_dataset

if TYPE_CHECKING:
    from rer._arrays import Array
    from rer._options import Options


class Model:
    """What was learned of the classes; from `rer.load` or `Result.model`.

    >>> import numpy as np, rer
    >>> random = np.random.default_rng(0)
    >>> y = np.array(["cat", "dog", "owl"])[np.arange(300) % 3]
    >>> X = 4 * np.eye(3, 8)[np.arange(300) % 3] + random.normal(size=(300, 8))
    >>> model = rer.analyze(X, y).model
    >>> model.classes.tolist()
    ['cat', 'dog', 'owl']
    >>> model.score(4 * np.eye(3, 8), ["cat", "owl", "owl"]).is_label_issue.tolist()
    [False, True, False]
    >>> model.score(4 * np.eye(3, 8)).suggested_label.tolist()
    ['cat', 'dog', 'owl']
    """

    def __init__(self, model: _rer.Model, form: LabelForm | None = None, values: "Array | None" = None) -> None:
        self._model = model
        self._form = form if form is not None else LabelForm(kind_of_names(model.class_names()))
        self._values = values  # where the classes have other names

    @property
    def classes(self) -> "Array":
        """The labels that it knows, [C]."""
        return self._values if self._values is not None else self._form.values_of(self._model.class_names())

    @property
    def n_features(self) -> int:
        """Numbers that a row must have."""
        return self._model.columns()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file."""
        with python_messages():
            self._model.save(os.fspath(path))

    @show_keywords
    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        label_column: str | None = None,
        vectors: str | None = None,
        ids: Any = None,
        images: Any = None,
        texts: Any = None,
        errors: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        n_jobs: int | None = None,
        **options: "Unpack[Options]",
    ) -> Result:
        """Judges rows as new ones: nothing is left out of the classes. Rows without a label get one suggested.

        Of the options only threshold, budget, features, drop_invalid, spreadsheet_safe, threads and memory
        apply here.
        """
        settings = option_texts(options, n_jobs, command="score")
        renamed = None  # the model knows its classes by their names
        if self._values is not None and (y is not None or label_column is not None):
            renamed = dict(zip(self._values.tolist(), self._model.class_names(), strict=True))
        source = make_dataset(
            *(X, y, settings),
            label_column=label_column,
            vectors=vectors,
            class_names=renamed,
            ids=ids,
            images=images,
            texts=texts,
        )
        with Bar(progress) as bar, python_messages():
            path = None if errors is None else os.fspath(errors)
            result = _rer.score(self._model, source.data, settings, path, bar.report)
        form = source.form._replace(kind=self._form.kind)
        if y is None and label_column is None:
            form = form._replace(dtype=self._form.dtype if self._form.holder == "numpy" else None)
        found = Result(result, form, self._values, source.pictures)
        found._features = source.features
        return found

    def __repr__(self) -> str:
        return f"<rer.Model of {len(self._model.class_names()):,} classes, {self.n_features:,} features>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._model.pack(), self._form, self._values)


def _restore(content: bytes, form: LabelForm, values: "Array | None") -> Model:
    return Model(_rer.unpack_model(content), form, values)


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model that Result.save or `rer analyze --save-model` wrote.

    >>> import numpy as np, rer, tempfile
    >>> X, y = np.random.default_rng(0).normal(size=(90, 5)), np.arange(90) % 3
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rer.analyze(X, y).save(f"{folder}/model.safetensors")
    ...     rer.load(f"{folder}/model.safetensors")
    <rer.Model of 3 classes, 5 features>
    """
    with python_messages():
        return Model(_rer.load_model(os.fspath(path)))
