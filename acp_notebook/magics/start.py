"""`%acp start`, and the demo session that other subcommands start when there is none."""

from __future__ import annotations

from typing import Any, cast

from ..errors import AcpError, AgentError
from ..notebook import Session, current
from ..session.permissions import Unattended
from ..text import plain
from .command import Invocation, alike

DEMO = "demo"


def start(call: Invocation) -> None:
    """Start a session with an agent; %acp talks to it from then on.

    AGENT is a variable that holds a pydantic-ai Agent, a function that returns one, or a model such as a
    ScriptedModel; or a model name such as openai:gpt-5; or demo, the built-in demo and the default. A live
    session of the same name is closed.
    """
    if len(call.words) > 1:
        raise AcpError(f"this is used as {call.command.usage}")
    chosen = dict(call.options)
    if "deps" in chosen:
        chosen["deps"] = call.variable(chosen["deps"])
    if (model := chosen.get("model", "")) in call.variables:
        chosen["model"] = call.variables[model]
    print(in_a_line(_start(call, call.text, chosen)))


def _start(call: Invocation, word: str, chosen: dict[str, Any]) -> Session:
    if not word and "model" in chosen:
        return _session(call, chosen.pop("model"), chosen)
    if word in ("", DEMO):
        return _session(call, DEMO, chosen)
    if word not in call.variables:
        try:
            return _session(call, word, chosen)
        except AgentError as error:
            if ":" in word:
                raise
            hint = alike(word, call.variables)
            raise AgentError(
                f"{word!r} is neither a variable nor a model such as 'openai:gpt-5'{hint}"
            ) from error
    agent = call.variables[word]
    if not isinstance(getattr(agent, "name", None), str):
        chosen.setdefault("name", word)  # so that two agents without a name are two sessions
    try:
        return _session(call, agent, chosen)
    except AgentError as error:
        raise AgentError(f"variable {word!r}: {error}") from error


def _session(call: Invocation, agent: Any, chosen: dict[str, Any]) -> Session:
    policy = cast("Unattended", call.magics.on_unattended)
    return Session(agent, **chosen, on_unattended=policy)


def session_for(call: Invocation) -> Session:
    """The session that %acp talks to; without one, the demo is started, in one line that says so."""
    session = current()
    if session is None:
        session = _session(call, DEMO, {})
        print(in_a_line(session))
    return session


def in_a_line(session: Session) -> str:
    """Who a session is with, and the settings in effect."""
    state = session.state
    agent = f", agent {state.agent}" if state.agent != session.name else ""
    said = [f"Session {session.name!r}{agent}: model {model_name(session)}"]
    said += [f"mode {session.mode}"] if session.mode else []
    said += [f"effort {session.effort}"] if session.effort else []
    return plain(", ".join(said))


def model_name(session: Session) -> str:
    """The model's name; a script is called one."""
    state = session.state
    return f"{state.model} (a script, not a language model)" if state.scripted else state.model
