"""``./run demo``: one private count on a small built-in table, with its price and its error.

Trust: public.

This is one mechanism, with no session, ledger or SQL around it.  The count of a made-up table
moves by at most 1 when one person is added or removed, so discrete Laplace noise of scale
1/epsilon makes the release epsilon-differentially private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from discreet.mechanisms import Laplace

__all__ = ["main"]


@final
@dataclass(frozen=True, slots=True)
class Visit:
    """One row: who came, where, and whether they stayed overnight."""

    person: int
    ward: str
    overnight: bool


_WARDS = ("cardiology", "surgery", "maternity", "pediatrics")

TABLE = tuple(
    Visit(person=number, ward=_WARDS[number * number % 7 % 4], overnight=number % 5 in {1, 2})
    for number in range(400)
)
"""Four hundred made-up people, one visit each."""


def main() -> None:
    """Answer one question and say what it cost."""
    mechanism = Laplace(scale=2)
    true_count = sum(1 for visit in TABLE if visit.overnight)  # moves by at most 1 with one person
    epsilon = mechanism.loss(distance=1).epsilon(delta=0)
    radius = mechanism.error(confidence="0.95")
    answer = mechanism.run(true_count)
    hundred = mechanism.loss(distance=1).power(100)
    print(
        "discreet demo: a private count with one mechanism\n"
        "\n"
        f"  table      {len(TABLE)} made-up hospital visits, one per person\n"
        "  question   how many people stayed overnight?\n"
        "  protected  each person, whether or not they are in the table\n"
        f"  noise      discrete Laplace, scale {mechanism.scale}, integers only\n"
        "\n"
        f"  answer     {answer} ± {radius}   (the true count is within {radius} in at least 95 % "
        "of all releases)\n"
        f"  price      epsilon {epsilon}: one person changes the odds of any answer by at most a "
        f"factor of {math.exp(epsilon):.2f}\n"
        "\n"
        "Run it again and the noise is fresh.  A hundred such counts would\n"
        f"cost epsilon {hundred.epsilon(delta=0)}, or {hundred.epsilon(delta=1e-6):.2f} at "
        "delta 1e-6.\n"
        "Coming next: composition over any granularity, a ledger that keeps the budget, and\n"
        "questions in SQL."
    )


if __name__ == "__main__":
    main()
