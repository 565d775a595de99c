"""Which cells become async cells, to the character; and that they run, in a kernel and in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from acp_notebook.kernel.transform import AwaitTransform
from harness.cells import forget
from harness.wire import Frontend

SYNC = "get_ipython().run_line_magic('acp', 'ask go')"
AWAITED = "(await get_ipython().run_line_magic('acp_await', 'ask go'))"


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    main = sys.modules["__main__"]
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.input_transformers_post.append(AwaitTransform(shell, {"ask", "steps"}))
    yield shell
    forget(shell)
    sys.modules["__main__"] = main


@pytest.mark.parametrize(
    ("cell", "becomes"),
    [
        ("%acp ask go", f"{AWAITED}\n"),
        ("x = %acp ask go", f"x = {AWAITED}\n"),
        ("%acp ask go\n%acp ask go", f"{AWAITED}\n{AWAITED}\n"),
        ("if True:\n    x = %acp ask go\n", f"if True:\n    x = {AWAITED}\n"),
        ("for i in range(3):\n    %acp ask go\n", f"for i in range(3):\n    {AWAITED}\n"),
        ("while True:\n\t%acp ask go\n\tbreak\n", f"while True:\n\t{AWAITED}\n\tbreak\n"),
        ("with a as b:\n    %acp ask go\n", f"with a as b:\n    {AWAITED}\n"),
        (
            "try:\n    %acp ask go\nexcept E:\n    %acp ask go\nfinally:\n    %acp ask go\n",
            f"try:\n    {AWAITED}\nexcept E:\n    {AWAITED}\nfinally:\n    {AWAITED}\n",
        ),
        (
            "match x:\n    case 1:\n        %acp ask go\n",
            f"match x:\n    case 1:\n        {AWAITED}\n",
        ),
        ("async def f():\n    %acp ask go\n", f"async def f():\n    {AWAITED}\n"),
        (
            "async def f():\n    for i in x:\n        y = %acp ask go\n",
            f"async def f():\n    for i in x:\n        y = {AWAITED}\n",
        ),
        ("x = await y\n%acp ask go\n", f"x = await y\n{AWAITED}\n"),
        (
            "ß = '🐍'; x = 1\n%acp ask é 🐍",
            "ß = '🐍'; x = 1\n(await get_ipython().run_line_magic('acp_await', 'ask é 🐍'))\n",
        ),
        (
            "%acp  ask   --mode plan go",
            "(await get_ipython().run_line_magic('acp_await', ' ask   --mode plan go'))\n",
        ),
        ("%acp steps run x", "(await get_ipython().run_line_magic('acp_await', 'steps run x'))\n"),
        ('%acp ask it\'s "so"', "(await get_ipython().run_line_magic('acp_await', 'ask it\\'s \"so\"'))\n"),
        ("%acp ask a \\\n   b", "(await get_ipython().run_line_magic('acp_await', 'ask a     b'))\n"),
        (
            "%%acp\nline one\nline two",
            "(await get_ipython().run_cell_magic('acp_await', '', 'line one\\nline two\\n'))\n",
        ),
        ("%%acp ask\nx", "(await get_ipython().run_cell_magic('acp_await', 'ask', 'x\\n'))\n"),
        ("%%acp --out t\nx", "(await get_ipython().run_cell_magic('acp_await', '--out t', 'x\\n'))\n"),
        (
            'get_ipython().run_line_magic("acp", "ask go").text\n',
            "(await get_ipython().run_line_magic('acp_await', \"ask go\")).text\n",
        ),
        (
            "f(a, get_ipython().run_line_magic(\n    'acp',\n    'ask go',\n))\n",
            "f(a, (await get_ipython().run_line_magic(\n    'acp_await',\n    'ask go',\n)))\n",
        ),
        ("x = '''\n%acp ask no'''\n%acp ask go\n", f"x = '''\n%acp ask no'''\n{AWAITED}\n"),
    ],
)
def test_a_magic_that_waits_is_awaited(shell: InteractiveShell, cell: str, becomes: str) -> None:
    assert shell.transform_cell(cell) == becomes
    compile(
        becomes, "cell", "exec", flags=0x2000
    )  # PyCF_ALLOW_TOP_LEVEL_AWAIT, as IPython compiles async cells


@pytest.mark.parametrize(
    ("cell", "becomes"),
    [
        ("x = 1\n", "x = 1\n"),
        ("print('acp ask')\n", "print('acp ask')\n"),
        ("%acp plan\n", "get_ipython().run_line_magic('acp', 'plan')\n"),
        ("%acp\n", "get_ipython().run_line_magic('acp', '')\n"),
        ("%%acp\n", "get_ipython().run_cell_magic('acp', '', '')\n"),
        ("%acp asking\n", "get_ipython().run_line_magic('acp', 'asking')\n"),
        ("%%acp plan set\n- [ ] a\n", "get_ipython().run_cell_magic('acp', 'plan set', '- [ ] a\\n')\n"),
        ("%%time\n%acp ask go\n", "get_ipython().run_cell_magic('time', '', '%acp ask go\\n')\n"),
        ("%time %acp ask go\n", "get_ipython().run_line_magic('time', '%acp ask go')\n"),
        ("def f():\n    %acp ask go\n", f"def f():\n    {SYNC}\n"),
        ("class C:\n    x = %acp ask go\n", f"class C:\n    x = {SYNC}\n"),
        (
            "class C:\n    def f(self):\n        %acp ask go\n",
            f"class C:\n    def f(self):\n        {SYNC}\n",
        ),
        (
            "async def f():\n    def g():\n        %acp ask go\n",
            f"async def f():\n    def g():\n        {SYNC}\n",
        ),
        (f"f = lambda: {SYNC}\n", f"f = lambda: {SYNC}\n"),
        (f"x = [{SYNC} for i in y]\n", f"x = [{SYNC} for i in y]\n"),
        (f"x = {{{SYNC} for i in y}}\n", f"x = {{{SYNC} for i in y}}\n"),
        (f"x = {{i: {SYNC} for i in y}}\n", f"x = {{i: {SYNC} for i in y}}\n"),
        (f'x = f"é {{{SYNC}}}"\n', f'x = f"é {{{SYNC}}}"\n'),
        (f"x = ({SYNC} for i in y)\n", f"x = ({SYNC} for i in y)\n"),
        (f"{AWAITED}\n", f"{AWAITED}\n"),
        ("%acp ask go\nx = = 1\n", f"{SYNC}\nx = = 1\n"),
        ("get_ipython().run_line_magic('acp', line)\n", "get_ipython().run_line_magic('acp', line)\n"),
        ("get_ipython().run_line_magic(*acp)\n", "get_ipython().run_line_magic(*acp)\n"),
        (
            "# get_ipython().run_line_magic('acp', 'ask go')\n",
            "# get_ipython().run_line_magic('acp', 'ask go')\n",
        ),
    ],
)
def test_everything_else_stays_as_it_is(shell: InteractiveShell, cell: str, becomes: str) -> None:
    assert shell.transform_cell(cell) == becomes


def test_a_shell_that_does_not_await_gets_the_plain_call(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "autoawait", False)
    assert shell.transform_cell("%acp ask go") == f"{SYNC}\n"


MAGICS = """
from acp_notebook.kernel.transform import AwaitTransform
import asyncio
ip = get_ipython()
ip.input_transformers_post.append(AwaitTransform(ip))
async def awaited(text):
    await asyncio.sleep(0)
    return f"awaited {text}"
ip.register_magic_function(lambda line, cell=None: f"waited for {line}", "line_cell", "acp")
ip.register_magic_function(lambda line, cell=None: awaited(line), "line_cell", "acp_await")
"""


@pytest.mark.parametrize(
    ("cell", "shows"),
    [
        ("%acp ask go", "awaited ask go"),
        ("%%acp\ngo", "awaited "),
        ("%%time\nx = %acp ask go\nprint(x)", "waited for ask go"),
        ("%time print(get_ipython().run_line_magic('acp', 'ask go'))", "waited for ask go"),
        ("%%capture out\nx = %acp ask go\nprint(x)", ""),
        ("print(out.stdout)", "waited for ask go"),
        (
            'get_ipython().run_cell(\'print(get_ipython().run_line_magic("acp", "ask go"))\');',
            "waited for ask go",
        ),
        (
            "def f():\n    return get_ipython().run_line_magic('acp', 'ask go')\nprint(f())",
            "waited for ask go",
        ),
        (
            "x = [0, 0]\nfor i in range(2):\n    x[i] = %acp ask go\nprint(x)",
            "['awaited ask go', 'awaited ask go']",
        ),
    ],
)
def test_cells_run_as_they_should(magics: Frontend, cell: str, shows: str) -> None:
    done = magics.execute(cell)
    assert not done.error
    assert shows in done.stdout + "".join(bundle["text/plain"] for bundle in done.bundles)


@pytest.fixture(scope="module")
def magics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(folder=tmp_path_factory.mktemp("magics")) as page:
        page.run(MAGICS)
        yield page


def test_a_file_of_cells_and_a_traceback(magics: Frontend) -> None:
    magics.run("open('cells.ipy', 'w').write('print(get_ipython().run_line_magic(\"acp\", \"ask go\"))')")
    assert magics.run("%run cells.ipy").stdout == "waited for ask go\n"
    failed = magics.execute("x = 1\n%acp ask go\n1/0")
    assert failed.error == "ZeroDivisionError: division by zero"
    assert "line 3" in "".join(failed.outputs[-1]["traceback"])


def test_a_terminal_shell_awaits_by_itself(shell: InteractiveShell) -> None:
    shell.user_ns["get_ipython"] = lambda: shell
    shell.run_cell(MAGICS.replace("ip.input_transformers_post", "[]"))
    result = shell.run_cell("x = %acp ask go\nx")
    assert result.success and result.result == "awaited ask go"
