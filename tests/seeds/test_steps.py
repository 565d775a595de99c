"""The document on plans of tool calls: its Python blocks, with our names imported instead."""

from typing import Any

import pytest
from pydantic_ai import Agent

from harness.steps import calling, returned

PLAN = {
    "steps": [
        {"id": "backup", "tool": "create_backup", "args": {"database": "prod"}},
        {
            "id": "validate",
            "tool": "validate_backup",
            "args": {"backup_id": {"output_by_reference": {"backup": ["backup_id"]}}},
        },
    ]
}


def setup() -> Any:
    # ---- the block on setting up: an application of ours is for plans, so there is nothing to configure
    from acp_notebook import StepApp

    app = StepApp("my-server")
    # ---- its end
    return app


def declare(app: Any) -> None:
    @app.tool()
    def create_backup(database: str) -> dict:
        """Back a database up."""
        return {"backup_id": "bk-42"}

    # ---- the block on passing data
    from typing import Annotated

    from acp_notebook import Sharable

    @app.tool()
    def validate_backup(backup_id: Annotated[str, Sharable()]) -> dict:
        """Validate a backup by ID."""
        return {"valid": True, "backup_id": backup_id}

    # ---- its end


@pytest.fixture
def app() -> Any:
    app = setup()
    declare(app)
    return app


async def test_what_the_model_sends_and_what_it_is_answered(app: Any) -> None:
    result = await Agent(calling(("execute_plan", PLAN)), toolsets=[app]).run(
        "back the DB up and validate it"
    )
    (answer,) = returned(result.all_messages())
    assert answer["results"] == {
        "backup": {"backup_id": "bk-42"},
        "validate": {"valid": True, "backup_id": "bk-42"},
    }
