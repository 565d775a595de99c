"""Every lesson runs to its end, and reads well where it cannot be run."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from harness.wire import local_sockets

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
pytestmark = pytest.mark.once
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def bundles(notebook: Any) -> list[dict[str, Any]]:
    return [output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]


def run(lesson: Path, folder: Path, *arguments: str) -> Any:
    """The lesson with the outputs of a run in `folder`, where nobody can answer. A cell that fails raises.
    `arguments` go to the kernel."""
    notebook = nbformat.read(lesson, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    options = {"timeout": 120, "resources": place, "extra_arguments": list(arguments)}
    return NotebookClient(notebook, kernel_name="python3", config=local_sockets(), **options).execute()


# The quickstart runs in tests/test_cli.py: it is the demo.
@pytest.mark.parametrize("lesson", LESSONS[1:], ids=lambda path: path.stem)
def test_runs_to_its_end_with_approvals_allowed(lesson: Path, tmp_path: Path) -> None:
    notebook = run(lesson, tmp_path, "--AcpMagics.on_unattended=allow")
    assert not [bundle for bundle in bundles(notebook) if "<button" in bundle.get("text/html", "")]


def test_the_quickstart_also_ends_when_approvals_are_denied(tmp_path: Path) -> None:
    notebook = run(LESSONS[0], tmp_path)
    assert any("--approve" in bundle["text/plain"] for bundle in bundles(notebook))


@each_lesson
def test_stored_outputs_are_static_and_show_no_error(lesson: Path) -> None:
    notebook = nbformat.read(lesson, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert [bundle for bundle in bundles(notebook) if "text/html" in bundle]
    for bundle in bundles(notebook):
        assert WIDGET_VIEW not in bundle
        assert "<button" not in bundle.get("text/html", "")
