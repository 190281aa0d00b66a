"""The budget by account: what each purpose or analyst has spent, and the limit of each.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.accounting.amounts import NEVER, amount_value
from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.explain.words import rounded_up
from discreet.ledger.ledger_view import LedgerView

_MOST: Final = 20
_LONGEST: Final = 22


def account_bars(ledger: LedgerView, *, component: str | None = None) -> Picture:
    """Draw what every account with limits has spent of them, in one component of the budget.

    A bar shows the amount spent by the person who paid most.  A charge to an account is one to all
    accounts above it, so that bars are not added up.  Accounts that are kept in other currencies
    without this component, and those after the first 20, are left out, and the title says so.

    Args:
        ledger: an open ledger.
        component: such as "epsilon" or "rho"; the first of the first account by default.
    """
    limited = [(path, ledger.left(account=path)) for path in _limited(ledger)]
    name = component or limited[0][1].budget.components[0]
    rows: list[tuple[str, float, float]] = []
    for path, left in limited:
        if name in left.budget.components:
            place = left.budget.components.index(name)
            sums = (min(left.spent[place], NEVER), left.budget.limit[place])
            paid, most = map(float, map(amount_value, sums))
            rows.append((path, paid, most))
    shown = rows[:_MOST]
    highest = max([limit for _, _, limit in shown] + [1e-12])
    hidden = len(limited) - len(shown)
    more = f" (not shown: {hidden})" if hidden else ""
    chart = Chart(
        width=NARROW,
        title=f"{name} spent, by account{more}",
        x=Axis(
            label=name,
            low=0.0,
            high=highest * 1.05,
            ticks=[highest * k / 4 for k in range(5)],
            names=[f"{highest * k / 4:.3g}" for k in range(5)],
        ),
        y=Axis(
            label="",
            low=0.0,
            high=len(shown) + 0.5,
            ticks=[len(shown) - row for row in range(len(shown))],
            names=[_short(path) for path, _, _ in shown],
        ),
        left=170,
        height=160 + 32 * len(shown),
        description="; ".join(
            f"{path}: {rounded_up(spent, 4)} spent of {limit:.4g}" for path, spent, limit in shown
        ),
    )
    for row, (_, spent, limit) in enumerate(shown):
        chart.bar(len(shown) - row, 0.0, min(spent, highest * 1.05), color=0)
        chart.dots([(limit, len(shown) - row)], color=1, label="" if row else "limit")
    return chart.picture()


def _limited(ledger: LedgerView) -> list[str]:
    return sorted(path for path, kept in ledger.accounts.items() if kept.limited)


def _short(path: str) -> str:
    return path if len(path) <= _LONGEST else "…" + path[1 - _LONGEST :]
