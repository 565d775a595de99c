"""Permission requests as a person, a magic or a policy answers them.

A tool runs only on an explicit yes for that very call. Option ids go back verbatim; meaning comes from their
kind (ACP v2, session/request_permission). Nothing is ever chosen by default or by time.
"""

from __future__ import annotations

from asyncio import Future, TimerHandle
from collections.abc import Callable, Mapping
from copy import deepcopy
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal, cast

from ..errors import AlreadyAnswered, ConfigError, PermissionError
from ..masking import marked
from ..protocol.messages import (
    OMIT,
    Cancelled,
    Outcome,
    PermissionOption,
    RequestPermission,
    Selected,
    ToolCall,
)
from ..protocol.rules import EXACT, Covers, RuleScope

if TYPE_CHECKING:
    from .session import Session

#: What answers a request when nobody can: `deny` (default), `allow`, `wait` (code will answer), or a callable
#: that is given the request and returns True for allow.
Unattended = Literal["deny", "allow", "wait"] | Callable[["PermissionRequest"], bool]


def checked_unattended(value: Any) -> Unattended:
    """`value` when it is a policy, else `ConfigError`."""
    if iscoroutinefunction(value):
        raise ConfigError("on_unattended cannot be an async function: it must answer at once")
    if callable(value) or value in ("deny", "allow", "wait"):
        return cast(Unattended, value)
    raise ConfigError(f"on_unattended={value!r} is not a policy: use 'deny', 'allow', 'wait' or a callable")


class PermissionRequest:
    """A request that waits for an answer. All methods may be called from any thread, once.

    A second or late answer raises `AlreadyAnswered` and changes nothing.
    """

    def __init__(
        self, session: Session, request_id: str, request: RequestPermission, answer: Future[Outcome]
    ) -> None:
        self._session = session
        self._answer = answer
        self.id = request_id
        self.request = request
        #: Withdraws the question where it was put to the person otherwise than by a card.
        self.withdraw: Callable[[], None] = lambda: None
        self._timer: TimerHandle | None = None

    @property
    def tool_call(self) -> ToolCall:
        """The call that waits: `name`, `arguments`, `tool_call_id`, `kind`."""
        return self.request.tool_call

    @property
    def options(self) -> tuple[PermissionOption, ...]:
        """The answers that the agent offers, in its order."""
        return self.request.options

    @property
    def preview(self) -> str | None:
        """What the call will change, as text, where the agent says so; `request.content` has it in blocks."""
        return self.request.preview

    @property
    def pending(self) -> bool:
        return not self._answer.done()

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}=…" for name in self.tool_call.arguments)
        status = "pending" if self.pending else "answered"
        return f"<PermissionRequest {self.tool_call.name}({arguments}), {status}>"

    def allow(
        self,
        always: bool = False,
        arguments: Mapping[str, Any] | None = None,
        note: str | None = None,
        by: str = "you",
        *,
        result: Any = OMIT,
        covers: Covers = EXACT,
        scope: RuleScope = "session",
    ) -> None:
        """Let the call run, with `arguments` in place of the model's where given.

        The model reads the `note`. Where the request is for a result, `result` is what the model reads
        instead. With `always`, the answer is remembered for what it `covers`, by default exactly these
        arguments, in this `scope`. Raises `PermissionError` when the agent offers no such option, and for
        arguments that the tool does not take; then the call still waits.
        """
        option = self._find(("allow_always",) if always else ("allow_once",))
        if option is None:
            raise PermissionError(
                f"the agent does not offer to {'always ' * always}allow this: {self._offered()}"
            )
        self._select(option, by, arguments=arguments, note=note, result=result, covers=covers, scope=scope)

    def deny(
        self,
        reason: str | None = None,
        always: bool = False,
        by: str = "you",
        *,
        covers: Covers = EXACT,
        scope: RuleScope = "session",
    ) -> None:
        """Keep the call from running; `reason` becomes the tool's answer that the model reads.

        Prefers a one-time rejection and never turns a no into a standing one unasked: where the agent offers
        no fitting option the outcome is `cancelled`.
        """
        option = self._find(("reject_always",) if always else ("reject_once",))
        if option is not None:
            self._select(option, by, reason=reason, covers=covers, scope=scope)
        else:
            self._settle(Cancelled(reason), "denied", by)

    def choose(self, option_id: str, **extra: Any) -> None:
        """Answer with an option by its id; `extra` as in `Selected`: `arguments`, `reason`, `note`, …

        Raises `PermissionError` for an id that was not offered, or that stands for two different kinds.
        """
        kinds = {option.kind for option in self.options if option.option_id == option_id}
        if not kinds:
            raise PermissionError(f"option {option_id!r} was not offered: {self._offered()}")
        if len(kinds) > 1:
            raise PermissionError(
                f"option {option_id!r} is ambiguous: it stands for {' and '.join(sorted(kinds))}"
            )
        self._select(PermissionOption(option_id, "", kinds.pop()), "you", **extra)

    def cancel(self, why: str = "the turn was cancelled") -> None:
        """Withdraw the request; it counts as neither yes nor no, and the call does not run."""
        if self.pending:
            self._settle(Cancelled(), "cancelled", why)

    def expire_after(self, seconds: float) -> None:
        """Deny when there is no answer by then, as the agent has asked for; on the session's loop."""

        def expire() -> None:
            self.deny(f"Denied: nobody answered within {seconds:g} s.", by=f"the timeout of {seconds:g} s")

        self._timer = self._session.host.loop.call_later(seconds, expire)

    def _select(self, option: PermissionOption, by: str, **extra: Any) -> None:
        if not isinstance(extra.get("arguments"), Mapping | None):
            raise PermissionError(f"arguments={extra['arguments']!r} is no mapping of names to values")
        if not isinstance(extra.get("covers", EXACT), Covers):
            raise PermissionError(f"covers={extra['covers']!r} is no Covers: use one of request.covers")
        arguments = cast("Mapping[str, Any] | None", extra.get("arguments"))
        allowed = option.kind.startswith("allow")
        if allowed and arguments is not None and self.pending and self.request.check is not None:
            check = self.request.check
            self._session.host.call(lambda: check(arguments))
        covers, check_covers = extra.get("covers", EXACT), self.request.check_covers
        typed = option.kind.endswith("_always") and covers not in (EXACT, *self.request.covers)
        if typed and arguments is None and self.pending and check_covers is not None:
            self._session.host.call(lambda: check_covers(covers, "allow" if allowed else "deny"))
        if arguments is not None:  # a copy: they are shown, and whose they are may go on changing them
            extra["arguments"] = marked(deepcopy(arguments), self.request.parameters)
        self._settle(Selected(option.option_id, **extra), "allowed" if allowed else "denied", by)

    def _find(self, kinds: tuple[str, ...]) -> PermissionOption | None:
        """The first unambiguous option of these kinds."""
        for option in self.options:
            same_id = {other.kind for other in self.options if other.option_id == option.option_id}
            if option.kind in kinds and len(same_id) == 1:
                return option
        return None

    def _offered(self) -> str:
        return "it offers " + ", ".join(f"{option.option_id!r} ({option.kind})" for option in self.options)

    def _settle(self, outcome: Outcome, status: str, by: str) -> None:
        self._session.host.call(lambda: self._settle_here(outcome, status, by))

    def _settle_here(self, outcome: Outcome, status: str, by: str) -> None:
        if self._answer.done():
            raise AlreadyAnswered(
                f"this request for {self.tool_call.name!r} already has its answer: nothing was changed"
            )
        self._answer.set_result(outcome)
        explanation = by if status == "cancelled" else f"{status} by {by}"
        if self._timer is not None:
            self._timer.cancel()
        self.withdraw()
        self._session.answered(self, outcome, status, explanation)
