"""What README.md points to is there."""

import re
from pathlib import Path

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
