"""`python -m acp_notebook` is `acp-notebook`."""

from .cli import main

raise SystemExit(main())
