"""The `%acp` magic: a line is parsed by the table of subcommands and handed to one plain function."""
