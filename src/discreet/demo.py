"""``./run demo``: one private count on a small built-in table, with its price and its error.

Trust: public.

This is the kernel alone, with no session, ledger or SQL around it.  The count of a made-up table
moves by at most 1 when one person is added or removed, so discrete Laplace noise of scale
1/epsilon makes the release epsilon-differentially private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.noise import DiscreteLaplace

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
    epsilon = Fraction(1, 2)
    law = DiscreteLaplace(scale=1 / epsilon)
    true_count = sum(1 for visit in TABLE if visit.overnight)  # moves by at most 1 with one person
    answer = true_count + law.draw()
    radius = law.quantile("0.975")
    inside = 1 - law.survival(radius) - law.cdf(-radius - 1)
    print(
        "discreet demo: a private count with the kernel\n"
        "\n"
        f"  table      {len(TABLE)} made-up hospital visits, one per person\n"
        "  question   how many people stayed overnight?\n"
        "  protected  each person, whether or not they are in the table\n"
        f"  noise      discrete Laplace, scale {law.scale}, integers only\n"
        "\n"
        f"  answer     {answer} ± {radius}   (the true count is within {radius} in "
        f"{inside:.1%} of all releases)\n"
        f"  price      epsilon {float(epsilon)}: one person changes the odds of any answer "
        "by at most a factor of e^0.5 = 1.65\n"
        "\n"
        "Run it again and the noise is fresh.  Two releases would cost epsilon 1.0 together.\n"
        "Coming next: mechanisms and their exact privacy loss, composition, a ledger that keeps\n"
        "the budget, and questions in SQL."
    )


if __name__ == "__main__":
    main()
