"""What the tests stand on: a notebook page without a browser (`wire`), kernels of several versions
(`kernelspecs`), and real JupyterLab and Notebook pages in Chromium (`jupyter`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest


def isolate(home: Path) -> None:
    """From here on this process, and what it starts, neither reads nor writes the user's settings and
    sessions, and has no key to reach a real model with. To be called before Jupyter is imported."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        folder = home / name.lower()
        folder.mkdir()
        os.environ[name] = str(folder)
    for name in [n for n in os.environ if n.endswith("_API_KEY") or n.startswith("ACP_NOTEBOOK_")]:
        del os.environ[name]
    os.environ["PYDANTIC_AI_NO_BANNER"] = "1"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or each kernel prints a warning about frozen modules


def unavailable(reason: str) -> NoReturn:
    """Something outside the project that a test needs is not there: on CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
