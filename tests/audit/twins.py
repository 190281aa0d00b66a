"""Broken twins: programs with one fault each, which an audit must catch.

Twins of noise add too little of it, the wrong kind, or the same twice.  Twins of sessions forget a
bound, refund a budget or draw an answer again: two are real sessions whose owners promise less than
they ask for, the others mimic a session in a few lines.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.attacks import AuditedQuestion, estimate_epsilon
from discreet.attacks.subjects import Batches
from discreet.noise import DiscreteLaplace, KeyedEntropy, Uniform
from discreet.units import person

STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A mechanism with one fault, the epsilon that it claims, and neighbors that give it away."""

    name: str
    fault: str
    draw: Callable[..., Any]
    neighbors: tuple[Any, Any] = (0, 1)
    claim: object = 1

    def subject(self):
        """Return what an audit draws from; the stream of words is fixed, so results repeat."""
        entropy = KeyedEntropy(key=bytes(32), label=f"twin {self.name}")
        return Batches(lambda data, n: self.draw(data, n, entropy))


def catch(twin, *, most):
    """Draw ten times as many answers until the bound is above the claim, or there are enough."""
    subject, n = twin.subject(), 10
    measured = estimate_epsilon(subject, twin.neighbors, n, claim=twin.claim)
    while not measured.violates and 10 * n <= most:
        n *= 10
        measured = estimate_epsilon(subject, twin.neighbors, n, claim=twin.claim)
    return measured


def _laplace(scale):
    """Return what adds noise of a scale."""
    law = DiscreteLaplace(scale=scale)
    return lambda value, n, entropy: value + law.sample(n, entropy)


def float_laplace(value, n, entropy):
    """Add what textbooks call Laplace noise: a logarithm of a uniform float, with a sign."""
    uniform = (entropy.words(n, 53).astype(np.float64) + 1.0) * 2.0**-53
    sign = np.where(entropy.words(n, 1).astype(np.bool_), -1.0, 1.0)
    return value + sign * np.log(uniform)


def _renormalized(value, n, entropy):
    """Draw again until the answer is between 0 and 5: the chance of that depends on the value."""
    law = DiscreteLaplace(scale=1)
    draws = np.full(n, -1, np.int64)
    missing = np.arange(n)
    while missing.size:
        drawn = value + law.sample(missing.size, entropy)
        inside = (drawn >= 0) & (drawn <= STEPS)
        draws[missing[inside]] = drawn[inside]
        missing = missing[~inside]
    return draws


def _same_noise(counts, n, entropy):
    """Answer two questions with one draw, as noise from a salt does that two releases share."""
    noise = DiscreteLaplace(scale=2).sample(n, entropy)
    return np.stack([counts[0] + noise, counts[1] + noise], axis=1)


def _one_sided(value, n, entropy):
    return value + np.abs(DiscreteLaplace(scale=1).sample(n, entropy))


def _uniform_noise(value, n, entropy):
    return value + Uniform(below=21).sample(n, entropy) - 10


def _each_prefix(bits, n, entropy):
    """Release all prefix sums, with noise as for one."""
    sums = np.cumsum(bits)
    noise = DiscreteLaplace(scale=1).sample(n * len(bits), entropy).reshape(n, len(bits))
    return sums + noise


NOISES = (
    Twin(name="Laplace", fault="half the scale", draw=_laplace("1/2")),
    Twin(
        name="Laplace, nearly",
        fault="a scale that is a tenth too small",
        draw=_laplace("9/10"),
    ),
    Twin(
        name="Laplace, upside down",
        fault="a scale of epsilon in place of 1 / epsilon",
        draw=_laplace("1/10"),
        claim="0.1",
    ),
    Twin(
        name="Laplace in floats",
        fault="floating-point noise",
        draw=float_laplace,
        neighbors=(0.0, 1.0),
    ),
    Twin(
        name="Laplace within bounds",
        fault="drawn again until it is inside",
        draw=_renormalized,
    ),
    Twin(name="Laplace, absolute", fault="noise without a sign", draw=_one_sided),
    Twin(name="uniform noise", fault="noise that ends", draw=_uniform_noise),
    Twin(
        name="two questions",
        fault="noise from a salt that both share",
        draw=_same_noise,
        neighbors=((10, 9), (10, 10)),
    ),
    Twin(
        name="prefix sums",
        fault="noise for one of five sums",
        draw=_each_prefix,
        neighbors=((0, 0, 0, 0, 0), (1, 0, 0, 0, 0)),
    ),
)


POLICY = """
format = 1
[limits]
max_rows = 3
max_groups = {groups}
[tables.visits.columns]
patient = {{type = "integer"}}
ward = {{type = "text", categories = ["A", "B", "C"]}}
cost = {{type = "float", low = 0, high = 100}}
"""
_ASKED = 200
_TIMES = 40


def _visits(patients):
    """Return a table in which everybody has three visits, one in each ward."""
    ids = [patient for patient in range(patients) for _ in range(3)]
    wards = ["A", "B", "C"] * patients
    return {"visits": pa.table({"patient": ids, "ward": wards, "cost": [100.0] * len(ids)})}


def _rows_forgotten(data, n, _):
    """Noise for one row, and three rows of a person counted."""
    return AuditedQuestion(
        sql="SELECT COUNT(*) AS n FROM visits",
        price={"epsilon": 3},
        options={"policy": POLICY.format(groups=1), "unit": person("patient")},
    ).draw(data, n)


def _groups_forgotten(data, n, _):
    """Noise for one group, and three groups of a person counted."""
    return AuditedQuestion(
        sql="SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward",
        price={"epsilon": 3},
        options={"policy": POLICY.format(groups=3), "unit": person("patient")},
    ).draw(data, n)


def _refunding(count, n, entropy):
    """Answer whoever hangs up after every answer; each costs a tenth, and is given back."""
    answers = answers_told(refunds=True)
    noise = DiscreteLaplace(scale=10).sample(n * answers, entropy).reshape(n, answers)
    return (count + noise).sum(axis=1)


def answers_told(*, refunds):
    """Return how many answers of a tenth a budget of 1 gives to somebody who asks and hangs up."""
    left, price, answers = Fraction(1), Fraction(1, 10), 0
    for _ in range(_ASKED):
        if left < price:
            continue
        left -= price
        answers += 1
        left += price if refunds else 0  # the connection broke, so nothing was delivered?
    return answers


def _redrawing(count, n, entropy):
    """Charge a question once, and draw its noise anew each time that it is asked."""
    noise = DiscreteLaplace(scale=4).sample(n * _TIMES, entropy).reshape(n, _TIMES)
    return (count + noise).sum(axis=1)


def _largest_as_bound(costs, n, entropy):
    """Take the bound of a sum from the data: the noise tells it."""
    noise = DiscreteLaplace(scale=max(costs)).sample(n, entropy)
    return sum(costs) + noise


def _refusing(count, n, entropy):
    """Refuse to answer about fewer than ten people, by their true number."""
    if count < 10:
        return np.full(n, -(1 << 40), np.int64)
    return count + DiscreteLaplace(scale=1).sample(n, entropy)


SESSIONS = (
    Twin(
        name="COUNT(*)",
        fault="the bound of rows is forgotten",
        draw=_rows_forgotten,
        neighbors=(_visits(5), _visits(4)),
    ),
    Twin(
        name="GROUP BY",
        fault="the bound of groups is forgotten",
        draw=_groups_forgotten,
        neighbors=(_visits(5), _visits(4)),
    ),
    Twin(
        name="budget",
        fault="it refunds what was not delivered",
        draw=_refunding,
    ),
    Twin(
        name="replay",
        fault="noise is drawn again for the same question",
        draw=_redrawing,
        claim="0.25",
    ),
    Twin(
        name="SUM",
        fault="the bound is the largest value there is",
        draw=_largest_as_bound,
        neighbors=((1, 1, 1), (1, 1, 1, 50)),
    ),
    Twin(
        name="small groups",
        fault="the true count decides whether there is an answer",
        draw=_refusing,
        neighbors=(9, 10),
    ),
)
