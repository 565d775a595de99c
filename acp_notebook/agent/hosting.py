"""From what a person has at hand (agent, factory, model, model name) to an agent that can be hosted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..errors import AgentError


@dataclass(frozen=True, slots=True)
class Hosted:
    """An agent with what a session needs to know of it.

    `model` is what it runs on; `overrides` says that this is not the agent's own and has to go with each run.
    """

    agent: AbstractAgent[Any, Any]
    name: str
    model: Model
    overrides: bool = False
    deps: Any = None


def host(
    agent: Any, *, model: str | Model | None = None, name: str | None = None, deps: Any = None
) -> Hosted:
    """Take an `Agent`, a factory of one, a model (also a `ScriptedModel`), a model name, or `"demo"`.

    The agent object itself is used and never changed. Raises `AgentError`.
    """
    # the first run in a terminal would print a banner into the cell
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    if isinstance(agent, str) and agent == "demo":
        from .demo import demo_agent

        agent = demo_agent()
    elif isinstance(agent, str | Model):
        used = model_of(cast("Model | str", agent))
        agent = Agent(used, name=name or used.model_name)
    elif callable(agent) and not isinstance(agent, AbstractAgent):
        agent = agent()
    if not isinstance(agent, AbstractAgent):
        raise AgentError(
            f"{type(agent).__name__} cannot be hosted: use a pydantic-ai Agent, a function that returns one, "
            "a ScriptedModel, a model name such as 'openai:gpt-5', or 'demo'"
        )
    name = name or agent.name or "agent"
    chosen = agent.model if model is None else model
    if chosen is None:
        raise AgentError(f"agent {name!r} has no model: name one with --model or model=")
    if deps is None and agent.deps_type not in (object, type(None)):
        raise AgentError(
            f"agent {name!r} needs deps of type {agent.deps_type.__name__}: "
            "give them with --deps NAME or deps="
        )
    return Hosted(cast("AbstractAgent[Any, Any]", agent), name, model_of(chosen), model is not None, deps)


def model_of(model: Model | str) -> Model:
    """The model that is meant by a name. Raises `AgentError` when its package or its key is missing."""
    try:
        return infer_model(model)
    except ImportError as error:
        raise AgentError(
            f"model {model!r} needs a package that is not installed: {_first_line(error)}"
        ) from error
    except (UserError, ValueError) as error:
        hint = "" if ":" in str(model) else " (names look like 'openai:gpt-5')"
        raise AgentError(f"model {model!r} cannot be used{hint}: {_first_line(error)}") from error
    except Exception as error:
        raise AgentError(f"model {model!r} cannot be set up: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
