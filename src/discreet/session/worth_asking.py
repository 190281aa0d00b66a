"""Whether a question is worth its price: what can be known before paying is said before paying.

Trust: public.  It reads plans and the public size of tables, and no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Left
from discreet.errors import DiscreetError, TooNoisy
from discreet.plan.expectation import WEAK, Expectation, expect, short
from discreet.plan.plan import Plan
from discreet.requests.table_schema import Schema
from discreet.session.planning import fits_after

_STEPS: Final = tuple(Fraction(quarters, 4) for quarters in (4, 5, 6, 8, 10, 12, 16, 20, 24, 32))
_TRIED: Final = 12


def expected_well(plan: Plan, schema: Schema) -> bool:
    """Say whether nothing speaks against asking."""
    expected = expect(plan, schema)
    return expected is None or not expected.unreadable


def too_noisy(
    plan: Plan, schema: Schema, *, price: Callable[[Mapping[str, Any]], Plan], left: Left
) -> TooNoisy:
    """Return the error that says why an answer would not be worth its price, and what would be.

    ``price`` plans the same question at another price.
    """
    expected = expect(plan, schema)
    assert expected is not None  # noqa: S101  (asked only where something is expected)
    found = None if expected.unmet else _better(plan, expected, schema, price, left)
    do = "ask about larger groups, or all together"
    if found is not None:
        epsilon, shown, part = found
        do = f"epsilon {_text(epsilon)} gives {shown}, {_part(part)}"
    elif expected.unmet:
        do = "compare with declared values, or have the policy declare others"
    elif expected.empty:
        key = expected.group.removeprefix("a group of ")
        do = f"name the groups: WHERE {key} IN ('A', 'B'), or have the policy declare them"
    elif plan.price.epsilon is not None:
        do = f"no epsilon that is left would do; {do}"
    return TooNoisy(
        what=f"{expected.why()}.",
        why="the answer would be paid for and could not be read; nothing was spent.",
        do=f"{do}; confirm=True asks anyway.",
        epsilon=None if found is None else _text(found[0]),
    )


def _better(
    plan: Plan,
    expected: Expectation,
    schema: Schema,
    price: Callable[[Mapping[str, Any]], Plan],
    left: Left,
) -> tuple[Fraction, str, Fraction] | None:
    """Return the first round epsilon that makes an answer fine, or else the largest that helps."""
    if plan.price.epsilon is None:
        return None
    worst = max((each.share or Fraction(0) for each in expected.outputs), default=Fraction(0))
    best = None
    start = plan.price.epsilon * (1 if expected.empty else max(Fraction(1), worst / WEAK / 4))
    for epsilon in _rounded(start):
        try:
            other = price({"epsilon": epsilon, "confidence": plan.confidence})
            after = fits_after(other, left)
        except DiscreetError:
            break
        if after is None:
            break
        then = expect(other, schema)
        if then is None or then.unreadable:
            continue
        best = epsilon, _shown(then), left.share - after.share
        if all(not each.weak for each in then.outputs):
            break
    return best


def _rounded(start: Fraction) -> list[Fraction]:
    """Return round numbers above a number."""
    power = Fraction(1, 1000)
    found: list[Fraction] = []
    while len(found) < _TRIED:
        found += [step * power for step in _STEPS if step * power > start]
        power *= 10
    return found[:_TRIED]


def _shown(expected: Expectation) -> str:
    for each in expected.outputs:
        if each.half_width is not None and each.share is not None:
            ranks = " ranks" if each.ranks else ""
            return f"± {short(each.half_width)}{ranks} ({each.percent})"
    return "an answer"


def _text(epsilon: Fraction) -> str:
    return f"{float(epsilon):g}"


def _part(part: Fraction) -> str:
    """Say what part of the whole budget a price is.

    >>> _part(Fraction(1, 2)), _part(Fraction(21, 100))
    ('half of your budget', '21 % of your budget')
    >>> _part(Fraction(999, 1000))
    '100 % of your budget'
    """
    if abs(part - Fraction(1, 2)) < Fraction(1, 200):
        return "half of your budget"
    return f"{short(100 * part)} % of your budget"
