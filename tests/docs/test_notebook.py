"""The notebook of docs/notebooks: a real kernel runs it, and its cells show the report and the notation."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "in_memory.ipynb"


@pytest.mark.ci
def test_a_kernel_runs_the_notebook_and_each_answer_is_a_report_of_one_line() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    before = {path.name for path in ROOT.iterdir()}
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert {path.name for path in ROOT.iterdir()} == before
    answers = [
        output["data"]
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    framed = [data for data in answers if "text/html" in data]
    assert [data["text/plain"].partition(" ")[0] for data in framed] == [
        *("<Outcome:", "<Outcome:", "<Verdict:"),
        *("<Outcome:", "<Verdict:"),
    ]
    assert all(data["text/html"].startswith("<iframe ") and "graphfix" in data["text/html"] for data in framed)
    assert all("proved" in data["text/plain"] for data in framed if data["text/plain"].startswith("<Verdict:"))
    assert "<Model: <bytes>, tflite" in str(answers)
    said = "".join(output.get("text", "") for cell in book.cells for output in cell.get("outputs", ()))
    assert "S   " in said
    assert "/graphfix-" not in str(answers)


def test_the_notebook_is_stored_without_outputs() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert len(book.cells) == 10
    assert not any(cell.get("outputs") for cell in book.cells)
