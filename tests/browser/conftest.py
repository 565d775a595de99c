"""Pages in Chromium. Everything here is marked `browser`; see `harness.jupyter` for what a page can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from harness import unavailable
from harness.jupyter import App, JupyterServer, NotebookPage, Theme, launch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call" and report.failed:
        item.stash[_FAILED] = True
    return report


_FAILED = pytest.StashKey[bool]()
expect.set_options(timeout=30_000)  # a machine may be busy; what is there sooner costs nothing


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except Exception as error:
            unavailable(f"Chromium does not start: {error}")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """The Jupyter server of this run."""
    try:
        server = JupyterServer(tmp_path_factory.mktemp("jupyter"))
    except RuntimeError as error:
        unavailable(str(error))
    yield server
    server.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """An empty tab, for a view that needs no Jupyter."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture(params=["lab", "notebook"])
def app(request: pytest.FixtureRequest) -> App:
    """A test that uses it runs in JupyterLab and in Notebook."""
    return request.param


@pytest.fixture
def open_notebook(
    chromium: Browser, jupyter: JupyterServer, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., NotebookPage]]:
    """`open_notebook(cells_or_path, app="lab", kernel="python3", theme="light",
    comms_on_subshells=True, width=…, height=…) -> NotebookPage`.

    Give a path (`page.path` of another page) to open a second page on the same notebook. Pages and
    kernels are closed after the test; of a failed one a picture of each page is kept in its `tmp_path`.
    """
    pages: list[NotebookPage] = []

    def open_(
        source: Sequence[str] | Path,
        *,
        kernel: str = "python3",
        theme: Theme = "light",
        comms_on_subshells: bool = True,
        **options: object,
    ) -> NotebookPage:
        jupyter.comms_on_subshells(comms_on_subshells)
        path = source if isinstance(source, Path) else jupyter.new_notebook(source, kernel)
        page = NotebookPage(chromium, jupyter, path, **options)
        pages.append(page)
        page.load(theme)
        return page

    yield open_
    failed = request.node.stash.get(_FAILED, False)
    for number, page in enumerate(pages):
        if failed:
            print("picture of the page:", page.screenshot(tmp_path / f"page-{number}.png"))
        page.close()
        jupyter.shut_down_kernels(page.path)


@pytest.fixture(scope="session")
def _kept(jupyter: JupyterServer) -> Iterator[dict[App, NotebookPage]]:
    """The pages that tests use one after another."""
    pages: dict[App, NotebookPage] = {}
    yield pages
    for page in pages.values():
        page.close()
        jupyter.shut_down_kernels(page.path)


@pytest.fixture
def use_notebook(
    chromium: Browser,
    jupyter: JupyterServer,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    _kept: dict[App, NotebookPage],
) -> Iterator[Callable[..., NotebookPage]]:
    """`use_notebook(cells, app="lab") -> NotebookPage`: much faster than `open_notebook`, since page and
    kernel are those of earlier tests, with other cells and the extension unloaded. Variables stay. The test
    must leave nothing running, and no error in the page's console.

    After a failed test the next begins with a new page and kernel.
    """
    used: list[App] = []

    def use(cells: Sequence[str], app: App = "lab") -> NotebookPage:
        used.append(app)
        if app not in _kept:
            jupyter.comms_on_subshells(True)
            _kept[app] = NotebookPage(chromium, jupyter, jupyter.new_notebook(cells), app=app)
            _kept[app].load()
        else:
            _kept[app].execute("%unload_ext acp_notebook")
            _kept[app].set_cells(cells)
        return _kept[app]

    yield use
    for app in used:
        page = _kept[app]
        errors, page.errors = page.errors, []
        if errors or request.node.stash.get(_FAILED, False):
            print("picture of the page:", page.screenshot(tmp_path / f"{app}.png"))
            del _kept[app]
            page.close()
            jupyter.shut_down_kernels(page.path)
        assert errors == []
