"""What tools return and raise, which a person sees before the model does, and may withhold or edit."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.tools import ToolDefinition

from ..masking import marked, masked
from ..protocol.content import Code, Text
from ..protocol.messages import PermissionOption, RequestPermission, ToolCall
from .modes import tool_kind
from .values import for_page

#: Answers for a result. There is nothing to remember: the next result is another one.
OPTIONS = (
    PermissionOption("allow_once", "Give it to the model", "allow_once"),
    PermissionOption("reject_once", "Withhold it", "reject_once"),
)
#: Characters of a result that are shown as text; all of it is in the request.
SHOWN = 80_000
UNREAD = "cancelled; the call has run, and its result was not given to the model"
CHANGED = "the result has changed since it was shown"
WITHHELD = "The call has run, and the person withholds its result."
WITHHELD_ERROR = "The call has failed, and the person withholds why."


def review_request(
    call: ToolCallPart, tool: ToolDefinition, result: Any, timeout: float | None, *, failed: bool = False
) -> RequestPermission:
    """The request to let the model read what a call returned, or where it `failed` the text that says why."""
    given = marked(for_page(call.args_as_dict()), tool.parameters_json_schema)
    found = for_page(_whole(result))
    text = found if isinstance(found, str) else json.dumps(masked(found), indent=2, ensure_ascii=False)
    left = len(text) - SHOWN
    hidden = f"Not shown: {left:,} characters." if left > 0 else None
    return RequestPermission(
        ToolCall(call.tool_call_id, tool.name, given, tool_kind(tool.metadata)),
        OPTIONS,
        title=f"May the model read {f'why {tool.name} failed' if failed else f'what {tool.name} returned'}?",
        content=(Text(text[:SHOWN], hidden) if text is found else Code(text[:SHOWN], "json", hidden),),
        subject="result",
        result=found,
        failed=failed,
        timeout=timeout,
    )


def _whole(result: Any) -> Any:
    """All that the model would read of a result."""
    if not isinstance(result, ToolReturn):
        return result
    returned = cast("ToolReturn[Any]", result)
    if returned.content is None:
        return returned.return_value
    return {"return_value": returned.return_value, "content": returned.content}
