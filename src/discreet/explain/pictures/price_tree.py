"""The composition tree with the price of each node.

Trust: public.  Shape and prices are those of the statement's own text.
"""

from __future__ import annotations

from html import escape
from typing import Final

from discreet.accounting import Statement
from discreet.charts import STYLE

_LINE: Final = 20
_TOP: Final = 36
_LETTER: Final = 8
_MOST: Final = 60


def price_tree(statement: Statement) -> str:
    """Draw the tree of a statement: every node with what it costs by itself, rounded up.

    >>> from discreet.accounting import Leaf, account
    >>> from discreet.loss import Pure
    >>> picture = price_tree(account(Leaf(Pure(epsilon=1)) * 2, relation="add_remove"))
    >>> "2 times" in picture, "2.0000" in picture
    (True, True)
    """
    lines = str(statement).splitlines()
    hidden = len(lines) - _MOST
    shown = lines if hidden <= 0 else [*lines[:_MOST], f"… and {hidden} more lines"]
    height = _TOP + _LINE * len(shown) + 8
    width = max(40 + _LETTER * max(map(len, shown)), 320)
    drawn = "".join(
        f'<text style="font:{"" if place else "bold "}13px monospace;white-space:pre" x="20" '
        f'y="{_TOP + _LINE * place}" xml:space="preserve">{escape(line)}</text>'
        for place, line in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" style="max-width:100%;height:auto">'
        f"<title>{escape('; '.join(' '.join(line.split()) for line in shown))}</title>"
        f"<style>{STYLE}</style>"
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>{drawn}</svg>'
    )
