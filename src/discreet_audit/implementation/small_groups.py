"""A12: differencing, trackers and reconstruction at the epsilon that is granted.

Trust: public.  The attacks are those of :mod:`discreet.attacks.reconstruction`.

Whether one person has a secret is guessed from two counts, or from the four of a tracker, asked in
SQL at a total epsilon; everybody's secret from as many questions as people, and from random halves.
A guess about a fair bit is right with a chance of at most e^epsilon / (1 + e^epsilon) (key
``reconstruction-ceiling``), and guesses about many bits of one release are right no more often than
such coins (key ``guessed-bits``): a lower bound of that chance, at level 1e-6, may not be above.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.proportions import at_least
from discreet.attacks.questions import AuditedQuestion
from discreet.attacks.reconstruction import ceiling, fourier, linear, recovered, releasing
from discreet.loss import Pure
from discreet.noise import KeyedEntropy
from discreet_audit.clinic import POLICY, row_of, visits
from discreet_audit.findings import Finding

_EPSILON: Final = Fraction(1)
_LEVEL: Final = Fraction(1, 10**6)
_ILL: Final = "cost > 50"
_WHO: Final = "patient = 30"
_TRACKER: Final = "age < 35"
_DIFFERENCE: Final = ((1, f"{_ILL}"), (-1, f"{_ILL} AND NOT {_WHO}"))
_TRACKED: Final = (
    (1, f"({_WHO} AND {_ILL}) OR {_TRACKER}"),
    (1, f"({_WHO} AND {_ILL}) OR NOT {_TRACKER}"),
    (-1, _TRACKER),
    (-1, f"NOT {_TRACKER}"),
)


def attack(*, quick: bool) -> Finding:
    """Guess one bit by SQL many times, and many bits at once."""
    n, people = (2_000, 256) if quick else (200_000, 2_048)
    most = ceiling(Pure(epsilon=_EPSILON))
    group = {
        "differencing": _guessed(_DIFFERENCE, n),
        "tracker": _guessed(_TRACKED, n),
    }
    everybody = _reconstructed(people)
    hits = {name: (right, 2 * n) for name, right in group.items()} | {
        name: (round(share * people), people) for name, share in everybody.items()
    }
    wrong = [name for name, seen in hits.items() if at_least(*seen, level=_LEVEL) > most]
    shares = {name: right / trials for name, (right, trials) in hits.items()}
    return Finding(
        claimed=f"at epsilon {_EPSILON} in total no more than {most:.3f} of fair bits are guessed",
        measured=", ".join(f"{name} {share:.3f}" for name, share in shares.items()),
        passed=not wrong,
        numbers={
            "ceiling": most,
            "trials": 2 * n,
            "people": people,
            "violations": len(wrong),
            **shares,
        },
        not_covered="what an attacker knows beforehand; the ceiling grows with the budget: at "
        "epsilon 10 it is 0.99995",
    )


def _guessed(questions: tuple[tuple[int, str], ...], n: int) -> int:
    """Guess a bit n times where it is set, and n times where it is not; return the right ones."""
    right = 0
    for cost in (90.0, 10.0):
        table = {"visits": visits(30, row_of(30, cost=cost))}
        total: NDArray[np.int64] = np.zeros(n, np.int64)
        for sign, condition in questions:
            asked = AuditedQuestion(
                sql=f"SELECT COUNT(DISTINCT patient) AS n FROM visits WHERE {condition}",  # noqa: S608
                price={"epsilon": _EPSILON / len(questions)},
                options={"policy": POLICY},
            )
            answers: Any = asked.draw(table, n)
            (column,) = answers.values()
            total += sign * np.ma.getdata(column)
        right += int(((total > 0.5) == (cost > 50)).sum())
    return right


def _reconstructed(people: int) -> dict[str, float]:
    """Return the share of bits that each attack finds in a release."""
    coins = KeyedEntropy(key=bytes(32), label="secrets of people")
    bits = coins.words(people, 1)
    curator = releasing(bits, epsilon=_EPSILON)
    halves = linear.attack(
        curator, people=people, questions=2 * people, squares=True, entropy=coins
    )
    return {
        "Fourier": recovered(bits, fourier.attack(curator, people=people)),
        "least squares": recovered(bits, halves),
    }
