"""Messages speak to a Python caller: of arguments, not of the command's options, and of no file of ours."""
import re
import tempfile

import numpy as np
import pytest

import rer
from conftest import clusters
from rer._keywords import translated

X, Y = clusters(planted=12)
PICTURES = ["a.png"] * 300


def analyze(*arguments, **keywords):
    return lambda: rer.analyze(*(arguments or (X, Y)), **keywords)


def compare(runs=None, **keywords):
    return lambda: rer.compare(runs or [rer.analyze(X, Y), rer.analyze(X[:100], Y[:100])], **keywords)


WRONG = [
    (analyze(class_name=1), "did you mean 'class_names'?"),
    (analyze(njobs=1), "did you mean 'n_jobs' or 'threads'?"),
    (analyze(random_seed=1), "did you mean 'random_state' or 'seed'?"),
    (analyze(image=1), "did you mean 'images'?"),
    (analyze(labels=Y), "did you mean 'y'?"),
    (analyze(zzz=1), "there are: X, y, label_column"),
    (lambda: rer.bench(X, Y, detector="rer"), "did you mean 'detectors'?"),
    (lambda: rer.find_label_issues(Y, features=X, filter="both"), "did you mean 'filter_by'?"),
    (lambda: rer.get_label_quality_scores(Y, features=X, methods="x"), "did you mean 'method'?"),
    (lambda: rer.apply(Y, [1, 2]), "decisions is a list; give decisions.csv"),
    (lambda: rer.embed(["a text"]), "texts need a model: model=..."),
    (lambda: rer.analyze(X, label=Y), "did you mean 'y' or 'label_column'?"),
    (lambda: rer.noise(Y, rates=.1), "did you mean 'rate'?"),
    (lambda: rer.compare([], modes="labels"), "did you mean 'mode'?"),
    (lambda: rer.analyze(X, Y).model.score(X, Y, thresholds=.2), "did you mean 'threshold'?"),
    (lambda: rer.analyze(X, Y).model.score(X, Y, shrinkage=.2), "decided when the model was fitted"),
    (lambda: rer.RerDetector(shrinkge=1), "did you mean 'shrinkage'?"),
    (analyze(budget=.05), "did you mean a share, 5%?"),
    (analyze(X, None), "X: labels are needed: y, or label_column of a table"),
    (analyze(X * np.nan, Y), "X: row 0, column 0 is NaN.*drop_invalid=True leaves"),
    (analyze(X, Y * 0), "y: the usable rows have 1 class"),
    (analyze(X, Y + .5), "y: row 0"),
    (analyze(class_names=["a"]), "^class_names: .*give one name each"),
    (analyze(pred_probs=X), "^pred_probs: shape"),
    (analyze(groups=Y), "^groups: every class is one group"),
    (analyze(detector="zeroshot"), "needs an embedding of each class: class_embeddings$"),
    (analyze(reconstructor="subspace", rank="auto", folds=1), 'rank="auto" needs folds=2 or more'),
    (analyze(threshold="paper", detector="knn"), 'threshold="paper" is for ratios, not for detector="knn"'),
    (analyze(memory=10), "^memory=10: "),
    (analyze(images=PICTURES[:2]), "^images: names 2 pictures"),
    (analyze(images=PICTURES), "^images: names '.*a.png' for row 0"),
    (lambda: rer.scale(X[:6], Y[:6]), "give sizes=N"),
    (compare(mode="samples"), '^run 1 has 300 samples but run 2 has 100.*mode="datasets" compares'),
    (compare([rer.analyze(X, Y)] * 2, column="given_label"), "column given_label: holds texts"),
    (compare(error_rates={"run 1": 7}, mode="datasets"), "^error_rates: line 2: 7 is no error rate"),
    (lambda: rer.load(__file__), "a model saved by Result.save is needed"),
    (lambda: rer.apply(Y, rer.analyze(X, Y)), r"auto=\.9"),
    (lambda: rer.apply(Y[::-1].copy(), rer.analyze(X, Y), auto=.9), "^decisions: was made for other labels.*those of y"),
    (lambda: rer.apply(Y, __file__), r"it should be decisions.csv.*\(for results of rer.analyze, give auto=P\)"),
    (lambda: rer.scale(X, Y).report("/nonexistent/page.html"), "'/nonexistent/page.html'"),
    (lambda: rer.analyze(X, Y).to_parquet("/nonexistent/rows.parquet"), "'/nonexistent/rows.parquet'"),
    (lambda: rer.analyze(X, Y).report("/nonexistent/page.html"), "^/nonexistent/page.html"),
]


@pytest.mark.parametrize("call, words", WRONG, ids=[words for _, words in WRONG])
def test_wrong_arguments(call, words):
    with pytest.raises((TypeError, ValueError, OSError)) as caught:
        call()
    message = str(caught.value)
    assert re.search(words, message), message
    assert "--" not in message and "rer analyze" not in message, message
    assert tempfile.gettempdir() + "/rer-" not in message and ".rer-" not in message, message


def test_translation():
    """The word after an option is its value only where the option could have it."""
    for said, here in (("--drop-invalid leaves rows out", "drop_invalid=True leaves rows out"),
                       ("use --shrinkage auto or more", 'use shrinkage="auto" or more'),
                       ("give --rank 0 to 7", "give rank=0 to 7"),
                       ("or --ids with their names", "or ids with their names"),
                       ("choose other --a and --b, spread", "choose other a and b, spread"),
                       ("the folder that rer analyze --out wrote", "the folder that Result.write wrote"),
                       ("--no-such thing", "--no-such thing")):
        assert translated(said) == here


def test_no_trace_of_temporary_folders(tmp_path):
    """What a comparison of results in memory says and writes names no folder that is gone."""
    comparison = rer.compare([rer.analyze(X, Y), rer.analyze(X, Y, seed=1)])
    assert [run["path"] for run in comparison.summary["runs"]] == [None, None]
    comparison.write(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert tempfile.gettempdir() + "/rer-" not in file.read_text()
    rer.analyze(X, Y).write(tmp_path / "a")
    kept = rer.compare([tmp_path / "a", tmp_path / "a"]).summary["runs"]
    assert [run["path"] for run in kept] == [str(tmp_path / "a")] * 2


def test_printed_result_has_the_range():
    """Where the share of wrong labels is uncertain the first lines say from where to where."""
    random = np.random.default_rng(0)
    y = np.arange(2000) % 4
    r = rer.analyze(1.4 * np.eye(4, 8)[y] + random.normal(size=(2000, 8)), np.asarray(rer.noise(y, rate=.1)))
    low, high = r.summary["noise_low"], r.summary["noise_high"]
    assert low < r.noise_rate < high
    assert f"{100 * low:.1f} to {100 * high:.1f} %" in repr(r).splitlines()[1]
    assert f"{round(high * 2000):,}" in repr(r).splitlines()[1] and f"about {round(r.noise_rate * 2000):,}" in repr(r)
    y = np.arange(400) % 4
    for apart, words in ((9, "About 1 label looks wrong"), (3.5, "At least 1 label is wrong, perhaps up to ")):
        r = rer.analyze(apart * np.eye(4, 8)[y] + np.random.default_rng(3).normal(size=(400, 8)),
                        np.where(np.arange(400) == 0, 1, y))
        assert words in repr(r), repr(r)
    other = rer.analyze(X, Y, detector="knn")
    assert re.search(r"About \d+ labels look wrong \([\d.]+ %\); \d+ flagged", repr(other))
