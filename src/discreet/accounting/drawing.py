"""A composition as text: one line for each node, lines that join them, and a column of prices.

Trust: public.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # a node shows itself by its drawing, so its module imports this one
    from discreet.accounting.node import Node

__all__ = ["drawn", "short"]

_LONGEST: Final = 72
_SIMPLER: Final = (
    (re.compile(r"Fraction\((-?\d+), 1\)"), r"\1"),
    (re.compile(r"Fraction\((-?\d+), (\d+)\)"), r"\1/\2"),
    (re.compile(r"<\w+\.\w+: '(\w+)'>"), r"'\1'"),
    (re.compile(r", \w+=None"), ""),
)


def drawn(node: Node, price: Callable[[Node], str] | None = None) -> str:
    """Draw a tree, with a price beside each node if there is a way to tell it.

    >>> from discreet.accounting import Leaf, Parallel
    >>> from discreet.loss import Pure
    >>> wards = Parallel("ward", {"A": Leaf(Pure(epsilon=1)), "B": 2 * Leaf(Pure(epsilon="1/4"))})
    >>> print(drawn(wards, price=lambda node: "free" if node is wards else "?"))
    Parallel by ward           free
    ├── 'A': Pure(epsilon=1)      ?
    └── 'B': 2 times              ?
        └── Pure(epsilon=1/4)     ?
    """
    rows = list(_rows(node, "", "", ""))
    if price is None:
        return "\n".join(text for text, _ in rows)
    prices = [price(each) for _, each in rows]
    left, right = max(len(text) for text, _ in rows), max(len(text) for text in prices)
    return "\n".join(
        f"{text:<{left}}  {cost:>{right}}".rstrip()
        for (text, _), cost in zip(rows, prices, strict=True)
    )


def _rows(node: Node, first: str, rest: str, label: str) -> Iterator[tuple[str, Node]]:
    """Yield each line of a tree and its node; the root has no lines to its left."""
    yield f"{first}{label}{node.title()}", node
    branches = node.branches()
    for at, (name, child) in enumerate(branches, start=1):
        turn, pass_by = ("└── ", "    ") if at == len(branches) else ("├── ", "│   ")
        yield from _rows(child, rest + turn, rest + pass_by, f"{name}: " if name else "")


def short(value: object) -> str:
    """Show a value on one short line: how to make it, with plain numbers.

    >>> from discreet.mechanisms import Gaussian
    >>> short(Gaussian(sigma="1/2"))
    'Gaussian(variance=1/4)'
    """
    text = repr(value)
    for pattern, simpler in _SIMPLER:
        text = pattern.sub(simpler, text)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
