"""Trees of lines, as text and as HTML, and prices in words.

Trust: public.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from discreet.accounting.amounts import amount_up, format_up
from discreet.plan.pricing.calibration import Price


@final
@dataclass(frozen=True, slots=True)
class Branch:
    """A line, and the lines below it."""

    text: str
    below: tuple[Branch, ...] = ()


def plan_text(branch: Branch) -> str:
    """Draw a tree of lines.

    >>> print(plan_text(Branch("plan", (Branch("who", (Branch("people"),)), Branch("price")))))
    plan
    ├── who
    │   └── people
    └── price
    """
    return "\n".join(_lines(branch, "", ""))


def html_of(branch: Branch) -> str:
    """Return a tree of lines as nested lists.

    >>> html_of(Branch("a < b"))
    '<ul><li>a &lt; b</li></ul>'
    """
    return f"<ul>{_item(branch)}</ul>"


def shown_price(price: Price) -> str:
    """Say what is paid, rounded up."""
    parts = []
    if price.epsilon is not None:
        outside = f" at delta {format_up(amount_up(price.delta))}" if price.delta else ""
        parts.append(f"epsilon {format_up(amount_up(price.epsilon))}{outside}")
    if price.rho is not None:
        outside = f" beside delta {format_up(amount_up(price.beside))}" if price.beside else ""
        parts.append(f"rho {format_up(amount_up(price.rho))}{outside}")
    return "; ".join(parts)


def brief_price(price: Price) -> str:
    """Say what is paid in one currency: epsilon and delta where there is an epsilon."""
    first, _, rest = shown_price(price).partition("; ")
    return first if price.epsilon is not None else first + rest


def _lines(branch: Branch, first: str, rest: str) -> Iterator[str]:
    yield first + branch.text
    for number, below in enumerate(branch.below, start=1):
        turn, pass_by = ("└── ", "    ") if number == len(branch.below) else ("├── ", "│   ")
        yield from _lines(below, rest + turn, rest + pass_by)


def _item(branch: Branch) -> str:
    below = "".join(_item(inner) for inner in branch.below)
    inner = f"<ul>{below}</ul>" if below else ""
    return f"<li>{html.escape(branch.text)}{inner}</li>"
