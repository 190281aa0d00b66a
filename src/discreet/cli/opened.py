"""What commands that spend have in common: an open session, a clock, and prices as JSON.

Trust: public.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from discreet.session import Session
from discreet.session import open as open_session

if TYPE_CHECKING:  # handed in
    from discreet.cli import options
    from discreet.plan.plan import BudgetPreview
    from discreet.plan.pricing.calibration import Price


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    """What a terminal shows while a question is answered: for how long, which its reader knows.

    How much of the work is done is not shown: it would tell how many rows there are.
    """

    doing: str = "answering"
    since: float = field(default_factory=time.monotonic)

    def __rich__(self) -> str:
        return f"{self.doing} ... {time.monotonic() - self.since:.0f} s"


def preview_json(preview: BudgetPreview | None) -> dict[str, object] | None:
    """Return what the ledger says of a plan: its entry if it was answered, and what it leaves."""
    if preview is None:
        return None
    return {
        "answered": preview.entry,
        "fits": preview.fits,
        "left": preview.left or None,
        "notes": list(preview.notes),
    }


def price_json(price: Price) -> dict[str, str | None]:
    """Return a price.  Exact numbers are texts, such as 1/10."""
    parts = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
    return {name: None if value is None else str(value) for name, value in parts.items()}


def open_inputs(
    project: options.CommandInputs, account: str | None, analyst: str | None
) -> Session:
    """Open a session on what a command works with."""
    return open_session(
        project.named_data(),
        policy=project.policy,
        ledger=project.ledger,
        account=None if project.ledger is None else account,
        analyst=analyst,
    )
