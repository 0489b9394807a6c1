"""rer.analyze."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from rer import _rer
from rer._embed import by_callable
from rer._keywords import option_texts, python_messages, show_keywords
from rer._progress import Bar, Progress
from rer._result import Result
from rer._source import make_dataset

if TYPE_CHECKING:
    from rer._options import Options


def _describe(X: Any, items: Any, model: Callable[[Any], Any], batch_size: int, progress: Progress) -> Any:
    """Features that a function makes."""
    if X is not None:
        raise TypeError("X and a function as model: the function makes X from images or texts; drop X")
    if items is None or isinstance(items, (str, os.PathLike)):
        raise TypeError("a function as model needs images or texts in an array or a list")
    with Bar(progress) as bar:
        return by_callable(items, model, batch_size, bar.report)


@show_keywords
def analyze(
    X: Any = None,
    y: Any = None,
    *,
    label_column: str | None = None,
    vectors: str | None = None,
    class_names: Any = None,
    ids: Any = None,
    images: Any = None,
    texts: Any = None,
    model: str | os.PathLike[str] | Callable[[Any], Any] | None = None,
    batch_size: int = 64,
    subsets: Any = None,
    groups: Any = None,
    pred_probs: Any = None,
    class_embeddings: Any = None,
    errors: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **options: "Unpack[Options]",
) -> Result:
    """Finds the probably wrong labels `y` of the features `X`.

    X: numbers [N, D], or pictures [N, H, W] or [N, H, W, channels] of uint8: a numpy array or memmap, a
        torch or jax tensor, anything with DLPack or a buffer, the path of a .npy, .npz:name, .h5:/path,
        .csv or IDX file, or a table: pandas, polars, pyarrow, Hugging Face datasets, .parquet. float16, float32
        and float64 in C order are read where they are, not copied; a torch or CuPy tensor on a CUDA card is analysed
        there, unless `device` says otherwise. Or a folder of pictures of any size: the first
        sub-folder of each is its label where no y is given.
    y: a label for each row: integers or texts; None, NaN, "" or -1 (where it is the only negative one)
        mean that a row has no label and wants one suggested. Or the path of a file of labels; of a table,
        the name of the column.
    label_column: where X is a table with named columns, the one of the labels.
    vectors: where X is a table, the column that holds a vector in each row; None: the only one that does, or
        else all columns of numbers.
    class_names: names in the order of the sorted labels, or {label: name}.
    ids: a name for each row, carried through to the outputs; for a table, the name of a column.
    images: a picture of each row for the report: uint8 [N, H, W] or [N, H, W, 1..4], names of files, a folder.
    texts: a text of each row for the report; or a file of them.
    model: where X is a folder of pictures, or a file of texts, the encoder that makes their features: see
        docs/embedding.md. Or a function, where there is no X: it gets batches of `images`, or else of `texts`, as they
        are (arrays of an array, lists of a list), and returns features [batch, D]: a model of torch on a GPU, say.
    batch_size: how many it gets at once.
    subsets: a group for each row (split, source, annotator): difficulty and noise of each, in write's files.
    groups: rows that are left out together, as copies and frames of a video are; "duplicates": as found.
    pred_probs: your own out-of-sample probabilities [N, C], classes sorted: pooled with ours by what they are worth.
    class_embeddings: [C, D], classes sorted, for detector="zeroshot".
        Of a table, subsets, groups and texts may be names of columns; with X a path, all may be paths.
    errors: a path; all errors go there, a .npy file [C, N].
    progress: True or False for a bar or none; None: one where somebody watches and it takes long; or a
        function of the stage and the share that is done. What it raises ends the analysis.
    n_jobs: threads, counted as in joblib; None: one for each core. Never changes a result.
    random_state: seed of everything random.
    options: see `rer.options()`; the same names and defaults as the command line has.

    >>> import numpy as np, rer
    >>> random = np.random.default_rng(0)
    >>> y = np.array(["cat", "dog", "owl"])[np.arange(300) % 3]
    >>> X = 4 * np.eye(3, 8)[np.arange(300) % 3] + random.normal(size=(300, 8))
    >>> y[5] = "cat"                                 # it is an owl
    >>> r = rer.analyze(X, y)
    >>> r.issues
    array([5])
    >>> r.suspects(1)["suggested_label"]
    array(['owl'], dtype='<U3')
    >>> rer.analyze(X, y, budget="2%").n_issues      # or flag exactly the worst 2 %
    6
    """
    settings = option_texts(options, n_jobs, random_state)
    if callable(model):
        X, model = _describe(X, images if images is not None else texts, model, batch_size, progress), None
    if X is None:
        raise TypeError("X is missing: features, a path, or a function as model with images or texts")
    source = make_dataset(
        X,
        y,
        settings,
        label_column=label_column,
        vectors=vectors,
        class_names=class_names,
        ids=ids,
        images=images,
        texts=texts,
        model=model,
        subsets=subsets,
        groups=groups,
        pred_probs=pred_probs,
        class_embeddings=class_embeddings,
    )
    if source.card is not None:
        settings.setdefault("device", f"cuda:{source.card}")
    with Bar(progress) as bar, python_messages():
        if settings.get("clusters", "0") != "0":
            if source.data.codes():
                raise ValueError("labels are given, and clusters would make others; drop one of the two")
            source.data.cluster(settings, bar.report)
            source = source._replace(form=source.form._replace(kind="integer"))
        result = _rer.analyze(source.data, settings, None if errors is None else os.fspath(errors), bar.report)
    found = Result(result, source.form, source.values, source.pictures)
    found._features = source.features
    found._arrays = source.arrays
    return found
