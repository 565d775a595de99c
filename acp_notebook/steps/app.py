"""An application of step tools: functions become tools by a decorator, and an agent plans with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from pydantic_ai import FunctionToolset

from .tools import OPTIONS, StepOptions
from .toolset import StepToolset

Function = TypeVar("Function", bound=Callable[..., Any])


class StepApp(StepToolset):
    """A `StepToolset` whose tools are declared one by one.

        app = StepApp("my-server")

        @app.tool()
        def create_backup(database: str) -> dict: ...

        agent = Agent("openai:gpt-5", toolsets=[app])

    `settings` are those of `StepToolset`.
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
