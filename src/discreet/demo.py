"""``./run demo``: private counts on a small built-in table, with their price and their error.

Trust: public.

There is no session, ledger or SQL around them yet.  The count of a made-up table moves by at most 1
when one person is added or removed, so discrete Laplace noise of scale 1/epsilon makes the release
epsilon-differentially private.  Counts of all wards together cost as much as one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from discreet.accounting import Book, Budget, Leaf, Parallel, account
from discreet.mechanisms import Laplace
from discreet.units import row

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
    count = Leaf(mechanism, replaced=0)
    wards = Parallel("ward", dict.fromkeys(_WARDS, count))
    price = account(count + wards, relation="add_remove")
    book = Book(Budget(epsilon=2), unit=row())
    book.charge(count + wards)
    print(
        "discreet demo: private counts, and what they cost together\n"
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
        "\n"
        f"The same count in each of {len(_WARDS)} wards as well costs {price.epsilon(delta=0)}, "
        f"not {(len(_WARDS) + 1) * epsilon}, since nobody is\n"
        "in two wards.  Under a budget of 2, how often can one more such count be asked\n"
        f"after that?  {book.left().how_many(count)} times.\n"
        "Coming next: a ledger that keeps the budget, and questions in SQL."
    )


if __name__ == "__main__":
    main()
