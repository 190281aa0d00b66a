"""Notebooks run: the ones to download in a plain Jupyter kernel, and an application of marimo."""

import json
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from tests.house.pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def executed(path, folder):
    """Run a notebook, and return what its cells show by their types."""
    book = nbformat.read(path, as_version=4)
    assert not [cell for cell in book.cells if cell.get("outputs")]
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return [
        output.get("data", {"text/plain": output.get("text", "")})
        for cell in book.cells
        for output in cell.get("outputs", ())
    ]


SHOWN = {
    "analyst": ("costs epsilon 0.25", "<td>A</td>"),
    "researcher": ("epsilon 0.1 at delta 0",),
    "steward": ("constant", "Privacy label"),
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_to_download_runs(path, tmp_path):
    pages = "\n".join(data.get("text/html", "") for data in executed(path, tmp_path))
    assert [words for words in SHOWN[path.stem] if words not in pages] == []


def test_marimo_shows_plans_and_answers_without_any_magic(tmp_path):
    shutil.copy(ROOT / "examples" / "notebook.py", tmp_path)  # beside it marimo writes
    command = [sys.executable, "-m", "marimo", "export", "ipynb", "--include-outputs"]
    subprocess.run(
        [*command, "notebook.py", "-o", "app.ipynb"], cwd=tmp_path, check=True, capture_output=True
    )
    cells = json.loads((tmp_path / "app.ipynb").read_text())["cells"]
    pages = ["".join(out["data"].get("text/html", "")) for each in cells for out in each["outputs"]]
    plan, answer = pages[-2:]
    assert "costs epsilon 0.5" in plan
    assert "<td>A</td>" in answer
