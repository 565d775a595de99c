"""The document on plans, thinking and approvals: its blocks on approvals, with our names imported instead.

What a block names and does not have is defined here, and its agent answers offline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.tools import RunContext

from acp_notebook import (
    AcpSessionContext,
    Call,
    Code,
    PermissionRequestContext,
    Say,
    ScriptedModel,
    Session,
    ToolCallUpdate,
)
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def deleting() -> Any:
    """The agent of *Approval flow*: its model is a script here."""
    # ---- the block, whose imports are above
    agent = Agent("openai:gpt-5", name="approval-agent")

    @agent.tool
    def delete_file(ctx: RunContext[None], path: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired()
        return f"Deleted: {path}"

    # ---- its end
    return agent


def script() -> ScriptedModel:
    model = ScriptedModel()

    @model.script()
    def delete(turn: Any) -> Any:
        result = yield Call("delete_file", path=turn.prompt)
        yield Say(result.text)

    return model


@pytest.fixture
def start(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return lambda **options: hosted(deleting(), model=script(), **options)


def test_projection_aware_approval_prompts(start: Hosted) -> None:
    class Builder:
        def build_tool_call_update(self, context: PermissionRequestContext) -> ToolCallUpdate:
            path = context.raw_input["path"]
            return ToolCallUpdate(
                context.tool_call.tool_call_id, title=f"Delete {path}", content=(Code(f"rm {path}", "bash"),)
            )

    my_builder = Builder()
    # ---- the block
    from acp_notebook import NativeApprovalBridge

    approval_bridge = NativeApprovalBridge(tool_call_builder=my_builder)
    # ---- its end
    from acp_notebook import AdapterConfig

    session = start(config=AdapterConfig(approval_bridge=approval_bridge))
    turn = session.prompt("a.md")
    until(session, pending(1))
    request = session.permissions[0].request
    assert (request.title, request.content) == ("Delete a.md", (Code("rm a.md", "bash"),))
    session.permissions[0].allow()
    assert turn.wait(20).text == "Deleted: a.md"


def test_persistent_approval_policies(start: Hosted) -> None:
    class Store:
        """A host's storage, for all of its sessions."""

        kept: dict[str, str] = {}

        def get_policy(self, session: AcpSessionContext, policy_key: str) -> Any:
            return self.kept.get(policy_key)

        def set_policy(self, session: AcpSessionContext, policy_key: str, policy: Any) -> None:
            self.kept[policy_key] = policy

        def export_state(self, session: AcpSessionContext) -> dict[str, Any] | None:
            return dict(self.kept)

    my_policy_store = Store()
    # ---- the block
    from acp_notebook import NativeApprovalBridge

    approval_bridge = NativeApprovalBridge(
        enable_persistent_choices=True,
        policy_store=my_policy_store,
    )
    # ---- its end
    from acp_notebook import AdapterConfig

    config = AdapterConfig(approval_bridge=approval_bridge)
    session = start(config=config, name="one")
    turn = session.prompt("a.md")
    until(session, pending(1))
    session.permissions[0].allow(always=True)
    turn.wait(20)
    assert list(my_policy_store.kept.values()) == ["allow"]
    later = start(config=config, name="two").ask("a.md", timeout=20)
    assert later.text == "Deleted: a.md" and later.tool_calls[0].reason == "allowed by rule 1"


def test_approval_flow(start: Hosted) -> None:
    # ---- the block
    from acp_notebook import AdapterConfig, NativeApprovalBridge

    config = AdapterConfig(
        approval_bridge=NativeApprovalBridge(enable_persistent_choices=True),
    )
    # ---- its end
    session = start(config=config)
    turn = session.prompt("a.md")
    until(session, pending(1))
    assert [option.option_id for option in session.permissions[0].options] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    session.permissions[0].choose("reject_always")
    assert turn.wait(20).text == "The person denied this call; it did not run."
    assert session.ask("a.md", timeout=20).tool_calls[0].reason == "denied by rule 1"


def test_cancellation_and_approval(start: Hosted) -> None:
    session = start()
    turn = session.prompt("a.md")
    until(session, pending(1))
    session.cancel()
    turn.wait(20)
    assert turn.stop_reason == "cancelled"
    assert [permission.status for permission in turn.state.permissions] == ["cancelled"]
    assert [call.status for call in turn.tool_calls] == ["cancelled"]
    turn = session.prompt("b.md")  # the history is valid
    until(session, pending(1))
    session.permissions[0].allow()
    assert turn.wait(20).text == "Deleted: b.md"
