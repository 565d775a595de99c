"""A prompt may end in a question mark.

IPython takes a line that ends in `?` for a request for help: `%acp ask What is in the data?` would look up
`data`. This transformer comes first, wherever IPython would do that, and makes the line what is meant.
"""

# IPython's transformers are only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re

from IPython.core.inputtransformer2 import HelpEnd, assemble_continued_line, find_end_of_continued_line

_LINE = re.compile(r"(\s*(?:[^%=#]+=\s*)?)%acp\s+(\S.*)", re.DOTALL)


class AcpQuestion(HelpEnd):
    """An entry for `shell.input_transformer_manager.token_transformers`."""

    priority = HelpEnd.priority - 1

    def transform(self, lines: list[str]) -> list[str]:
        """The cell with this line as a call. Raises `SyntaxError` for others: IPython goes on with those."""
        # to a tokenizer an open parenthesis in a text joins the lines after it
        end = find_end_of_continued_line(lines, self.start_line)
        line = assemble_continued_line(lines, (self.start_line, 0), end)
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            raise SyntaxError(line)
        call = f"{found[1]}get_ipython().run_line_magic('acp', {found[2]!r})\n"
        return [*lines[: self.start_line], call, *lines[end + 1 :]]
