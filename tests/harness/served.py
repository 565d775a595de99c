"""The seed's example as a program that an MCP client starts."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from acp_notebook import Sharable, StepApp

app = StepApp("my-server")


@app.tool()
def create_backup(database: str) -> dict[str, Any]:
    """Back a database up."""
    print("a line that is not for the client")
    return {"backup_id": "bk-42"}


@app.tool()
def validate_backup(backup_id: Annotated[str, Sharable()]) -> dict[str, Any]:
    """Validate a backup by ID."""
    return {"valid": True, "backup_id": backup_id}


@app.tool(requires_approval=True)
def drop(backup_id: Annotated[str, Sharable()], token: str) -> str:
    return f"dropped {backup_id}"


@app.tool()
def hold(folder: str) -> None:
    Path(folder, "begun").touch()
    while not Path(folder, "release").exists():
        time.sleep(0.01)


@app.tool()
def leave(folder: str) -> None:
    Path(folder, "left").touch()


if __name__ == "__main__":
    app.run()
    print("left", file=sys.stderr)
