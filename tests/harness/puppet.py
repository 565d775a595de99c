"""An agent that a test moves by hand, and a page end for its views, without kernel and network.

session = puppet_session(host)              # a real Session on a real host
session.prompt("Clean it")               # a turn begins
session.send(AgentMessageChunk("Hello"))    # what an agent would send
comm = watch(session_view(session))         # what the view sends is in `comm.sent`
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from comm.base_comm import BaseComm

from acp_notebook.agent.plans import Plans
from acp_notebook.errors import AgentError, ConfigError, TurnRunning
from acp_notebook.plan import Author, Change, Plan, PlanEdit, PlanEntry, SetPlan
from acp_notebook.protocol.connection import AgentInfo, ClientSide, Readiness
from acp_notebook.protocol.content import Text
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ConfigOption,
    ConfigOptionUpdate,
    ConfigValue,
    Outcome,
    PermissionOption,
    RequestPermission,
    Setter,
    StateUpdate,
    ToolCall,
    ToolCallUpdate,
    Update,
    UserMessage,
)
from acp_notebook.session.host import Host
from acp_notebook.session.session import Session
from acp_notebook.views.widget import session_view

MODE = ConfigOption(
    "mode",
    "Mode",
    "mode",
    "agent",
    (ConfigValue("ask", "Ask"), ConfigValue("plan", "Plan"), ConfigValue("agent", "Agent")),
)
THINKING = ConfigOption(
    "thinking",
    "Thinking",
    "thought_level",
    "high",
    tuple(ConfigValue(level, level.title()) for level in ("off", "low", "medium", "high")),
)
OPTIONS = (
    PermissionOption("allow_once", "Allow once", "allow_once"),
    PermissionOption("allow_always", "Always allow exactly this", "allow_always"),
    PermissionOption("reject_once", "Deny", "reject_once"),
)


class Puppet:
    """The agent side, in memory. `refuse` names config values that it does not take."""

    def __init__(self, client: ClientSide, config: tuple[ConfigOption, ...] = (MODE, THINKING)) -> None:
        self.info = AgentInfo("survey-cleaner", "scripted demo", scripted=True)
        self.client = client
        self.config = config
        self.plans = Plans(client.update)
        self.running = False
        self.refuse: set[str] = set()
        self.unseen = Change()
        client.update(ConfigOptionUpdate(config))

    def prompt(self, text: str) -> None:
        if self.running:
            raise TurnRunning("a turn is running: wait for it or cancel it")
        self.running = True
        self.client.update(UserMessage(text, "m"), StateUpdate("running"))

    def readiness(self, plan_id: str) -> Readiness:
        return Readiness("agent", self.unseen)

    def choose_plan(self, plan_id: str) -> None:
        self.plans.choose(plan_id)

    def cancel(self) -> None:
        if self.running:
            self.end("cancelled")

    def end(self, stop_reason: str = "end_turn", **fields: Any) -> None:
        self.running = False
        self.client.update(StateUpdate("idle", stop_reason, **fields))

    def set_config(
        self, option_id: str, value: str | bool, author: Setter = "person"
    ) -> tuple[ConfigOption, ...]:
        if value in self.refuse:
            raise ConfigError(f"{value!r} is not to be had now")
        self.config = tuple(
            ConfigOption(
                o.id, o.name, o.category, value if o.id == option_id else o.current, o.values, o.type
            )
            for o in self.config
        )
        self.client.update(ConfigOptionUpdate(self.config, author))
        return self.config

    def edit_plan(
        self,
        plan_id: str,
        edits: Sequence[PlanEdit],
        author: Author = "person",
        undoes: int | None = None,
    ) -> None:
        self.plans.edit(plan_id, edits, author, undoes)

    def set_plan(self, plan: Plan) -> None:
        self.plans.edit(plan.plan_id, [SetPlan(plan)], "model")

    def remove_plan(self, plan_id: str, author: Author = "person") -> None:
        self.plans.remove(plan_id, author)

    def fork(self, client: ClientSide) -> Puppet:
        raise AgentError("this agent cannot fork its session")

    def close(self) -> None:
        pass


class PuppetSession(Session):
    """A session whose agent does what the test says."""

    puppet: Puppet

    def __init__(
        self, host: Host, config: tuple[ConfigOption, ...] = (MODE, THINKING), **options: Any
    ) -> None:
        def connect(client: ClientSide) -> Puppet:
            self.puppet = Puppet(client, config)
            return self.puppet

        super().__init__(connect, host, name="survey", **options)

    def do(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call something on the session's loop."""
        return self.host.call(lambda: function(*arguments, **named))

    def send(self, *updates: Update) -> None:
        """Updates from the agent."""
        self.do(self.puppet.client.update, *updates)

    def request(
        self,
        name: str = "drop_duplicates",
        arguments: Mapping[str, Any] | None = None,
        options: tuple[PermissionOption, ...] = OPTIONS,
        **fields: Any,
    ) -> Future[Outcome]:
        """A permission request from the agent; returns its answer to come."""
        call = ToolCall("c2", name, arguments if arguments is not None else {"table": "survey"})
        title = fields.pop("title", name)
        asked = threading.Event()

        async def ask() -> Outcome:
            answer = self.puppet.client.request_permission(RequestPermission(call, options, title, **fields))
            asked.set()
            return await answer

        answer = asyncio.run_coroutine_threadsafe(ask(), self.host.loop)
        assert asked.wait(10)
        return answer


PLAN = Plan(
    (
        PlanEntry("Load `survey.csv` and look at its columns", "high", "completed"),
        PlanEntry("Count missing values in every column", status="completed"),
        PlanEntry("Drop the 14 duplicate rows", "high", "in_progress"),
        PlanEntry(
            "Fill missing ages with the median of the respondent’s region, and keep a column that says which "
            "were filled so that the report can leave them out"
        ),
        PlanEntry("Guess the missing incomes", "low", "cancelled"),
        PlanEntry("Plot age by region", status="_blocked"),
    ),
    title="Clean the survey data",
)
ARGUMENTS = {"table": "survey", "subset": ["respondent", "wave"]}


def typical(session: PuppetSession) -> None:
    """The state that the drawing of the view shows."""
    session.prompt("Clean the survey data, but ask me before you delete anything.")
    session.do(session.puppet.set_plan, PLAN)
    session.send(
        AgentThoughtChunk("They want duplicates gone; deleting needs a yes."),
        ToolCallUpdate("c1", name="count_missing", status="in_progress", raw_input={"table": "survey"}),
        ToolCallUpdate("c1", status="completed", raw_output={"age": 12, "income": 41, "region": 0}),
        AgentMessageChunk(
            "Column **income** has the most gaps:\n\n"
            "|column|missing|share|\n|---|--:|--:|\n|income|41|8.2 %|\n|age|12|2.4 %|\n"
        ),
    )
    session.request(
        arguments=ARGUMENTS,
        content=(
            Text(
                '@ survey.csv  500 → 486 rows\n- 118, 2, "North", 34\n- 207, 1, "East", 51\n  … 12 more rows'
            ),
        ),
    )


class PageComm(BaseComm):
    """The kernel's end of a comm whose page is the test: what is sent is kept in `sent`."""

    def __init__(self, **options: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        super().__init__(**options)

    def publish_msg(self, msg_type: str, data: Any = None, **options: Any) -> None:
        with self.arrived:
            self.sent.append({"type": msg_type, **(data or {})})
            self.arrived.notify_all()

    def custom(self, *kinds: str) -> list[dict[str, Any]]:
        """Custom messages sent so far, of these kinds."""
        contents = [message["content"] for message in self.sent if message.get("method") == "custom"]
        return [content for content in contents if not kinds or content["t"] in kinds]

    def state(self) -> dict[str, Any]:
        """The newest `state` that was sent whole."""
        return next(m["state"]["state"] for m in reversed(self.sent) if "state" in m.get("state", {}))

    def wait_for(self, condition: Callable[[], Any], timeout: float = 10) -> Any:
        """Wait until something was sent that makes `condition()` true, and return what it returned."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: bool(condition()), timeout), "the view has not sent it"
        return condition()

    def receive(self, content: Mapping[str, Any]) -> None:
        """A message from the page."""
        self.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

    _ids = itertools.count(1)

    def command(self, action: str, **fields: Any) -> dict[str, Any]:
        """A command from the page, and the view's answer to it."""
        name = f"test-{next(self._ids)}"
        self.receive({"action": action, "id": name, **fields})
        return self.wait_for(lambda: next((m for m in self.custom("ack", "error") if m["id"] == name), None))


def greeted(session: PuppetSession) -> PageComm:
    """The comm of a new view of a session, whose page has said hello."""
    comm: PageComm = session_view(session).comm
    comm.receive({"action": "hello"})
    comm.wait_for(lambda: comm.custom("snapshot"))
    return comm


@contextmanager
def pages() -> Iterator[None]:
    """Widgets made inside have a `PageComm`."""
    with patch("comm.create_comm", PageComm):
        yield
