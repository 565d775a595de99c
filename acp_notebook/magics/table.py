"""The subcommands, a row each. Dispatch, help, `%acp?` and completion all read this table, and only it."""

from __future__ import annotations

from ..plan.formats import FORMATS
from . import (
    ask,
    config,
    doctor,
    help,
    log,
    permissions,
    plan,
    plan_edit,
    plan_file,
    plan_history,
    rules,
    sessions,
    start,
    status,
    steps,
    suggest,
    sweep,
    work,
)
from .command import Command, Option

_PLAN = Option("plan", "the id of the plan; the current one by default", "ID", suggest.plans)
_OLD_PLAN = Option("plan", "the id of a plan, or of one that was removed", "ID", suggest.past_plans)
_BG = Option("bg", "return at once; the turn goes on while the kernel is idle")
_OUT = Option("out", "a variable that will hold the Turn", "NAME")
_APPROVE = Option("approve", "let all calls of this turn run that would wait for approval")
_SCOPE = Option(
    "scope",
    "this session, all of this agent in this folder, or all of this agent",
    "session|folder|user",
    suggest.words("session", "folder", "user"),
)
_ALWAYS = (
    Option("always", "remember the answer, where that is offered"),
    Option("covers", "what it is about, by its number in %acp approvals", "N"),
    _SCOPE,
)
_PRIORITY = Option("priority", "high, medium or low", "P", suggest.priorities)
_READ = tuple(name for name, format in FORMATS.items() if format.parse)
_PLAN_FILES = (*(suffix for name in _READ for suffix in FORMATS[name].suffixes), ".txt")


_STEP_FORMATS = suggest.words("json", "ipynb", "py")
_STEPS = suggest.first(suggest.either(suggest.variables, suggest.files(steps.SUFFIXES)))


def _format(*names: str) -> Option:
    said = f"{' or '.join(names)}; told by the suffix or the text by default"
    return Option("format", said, "F", suggest.words(*names))


_ROWS = (
    Command("", status.show),
    Command(
        "start",
        start.start,
        "[AGENT]",
        (
            Option("mode", "the mode to begin in", "M", suggest.modes),
            Option("effort", "the thinking effort to begin with", "E", suggest.efforts),
            Option(
                "model",
                "a model name, or a variable that holds a model, in place of the agent's",
                "NAME",
                suggest.variables,
            ),
            Option("name", "what the session is called", "N"),
            Option(
                "host",
                "where it runs: on the kernel's loop, or on a thread of its own",
                "kernel|thread",
                suggest.words("kernel", "thread"),
            ),
            Option("deps", "a variable: what the agent's tools get as ctx.deps", "NAME", suggest.variables),
        ),
        suggest.agents,
    ),
    Command(
        "ask",
        ask.ask,
        "TEXT",
        (
            _BG,
            _OUT,
            Option("mode", "the mode for this turn", "M", suggest.modes),
            Option("effort", "the thinking effort for this turn", "E", suggest.efforts),
            _APPROVE,
            Option(
                "attach",
                "variables or files for the agent to read: a,b or several that end with --",
                "NAME…",
                suggest.either(suggest.variables, suggest.files()),
            ),
        ),
        suggest.slash_commands,
        run_async=ask.ask_async,
        cell="the prompt",
    ),
    Command(
        "work",
        work.work,
        "[N…]",
        (
            Option("yes", "also when you have changed the plan meanwhile"),
            _PLAN,
            _BG,
            _OUT,
            _APPROVE,
        ),
        suggest.open_entries,
        run_async=work.work_async,
    ),
    Command(
        "sweep",
        sweep.sweep,
        "TEXT",
        (
            Option("efforts", "thinking efforts", "E,E", suggest.listed(suggest.efforts)),
            Option("modes", "modes", "M,M", suggest.listed(suggest.modes)),
            Option("models", "models that can be chosen", "M,M", suggest.listed(suggest.models)),
            Option("out", "a variable that will hold the rows", "NAME"),
            Option("approve", "let all calls run that would wait for approval"),
        ),
        run_async=sweep.sweep_async,
        cell="the prompt",
        options_last=True,
    ),
    Command("cancel", ask.cancel),
    Command("plan", plan.show, options=(_PLAN,)),
    Command("plan list", plan.list_plans),
    Command(
        "plan set",
        plan_file.set_plan,
        "FILE|VAR",
        (Option("title", "the plan's title", "TEXT"), _PLAN, _format(*_READ)),
        suggest.either(suggest.variables, suggest.files(_PLAN_FILES)),
        cell="a Markdown task list",
    ),
    Command(
        "plan add",
        plan_edit.add,
        "TEXT",
        (_PRIORITY, Option("at", "the number that the entry will have", "N", suggest.entries), _PLAN),
        options_last=True,
    ),
    Command(
        "plan update",
        plan_edit.update,
        "N",
        (
            Option("content", "the new text", "TEXT"),
            Option("status", "pending, in_progress, completed or cancelled", "S", suggest.statuses),
            _PRIORITY,
            _PLAN,
        ),
        suggest.first(suggest.entries),
    ),
    Command("plan done", plan_edit.done, "N [N…]", (_PLAN,), suggest.entries),
    Command("plan start", plan_edit.start, "N [N…]", (_PLAN,), suggest.entries),
    Command("plan cancel", plan_edit.cancel, "N [N…]", (_PLAN,), suggest.entries),
    Command("plan move", plan_edit.move, "N TO", (_PLAN,), suggest.entries),
    Command("plan remove", plan_edit.remove, "N", (_PLAN,), suggest.first(suggest.entries)),
    Command("plan clear", plan_edit.clear, options=(_PLAN,)),
    Command(
        "plan export",
        plan_file.export,
        "[PATH]",
        (
            _format(*FORMATS),
            _PLAN,
            Option("all", "all plans of the session"),
            Option("force", "overwrite a file that exists"),
        ),
        suggest.files(),
    ),
    Command("plan history", plan_history.history, options=(_OLD_PLAN,)),
    Command("plan diff", plan_history.diff, "A [B]", (_OLD_PLAN,), suggest.revisions),
    Command("plan restore", plan_history.restore, "REV", (_OLD_PLAN,), suggest.first(suggest.revisions)),
    Command("plan undo", plan_history.undo, options=(_PLAN,)),
    Command("steps", steps.steps),
    *(
        Command(
            f"steps {name}",
            look,
            "FILE|VAR",
            (),
            _STEPS,
            run_async=look_async,
            cell="the steps, as JSON or YAML",
        )
        for name, look, look_async in (
            ("check", steps.check, steps.check_async),
            ("preview", steps.preview, steps.preview_async),
        )
    ),
    Command(
        "steps run",
        steps.run,
        "FILE|VAR",
        (_BG, _OUT, _APPROVE),
        _STEPS,
        run_async=steps.run_async,
        cell="the steps, as JSON or YAML",
    ),
    Command(
        "steps show",
        steps.show,
        "RUN [PATH]",
        (
            Option("format", "json, ipynb or py; told by the suffix by default", "F", _STEP_FORMATS),
            Option("force", "overwrite a file that exists"),
        ),
        suggest.either(suggest.runs, suggest.files()),
    ),
    Command(
        "steps resume",
        steps.resume,
        "RUN [FILE]",
        (Option("again", "steps that may run once more without a question", "ID,ID"), _BG, _OUT, _APPROVE),
        suggest.runs,
        run_async=steps.resume_async,
    ),
    Command("mode", config.mode, "[ID]", (), suggest.first(suggest.modes)),
    Command("effort", config.effort, "[LEVEL]", (), suggest.first(suggest.efforts)),
    Command("model", config.model, "[ID]", (), suggest.first(suggest.models)),
    Command("config", config.config, "[ID [VALUE]]", (), suggest.config),
    Command("approvals", permissions.approvals),
    Command(
        "approve",
        permissions.approve,
        "[N]",
        (
            Option("args", "arguments in place of the model's, as a JSON object", "JSON"),
            Option("var", "the same, held by a variable", "NAME", suggest.variables),
            Option("note", "a note for the model", "TEXT"),
            *_ALWAYS,
        ),
        suggest.requests,
    ),
    Command(
        "deny",
        permissions.deny,
        "[N]",
        (Option("reason", "why, for the model to read", "TEXT"), *_ALWAYS),
        suggest.requests,
    ),
    Command("rules", rules.rules),
    Command(
        "rules add",
        rules.add,
        "WHAT TOOL [ARG]",
        (
            Option("equals", "the argument is this value, in JSON or as a text", "TEXT"),
            Option("under", "it is a path in this folder", "TEXT"),
            Option("matches", "it is a text that matches this pattern", "TEXT"),
            Option("command", "it is a command that begins with these words", "TEXT"),
            Option("args", "the arguments are exactly these", "JSON"),
            _SCOPE,
        ),
        suggest.decisions,
    ),
    Command("rules remove", rules.remove, "N [N…]", (), suggest.rules),
    Command("rules clear", rules.clear),
    Command("sessions", sessions.list_sessions),
    Command("use", sessions.use, "NAME", (), suggest.first(suggest.session_names)),
    Command("close", sessions.close, "[NAME]", (), suggest.first(suggest.session_names)),
    Command("status", status.status),
    Command(
        "log",
        log.log,
        "[N]",
        (Option("level", "the lowest level to show", "|".join(log.LEVELS), suggest.words(*log.LEVELS)),),
    ),
    Command("debug", log.debug),
    Command("doctor", doctor.doctor),
    Command("help", help.help, "[CMD]", (), lambda place: suggest.names_after(COMMANDS, place.words)),
)

#: By name, in the order of the help.
COMMANDS = {command.name: command for command in _ROWS}
