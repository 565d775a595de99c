"""The table of folders in README.md holds: who may import whom."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.style
ROOT = Path(__file__).parents[1]


def test_imports_follow_the_table_of_folders() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
