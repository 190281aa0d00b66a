"""The exercises of all pages, and what judges and explains them.

Trust: public.
"""

from __future__ import annotations

from typing import Any, Final

from discreet.errors import UnknownName
from discreet.teach.exercise import Exercise, Verdict
from discreet.teach.topics import attacks, definitions, mechanisms, models, properties, streams

TOPICS: Final = (definitions, mechanisms, properties, streams, models, attacks)
EXERCISES: Final[dict[str, Exercise]] = {
    exercise.key: exercise for topic in TOPICS for exercise in topic.EXERCISES
}


def exercises(page: str | None = None) -> tuple[Exercise, ...]:
    """Return the exercises of a page of the gallery, or all.

    >>> [exercise.key for exercise in exercises("ten-rows")]
    ['X1', 'X2', 'X3']
    """
    return tuple(found for found in EXERCISES.values() if page in (None, found.page))


def check(key: str, answer: Any) -> Verdict:
    """Judge an answer to an exercise: a number, a choice, or a program.

    >>> check("L5", 200_000).right
    False
    >>> check("L5", 180_000)
    right: that is the number.
    """
    return _named(key).judge.verdict(answer)


def solution(key: str) -> str:
    """Explain the solution of an exercise.

    >>> solution("L5").startswith("A salary of 200 000")
    True
    """
    return _named(key).solution


def _named(key: str) -> Exercise:
    found = EXERCISES.get(key) if isinstance(key, str) else None
    if found is None:
        raise UnknownName(
            what="there is no such exercise.",
            why="each is known by a letter and a number.",
            do=f"give one of {', '.join(EXERCISES)}.",
        )
    return found
