"""What the tests stand on: a notebook page without a browser (`wire`), kernels of several versions
(`kernelspecs`), and real JupyterLab and Notebook pages in Chromium (`jupyter`)."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """Something outside the project that a test needs is not there: on CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
