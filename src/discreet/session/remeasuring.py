"""Another draw of an answer: whether two of them may be combined.

Trust: kernel.  What is refused here is refused before it is charged.

Noise of several draws of one total averages out (key ``inverse-variance``); each draw is paid for.
Draws of different data, or of totals with other bounds, say nothing about each other.
"""

from __future__ import annotations

from discreet.errors import WrongKind
from discreet.plan.plan import Plan
from discreet.release.release import Release

__all__ = ["check_again"]


def check_again(
    before: Release, plan: Plan, *, ledger: str, sources: tuple[tuple[str, str], ...] | None
) -> None:
    """Refuse to combine an answer with a draw of another question, or of other data.

    ``sources`` are the states of the tables that another draw would be from; None if it is on
    record, and its own states are compared when the two are combined.
    """
    if before.receipt is None or before.receipt.ledger != ledger:
        raise WrongKind(
            what="the answer was not recorded by this ledger.",
            why="it may be about other people.",
            do="remeasure an answer of this session, or ask the question anew.",
        )
    old = before.plan
    if plan.reached is not None:
        raise WrongKind(
            what="groups that did not reach the threshold have no number to be averaged.",
            why="a mean of only those that reached it would say more than is there.",
            do="ask the question anew, at a higher price.",
        )
    same = (old.unit, old.lowered, old.estimates) == (plan.unit, plan.lowered, plan.estimates)
    if not same or not before.parts:
        raise WrongKind(
            what="the answer cannot be combined with another draw.",
            why="it was computed under other bounds, or changed since.",
            do="remeasure an answer as it came, under the same policy; or ask the question anew.",
        )
    if sources is not None and before.sources != sources:
        raise WrongKind(
            what="the data may have changed since the answer was drawn.",
            why="draws from two states of the data say nothing of each other; nothing was spent.",
            do="ask the question anew at another price; to combine draws of several sessions, open "
            "files, or declare frozen = true for the table.",
        )
