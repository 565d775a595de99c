"""Values as people read them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from acp_notebook.protocol.messages import Usage
from acp_notebook.views.values import dollars, spent


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0", "$0.00"),
        ("0.0000123", "$0.000012"),
        ("0.00455", "$0.0046"),
        ("0.35", "$0.35"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_dollars(amount: str, said: str) -> None:
    assert dollars(Decimal(amount)) == said


def test_what_was_spent_as_far_as_it_is_known() -> None:
    assert spent(Usage()) == []
    assert spent(Usage(1000, 204)) == ["1,204 tokens"]
    assert spent(Usage(1000, 204, cost=Decimal("0.0123"))) == ["1,204 tokens", "$0.012"]
    assert spent(Usage(1000, 204, cost=Decimal("0.0123"), unpriced=2)) == ["1,204 tokens", "at least $0.012"]
    assert spent(Usage(1, unpriced=1)) == ["1 token"]
