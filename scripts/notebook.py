#!/usr/bin/env python3
"""Runs the notebook of examples/ and keeps what it shows, so that readers see it where nothing runs:

    scripts/notebook.py       with a Python that has the package, nbclient and what the notebook imports
"""
import pathlib
import sys
import tempfile

import nbclient
import nbformat

PATH = pathlib.Path(__file__).parent.parent / "examples" / "find_mistakes.ipynb"


def run(notebook, folder):
    """Executes all cells in `folder`, in this Python, whatever kernels the user has."""
    client = nbclient.NotebookClient(notebook, timeout=1800, record_timing=False, resources={"metadata": {"path": str(folder)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()


def main():
    notebook = nbformat.read(PATH, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        run(notebook, folder)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}  # not which version it was
    nbformat.write(notebook, PATH)


if __name__ == "__main__":
    main()
