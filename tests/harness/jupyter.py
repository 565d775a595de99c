"""Real JupyterLab and Notebook pages: one Jupyter server and one Chromium for a whole test run.

    page = open_notebook(["1 + 1", "print('next')"])        # the fixture of tests/browser/conftest.py
    page.run(0)                                             # as a person does: click into it, Ctrl+Enter
    expect(page.output(0)).to_have_text("2")
    page.start(1); page.wait_done(1)                        # or in two steps, to click while it runs

`page.tab` is Playwright's page, and `page.output(i)` its locator of a cell's outputs: use Playwright's own
`expect(…)` and `locator(…)`, which wait for events, for everything that is not here.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Locator, Page, Playwright

App = Literal["lab", "notebook"]
Theme = Literal["light", "dark"]

# Quiet, and no call home: see each plugin's schema in JupyterLab's settings editor.
_SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
_KERNELS = "@jupyterlab/apputils-extension:kernels-settings"
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",  # Chromium refuses to run as root otherwise
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the page has only its own server
)
# Of Jupyter's own: a new workspace does not exist yet, a closed kernel is asked for once more.
_NOT_OURS = re.compile(
    r"Failed to load resource|workspace|Kernel doesn't exist|WebSocket|Canceled future"
    r"|reading 'schema'|Command 'filebrowser:open-path' not registered",  # Notebook's, at each start
    re.I,
)


def chromium_path() -> str | None:
    """The system's Chromium or Chrome."""
    return next(filter(None, map(shutil.which, _CHROMIUM)), None)


def launch(playwright: Playwright) -> Browser:
    """A headless Chromium. Raises `RuntimeError` when there is none."""
    path = chromium_path()
    if path is None:
        raise RuntimeError(f"no Chromium found: none of {', '.join(_CHROMIUM)} is on PATH")
    return playwright.chromium.launch(executable_path=path, args=_FLAGS)


class JupyterServer:
    """A Jupyter server on a free port, serving `/lab` and `/notebooks` on `root`. Raises `RuntimeError`
    with the server's log when it does not start within a minute."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.token = secrets.token_hex(8)
        self.log: list[str] = []
        self._names = 0
        overrides = Path(os.environ["JUPYTER_CONFIG_DIR"], "labconfig", "default_setting_overrides.json")
        overrides.parent.mkdir(parents=True, exist_ok=True)
        overrides.write_text(json.dumps(_SETTINGS))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": port,
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": root,
            "ServerApp.allow_root": True,
            "ServerApp.open_browser": False,
            "IdentityProvider.token": self.token,
            "LabApp.expose_app_in_browser": True,
            "JupyterNotebookApp.expose_app_in_browser": True,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        ended = threading.Event()

        def read() -> None:
            assert self._process.stdout
            self.log.extend(self._process.stdout)
            ended.set()

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()
        limit = time.monotonic() + 60
        while not self._answers():
            if ended.wait(0.1) or time.monotonic() > limit:
                self.close()
                raise RuntimeError("the Jupyter server did not start:\n" + "".join(self.log))

    def close(self) -> None:
        """Stops the server and its kernels."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(5)
        assert self._process.stdout
        self._process.stdout.close()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """A REST call; the answer's JSON, or None."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", f"token {self.token}")
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def _answers(self) -> bool:
        try:
            return bool(self.request("GET", "/api/status"))
        except urllib.error.URLError:
            return False

    def comms_on_subshells(self, on: bool) -> None:
        """Whether pages opened from now on send comm messages on subshells (their default)."""
        value = "perCommTarget" if on else "disabled"
        self.request(
            "PUT", f"/lab/api/settings/{_KERNELS}", {"raw": json.dumps({"commsOverSubshells": value})}
        )

    def new_notebook(self, cells: Sequence[str], kernel: str = "python3") -> Path:
        """Writes a notebook of code cells into the server's root, under a new name."""
        self._names += 1
        path = self.root / f"notebook-{self._names}.ipynb"
        metadata = {"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}}
        nbformat.write(new_notebook(cells=[new_code_cell(c) for c in cells], metadata=metadata), path)
        return path

    def shut_down_kernels(self, path: Path | None = None) -> None:
        """Ends every session, as *Shut Down All Kernels* does, or only that of the notebook at `path`."""
        for session in self.request("GET", "/api/sessions"):
            if path is None or session["path"] == str(path.relative_to(self.root)):
                self.request("DELETE", f"/api/sessions/{session['id']}")


class NotebookPage:
    """A notebook in a browser tab of its own. Cells are numbered from 0, Markdown cells too.

    `errors`: what the page's console reported as errors (Jupyter's own known ones left out).
    `outside`: addresses the page asked for beyond its own server; always empty in a page that needs
    no network.
    """

    def __init__(
        self,
        browser: Browser,
        server: JupyterServer,
        path: Path,
        *,
        app: App = "lab",
        width: int = 1200,
        height: int = 1000,
        scale: float = 1,
    ) -> None:
        self.server, self.path, self.app = server, path, app
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=scale
        )
        self.tab: Page = self.context.new_page()
        self.tab.on("pageerror", lambda error: self._error(str(error)))
        self.tab.on("console", lambda message: self._error(message.text) if message.type == "error" else None)
        self.tab.on("request", lambda request: self._requested(request.url))

    def load(self, theme: Theme = "light") -> None:
        """Opens the notebook and waits until its kernel is idle."""
        where = self.path.relative_to(self.server.root)
        # A workspace of its own, or a second tab on the notebook would take over the first one's.
        place = f"lab/workspaces/{secrets.token_hex(4)}/tree" if self.app == "lab" else "notebooks"
        self.tab.goto(f"{self.server.url}/{place}/{where}?token={self.server.token}")
        self._wait_ready()
        self.set_theme(theme)

    def close(self) -> None:
        self.context.close()

    # ── cells ────────────────────────────────────────────────────────────────────────────────────────

    def cell(self, index: int) -> Locator:
        return self.tab.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """The outputs of a cell."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def prompt(self, index: int) -> str:
        """`[ ]:` never run, `[*]:` running, `[3]:` done."""
        return self.cell(index).locator(".jp-InputPrompt").inner_text()

    def start(self, index: int) -> None:
        """Runs a cell by the keyboard and returns at once."""
        self.cell(index).locator(".jp-InputArea-editor").click()
        self._blank_prompts()
        self.tab.keyboard.press("Control+Enter")

    def wait_done(self, index: int, timeout: float = 60) -> None:
        """Waits (seconds) until a started cell has its new number."""
        self.tab.wait_for_function(_DONE, arg=self.cell(index).element_handle(), timeout=timeout * 1000)

    def run(self, index: int, timeout: float = 60) -> None:
        """Runs a cell and waits for its end."""
        self.start(index)
        self.wait_done(index, timeout)

    def start_all(self) -> None:
        """*Run All Cells*; returns at once."""
        self._blank_prompts()
        self.command("notebook:run-all-cells", wait=False)

    def wait_all_done(self, timeout: float = 120) -> None:
        """Waits (seconds) until every code cell has a new number."""
        self.tab.wait_for_function(
            f"() => [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')].every({_DONE})",
            timeout=timeout * 1000,
        )

    def run_all(self, timeout: float = 120) -> None:
        """*Run All Cells*, to the end of the last one."""
        self.start_all()
        self.wait_all_done(timeout)

    def set_source(self, index: int, source: str) -> None:
        """Types a new source into a cell."""
        self.cell(index).locator(".cm-content").fill(source)

    def set_cells(self, sources: Sequence[str]) -> None:
        """Puts code cells in the place of all cells, without opening a page or starting a kernel."""
        self.tab.evaluate(_SET_CELLS, list(sources))

    # ── kernel ───────────────────────────────────────────────────────────────────────────────────────

    def interrupt(self) -> None:
        """The Interrupt button."""
        self.command("notebook:interrupt-kernel", wait=False)

    def restart_kernel(self) -> None:
        """*Restart Kernel*, without its dialog."""
        self.tab.evaluate(f"async () => {{ await {_CONTEXT}.restartKernel() }}")
        self._wait_ready()

    def kill_kernel(self) -> None:
        """The kernel's process dies, as when it runs out of memory; the server restarts it, the page says so
        in a dialog, and the dialog is answered."""
        kernel_id = self.tab.evaluate(f"() => {_CONTEXT}.session.kernel.id")
        for process in psutil.process_iter(["cmdline"]):
            if any(f"kernel-{kernel_id}.json" in part for part in process.info["cmdline"] or ()):
                process.kill()
        self.tab.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
        self._wait_ready()

    def execute(self, code: str) -> None:
        """Runs code in the kernel beside the cells, and waits for its end."""
        call = f"{_CONTEXT}.session.kernel.requestExecute({{code, store_history: false}})"
        self.tab.evaluate(f"async (code) => {{ await {call}.done }}", code)

    # ── page ─────────────────────────────────────────────────────────────────────────────────────────

    def set_theme(self, theme: Theme) -> None:
        name = "JupyterLab Dark" if theme == "dark" else "JupyterLab Light"
        self.command("apputils:change-theme", {"theme": name})
        self.tab.locator(f"body[data-jp-theme-light={'false' if theme == 'dark' else 'true'}]").wait_for(
            state="attached"
        )

    def save(self) -> nbformat.NotebookNode:
        """Saves, and reads the file from disk."""
        self.command("docmanager:save")
        return nbformat.read(self.path, as_version=4)

    def reload(self) -> None:
        """The browser's reload: same notebook file, same kernel."""
        self.tab.reload()
        self._wait_ready()

    def screenshot(self, path: Path, of: Locator | None = None) -> Path:
        """A picture of the whole tab, or of one element."""
        (of or self.tab).screenshot(path=path)
        return path

    def command(self, name: str, args: dict[str, Any] | None = None, *, wait: bool = True) -> None:
        """Any of the frontend's commands, as its palette and menus run them."""
        call = "const done = window.jupyterapp.commands.execute(name, args);"
        code = f"async ([name, args]) => {{ {call} {'await done;' if wait else ''} }}"
        self.tab.evaluate(code, [name, args or {}])

    def _wait_ready(self) -> None:
        self.tab.wait_for_function(
            f"() => window.jupyterapp && {_CONTEXT}?.session?.kernel?.status === 'idle'", timeout=60_000
        )

    def _blank_prompts(self) -> None:
        """So that `wait_done` sees a new number, also where a restarted kernel counts from 1 again."""
        self.tab.evaluate(
            "() => document.querySelectorAll('.jp-InputPrompt').forEach(it => it.textContent = '[ ]:')"
        )

    def _error(self, text: str) -> None:
        if not _NOT_OURS.search(text):
            self.errors.append(text)

    def _requested(self, url: str) -> None:
        if not url.startswith((self.server.url, "data:", "blob:")):
            self.outside.append(url)


# Whether a cell is done, after `_blank_prompts`.
_DONE = r"cell => /\[\d+\]/.test(cell.querySelector('.jp-InputPrompt').textContent)"
_CONTEXT = "window.jupyterapp.shell.currentWidget?.sessionContext"
# New ones first: a notebook without cells gets an empty one.
_SET_CELLS = """(sources) => {
  const notebook = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
  const end = sources.length + notebook.cells.length;
  notebook.transact(() => {
    notebook.insertCells(0, sources.map((source) => ({cell_type: "code", source, metadata: {}})));
    notebook.deleteCellRange(sources.length, end);
  });
}"""
