"""The budget over time: what was spent after each entry, with the limit.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from discreet.accounting.amounts import amount_value
from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.explain.words import rounded_up
from discreet.ledger.ledger_view import LedgerView

_LABELS: Final = 5
_LONG: Final = 72.0
_MOST_STEPS: Final = 1000


def spending(
    ledger: LedgerView,
    *,
    component: str | None = None,
    entries: Sequence[Mapping[str, Any]] = (),
) -> Picture:
    """Draw the sum of all charges over time, as steps.

    The sum is over all questions, also those about different people, so it is at least what any
    person has paid.

    Args:
        ledger: an open ledger.
        component: what to draw, such as "epsilon" or "rho"; the first of the budget by default.
        entries: its entries, if they have been read already.
    """
    budget = ledger.left().budget
    name = component or budget.components[0]
    place = budget.components.index(name)
    limit = float(amount_value(budget.limit[place]))
    entries = entries or ledger.proved_entries()
    steps = _steps(entries, place)
    charges = sum(entry["kind"] == "charge" for entry in entries)
    start, end = _time(entries[0]) / 3600, _time(entries[-1]) / 3600
    later = max(end, start + 1.0)
    word, hours = ("days", 24.0) if later - start > _LONG else ("hours", 1.0)
    chart = Chart(
        width=NARROW,
        title=f"{name} spent, over time",
        x=Axis(
            label=f"{word} since the ledger was opened",
            low=0.0,
            high=later - start,
            ticks=[(later - start) * k / _LABELS for k in range(_LABELS + 1)],
            names=[f"{(later - start) / hours * k / _LABELS:.3g}" for k in range(_LABELS + 1)],
        ),
        y=Axis(
            label=name,
            low=0.0,
            high=max(limit, steps[-1][1]) * 1.1,
            ticks=[limit * k / 4 for k in range(5)],
            names=[f"{limit * k / 4:.3g}" for k in range(5)],
        ),
        description=(
            f"{charges} charges in {(end - start) / hours:.3g} {word} add up to {name} "
            f"{rounded_up(steps[-1][1], 4)}; the limit is {limit:.4g}"
        ),
    )
    chart.line([(0.0, limit), (later - start, limit)], color=1, label="limit", dashed=True)
    chart.line(_stairs(steps, end - start), color=0, label="spent")
    return chart.picture()


def _steps(entries: Sequence[Mapping[str, Any]], place: int) -> list[tuple[float, float]]:
    first = _time(entries[0])
    charges = [entry for entry in entries if entry["kind"] == "charge"]
    stride = 1 + len(charges) // _MOST_STEPS  # more are not distinguishable on a page
    total, steps = 0, [(0.0, 0.0)]
    for number, entry in enumerate(charges, 1):
        total += highest_amount(entry, place)
        if number % stride == 0 or number == len(charges):
            steps.append(((_time(entry) - first) / 3600, float(amount_value(total))))
    return steps


def highest_amount(entry: Mapping[str, Any], place: int) -> int:
    """Return the largest cost of a charge to any unit, in one component of the first account."""
    pieces = entry["amounts"][min(entry["amounts"], key=len)]
    return max((int(side[place]) for piece in pieces for side in piece), default=0)


def _stairs(steps: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    points = [steps[0]]
    for hours, total in steps[1:]:
        points += [(hours, points[-1][1]), (hours, total)]
    return [*points, (max(end, points[-1][0]), points[-1][1])]


def _time(entry: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(str(entry["at"])).timestamp()
