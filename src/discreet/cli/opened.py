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


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    """What a terminal shows while a question is answered: for how long, which its reader knows.

    How much of the work is done is not shown: it would say how many rows there are.
    """

    doing: str = "answering"
    since: float = field(default_factory=time.monotonic)

    def __rich__(self) -> str:
        return f"{self.doing} ... {time.monotonic() - self.since:.0f} s"


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
