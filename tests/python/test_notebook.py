"""The notebook in examples/ runs from top to bottom and shows what it says: find, look, fix, check again."""
import re
import sys

import nbclient
import nbformat
import pytest

from conftest import SOURCE


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Source -> (printed text, results as {kind: content}) of every cell of code."""
    notebook = nbformat.read(SOURCE / "examples" / "find_mistakes.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    folder = tmp_path_factory.mktemp("notebook")
    # In this Python, whatever kernels the user has.
    client = nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(folder)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
            shown = [output.data for output in cell.outputs if output.output_type == "execute_result"]
            found[cell.source] = printed, shown[0] if shown else {}
    return found, folder


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
