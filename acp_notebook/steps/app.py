"""An application of step tools: functions become tools by a decorator, and an agent plans with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, overload

from pydantic_ai import FunctionToolset

from ..errors import AcpError
from .tools import OPTIONS, StepOptions
from .toolset import StepToolset

Function = TypeVar("Function", bound=Callable[..., Any])


class StepApp(StepToolset):
    """A `StepToolset` whose tools are declared one by one.

        app = StepApp("my-server")

        @app.tool()
        def create_backup(database: str) -> dict: ...

        agent = Agent("openai:gpt-5", toolsets=[app])

    or, in a file that an MCP client starts, `app.run()`. `settings` are those of `StepToolset`.
    """

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        self._functions = FunctionToolset[Any](id=name)
        super().__init__(self._functions, **settings)

    @property
    def id(self) -> str | None:
        return self.name

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        requires_approval: bool = False,
        options: StepOptions | None = None,
    ) -> Callable[[Function], Function]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        requires_approval: bool = False,
        options: StepOptions | None = None,
    ) -> Any:
        """Declare a tool. The function may take a `RunContext` first; its name and docstring are the tool's.

        With `requires_approval` a person is asked before each call. `options` are how its steps are run.
        """

        def declare(function: Function) -> Function:
            self._functions.add_function(
                function,
                name=name,
                description=description,
                requires_approval=requires_approval,
                metadata={OPTIONS: options} if options is not None else None,
            )
            return function

        return declare if function is None else declare(function)

    def run(self, *, deps: Any = None) -> None:
        """Serve `execute_plan` and `read_step` over MCP, on stdin and stdout, until the client leaves.

        What tools print goes to stderr. Steps that ask for approval ask the client's person (elicitation).
        `deps` are those of the tools' `RunContext`. Needs the extra `mcp`.

        Raises:
            AcpError: called in a notebook, or without the extra.
        """
        if _in_a_loop():
            raise AcpError(
                "app.run() would keep this kernel until a client leaves: put the app into a file that ends "
                "with app.run(), for the client to start; an agent here takes the app as it is, "
                "Agent(…, toolsets=[app])"
            )
        try:
            from .mcp import serve
        except ImportError as error:
            raise AcpError(f"app.run() needs MCP: pip install 'acp-notebook[mcp]' ({error})") from error
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(self, self.name, deps))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
