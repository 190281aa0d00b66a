"""Closing a question after a failed attempt, and opening it again.

Trust: kernel.

Theorem (key ``one-failure``).  Between two entries of the owner, at most one failure is observed
under a key.
    Proof.  A failure is recorded before it is told, and closes the question.  While it is closed
    no attempt is started and no answer is stored; only a ``reopen`` entry ends that.
Assumes: a failure that could depend on data is told only after ``fail`` has returned.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import final

from discreet.errors import NotCharged, OutOfRange, QuestionClosed
from discreet.ledger.batch import Batch
from discreet.ledger.closing import Failing, Reopening

__all__ = ["FailRequest", "ReopenRequest", "refuse_closed"]


@final
@dataclass(frozen=True, slots=True)
class FailRequest:
    """Record that an attempt failed; an answer that is stored already stays."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.key,)

    def act(self, batch: Batch) -> None:
        """Close the question, unless it is closed or answered."""
        history = batch.history(self.key)
        if history.charge is None or not history.attempts:
            raise NotCharged(
                what="a request is said to have failed that was not charged and started.",
                why="data is read only after both are on record, so nothing can have failed yet.",
                do="call charge(...) and start(key) first.",
            )
        if history.release is None and self.key not in batch.state.closed:
            batch.append(Failing(key=self.key))


@final
@dataclass(frozen=True, slots=True)
class ReopenRequest:
    """Allow further attempts of a closed question."""

    entry: Reopening

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.entry.key,)

    def act(self, batch: Batch) -> None:
        """Record it if the question is closed."""
        if self.entry.key not in batch.state.closed:
            raise OutOfRange(
                what="no question with this key is closed.",
                why="only a question that was closed by a failed attempt can be reopened.",
                do="use one of the keys that Ledger.closed or `discreet ledger show` lists.",
            )
        batch.append(self.entry)


def refuse_closed(closed: Collection[str], key: str) -> None:
    """Refuse a question that a failed attempt has closed."""
    if key in closed:
        raise QuestionClosed(
            what="an attempt to answer this question failed, and the question is closed.",
            why="whether it fails again could depend on one person's data.",
            do="ask the owner to find the reason and to record "
            "`discreet ledger reopen KEY --reason ... --by ...`; what was charged stays charged.",
        )
