"""The bar that shows how much of a budget is left.

Trust: public.

Several numbers may be limited.  Where one of them has to fit, the bar is about the one of which
most is left; otherwise about the one of which least is left.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.accounting import Left

__all__ = ["part_left", "svg_bar", "text_bar"]

_ANY: Final = "either"
_WIDTH: Final = 240


def part_left(left: Left) -> Fraction:
    """Return which part of a budget is left, from 0 to 1.

    >>> from discreet.accounting import Book, Budget
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> book = Book(Budget(epsilon=2), unit=row())
    >>> _ = book.charge(Pure(epsilon="0.5"))
    >>> part_left(book.left())
    Fraction(3, 4)
    """
    pairs = list(zip(left.amounts, left.budget.limit, strict=True))[:-1]  # all but delta
    parts = [Fraction(max(amount, 0), limit) for amount, limit in pairs if limit]
    chosen = max if left.budget.currency.name == _ANY else min
    return min(chosen(parts, default=Fraction(0)), Fraction(1))


def text_bar(left: Left, width: int = 24) -> str:
    """Draw the bar with characters; what is left is filled.

    >>> from discreet.accounting import Book, Budget
    >>> from discreet.units import row
    >>> text_bar(Book(Budget(epsilon=2), unit=row()).left(), width=4)
    '████ 100 %'
    """
    part = part_left(left)
    full = int(part * width)
    return f"{'█' * full}{'░' * (width - full)} {int(part * 100)} %"


def svg_bar(left: Left) -> str:
    """Draw the bar as SVG; what is left is filled.

    >>> from discreet.accounting import Book, Budget
    >>> from discreet.units import row
    >>> svg_bar(Book(Budget(epsilon=2), unit=row()).left()).startswith("<svg ")
    True
    """
    part = part_left(left)
    full = float(part * _WIDTH)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 60}" height="16" role="img" '
        f'aria-label="{int(part * 100)} % of the budget is left">'
        f'<rect x="0.5" y="0.5" width="{_WIDTH}" height="15" rx="3" fill="none" stroke="#888"/>'
        f'<rect x="0.5" y="0.5" width="{full:.1f}" height="15" rx="3" fill="#0060a8"/>'
        f'<text x="{_WIDTH + 8}" y="12" font-size="12" font-family="sans-serif" '
        f'fill="currentColor">{int(part * 100)} %</text></svg>'
    )
