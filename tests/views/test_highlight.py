"""Code with its marks is still the code, to the letter and for every language."""

from __future__ import annotations

import re

import pytest

from acp_notebook.views.highlight import highlighted
from acp_notebook.views.html import text


@pytest.mark.parametrize("language", ["python", "bash", "sql", "json", "sh", "brainf", ""])
@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return 'a' + \"b\" # <b>\n",
        "'''never ends <script>",
        'echo "unclosed $(rm) \\',
        "SELECT 'it''s' /* <i> -- \n never",
        '{"a": [1, true, null], "<b>": "\\""}',
        "\u202e'\u200b' #\u202e" + " " * 50,
        "'" * 2_000 + '"' * 2_001 + "#" * 100,
        "",
    ],
)
def test_nothing_is_lost_and_nothing_is_markup(source: str, language: str) -> None:
    made = highlighted(source, language)
    assert re.sub(r"</?span[^>]*>", "", made) == re.sub(r"</?span[^>]*>", "", text(source))


def test_languages_have_their_marks() -> None:
    assert '<span class="acp-k">def</span> f' in highlighted("def f", "python")
    assert '<span class="acp-c"># why</span>' in highlighted("ls # why", "bash")
    assert "acp-c" not in highlighted("echo $#x a#b", "bash")
    assert '<span class="acp-k">select</span>' in highlighted("select 1", "SQL")
    made = highlighted('{"a": 1}', "json")
    assert '<span class="acp-s">&quot;a&quot;</span>: <span class="acp-n">1</span>' in made
