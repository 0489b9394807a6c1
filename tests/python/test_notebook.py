"""The notebook in examples/ runs from top to bottom and shows what it says: find, look, fix, check again."""
import re
import sys

import nbformat
import numpy as np
import pytest

from conftest import SOURCE


sys.path.insert(0, str(SOURCE / "scripts"))
from notebook import PATH, run  # noqa: E402


def shown_by(cell):
    """(printed text, result as {kind: content}) of a cell that ran."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
    shown = [output.data for output in cell.outputs if output.output_type == "execute_result"]
    return printed, shown[0] if shown else {}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Source -> (printed text, results as {kind: content}) of every cell of code."""
    notebook = nbformat.read(PATH, as_version=4)
    nbformat.validate(notebook)
    kept = {cell.source: shown_by(cell) for cell in notebook.cells if cell.cell_type == "code"}
    folder = tmp_path_factory.mktemp("notebook")
    run(notebook, folder)
    found = {cell.source: shown_by(cell) for cell in notebook.cells if cell.cell_type == "code"}
    return found, folder, kept


def test_outputs_are_kept(cells):
    """Readers see what it shows where nothing runs: the same words, and numbers up to rounding."""
    found, _, kept = cells
    number = r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?"
    assert sum(bool(printed or shown) for printed, shown in kept.values()) > 6, "run scripts/notebook.py"
    for source, (printed, shown) in found.items():
        for now, then in ((printed, kept[source][0]), (shown.get("text/plain", ""), kept[source][1].get("text/plain", ""))):
            assert re.sub(number, "", now).split() == re.sub(number, "", then).split(), f"run scripts/notebook.py: {source}"
            values = [[float(text.replace(",", "")) for text in re.findall(number, said)] for said in (now, then)]
            np.testing.assert_allclose(*values, rtol=.02, atol=1e-6, err_msg=f"run scripts/notebook.py: {source}")
        assert set(shown) == set(kept[source][1])
    text = PATH.read_text(encoding="utf-8")
    assert "image/png" in text and "/tmp/" not in text


def cell_with(cells, words):
    return next(outcome for source, outcome in cells[0].items() if words in source)


def test_find(cells):
    _, shown = cell_with(cells, "r = rer.analyze")
    assert "1,797 samples, 10 classes, 64 features" in shown["text/plain"]
    assert "<svg" in shown["text/html"] and "<table" in shown["text/html"]
    assert shown["text/html"].count("data:image/png") == 10
    printed, _ = cell_with(cells, "expected_wrong")
    flagged, wrong = map(int, re.findall(r"(\d+) (?:labels are flagged|of them)", printed))
    assert 60 <= flagged <= 120 and 60 <= wrong <= flagged  # 90 were planted


def test_look(cells):
    _, shown = cell_with(cells, "r.suspects(10)")
    assert shown["text/html"].count("<tr>") == 11
    assert "<html" in (cells[1] / "report.html").read_text(encoding="utf-8")


def test_fix_and_check_again(cells):
    printed, _ = cell_with(cells, "fixed[sure]")
    before, after = map(int, re.search(r"before: (\d+), after: (\d+)", printed).groups())
    assert before == 90 and after < 20
    _, shown = cell_with(cells, "rer.check")
    assert re.search(r"(\d+) labels were changed: \1 to what rer suggested", shown["text/plain"])
    printed, _ = cell_with(cells, "left.expected_wrong")
    found, left = map(int, re.findall(r"\d+", printed))
    assert left == after and abs(found - left) < 10
    _, shown = cell_with(cells, "rer.scale")
    assert "With unlimited data" in shown["text/plain"] and "<svg" in shown["text/html"]
