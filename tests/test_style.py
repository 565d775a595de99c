"""Lints, formatting and types."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.style
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    ["ruff check --no-cache .", "ruff format --no-cache --check .", f"pyright --pythonpath {sys.executable}"],
    ids=["lints", "format", "types"],
)
def test_the_tree_is_clean(command: str) -> None:
    found = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
