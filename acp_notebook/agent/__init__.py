"""The agent side: a pydantic-ai agent as an ACP agent. The user's agent object is never changed."""
