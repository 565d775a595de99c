"""Where a session lives, how a cell waits for it, and how a person's clicks and answers reach it."""
