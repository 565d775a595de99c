"""What README.md points to is there."""

import re
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import Say, ScriptedModel
from harness.cells import Cells, started

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_path_in_the_table_of_folders_exists() -> None:
    table = TEXT.split("## Where things are")[1].split("##")[0]
    paths = re.findall(r"`([\w./]+[/.]\w*)`", table)
    assert len(paths) > 10
    missing = [
        path for path in paths if not (ROOT / path).exists() and not (ROOT / "acp_notebook" / path).exists()
    ]
    assert missing == []


def test_every_picture_and_link_to_a_file_exists() -> None:
    links = re.findall(r'(?:srcset|src)="([^"]+)"|\]\(((?!http)[^)]+)\)', TEXT)
    assert links and [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


def test_the_code_about_an_agent_of_your_own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the text, with a script in the place of the model that needs a key."""
    monkeypatch.chdir(tmp_path)
    offline = ScriptedModel()

    @offline.script()
    def answer(turn: Any) -> Any:
        yield Say("None of them.")

    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    begin = next(n for n, block in enumerate(blocks) if '"openai:gpt-5"' in block)
    with started() as shell:
        shell.run_line_magic("load_ext", "acp_notebook")
        cells = Cells(shell)
        cells.variables["offline"] = offline
        for block in blocks[begin:]:
            cells.run(block.replace('"openai:gpt-5"', "offline"))
        assert cells.variables["session"].rules
