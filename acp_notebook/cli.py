"""The command `acp-notebook`: the quickstart without a browser, JupyterLab on the lessons, a check-up."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from . import __version__
from .errors import AcpError

QUICKSTART = "01_quickstart.ipynb"

# Run in the lesson's kernel when the lesson is over: what `demo` prints, as JSON.
_SUMMARY = """\
import json as _json
from acp_notebook.notebook import sessions as _sessions

print(_json.dumps([
    {
        "name": session.name,
        "plan": session.plan.to("md") if session.plan else "",
        "open": [e.content for e in session.plan or () if e.status not in ("completed", "cancelled")],
        "approvals": [
            f"{asked.request.tool_call.name}: {asked.explanation or asked.status}"
            for turn in session.state.turns
            for asked in turn.permissions
        ],
        "turns": [(turn.prompt, turn.text) for turn in session.turns],
    }
    for session in _sessions()
]))
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line. Returns its exit status: 0, or 1 after one line on stderr that says what to do."""
    parser = _parser()
    options, rest = parser.parse_known_args(argv)
    if rest and options.run is not lab:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return options.run(options, rest)
    except AcpError as error:
        print(f"acp-notebook: {error}", file=sys.stderr)
        return 1


def demo(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the quickstart lesson without a browser: approvals are granted, plan and answer are printed."""
    nbformat, nbclient, _ = _need("nbformat", "nbclient", "ipykernel")
    folder = Path(options.keep or tempfile.mkdtemp(prefix="acp-notebook-demo-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.read(lessons() / QUICKSTART, as_version=4)
    summary = nbformat.v4.new_code_cell(_SUMMARY)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not one of the user's others
    client = nbclient.NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=[
            "--AcpMagics.on_unattended=allow",  # nobody is there to click
            "--log-level=ERROR",  # ipykernel warns that its loopback connection is not encrypted
        ],
    )
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    try:
        with client.setup_kernel():
            for number, (index, cell) in enumerate(code, 1):
                print(f"[{number}/{len(code)}] {cell.source.splitlines()[0]}", flush=True)
                client.execute_cell(cell, index)
            notebook.cells.append(summary)  # nbclient runs cells of its notebook only
            client.execute_cell(summary, len(notebook.cells) - 1)
            notebook.cells.pop()
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.DeadKernelError) as error:
        raise AcpError(f"the quickstart failed: {str(error).strip().splitlines()[-1]}") from error
    finally:
        nbformat.write(notebook, folder / QUICKSTART)
    sessions = json.loads("".join(output.get("text", "") for output in summary.outputs))
    for session in sessions:
        _print_session(session)
    print("\nExports, and the notebook as it ran:")
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        print(f"  {path}")
    if unfinished := [entry for session in sessions for entry in session["open"]]:
        raise AcpError(f"the plan is not finished: {unfinished[0]!r} is still open")
    return 0


def lab(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Open JupyterLab on a copy of the lessons. A lesson that is there already is left as it is."""
    _need("jupyterlab", "ipykernel")
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(lessons().glob("*.ipynb")):
        if (mine := folder / lesson.name).exists():
            print(f"kept     {mine}")
        else:
            shutil.copyfile(lesson, mine)
            print(f"copied   {mine}")
    command = [sys.executable, "-m", "jupyterlab", str(folder / QUICKSTART), *rest]
    try:
        return subprocess.call(command, env=os.environ | {"JUPYTER_PREFER_ENV_PATH": "1"})
    except KeyboardInterrupt:
        return 0


def doctor(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Check what this environment has; exit status 1 when something needed is missing or too old."""
    from .doctor import environment, report

    checks = environment()
    print(report(checks))
    return 0 if all(check.ok for check in checks) else 1


def lessons() -> Path:
    """The folder of the lessons: inside the installed package, or `notebooks/` of a checkout."""
    here = Path(__file__).parent
    for folder in (here / "lessons", here.parent / "notebooks"):
        if (folder / QUICKSTART).exists():
            return folder
    raise AcpError(f"the lessons are not installed: there is no {QUICKSTART!r} in {str(here / 'lessons')!r}")


def _need(*names: str) -> list[Any]:
    """Modules that only `acp-notebook[lab]` or a kernel brings along."""
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        raise AcpError(f'this needs {error.name or error}: pip install "acp-notebook[lab]"') from error


def _print_session(session: dict[str, Any]) -> None:
    print(f"\n══ {session['name']} ".ljust(80, "═"))
    for prompt, answer in session["turns"]:
        print(f"\n> {prompt}\n\n{answer.strip()}")
    if session["approvals"]:
        print("\nApprovals:")
        for line in session["approvals"]:
            print(f"  {line}")
    if session["plan"]:
        print(f"\nThe plan at the end:\n\n{session['plan'].strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-notebook", description="A planning agent, live in a Jupyter notebook.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"acp-notebook {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(run: Any, name: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__, allow_abbrev=False)
        command.set_defaults(run=run)
        return command

    kept = "where the notebook runs and its exports are kept (default: a new temporary folder)"
    add(demo, "demo").add_argument("--keep", metavar="DIR", help=kept)
    yours = "where your copies are (default: ./acp-lessons); other arguments go to JupyterLab"
    add(lab, "lab").add_argument("--folder", metavar="DIR", default="acp-lessons", help=yours)
    add(doctor, "doctor")
    return parser
