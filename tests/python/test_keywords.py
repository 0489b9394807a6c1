"""The keywords are the command's options: same names, same defaults, same ranges, same echo."""
import inspect
import re
import subprocess
import typing

import numpy as np
import pytest

import rer
from conftest import COMMAND, SOURCE, clusters
from rer._keywords import option_texts, table
from rer._options import Options

TABLE = table("analyze")

# A value for each option that is not its default, as Python writes it.
OTHER = {
    "reconstructor": "subspace", "normalize": "unit", "shrinkage": 0.25, "threshold": 0.75, "probability": "density", "budget": "5%",
    "features": "raw", "drop_invalid": True, "strict": True, "format": "npz", "spreadsheet_safe": True, "details": True, "threads": 1, "memory": "300M", "device": "auto", "device_memory": "1G", "seed": 11, "folds": 3, "rank": 2,
    "fit_fraction": 0.5, "fit_samples": 40, "components": 3, "hidden": [16, 8], "dropout": 0.1,
    "regularization": 1e-5, "loss_weight": 10.0, "batch": 32, "neighbors": 10, "metric": "cosine",
    "learning_rate": 0.01, "repulsion": 0.5, "spread": 1.0, "min_dist": 0.1, "a": 1.5, "b": 0.9, "epochs": 5,
    "duplicates": "auto", "detector": "knn", "classifier_rows": "unit", "classifier_c": 0.5, "quality": "margin",
    "prune_by": "class", "temperature": 0.5, "clusters": 3,
}
# Those that another option must be set for, or that go with no labels.
BESIDE = {"a": {"b": 0.9}, "b": {"a": 1.5}, "clusters": {"y": None}}


def help_pages(command="analyze"):
    words = [COMMAND, command, "--help"]
    if command != "analyze":
        kinds = ("centroid", "subspace", "autoencoder", "published") if command == "scale" else ()
        return [subprocess.run([*words, *more], capture_output=True, text=True, check=True).stdout
                for more in ([], *(["--reconstructor", name] for name in kinds))]
    return [subprocess.run([*words, *more], capture_output=True, text=True, check=True).stdout
             for more in ([], *(["--reconstructor", name] for name in ("centroid", "subspace", "autoencoder", "published")),
                          *(["--detector", name] for name in ("confident", "simifeat", "knn", "zeroshot")),
                          ["--device", "cuda"])]


def command_options(command="analyze"):
    """Name -> default of every option that the command's help lists."""
    return dict(re.findall(r"^  --([a-z-]+).* \[(.*)\]$", "\n".join(help_pages(command)), re.M))


@pytest.mark.parametrize("command", ["noise", "bench", "scale", "compare", "embed"])
def test_other_commands_agree(command):
    """Each function has exactly the options of the command of its name; what is left over are its files."""
    listed, here = command_options(command), table(command)
    assert {option.name for option in here.values()} <= set(listed)
    files = {"out", "label-column", "json", "quiet", "help", "color", "images", "texts", "model", "descriptor"}
    own = {"noise": {"features", "human"}, "bench": {"human", "detectors", "class-embeddings"}, "compare": {"column", "error-rates"},
           "embed": {"output", "mean", "std", "classes", "template"}}
    assert set(listed) - {option.name for option in here.values()} == (files & set(listed)) | own.get(command, set())
    parameters = inspect.signature(getattr(rer, command)).parameters
    defaults = dict(zip(rer.options(command)["keyword"], rer.options(command)["default"]))
    for keyword, option in here.items():
        assert parameters[keyword].default == option.default
        assert option.is_flag or listed[option.name] == defaults[keyword]
    assert not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in own.get(command, ()):
        assert name.replace("-", "_") in parameters or name == "features" and "X" in parameters
    with pytest.raises(TypeError, match="there is no keyword"):
        option_texts({"budget": 5}, command=command)


def test_files_of_the_command_are_arguments():
    """What `rer analyze` takes as a file besides X and y is an argument here."""
    named = set(re.findall(r"^  --([a-z-]+) \S*(?:FILE|PATH|NAME)", "\n".join(help_pages()), re.M))
    assert {"groups", "pred-probs", "subsets", "images", "texts", "ids", "class-names", "class-embeddings"} <= named
    parameters = inspect.signature(rer.analyze).parameters
    others = {"save-model", "labels", "classes"}  # Result.save, y, class_embeddings
    assert {name for name in named if name.replace("-", "_") not in parameters} == others


def test_names_are_the_command_s():
    listed = command_options()
    names = {option.name for option in TABLE.values()}
    assert names <= set(listed)
    # What the command has besides is about files and printing, and has other words here.
    pages = " ".join(help_pages())
    files = set(re.findall(r"--([a-z-]+) \S*(?:FILE|PATH|DIR|NAME)", pages))
    assert set(listed) - names <= files | {"json", "quiet", "help", "color", "template"}


def test_types_are_written_for_every_option():
    assert set(Options.__annotations__) == set(TABLE) == set(rer.options()["keyword"])
    assert typing.get_type_hints(Options)["drop_invalid"] is bool


def test_help_shows_keywords_and_defaults():
    for function in (rer.analyze,):
        parameters = inspect.signature(function).parameters
        for keyword, option in TABLE.items():
            assert parameters[keyword].default == option.default
    listed = command_options()
    for keyword, option in TABLE.items():
        assert option.is_flag or listed[option.name] == str(rer.options().to_frame().set_index("keyword")["default"][keyword])


def test_every_option_reaches_the_library():
    X, y = clusters(n=90)
    plain = rer.analyze(X, y).summary["options"]
    assert set(OTHER) == set(TABLE)
    for keyword, value in OTHER.items():
        given = {"y": y, keyword: value, **BESIDE.get(keyword, {})}
        try:
            echo = rer.analyze(X, **given).summary["options"]
        except ValueError as error:
            pytest.fail(f"{given}: {error}")
        name = TABLE[keyword].name
        assert echo[name] != plain[name], keyword
        if isinstance(value, float):
            assert float(echo[name]) == value


def test_wrong_values_have_the_command_s_message(tmp_path):
    X, y = clusters(n=30)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for keyword, value in (("shrinkage", 2), ("folds", 0), ("metric", "manhattan"), ("budget", "200%"), ("seed", -1)):
        name = TABLE[keyword].name
        done = subprocess.run([COMMAND, "analyze", tmp_path / "X.npy", tmp_path / "y.npy", f"--{name}", str(value)],
                              capture_output=True, text=True)
        assert done.returncode == 2
        with pytest.raises(ValueError) as caught:
            rer.analyze(X, y, **{keyword: value})
        assert f"rer: --{caught.value}".strip() == done.stderr.strip()


def test_messages_name_keywords():
    X, y = clusters(n=30)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 2 is NaN.*drop_invalid=True leaves"):
        rer.analyze(X, y)
    assert rer.analyze(X, y, drop_invalid=True).notes


def test_kinds_of_values():
    assert option_texts({"hidden": (4, 2), "drop_invalid": np.True_, "seed": np.int64(3), "budget": None}) == {
        "hidden": "4,2", "drop-invalid": "yes", "seed": "3"}
    assert option_texts({"shrinkage": np.float32(.5)}, n_jobs=2, random_state=5) == {
        "threads": "2", "seed": "5", "shrinkage": "0.5"}
    assert option_texts({}, n_jobs=-1) == {"threads": "0"}
    assert int(option_texts({}, random_state=np.random.default_rng(0))["seed"]) >= 0
    for wrong, kind in (({"shrinkge": 1}, "did you mean 'shrinkage'"), ({"drop_invalid": "yes"}, "True or False"),
                        ({"seed": True}, "no value"), ({"shrinkage": object()}, "neither a number"),
                        ({"seed": 1, "random_state": 2}, "twice"), ({"n_jobs": 1.5}, "not an integer")):
        X, y = clusters(n=30)
        with pytest.raises(TypeError, match=kind):
            rer.analyze(X, y, **wrong)


def test_version():
    assert f'RER_VERSION "{rer.__version__}"' in (SOURCE / "include" / "rer.h").read_text()
    import importlib.metadata
    assert importlib.metadata.version("librer") == rer.__version__
