"""Twins of sessions: bounds that are forgotten, budgets that refund, answers that are drawn again.

Trust: public.  Nothing here may ever protect anybody.

The first two are real sessions whose owners promise less than they ask for.  The others mimic a
session in a few lines: what counts is what somebody learns who asks as often as the budget allows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.questions import AuditedQuestion
from discreet.attacks.subjects import Answers
from discreet.noise import DiscreteLaplace, Entropy
from discreet.units import person
from discreet_audit.twins.twin import Twin

_POLICY: Final = """
format = 1
[limits]
max_rows = 3
max_groups = {groups}
[tables.visits.columns]
patient = {{type = "integer"}}
ward = {{type = "text", categories = ["A", "B", "C"]}}
cost = {{type = "float", low = 0, high = 100}}
"""
_ASKED: Final = 200
_TIMES: Final = 40


def _visits(patients: int) -> dict[str, pa.Table]:
    """Return a table in which everybody has three visits, one in each ward."""
    ids = [patient for patient in range(patients) for _ in range(3)]
    wards = ["A", "B", "C"] * patients
    return {"visits": pa.table({"patient": ids, "ward": wards, "cost": [100.0] * len(ids)})}


def _rows_forgotten(data: Any, n: int, _: Entropy) -> Answers:
    """Noise for one row, and three rows of a person counted."""
    return AuditedQuestion(
        sql="SELECT COUNT(*) AS n FROM visits",
        price={"epsilon": 3},
        options={"policy": _POLICY.format(groups=1), "unit": person("patient")},
    ).draw(data, n)


def _groups_forgotten(data: Any, n: int, _: Entropy) -> Answers:
    """Noise for one group, and three groups of a person counted."""
    return AuditedQuestion(
        sql="SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward",
        price={"epsilon": 3},
        options={"policy": _POLICY.format(groups=3), "unit": person("patient")},
    ).draw(data, n)


def _refunding(count: int, n: int, entropy: Entropy) -> NDArray[Any]:
    """Answer whoever hangs up after every answer; each costs a tenth, and is given back."""
    answers = answers_told(refunds=True)
    noise = DiscreteLaplace(scale=10).sample(n * answers, entropy).reshape(n, answers)
    total: NDArray[Any] = (count + noise).sum(axis=1)
    return total


def answers_told(*, refunds: bool) -> int:
    """Return how many answers of a tenth a budget of 1 tells to somebody who asks and hangs up.

    >>> answers_told(refunds=False), answers_told(refunds=True)
    (10, 200)
    """
    left, price, answers = Fraction(1), Fraction(1, 10), 0
    for _ in range(_ASKED):
        if left < price:
            continue
        left -= price
        answers += 1
        left += price if refunds else 0  # the connection broke, so nothing was delivered?
    return answers


def _redrawing(count: int, n: int, entropy: Entropy) -> NDArray[Any]:
    """Charge a question once, and draw its noise anew each time that it is asked."""
    noise = DiscreteLaplace(scale=4).sample(n * _TIMES, entropy).reshape(n, _TIMES)
    total: NDArray[Any] = (count + noise).sum(axis=1)
    return total


def _largest_as_bound(costs: tuple[int, ...], n: int, entropy: Entropy) -> NDArray[Any]:
    """Take the bound of a sum from the data: the noise tells it."""
    noise = DiscreteLaplace(scale=max(costs)).sample(n, entropy)
    total: NDArray[Any] = sum(costs) + noise
    return total


def _refusing(count: int, n: int, entropy: Entropy) -> NDArray[Any]:
    """Refuse to answer about fewer than ten people, by their true number."""
    if count < 10:
        return np.full(n, -(1 << 40), np.int64)
    noisy: NDArray[Any] = count + DiscreteLaplace(scale=1).sample(n, entropy)
    return noisy


TWINS: Final = (
    Twin(
        name="COUNT(*)",
        fault="the bound of rows is forgotten",
        draw=_rows_forgotten,
        neighbors=(_visits(5), _visits(4)),
        truth="3",
    ),
    Twin(
        name="GROUP BY",
        fault="the bound of groups is forgotten",
        draw=_groups_forgotten,
        neighbors=(_visits(5), _visits(4)),
        truth="3",
    ),
    Twin(
        name="budget",
        fault="it refunds what was not delivered",
        draw=_refunding,
        truth="20",
    ),
    Twin(
        name="replay",
        fault="noise is drawn again for the same question",
        draw=_redrawing,
        claim="0.25",
        truth="10",
    ),
    Twin(
        name="SUM",
        fault="the bound is the largest value there is",
        draw=_largest_as_bound,
        neighbors=((1, 1, 1), (1, 1, 1, 50)),
        truth="infinite, as values grow",
    ),
    Twin(
        name="small groups",
        fault="the true count decides whether there is an answer",
        draw=_refusing,
        neighbors=(9, 10),
        truth="infinite",
    ),
)
"""Each with neighbors that differ by one person."""
