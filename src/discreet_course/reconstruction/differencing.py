"""Differencing: ask about everybody, ask about everybody else, and subtract.

Fact.  If both answers have independent noise Z of one distribution, symmetric around 0, and the
difference is compared with 1/2, the guess is right with probability P[Z - Z' <= 0], for either bit.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.exact import whole
from discreet.noise import Distribution
from discreet_course.reconstruction.curators import Ask

__all__ = ["attack", "averaged", "success"]


def attack(ask: Ask, *, table: str, secret: str, person: str) -> bool:
    """Guess whether a person has a secret; both are conditions on rows.

    >>> import duckdb
    >>> from discreet_course.reconstruction.curators import exactly
    >>> people = duckdb.connect()
    >>> _ = people.execute("CREATE TABLE people AS SELECT 'Ada' AS name, true AS ill")
    >>> attack(exactly(people), table="people", secret="ill", person="name = 'Ada'")
    True
    """
    everybody = ask(f"SELECT COUNT(*) AS n FROM {table} WHERE {secret}")  # noqa: S608 (our words)
    others = ask(f"SELECT COUNT(*) AS n FROM {table} WHERE {secret} AND NOT ({person})")  # noqa: S608
    return everybody - others > 0.5


def averaged(ask: Ask, sql: str, *, times: int) -> float:
    """Return the mean of one question's answers: noise that is drawn anew wears off."""
    count = whole(times, name="times", low=1)
    return sum(ask(sql) for _ in range(count)) / count


def success(noise: Distribution, *, reach: int = 2000) -> float:
    """Return the probability that the guess is right, if counts have this noise.

    ``reach`` is where the sum over values of the noise ends; the tail counts as wrong.

    >>> from discreet.noise import DiscreteLaplace
    >>> round(success(DiscreteLaplace(scale=1)), 3), round(success(DiscreteLaplace(scale=100)), 3)
    (0.64, 0.501)
    """
    chances = [Fraction(noise.pmf(value)) for value in range(-reach, reach + 1)]
    below, total = Fraction(0), Fraction(0)
    for chance in chances:  # P[Z <= Z'] with Z' at each value
        below += chance
        total += chance * below
    return float(total)
