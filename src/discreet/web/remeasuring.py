"""Another draw of an answer: what it costs, and how exact both are together, before it is paid.

Trust: public.  Prices are those of plans; the intervals of the answer are known already.

Definition.  A mean of two draws with weights in inverse proportion to their variances has less
noise than either (key ``inverse-variance``).  The half-widths of an answer shrink as the standard
deviations of its noises do, roughly: sums of two noises have lighter tails than one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import path_and_ancestors
from discreet.plan.plan import Plan
from discreet.release import Release
from discreet.release.combination import remaining_spread
from discreet.release.display import plain
from discreet.session.planning import check_gains, fits_after
from discreet.web.ledger_facts import THRESHOLD, Shares, cost_of_plan, shares_of

_NOTICED: Final = 0.995


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowedColumn:
    """One number of an answer: its widest half-width now, and with another draw."""

    name: str
    now: float
    then: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasure:
    """What another draw costs and gives."""

    by: str
    amount: str
    cost: str
    shares: Shares
    columns: tuple[NarrowedColumn, ...]
    fits: bool
    free: bool
    """Whether the visitor has bought this very draw before."""

    @property
    def token(self) -> str:
        """What a confirmation names, so that it is for this price and no other."""
        return f"{self.by} {self.amount} {self.shares.whole}"

    @property
    def confirm(self) -> bool:
        """Whether it costs so much that it is confirmed."""
        return not self.free and self.shares.whole > THRESHOLD


def remeasure_of(  # noqa: PLR0913  an answer, a price, and who pays
    release: Release,
    plan: Plan,
    ledger: LedgerView,
    *,
    account: str | None,
    price: tuple[str, str],
    free: bool,
) -> Remeasure:
    """Return what another draw of an answer would cost and give; refuse one that changes nothing.

    Args:
        release: the answer.
        plan: the same question at the price of the other draw.
        ledger: what is left.
        account: who pays; the first account if None.
        price: its name and its amount.
        free: whether this draw is on record.
    """
    if release.parts:  # of a combination they stay where it was made, which checks it too
        check_gains(release.parts, plan)
    left = ledger.left(plan.scope, account=account)
    known = ledger.accounts
    own = account or min(known, key=len)
    limited = [path for path in path_and_ancestors(own) if known[path].limited]
    return Remeasure(
        by=price[0],
        amount=price[1],
        cost=cost_of_plan(left.budget, plan),
        shares=shares_of(ledger, plan, account),
        columns=tuple(_narrowed(release, remaining_spread(release.plans, plan))),
        fits=free
        or all(fits_after(plan, ledger.left(plan.scope, account=each)) for each in limited),
        free=free,
    )


def _narrowed(release: Release, part: float) -> Iterator[NarrowedColumn]:
    for column in release.columns:
        if column.low is None or column.high is None or column.listed:
            continue
        ends = zip(column.low.to_pylist(), column.high.to_pylist(), strict=True)
        now = _widest([(low, high) for low, high in ends if low is not None and high is not None])
        if now > 0 and part < _NOTICED:
            yield NarrowedColumn(name=plain(column.name), now=now, then=now * part)


def _widest(ends: Sequence[tuple[float, float]]) -> float:
    widths = [float(Fraction(high) - Fraction(low)) / 2 for low, high in ends if _finite(low, high)]
    return max(widths, default=0.0)


def _finite(*values: float) -> bool:
    return all(abs(value) < float("inf") for value in values)
