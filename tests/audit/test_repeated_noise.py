"""Does noise repeat, where anybody could subtract it?

One question about many public groups, each with one person, is answered twice: under two ledgers,
in other words, and by two processes.  Noise that follows from the question, the ledger, the data or
the program is the same in both.

Each noise Z is integer with a known law, and the two answers must be independent.  Of n groups the
numbers of those in which both noises are equal, have one sign, or are both small or both large are
then binomial, with chances that follow from the law.  Tails are enclosed exactly
(:func:`discreet.attacks.proportions.tail`), so the chance of a false alarm is what is stated.
"""

import json
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from discreet import Budget
from discreet.attacks.proportions import tail
from discreet.session import open as opened
from tests.audit.clinic import LEVEL

GROUPS = 400
PRICES = ({"epsilon": "0.125"}, {"rho": "0.01"})
_NAMES = [f"g{number}" for number in range(GROUPS)]
_POLICY = f"""
format = 1
unit = "who"
[limits]
max_rows = 1
max_groups = 1
[tables.t.columns]
who = {{type = "integer"}}
g = {{type = "text", categories = {json.dumps(_NAMES)}}}
"""
_QUESTION = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
_TAIL = Fraction(1, 1 << 40)


class Agreement(NamedTuple):
    """In how many groups two noises agree in something, and the chance of one group to do so."""

    what: str
    number: int
    chance: Fraction


def test_noise_does_not_repeat(found, quick, tmp_path):
    """Two answers to one question have independent noise."""
    rounds = 1 if quick else 8
    wrong, compared = [], 0
    for number, price in enumerate(PRICES[:1] if quick else PRICES):
        law = law_of(number)
        tests = rounds * len(PRICES) * 64  # more than there are, so that levels add up
        for turn in range(rounds):
            folder = tmp_path / f"{number} {turn}"
            folder.mkdir()
            for way, noises in _answers(folder, number):
                for one, other in combinations(noises, 2):
                    compared += 1
                    wrong += [
                        f"{way} at {price}: {agreement.number} {agreement.what}"
                        for agreement in agreements(one, other, law)
                        if unlikely(agreement, len(one)) < LEVEL / tests
                    ]
    found.attack(
        f"{compared} pairs of answers of {GROUPS} groups",
        wrong,
        not_covered="machines that are copied while they run",
    )


def agreements(one, other, law):
    """Return how often two noises agree, and the chances that the law gives to that.

    >>> from discreet.noise import DiscreteLaplace
    >>> [found.number for found in agreements([3, -1], [3, 2], DiscreteLaplace(scale=2))]
    [1, 1, 1]
    """
    x, y = np.asarray(one), np.asarray(other)
    middle = law.quantile("3/4")
    small = 1 - 2 * _chance_above(law, middle)
    zero = law.pmf_bounds(0).high
    return [
        Agreement("equal", int((x == y).sum()), _equal(law)),
        Agreement("of one sign", int(((x > 0) == (y > 0)).sum()), _both((1 - zero) / 2)),
        Agreement("of one size", int(((abs(x) > middle) == (abs(y) > middle)).sum()), _both(small)),
    ]


def unlikely(found, n):
    """Return twice the chance of so many agreements or more, or of so few or fewer.

    >>> float(unlikely(Agreement("equal", 10, Fraction(1, 2)), 10))
    0.001953125
    """
    above = tail(found.number, n, found.chance)
    below = tail(n - found.number, n, 1 - found.chance)
    return min(2 * min(above, below), Fraction(1))


def _equal(law):
    """Return the chance that two independent noises are equal, to a part of 2**-40."""
    total, k = law.pmf_bounds(0).high ** 2, 0
    while (mass := law.pmf_bounds(k := k + 1).high) > _TAIL:
        total += 2 * mass**2
    return _short(total)


def _chance_above(law, k):
    return law.survival_bounds(k).high


def _both(chance):
    return _short(chance**2 + (1 - chance) ** 2)


def _short(chance):
    return Fraction(round(chance * (1 << 60)), 1 << 60)


def asked(ledger, price):
    """Ask once under a new ledger, and return the noise of all groups."""
    with open_at(ledger) as session:
        return noise_of(session.ask(_QUESTION, confirm=True, **PRICES[price]))


def open_at(ledger):
    table = pa.table({"who": list(range(GROUPS)), "g": _NAMES})
    budget = Budget(epsilon=100, delta="1e-6")
    return opened({"t": table}, policy=_POLICY, budget=budget, ledger=ledger)


def law_of(price):
    """Return the law of the noise at a price."""
    table = pa.table({"who": [0], "g": ["g0"]})
    with opened({"t": table}, policy=_POLICY, test_mode=True) as session:
        (noise,) = session.plan(_QUESTION, **PRICES[price]).noises
        return noise.mechanism.law


def noise_of(release):
    """Return the noise of an answer about groups of one person each."""
    rows = release.to_arrow(unclipped=True).to_pylist()
    told = {row["g"]: int(row["n_unclipped"]) for row in rows}
    return [told[name] - 1 for name in _NAMES]


def _answers(folder, price):
    """Yield what every way of answering twice gives, as the noise of all groups."""
    one, other = (asked(folder / name, price) for name in ("a", "b"))
    yield "two ledgers", [one, other]
    yield "groups of one answer", [one[: GROUPS // 2], one[GROUPS // 2 :]]
    with open_at(folder / "two questions") as session:
        texts = _QUESTION, _QUESTION.replace("COUNT(*)", "COUNT(who)")
        releases = [session.ask(text, confirm=True, **PRICES[price]) for text in texts]
        yield "two questions", [noise_of(release) for release in releases]
    words = [sys.executable, "-c", _CHILD, str(folder / "child"), str(price)]
    child = subprocess.run(words, check=True, capture_output=True, text=True)
    yield "two processes", [one, json.loads(child.stdout)]


_CHILD = """
import json, pathlib, sys
from tests.audit.test_repeated_noise import asked
print(json.dumps(asked(pathlib.Path(sys.argv[1]), int(sys.argv[2]))))
"""
