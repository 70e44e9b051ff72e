"""The notebook in docs/ runs from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "docs" / "tour.ipynb"


def test_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code[:-1])
    counts = next(cell for cell in code if "kernel_counts" in cell.source).outputs[0].data["text/plain"]
    assert "row:staged:graph:4096x4096" in counts


def test_the_tour_is_kept_without_outputs() -> None:
    """Outputs would be typed numbers as soon as the evidence changes."""
    assert not any(cell.get("outputs") for cell in nbformat.read(TOUR, as_version=4).cells)
