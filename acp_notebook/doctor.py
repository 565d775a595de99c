"""What this environment has, and what is missing or too old: the part that needs no running kernel.

`acp-notebook doctor` prints it; `%acp doctor` adds what only a kernel can tell.
"""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

#: Lowest release that works, by package. The same as in pyproject.toml (a test compares them).
REQUIRED = {
    "ipython": "8.18",
    "ipykernel": "6.29",
    "ipywidgets": "8.1",
    "anywidget": "0.9.18",
    "pydantic-ai-slim": "2.38",
}
#: What only `acp-notebook[lab]` brings.
OPTIONAL = {"jupyterlab": "4.4", "notebook": "7.4", "nbclient": "0.10"}
#: From here on ipykernel handles messages while a cell awaits, and sends them where a comm asks for.
LIVE_CLICKS = "7.4"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. `ok` is False for what keeps the package from working; `advice`: what to do."""

    name: str
    value: str
    ok: bool = True
    advice: str = ""


def environment() -> list[Check]:
    """The interpreter, the packages, and how clicks reach a session while a cell runs."""
    return [
        Check("Python", f"{platform.python_version()} ({sys.executable})"),
        Check("acp-notebook", _version("acp-notebook") or "not installed, run from its source"),
        *(_package(name, lowest, required=True) for name, lowest in REQUIRED.items()),
        *(_package(name, lowest, required=False) for name, lowest in OPTIONAL.items()),
        _buttons(),
    ]


def report(checks: list[Check]) -> str:
    """The checks as aligned lines of text, each with its advice under it."""
    width = max(len(check.name) for check in checks)
    lines: list[str] = []
    for check in checks:
        lines.append(f"{'ok' if check.ok else '!!'}  {check.name:{width}}  {check.value}")
        if check.advice:
            lines.append(f"    {'':{width}}  {check.advice}")
    return "\n".join(lines)


def at_least(found: str, lowest: str) -> bool:
    """Whether release `found` is `lowest` or newer; only the numbers count (`7.4.0rc1` is `7.4.0`)."""
    return _numbers(found) >= _numbers(lowest)


def _package(name: str, lowest: str, *, required: bool) -> Check:
    found = _version(name)
    wanted = f"{name}>={lowest}" if required else "acp-notebook[lab]"
    advice = f"pip install '{wanted}'"
    if found is None:
        return Check(
            name, "missing" if required else "not installed", not required, advice if required else ""
        )
    if not at_least(found, lowest):
        return Check(name, f"{found}, which is too old", not required, advice)
    return Check(name, found)


def _buttons() -> Check:
    name, found = "buttons while a cell runs", _version("ipykernel")
    if found is None:
        return Check(name, "approvals are answered by policy: there is no ipykernel")
    if at_least(found, LIVE_CLICKS):
        return Check(name, "work at once")
    return Check(
        name,
        f"wait until the cell ends; approvals are asked in the kernel's input prompt (ipykernel {found})",
        advice=f"pip install 'ipykernel>={LIVE_CLICKS}' and restart the kernel",
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _numbers(release: str) -> tuple[int, ...]:
    head = re.match(r"\d+(\.\d+)*", release)
    return tuple(int(part) for part in head[0].split(".")) if head else ()
