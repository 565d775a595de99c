"""What Tab suggests for the values of subcommands: things that exist now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import AcpError
from ..notebook import current, sessions
from ..plan import PRIORITIES, STATUSES
from .command import Completer, Place

#: Names the run of steps that began last in the session.
LAST_RUN = "last"


def modes(place: Place) -> Iterable[str]:
    """Modes of the current session."""
    session = current()
    return session.modes if session else ()


def efforts(place: Place) -> Iterable[str]:
    """Thinking efforts of the current session."""
    session = current()
    return session.efforts if session else ()


def models(place: Place) -> Iterable[str]:
    """Models that the current session can choose from."""
    session = current()
    return session.models if session else ()


def config(place: Place) -> Iterable[str]:
    """The ids of the session's options, then the values of the one that is named."""
    session = current()
    if session is None:
        return ()
    if not place.words:
        return [option.id for option in session.config_options]
    chosen = next((option for option in session.config_options if option.id == place.words[0]), None)
    if chosen is None or len(place.words) > 1:
        return ()
    return ("on", "off") if chosen.type == "boolean" else [value.value for value in chosen.values]


def slash_commands(place: Place) -> Iterable[str]:
    """Slash commands of the current session, then the values that one takes."""
    session = current()
    if session is None or not "".join([*place.words, place.fragment]).startswith("/"):
        return ()
    if not place.words:
        return [f"/{command.name}" for command in session.commands]
    hints = {f"/{command.name}": command.hint or "" for command in session.commands}
    hint = hints.get(place.words[0], "") if len(place.words) == 1 else ""
    return hint.split("|") if "|" in hint else ()


def entries(place: Place) -> Iterable[str]:
    """Entry numbers of the current plan."""
    session = current()
    return map(str, range(1, len(session.plan) + 1)) if session else ()


def open_entries(place: Place) -> Iterable[str]:
    """Numbers of the entries of the current plan that are still to be done."""
    session = current()
    plan = session.plan if session else ()
    return (str(n) for n, entry in enumerate(plan, 1) if entry.status not in ("completed", "cancelled"))


def requests(place: Place) -> Iterable[str]:
    """Numbers of the requests that wait."""
    session = current()
    return map(str, range(1, len(session.permissions) + 1)) if session and not place.words else ()


def decisions(place: Place) -> Iterable[str]:
    """What a rule can do, then the tools that have been called."""
    session = current()
    if not place.words:
        return ("allow", "deny")
    if session is None or len(place.words) > 1:
        return ()
    calls = (call.name for turn in session.state.turns for call in turn.tool_calls)
    return [*dict.fromkeys(calls)]


def rules(place: Place) -> Iterable[str]:
    """Numbers of the remembered decisions."""
    session = current()
    return [str(rule.number) for rule in session.rules] if session else ()


def runs(place: Place) -> Iterable[str]:
    """What names a run of steps: `last`, and the ids of those that are written down, the latest first."""
    from ..steps.past import all_runs, opened

    if place.words:
        return ()
    try:
        with opened() as file:
            return [LAST_RUN, *(run.run_id[:8] for run in all_runs(file))]
    except AcpError:
        return ()


def plans(place: Place) -> Iterable[str]:
    """Ids of the session's plans."""
    session = current()
    return tuple(session.plans) if session else ()


def past_plans(place: Place) -> Iterable[str]:
    """Ids of all plans that the session has had."""
    session = current()
    return tuple(session.state.history) if session else ()


def revisions(place: Place) -> Iterable[str]:
    """Revision numbers of the current plan, the latest first."""
    session = current()
    return map(str, range(len(session.plan_history()), 0, -1)) if session else ()


def session_names(place: Place) -> Iterable[str]:
    """Names of the live sessions."""
    return [session.name for session in sessions()]


def names_after(names: Iterable[str], words: Sequence[str]) -> Iterable[str]:
    """The next word of each name of several words that begins with `words`."""
    begun = "".join(f"{word} " for word in words)
    return dict.fromkeys(
        name.removeprefix(begun).split()[0] for name in names if name and name.startswith(begun)
    )


def words(*known: str) -> Completer:
    """Always the same words."""
    return lambda place: known


statuses = words(*STATUSES)
priorities = words(*PRIORITIES)


def variables(place: Place) -> Iterable[str]:
    """The user's variables."""
    return [name for name in place.variables if not name.startswith("_")]


def agents(place: Place) -> Iterable[str]:
    """Variables, first those that hold agents and models, and `demo`."""
    if place.words:
        return ()
    names = [name for name in variables(place) if not isinstance(place.variables[name], ModuleType)]
    return [*sorted(names, key=lambda name: not _is_agent(place.variables[name])), "demo"]


def _is_agent(value: Any) -> bool:
    """Told by the class's name: importing pydantic-ai to complete a word would take a second."""
    return any(base.__name__ in ("AbstractAgent", "Model") for base in type(value).__mro__)


def files(suffixes: Sequence[str] = ()) -> Completer:
    """Files and folders in the folder that is being typed, the files only with one of `suffixes`."""

    def complete(place: Place) -> Iterable[str]:
        typed, _, name = place.fragment.rpartition("/")
        folder = Path(typed + "/" if typed or place.fragment.startswith("/") else ".").expanduser()
        try:
            found = sorted(folder.iterdir())
        except OSError:
            return
        for path in found:
            if path.name.startswith(".") and not name.startswith("."):
                continue
            prefix = f"{typed}/" if typed or place.fragment.startswith("/") else ""
            if path.is_dir():
                yield f"{prefix}{path.name}/"
            elif not suffixes or path.suffix in suffixes:
                yield f"{prefix}{path.name}"

    return complete


def either(*completers: Completer) -> Completer:
    """What any of these suggest."""
    return lambda place: [word for complete in completers for word in complete(place)]


def listed(complete: Completer) -> Completer:
    """Several of these, with commas between them."""

    def several(place: Place) -> Iterable[str]:
        before, comma, fragment = place.fragment.rpartition(",")
        given = before.split(",")
        found = complete(Place(place.words, fragment, place.variables))
        return [before + comma + word for word in found if word not in given]

    return several


def first(complete: Completer) -> Completer:
    """Only for the first word."""
    return lambda place: () if place.words else complete(place)
