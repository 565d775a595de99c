"""What runs in this process: an IPython shell, a Jupyter kernel, or neither. Imports nothing by itself."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any:
    """The running IPython shell, or None. A process that has not imported IPython has none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def kernel() -> Any:
    """The Jupyter kernel that this process is, or None: in a terminal, in a script."""
    return getattr(shell(), "kernel", None)
