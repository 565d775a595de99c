"""Kernels to test on, as kernelspecs in `JUPYTER_DATA_DIR` (a folder of this test run).

An other ipykernel gets an environment that holds nothing but that ipykernel: all else comes from the
environment which runs the tests, through a `.pth` file. So one download of a small wheel is enough.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import version
from pathlib import Path


def ipykernel_spec(release: str, folder: Path) -> str:
    """The name of a kernelspec whose kernel runs ipykernel `release` (such as `"7.3"`).

    `folder`: where environments are made. Raises `subprocess.CalledProcessError` when pip cannot.
    """
    name = f"ipykernel-{release}"
    python = (
        sys.executable if version("ipykernel").startswith(f"{release}.") else _python(release, folder / name)
    )
    spec = {
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": name,
        "language": "python",
    }
    path = Path(os.environ["JUPYTER_DATA_DIR"], "kernels", name, "kernel.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(spec))
    return name


def _python(release: str, folder: Path) -> str:
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    outer = sysconfig.get_path("purelib")
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, f"ipykernel=={release}.*"], check=True, timeout=300)
    return str(python)
