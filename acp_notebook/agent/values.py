"""What tools return and raise, made fit for the model, the history and the page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from pydantic_ai.messages import ToolReturn
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from ..describe import described
from ..describe import explain as explain

_PLAIN = (str, int, float, bool, type(None))
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a pair: JSON has no form for them


@contextmanager
def foreign() -> Generator[None]:
    """Around code that is not ours: what else it raises comes as an `Exception`, since in a task it would
    end the whole loop, and with it the kernel."""
    try:
        yield
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None
    except BaseException as error:
        raise RuntimeError(explain(error)) from error


def for_model(result: Any) -> Any:
    """A tool's result as it is when the history can hold it as JSON, else a description of it.

    One result that is not JSON would break `all_messages_json()` for the whole session.
    """
    if isinstance(result, str):
        return _SURROGATES.sub("\ufffd", result)
    if isinstance(result, _PLAIN):
        return result
    if isinstance(result, Iterator):  # it could be read only once
        result = list(cast("Iterator[Any]", result))
    if isinstance(result, ToolReturn):
        returned = cast("ToolReturn[Any]", result)
        returned.return_value = for_model(returned.return_value)
        returned.metadata = for_model(returned.metadata)
        return returned
    try:
        to_json(result)
    except (PydanticSerializationError, ValueError, RecursionError):
        return described(result)
    return result


def for_page(value: Any) -> Any:
    """A value as JSON-like data for the views."""
    if isinstance(value, _PLAIN):
        return value
    return to_jsonable_python(value, serialize_unknown=True)
