"""The general tracker: a database that refuses small groups still counts them.

Denning and Schlorer 1980, A Fast Procedure for Finding a Tracker.

Theorem (key ``general-tracker``).  Let T hold for at least twice the smallest count that is
answered, and for at most all but twice that.  For every condition C on few people,
    count(C) = count(C or T) + count(C or not T) - count(T) - count(not T),
and none of the four is too small or too large to be answered.
Proof.  Each row with C counts twice in the first two, and once in the last two; each row without C
counts once in both.  All four hold for those with T, or for those without T, and for few more.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.errors import OutOfRange
from discreet_course.reconstruction.curators import Ask, Refused

__all__ = ["attack", "counted", "find"]


def attack(ask: Ask, *, table: str, secret: str, person: str, trackers: Iterable[str]) -> bool:
    """Guess whether a person has a secret, with the first condition that is a tracker."""
    tracker = find(ask, table=table, trackers=trackers)
    return counted(ask, f"({person}) AND ({secret})", table=table, tracker=tracker) > 0.5


def find(ask: Ask, *, table: str, trackers: Iterable[str]) -> str:
    """Return the first condition for which both it and its opposite are answered."""
    for condition in trackers:
        try:
            for side in (f"({condition})", f"NOT ({condition})"):
                ask(_count(table, side))
        except Refused:
            continue
        return condition
    raise OutOfRange(
        what="no condition is a tracker.",
        why="each holds for too few people, or for nearly all.",
        do="try conditions that hold for about half of the people.",
    )


def counted(ask: Ask, condition: str, *, table: str, tracker: str) -> float:
    """Return how many rows meet a condition that would be refused."""
    inside, outside = f"({tracker})", f"NOT ({tracker})"
    padded = [ask(_count(table, f"({condition}) OR {half}")) for half in (inside, outside)]
    padding = [ask(_count(table, half)) for half in (inside, outside)]
    return sum(padded) - sum(padding)


def _count(table: str, condition: str) -> str:
    return f"SELECT COUNT(*) AS n FROM {table} WHERE {condition}"  # noqa: S608 (our words)
