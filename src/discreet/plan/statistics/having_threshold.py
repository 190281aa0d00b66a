"""HAVING as a threshold on noisy totals, if there are more groups than could be listed.

Trust: kernel.

Definition.  A question about a product of public values shows the groups that meet its condition
(HAVING).  Let one of the parts that AND joins be ``a >= t`` or ``a > t``, where t is a positive
number and ``a`` a count or a sum of one noisy total, which rises with it.  Then there is a total
T >= 1 such that no group below T meets the condition.  Empty groups that reach T are drawn (key
``zero-groups``); the condition itself decides about all groups that reach T, and so the answer is
the one in which every group has got its noise.
T is not above what the condition asks for, and below it by no more than rounding explains.  Of
several such parts the one counts that the fewest empty groups reach.

If bounds are to be found first, such a question is refused: they decide about the noise, and so
about how many empty groups reach T.  An answer with too many of them would break off once it is
paid for, and that it does would reveal bounds that nobody is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.arrays import INT64_MAX
from discreet.errors import UnsupportedSQL
from discreet.mechanisms.partition_selection import EmptyGroups
from discreet.plan.bounds_search import BoundsTarget
from discreet.plan.pricing.calibration import Calibrated
from discreet.plan.setting import Setting
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
from discreet.query.expression_text import said
from discreet.query.expressions import Call, Column, Expression, Literal, conjuncts
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.table_schema import Product

MOST_EMPTY: Final = 10**6
"""How many empty groups noise may show on average."""

_ROUNDING: Final = Fraction(1, 1 << 40)
_MIRRORED: Final = {"<=": ">=", "<": ">"}
_FEW: Final = 100
_THOUSANDTHS: Final = 1000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HavingThreshold:
    """The total by which groups are shown, from which number on, and the condition in words.

    ``step`` is the value of one unit of the total.
    """

    measure: str
    zeros: EmptyGroups
    step: Fraction
    kind: Type
    words: str
    about: str

    def enough(self, empty: int) -> str:
        """Say which condition would show no more empty groups than this on average."""
        least = self.zeros.least(empty) * self.step
        if self.kind is Type.INTEGER:
            return f"{self.about} >= {math.ceil(least + (self.step != 1) * Fraction(1, 2))}"
        least *= 1 + 2 * _ROUNDING
        if least >= _FEW:
            return f"{self.about} >= {math.ceil(least)}"
        return f"{self.about} >= {math.ceil(least * _THOUSANDTHS) / _THOUSANDTHS}"


def having_threshold(
    setting: Setting,
    calibrated: Calibrated,
    estimates: Sequence[Estimate],
    layout: AnswerLayout,
    targets: Sequence[BoundsTarget],
) -> HavingThreshold | None:
    """Find the threshold of a question about more groups than could be listed, or refuse it."""
    groups = setting.groups.public
    grouped = setting.bound.question.sets
    if setting.groups.chosen or not isinstance(groups, Product) or grouped:
        return None
    if targets:
        first = targets[0]
        raise UnsupportedSQL(
            what=pointed(
                f"there are {len(groups)} groups, and bounds of {first.about} are to be found.",
                first.row.span,
            ),
            why="bounds decide about the noise, and so about how many empty groups are shown.",
            do="declare the bounds in the policy, or write them in the question; or group by fewer "
            "keys.",
        )
    best = min(
        _reached(calibrated, estimates, layout, len(groups)),
        key=lambda threshold: threshold.zeros.expected().high,
        default=None,
    )
    having = setting.bound.question.having
    span = None if having is None else having.span
    if best is None:
        raise UnsupportedSQL(
            what=pointed(
                f"there are {len(groups)} groups, and HAVING does not say which positive count or "
                "sum they have to reach.",
                span,
            ),
            why="there are too many empty groups to go through; those whose noise reaches a "
            "threshold are drawn instead.",
            do="add a condition such as HAVING COUNT(*) >= 100 with AND; or group by fewer "
            "keys, or list the values that matter with IN (...).",
        )
    expected = best.zeros.expected().high
    if expected > MOST_EMPTY:
        raise UnsupportedSQL(
            what=pointed(
                f"about {float(expected):.3g} empty groups would be shown by their noise alone, "
                f"more than {MOST_EMPTY}.",
                span,
            ),
            why=f"that many of {len(groups)} groups get noise that meets {best.words}.",
            do=f"require {best.enough(MOST_EMPTY)} or more; or pay a higher price, or group by "
            "fewer keys.",
        )
    return best


def _reached(
    calibrated: Calibrated, estimates: Sequence[Estimate], layout: AnswerLayout, groups: int
) -> Iterator[HavingThreshold]:
    """Yield what each part of the condition asks of a noisy total."""
    slots = {each.slot: each for each in estimates}
    noises = {each.measure: each for each in calibrated.releases.noises}
    for part in conjuncts(layout.having):
        parts = _compared(part)
        if parts is None:
            continue
        slot, sign, number = parts
        estimate = slots[slot]
        total = _total(estimate)
        noise = None if total is None else noises.get(total[0])
        if total is None or noise is None:
            continue
        least = least_total(sign, number, kind=estimate.type, step=total[1])
        if least >= 1:
            about = said(estimate.aggregate)
            yield HavingThreshold(
                measure=total[0],
                zeros=EmptyGroups(noise=noise.mechanism, threshold=least, groups=groups),
                step=total[1],
                kind=estimate.type,
                words=f"{about} {sign} {said(number)}",
                about=about,
            )


def _compared(part: Expression) -> tuple[str, str, Literal] | None:
    """Return a slot, > or >=, and a number, if a condition compares these."""
    match part:
        case Call(function=">=" | ">" as sign, arguments=(Column(name=slot), Literal() as number)):
            compared = slot, str(sign), number
        case Call(function="<=" | "<" as sign, arguments=(Literal() as number, Column(name=slot))):
            compared = slot, _MIRRORED[sign], number
        case _:
            return None
    return compared if number.type in {Type.INTEGER, Type.FLOAT} else None


def _total(estimate: Estimate) -> tuple[str, Fraction] | None:
    """Return the one noisy total that a slot shows, and what a unit of it stands for."""
    linear = estimate.estimator.linear(estimate.type)
    terms = {} if linear is None else linear[0]
    return next(iter(terms.items())) if len(terms) == 1 else None


def least_total(sign: str, number: Literal, *, kind: Type, step: Fraction) -> int:
    """Return a total below which no value of this type meets a comparison with a number.

    A whole number is the nearest one to step times the total; a float is next to it.  Comparisons
    with floats are made in floats.

    >>> least_total(">", Literal(100), kind=Type.INTEGER, step=Fraction(1))
    101
    >>> least_total(">=", Literal(Fraction(1, 2)), kind=Type.FLOAT, step=Fraction(1, 8))
    4
    """
    assert isinstance(number.value, int | Fraction)  # noqa: S101 (a number, as its type says)
    value = Fraction(number.value)
    least = value - abs(value) * _ROUNDING
    if kind is Type.INTEGER and number.type is Type.INTEGER:
        least = value + (sign == ">") - Fraction(1, 2)
    elif kind is Type.INTEGER:
        least = math.ceil(least) - Fraction(1, 2)
    return min(math.ceil(least / step), INT64_MAX)
