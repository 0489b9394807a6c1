"""Types and examples: mypy --strict on the package and on what a user writes; docstrings run."""
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import rer
from conftest import SOURCE

MODULES = ["rer", *(f"rer.{module.name}" for module in pkgutil.iter_modules(rer.__path__) if module.name != "_rer")]

USE = """
import numpy as np
import rer

X = np.zeros((10, 3), np.float32)
r = rer.analyze(X, np.arange(10), shrinkage="auto", n_jobs=2, budget="1%", drop_invalid=True)
reveal_type(r)
reveal_type(r.noise_rate)
reveal_type(r.suspects(3)["rer"])
reveal_type(rer.load("x").score(X))
rer.analyze(X, shrinkage="atuo")
rer.analyze(X, sede=3)
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    cache = tmp_path_factory.mktemp("mypy")

    def run(*arguments, cwd):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *arguments],
                              capture_output=True, text=True, cwd=cwd)

    return run


def test_package_is_typed(tmp_path, mypy):
    done = mypy("--config-file", str(SOURCE / "pyproject.toml"), "-p", "rer", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_use_is_typed(tmp_path, mypy):
    (tmp_path / "use.py").write_text(USE)
    out = mypy("--config-file", str(SOURCE / "pyproject.toml"), "use.py", cwd=tmp_path).stdout
    for found in ('use.py:7: note: Revealed type is "rer._result.Result"', 'use.py:8: note: Revealed type is "float"',
                  "use.py:9: note: Revealed type is \"numpy.ndarray", 'use.py:10: note: Revealed type is "rer._result.Result"',
                  'use.py:11: error: Argument "shrinkage"', 'use.py:12: error: Unexpected keyword argument "sede"'):
        assert found in out.replace("builtins.", ""), out


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert module.__doc__
    failed, tried = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    written = inspect.getsource(module).count(">>> ")
    assert (failed, tried) == (0, written)


def test_what_users_call_has_examples():
    for name in ("analyze", "scale", "compare", "bench", "noise", "load", "Result", "Model", "find_label_issues"):
        assert ">>> " in (getattr(rer, name).__doc__ or ""), name


def test_everything_public_is_explained():
    for name in rer.__all__:
        thing = getattr(rer, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    assert getattr(value, "__doc__", None), f"{name}.{member}"
    for name in ("analyze", "load", "options"):
        assert ">>>" in getattr(rer, name).__doc__, name
    assert rer.__doc__.startswith("I have embeddings and labels")
