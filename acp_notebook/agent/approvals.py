"""Approvals: whether a call may run, and whether the model may read what it returned.

A tool runs only on an explicit yes for that very call, from a person, a policy or a rule. The names are those
of pydantic-acp.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast
from weakref import WeakValueDictionary

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolApproved, ToolDefinition, ToolDenied
from pydantic_core import to_json, to_jsonable_python

from ..errors import ConfigError, PermissionError
from ..masking import marked, masked
from ..protocol.connection import ClientSide
from ..protocol.content import Text
from ..protocol.messages import OMIT, Outcome, PermissionOption, RequestPermission, Selected, ToolCall
from ..protocol.rules import EXACT, REACH, Covers, Decision, Rule
from .adapter import AcpSessionContext
from .approval_rules import covers, is_json, offered
from .approval_store import ApprovalPolicyStore
from .arguments import Arguments, validated
from .asking import ask, is_yes, kind_of
from .modes import tool_kind
from .presentation import (
    DefaultPermissionToolCallBuilder,
    PermissionToolCallBuilder,
)
from .previews import Preview, Previews
from .projection import ProjectionMap
from .remembered import Remembered
from .review import CHANGED, UNREAD, WITHHELD, WITHHELD_ERROR, review_request
from .secrets import marked_arguments
from .stream import Outbox
from .values import for_model, for_page

log = logging.getLogger(__name__)

#: Seconds: a year.
LONGEST_WAIT = 366 * 24 * 3600
DENIED = "The person denied this call; it did not run."
CANCELLED = "The person cancelled this call; it did not run."
CHANGED_FILES = "what the call would change is no longer what was shown"
#: How the reason begins of a call that no person denied.
DENIED_BY = "denied by "
DENIED_BY_RULE = "The person has denied all calls like this one; it did not run."


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionOptionSet:
    """What the answers are called. Their ids and kinds, and how far they reach, do not depend on it."""

    allow_once_name: str = "Allow once"
    reject_once_name: str = "Deny"
    allow_always_name: str = "Always allow"
    reject_always_name: str = "Always deny"

    def options(self, reach: str | None) -> tuple[PermissionOption, ...]:
        """The answers in order; those that are remembered, with their `reach`, unless it is None."""
        once = PermissionOption("allow_once", self.allow_once_name, "allow_once")
        no = PermissionOption("reject_once", self.reject_once_name, "reject_once")
        if reach is None:
            return once, no
        always = PermissionOption("allow_always", self.allow_always_name, "allow_always", reach)
        never = PermissionOption("reject_always", self.reject_always_name, "reject_always", reach)
        return once, always, no, never


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeApprovalBridge:
    """How a session asks for approvals.

    Args:
        enable_persistent_choices: offer answers that are remembered as rules.
        tool_call_builder: says what a call will do; None for what the projection maps make of it.
        policy_store: where the rules of a session are kept; None for its metadata.
        option_set: what the answers are called.
        timeout: seconds after which a request without an answer is denied; None waits.
        review_results: names of tools whose results a person sees before the model does, and may withhold or
            edit. A tool says so itself by `metadata={"review_result": True}`.
        review_kinds: the same for all tools of these ACP kinds, such as `{"fetch", "search"}`.

    Raises `ConfigError` for a timeout that is no time.
    """

    enable_persistent_choices: bool = False
    tool_call_builder: PermissionToolCallBuilder | None = None
    policy_store: ApprovalPolicyStore | None = None
    option_set: PermissionOptionSet = field(default_factory=PermissionOptionSet)
    timeout: float | None = None
    review_results: Collection[str] = ()
    review_kinds: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout <= LONGEST_WAIT:
            raise ConfigError(f"timeout={self.timeout!r} is no time to wait: use seconds, or None to wait")

    def reviews(self, tool: ToolDefinition) -> bool:
        """Whether a person sees what the tool returns before the model does."""
        metadata = tool.metadata or {}
        return (
            tool.name in self.review_results
            or tool_kind(metadata) in self.review_kinds
            or metadata.get("review_result") is True
        )


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a person has said yes to, and with which words of the tool's own."""

    preview: Preview
    metadata: Mapping[str, Any]


class Approvals:
    """Asks for one session. `reasons` has why calls were denied, by id, where that was not a person."""

    def __init__(
        self,
        bridge: NativeApprovalBridge,
        projection_maps: Sequence[ProjectionMap],
        remembered: Remembered,
        context: Callable[[], AcpSessionContext],
        client: ClientSide,
        outbox: Outbox,
        tell: Callable[[str], None],
    ) -> None:
        self.reasons: dict[str, str] = {}
        self._bridge = bridge
        builder = bridge.tool_call_builder or DefaultPermissionToolCallBuilder()
        self._previews = Previews(builder, projection_maps, context)
        self._promises: dict[str, _Promise] = {}
        self._files = WeakValueDictionary[str, asyncio.Lock]()
        self._remembered = remembered
        self._client = client
        self._outbox = outbox
        self._tell = tell
        self._notes: list[str] = []

    def notes(self) -> list[str]:
        """What the model is told with its next request: notes of the person, arguments that were changed."""
        notes, self._notes = self._notes, []
        return notes

    # -- may it run? ---------------------------------------------------------------------------------

    async def decide(
        self,
        ctx: RunContext[Any],
        call: ToolCallPart,
        tool: ToolDefinition | None,
        metadata: Mapping[str, Any],
        *,
        again: bool = False,
        problem: str | None = None,
    ) -> ToolApproved | ToolDenied:
        """Whether a call may run, by a rule or by whoever answers.

        A call that asks `again` after it was allowed asks for something else, which no rule can allow.
        `problem` says why the answer before this one does not count.
        """
        self.reasons.pop(call.tool_call_id, None)  # of an earlier call with this id
        self._promises.pop(call.tool_call_id, None)
        given = _given(call, tool)
        rule = self._remembered.find(call.tool_name, given, _is_whole(call))
        if rule is not None and (rule.decision == "deny" or not again):
            return self._by_rule(call, rule)
        arguments = Arguments(ctx, call)
        try:
            preview = self._preview(call, tool)
            while True:
                request = self._request(call, given, tool, metadata, arguments, preview)
                outcome = await ask(self._client, self._outbox, replace(request, problem=problem))
                if not is_yes(outcome, request):
                    break
                edited, shown = _edited(outcome, request), preview
                problem = await arguments.problem(edited) if edited is not None else None
                if shown.promise is not None:
                    preview = self._preview(call, tool)
                if problem is None and preview.promise == shown.promise:
                    break
                problem = problem or CHANGED_FILES  # the yes was to something else
        finally:
            arguments.close()
        decision = self._decided(call, given, request, outcome)
        if isinstance(decision, ToolApproved) and preview.promise is not None:
            if decision.override_args is not None:
                preview = self._preview(replace(call, args=decision.override_args), tool)
            self._promises[call.tool_call_id] = _Promise(preview, metadata)
        return decision

    @asynccontextmanager
    async def promised(
        self, ctx: RunContext[Any], call: ToolCallPart, tool: ToolDefinition, args: dict[str, Any]
    ) -> AsyncGenerator[dict[str, Any]]:
        """Around a call that runs: it does what was shown when it was allowed, or the person is asked again.

        Other cards may have waited meanwhile. Of calls that change the same file one runs after the other,
        since what was shown of the second is void when the first has run. Gives the arguments to run with.
        """
        async with AsyncExitStack() as files:
            while (promise := self._promises.pop(call.tool_call_id, None)) is not None:
                for path in promise.preview.paths:
                    lock = self._files.setdefault(path, asyncio.Lock())
                    await files.enter_async_context(lock)
                if self._preview(call, tool).promise == promise.preview.promise:
                    break
                await files.aclose()
                decision = await self.decide(
                    ctx, call, tool, promise.metadata, again=True, problem=CHANGED_FILES
                )
                if isinstance(decision, ToolDenied):
                    raise ToolFailed(decision.message)
                if decision.override_args is not None:
                    call = replace(call, args=decision.override_args)
                    args = validated(ctx, call)
                self._outbox.tool_call(call.tool_call_id, status="in_progress")
            yield args

    def _by_rule(self, call: ToolCallPart, rule: Rule) -> ToolApproved | ToolDenied:
        log.info("%s: rule %s", call.tool_name, rule)
        if rule.decision == "allow":
            self._outbox.tool_call(call.tool_call_id, reason=f"allowed by rule {rule.number}")
            return ToolApproved()
        self.reasons[call.tool_call_id] = f"{DENIED_BY}rule {rule.number}"
        return ToolDenied(DENIED_BY_RULE)

    def _decided(
        self, call: ToolCallPart, given: dict[str, Any], request: RequestPermission, outcome: Outcome
    ) -> ToolApproved | ToolDenied:
        if not isinstance(outcome, Selected):
            return ToolDenied(outcome.reason or CANCELLED)
        yes, edited = is_yes(outcome, request), _edited(outcome, request)
        override = None if edited is None else to_jsonable_python(dict(edited))
        ran = given if override is None else marked(override, request.parameters)
        if override is not None and isinstance(call.args, dict):  # objects that were left alone stay
            same = {name for name in override if name in given and override[name] == given[name]}
            override = {name: call.args[name] if name in same else override[name] for name in override}
        if kind_of(outcome, request).endswith("_always"):
            self._remember("allow" if yes else "deny", call.tool_name, ran, outcome)
        if not yes:
            return ToolDenied(outcome.reason or DENIED)
        if edited is not None:
            self._outbox.tool_call(call.tool_call_id, raw_input=ran, reason="arguments edited by you")
            with_these = f"The person changed the arguments of {call.tool_name} before it ran, to"
            self._notes.append(f"{with_these} {masked(ran)!r}")
        if outcome.note:
            self._notes.append(f"The person allowed {call.tool_name} with a note: {outcome.note}")
        return ToolApproved(override_args=override)

    def _check_covers(self, tool: str, given: dict[str, Any], what: Covers, decision: Decision) -> None:
        rule = self._remembered.checked(Rule(0, decision, tool, what))
        if not covers(rule, given, self._remembered.folder):
            raise PermissionError(f"a rule {what.said()} is not about this call, which still waits")

    def _remember(self, decision: Decision, tool: str, ran: dict[str, Any], outcome: Selected) -> None:
        """Keep a rule for such calls. Where that cannot be, the answer counts for this call alone."""
        try:
            rule = Rule(0, decision, tool, outcome.covers, outcome.scope)
            exact = outcome.covers.kind == "exact"
            if not exact and not covers(rule, ran, self._remembered.folder):
                raise ConfigError(f"a rule {outcome.covers.said()} is not about it")
            self._remembered.add(rule, ran if exact else None)
        except Exception as error:
            self._tell(f"The answer counts for this call of {tool} alone: {error}.")

    # -- what the person sees ------------------------------------------------------------------------

    def _request(
        self,
        call: ToolCallPart,
        given: dict[str, Any],
        tool: ToolDefinition | None,
        metadata: Mapping[str, Any],
        arguments: Arguments,
        shown: Preview,
    ) -> RequestPermission:
        persistent = self._bridge.enable_persistent_choices and _is_whole(call)
        reach = f"{call.tool_name} {EXACT.said()}, {REACH['session']}" if persistent else None
        own = _text(metadata.get("preview"))
        request = RequestPermission(
            ToolCall(
                call.tool_call_id,
                call.tool_name,
                given if tool is None else marked_arguments(for_page(given), tool),
                tool_kind(tool.metadata if tool is not None else None),
            ),
            self._bridge.option_set.options(reach),
            title=shown.title or f"Approve {call.tool_name}?",
            description=_text(metadata.get("description") or metadata.get("reason")),
            content=(*((Text(own),) if own else ()), *shown.content),
            preview_error=shown.error,
            parameters=tool.parameters_json_schema if tool is not None else None,
            check=arguments.check,
            covers=tuple(offered(given, self._remembered.folder)) if persistent else (),
            check_covers=partial(self._check_covers, call.tool_name, given) if persistent else None,
            timeout=self._bridge.timeout,
        )
        if shown.content:
            self._outbox.tool_call(call.tool_call_id, content=shown.content)
        return request

    def _preview(self, call: ToolCallPart, tool: ToolDefinition | None) -> Preview:
        return self._previews.of(call, tool_kind(tool.metadata if tool is not None else None))

    # -- may the model read it? ----------------------------------------------------------------------

    def reviews(self, tool: ToolDefinition) -> bool:
        """Whether a person sees what the tool returns before the model does."""
        return self._bridge.reviews(tool)

    async def review(self, call: ToolCallPart, tool: ToolDefinition, result: Any) -> Any:
        """What the model reads of a result: the result, another one in its place, or that it is withheld."""
        if not self.reviews(tool):
            return result
        if isinstance(result, Iterator):  # it could be read only once
            result = list(cast("Iterator[Any]", result))
        return await self._seen(call, tool, result, failed=False)

    async def review_failure(self, call: ToolCallPart, tool: ToolDefinition, said: str) -> str:
        """What the model reads of a call that has failed, which the tool itself may have worded."""
        if not self.reviews(tool):
            return said
        seen = await self._seen(call, tool, said, failed=True)
        return seen if isinstance(seen, str) else to_json(seen).decode()

    async def _seen(self, call: ToolCallPart, tool: ToolDefinition, result: Any, *, failed: bool) -> Any:
        try:
            return await self._reviewed(call, tool, result, failed)
        except asyncio.CancelledError:  # the record would say that nobody knows whether it has run
            self._outbox.tool_call(call.tool_call_id, status="cancelled", reason=UNREAD)
            self._notes.append(f"{call.tool_name} has run; its result was not given, since the turn ended.")
            raise

    async def _reviewed(self, call: ToolCallPart, tool: ToolDefinition, result: Any, failed: bool) -> Any:
        request = review_request(call, tool, result, self._bridge.timeout, failed=failed)
        outcome = await ask(self._client, self._outbox, request)
        while (yes := is_yes(outcome, request)) and isinstance(outcome, Selected) and outcome.result is OMIT:
            now = review_request(call, tool, result, self._bridge.timeout, failed=failed)
            if repr(now.result) == repr(request.result):
                break
            request = replace(now, problem=CHANGED)  # the yes was to something else
            outcome = await ask(self._client, self._outbox, request)
        edited = outcome.result if yes and isinstance(outcome, Selected) else OMIT
        what, withheld = ("error", WITHHELD_ERROR) if failed else ("result", WITHHELD)
        said = f"{what} withheld" if not yes else f"{what} edited by you" if edited is not OMIT else None
        if said is not None:
            self._outbox.tool_call(call.tool_call_id, reason=said)
        if not yes:
            return f"{withheld} {outcome.reason}" if outcome.reason else withheld
        return result if edited is OMIT else for_model(edited)


def _edited(outcome: Outcome, request: RequestPermission) -> Mapping[str, Any] | None:
    """The arguments in place of the model's, where the answer is a yes and has any."""
    return outcome.arguments if isinstance(outcome, Selected) and is_yes(outcome, request) else None


def _given(call: ToolCallPart, tool: ToolDefinition | None) -> dict[str, Any]:
    """A call's arguments, with its secrets marked."""
    return marked_arguments(call.args_as_dict(), tool)


def _is_whole(call: ToolCallPart) -> bool:
    """Whether JSON says all of a call's arguments. Those of a step may be any objects."""
    return not isinstance(call.args, dict) or is_json(call.args)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
