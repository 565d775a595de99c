"""What a call would change: as it is shown before anybody answers, and as it is when the call runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.messages import ToolCallPart

from ..protocol.content import Content, Diff
from ..protocol.messages import OMIT
from .adapter import AcpSessionContext
from .presentation import PermissionRequestContext, PermissionToolCallBuilder
from .projection import CannotPreview, ProjectionMap
from .values import explain, for_page, foreign

log = logging.getLogger(__name__)

MOVED = "The process has left the working folder: the files shown may not be those that the call is about."


@dataclass(frozen=True, slots=True)
class Preview:
    """What is shown of a call. `error` says in a line why there is nothing, or what is doubtful.

    `promise` is what must be the same when the call runs: changes of files, or why they cannot be shown. None
    where nothing was promised, and equal for what shows the same.
    """

    title: str | None = None
    content: tuple[Content, ...] = ()
    error: str | None = None
    promise: tuple[object, ...] | None = None

    @property
    def paths(self) -> list[str]:
        """The files that the call is about."""
        return sorted({block.path for block in self.content if isinstance(block, Diff)})


class Previews:
    """Has a builder look at calls. What runs is never what a builder returns."""

    def __init__(
        self,
        builder: PermissionToolCallBuilder,
        projection_maps: Sequence[ProjectionMap],
        context: Callable[[], AcpSessionContext],
    ) -> None:
        self._builder = builder
        self._projection_maps = projection_maps
        self._context = context

    def of(self, call: ToolCallPart, kind: str) -> Preview:
        """What a call would change now. Never raises."""
        session, arguments = self._context(), call.args_as_dict()
        context = PermissionRequestContext(
            session=session,
            tool_call=ToolCallPart(call.tool_name, for_page(arguments), call.tool_call_id),
            raw_input=for_page(arguments),  # copies: what runs is not the builder's to change
            cwd=session.cwd,
            kind=kind,
            projection_maps=self._projection_maps,
        )
        try:
            with foreign():
                made = self._builder.build_tool_call_update(context)
            title, content = made.title, () if made.content is OMIT else tuple(made.content)
        except CannotPreview as reason:
            return Preview(error=f"No preview: {reason}.", promise=(str(reason),))
        except Exception as error:
            log.error("the preview of %s failed", call.tool_name, exc_info=error)
            return Preview(error=f"The preview failed: {explain(error)}.")
        own = isinstance(title, str) and title not in ("", call.tool_name)
        changes = tuple(block for block in content if isinstance(block, Diff))
        return Preview(
            title if own and isinstance(title, str) else None,
            content,
            MOVED if content and not _is_here(session.cwd) else None,
            changes or None,
        )


def _is_here(folder: Path) -> bool:
    """Whether the process is in the session's folder, as when the session began."""
    try:
        return os.path.samefile(folder, os.getcwd())
    except OSError:
        return False
