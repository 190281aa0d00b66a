"""One entry of the ledger: its mechanisms with exact parameters, and the curve around it.

Trust: public.  All of it is in the ledger, and none of it depends on data.

Definition.  The curve of a ledger is delta(epsilon): the least delta that is known to go with an
epsilon for all charges so far.  It is drawn as it stood before a charge, and after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Leaf, decode
from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import DiscreetError
from discreet.explain.ledger_sources import from_ledger, leaves_of
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.loss import PrivacyLoss
from discreet.plan.policy.policy import About

_FLOOR: Final = 1e-12
_STEPS: Final = 48
_LABELS: Final = 4


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismFacts:
    """One mechanism of a charge: what it protects, its parameters, and how far inputs move."""

    name: str
    mechanism: str
    parameters: str
    moved: str
    times: int
    price: str


def mechanism_facts(entry: Mapping[str, Any]) -> list[MechanismFacts]:
    """Return the mechanisms of a charge; none where a later version wrote them.

    >>> from discreet.accounting import encode
    >>> from discreet.mechanisms import Laplace
    >>> tree = encode(Leaf(Laplace(scale=Fraction(20, 3)), name="visits", added=2))
    >>> mechanism_facts({"tree": tree})[0].parameters
    'scale 20/3, which is about 6.667'
    """
    try:
        tree = decode(entry["tree"])
    except (DiscreetError, KeyError):
        return []
    return [_facts(leaf, times) for leaf, times in leaves_of(tree, 1)]


def _facts(leaf: Leaf, times: int) -> MechanismFacts:
    source: Any = leaf.source  # a mechanism, or a loss
    known = [each.name for each in fields(source) if each.repr] if is_dataclass(source) else []
    values = [(name, getattr(source, name)) for name in known]
    return MechanismFacts(
        name=leaf.name or "(no name)",
        mechanism=type(source).__name__,
        parameters=", ".join(
            f"{name.strip('_')} {_exact(value)}" for name, value in values if value is not None
        ),
        moved=_exact(leaf.added),
        times=times,
        price=_price(leaf),
    )


def _exact(value: object) -> str:
    """Say a number exactly, and roughly where that is hard to read."""
    if not isinstance(value, Fraction) or value.denominator == 1:
        return str(value)
    near = f"{float(value):.4g}"
    return near if Fraction(near) == value else f"{value}, which is about {near}"


def _price(leaf: Leaf) -> str:
    try:
        loss = leaf.price(1, 1) if leaf.relation.replaces else leaf.price(1, 0)
    except DiscreetError:
        return ""
    return str(loss).rpartition("; ")[2]  # the pair is in the parameters


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chained:
    """Where an entry hangs in the chain: the hash before it, and the one after it."""

    before: str
    after: Receipt


def chained(ledger: LedgerView, seq: int) -> Chained:
    """Return the hashes around an entry that exists, once the whole chain is proved."""
    receipts = ledger.proved_receipts()
    return Chained(before=receipts[seq - 2].head if seq > 1 else "", after=receipts[seq - 1])


def curve_around(ledger: LedgerView, about: About, around: Chained) -> Picture | None:
    """Draw delta(epsilon) of all charges before an entry, and with it."""
    after = around.after
    if not around.before:
        return None
    before = Receipt(after.ledger, after.seq - 1, around.before)
    worlds = [from_ledger(ledger, about, receipt=receipt).losses for receipt in (before, after)]
    return curves(worlds, names=("before", "with this entry"))


def curves(worlds: Sequence[Sequence[PrivacyLoss]], *, names: Sequence[str]) -> Picture | None:
    """Draw the least delta of some bounds at each epsilon, one line for each sequence of bounds.

    >>> from discreet.loss import Pure
    >>> drawn = curves([[Pure(epsilon=1)], [Pure(epsilon=2)]], names=("one", "two"))
    >>> drawn.description
    'at epsilon 0, delta is at most 0.462 (one), 0.762 (two)'
    """
    ends = [_end(losses) for losses in worlds]
    if not all(ends[1:]):
        return None
    end = 1.1 * max(ends)
    epsilons = [Fraction(step * int(end * 10**6), _STEPS * 10**6) for step in range(_STEPS + 1)]
    lines = [[(float(each), _delta(losses, each)) for each in epsilons] for losses in worlds]
    ticks = [end * step / _LABELS for step in range(_LABELS + 1)]
    chart = Chart(
        width=NARROW,
        title="delta at each epsilon",
        x=Axis(
            label="epsilon",
            low=0,
            high=end,
            ticks=ticks,
            names=[f"{tick:.3g}" for tick in ticks],
        ),
        y=Axis(label="delta", low=_FLOOR, high=1, ticks=(1e-12, 1e-9, 1e-6, 1e-3, 1), log=True),
        description="at epsilon 0, delta is at most "
        + ", ".join(f"{line[0][1]:.3g} ({name})" for name, line in zip(names, lines, strict=True)),
    )
    for color, (name, line) in enumerate(zip(names, lines, strict=True)):
        shown = [(x, min(max(y, _FLOOR), 1.0)) for x, y in line]
        chart.line(shown, color=color, label=name, dashed=color == 0)
    return chart.picture()


def _delta(losses: Sequence[PrivacyLoss], epsilon: Fraction) -> float:
    return min(loss.delta(epsilon) for loss in losses)


def _end(losses: Sequence[PrivacyLoss]) -> float:
    """Return the epsilon at which the curve leaves the picture."""
    ends = []
    for loss in losses:
        try:
            ends.append(loss.epsilon(delta=_FLOOR))
        except DiscreetError:
            continue
    return float(min(ends, default=0.0))
