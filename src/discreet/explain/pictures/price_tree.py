"""The composition tree with the price of each node.

Trust: public.  Shape and prices are those of the statement's own text.
"""

from __future__ import annotations

from typing import Final

from discreet.accounting import Statement
from discreet.charts import Picture, Words

_LINE: Final = 20
_TOP: Final = 36
_LETTER: Final = 8
_MOST: Final = 60


def price_tree(statement: Statement) -> Picture:
    """Draw the tree of a statement: every node with what it costs by itself, rounded up.

    >>> from discreet.accounting import Leaf, account
    >>> from discreet.loss import Pure
    >>> picture = price_tree(account(Leaf(Pure(epsilon=1)) * 2, relation="add_remove"))
    >>> "2 times" in picture.svg(), "2.0000" in picture.svg()
    (True, True)
    """
    lines = str(statement).splitlines()
    hidden = len(lines) - _MOST
    shown = lines if hidden <= 0 else [*lines[:_MOST], f"… and {hidden} more lines"]
    return Picture(
        title="What each part costs by itself",
        description="; ".join(" ".join(line.split()) for line in shown),
        width=max(40 + _LETTER * max(map(len, shown)), 320),
        height=_TOP + _LINE * len(shown) + 8,
        shapes=tuple(
            Words(
                at=(20, _TOP + _LINE * place), text=line, anchor="start", bold=not place, mono=True
            )
            for place, line in enumerate(shown)
        ),
        cell=(_LETTER, _LINE),
    )
