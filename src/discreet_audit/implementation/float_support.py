"""A1: which floats come out, and which bits they end in.

Trust: public.  Mironov 2012, On Significance of the Least Significant Bits; Haney and others 2022,
Precision-based Attacks and Interval Refining.

Noise that is drawn as a float and added to a float leaves holes: about 0 and about 1 different
floats can come out.  Mironov's event is that an answer lies within 1/4 of 0 and is no multiple of
2**-53.  It is counted on data sets 0 and 1, and every other event of values and bits is tried too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.claims import claim_of
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least, at_most
from discreet.attacks.questions import AuditedQuestion
from discreet.attacks.subjects import subject_of
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import DyadicGrid
from discreet_audit.clinic import POLICY, row_of, visits
from discreet_audit.findings import Finding

_LEVEL: Final = Fraction(1, 10**6)
_FINE: Final = DyadicGrid(exponent=-10)
_FINEST: Final = DyadicGrid(exponent=-40)


class _Released(NamedTuple):
    """Something that releases numbers, and what it claims between 0 and 1."""

    name: str
    mechanism: Any
    claim: PrivacyLoss


def attack(*, quick: bool) -> Finding:
    """Look for floats that tell 0 from 1."""
    n = 10_000 if quick else 1_000_000
    rows: list[Measured] = []
    for name, mechanism, claim in _released():
        rows.append(mironov(mechanism, (0.0, 1.0), n, claim=claim, name=name))
        rows.append(estimate_epsilon(mechanism, (0.0, 1.0), n, claim=claim))
    types = _types_of_totals()
    worst = max(rows, key=lambda row: row.lower - (row.claimed or 0.0))
    return Finding(
        claimed="no event of values and bits tells neighbors apart by more than the loss; SQL "
        "answers get their noise as 64-bit integers",
        measured=f"{len(rows)} events over {n} answers each; closest: {worst}; "
        f"totals of SQL are {', '.join(sorted(types))}",
        passed=not any(row.violates for row in rows) and types == {"int64"},
        numbers={"n": n, "events": len(rows), "largest_lower_bound": worst.lower},
        rows=tuple(rows),
        not_covered="floats that a caller computes from an answer; engines other than DuckDB",
    )


def mironov(
    mechanism: object, pair: tuple[Any, Any], n: int, *, claim: object, name: str = ""
) -> Measured:
    """Count answers within 1/4 of 0 that are no multiple of 2**-53; the event is fixed before.

    >>> from discreet.mechanisms import Laplace
    >>> mironov(Laplace(scale=1, grid=_FINE), (0.0, 1.0), 1000, claim=1).violates
    False
    """
    subject = subject_of(mechanism)
    counts = [int(_off_grid(np.asarray(subject.draw(data, n))).sum()) for data in pair]
    rows = [_row((here, there), n, claim, name) for here, there in (counts, counts[::-1])]
    return max(rows, key=lambda row: row.lower)


def _row(hits: tuple[int, int], n: int, claim: object, name: str) -> Measured:
    """Bound what is lost from how often the event came; a quarter of the level for each chance."""
    promise = claim_of(claim)
    p, q = at_least(hits[0], n, level=_LEVEL / 4), at_most(hits[1], n, level=_LEVEL / 4)
    level = promise.lower(p, q)
    return Measured(
        parameter=promise.parameter,
        lower=level.lower,
        estimate=promise.point(np.array(hits[0] / n), np.array(hits[1] / n), level.delta),
        claimed=level.claimed,
        delta=level.delta,
        event=f"{name}: within 1/4 of 0, and no multiple of 2**-53".lstrip(": "),
        hits=hits,
        n=n,
        level=float(_LEVEL),
    )


def _off_grid(answers: NDArray[Any]) -> NDArray[np.bool_]:
    values = answers.astype(np.float64)
    near = np.abs(values) < 0.25
    scaled = np.ldexp(np.where(near, values, 0.0), 53)
    off_grid: NDArray[np.bool_] = near & (scaled != np.floor(scaled))
    return off_grid


def _released() -> list[_Released]:
    released: list[_Released] = []
    for grid in (_FINE, _FINEST):
        for mechanism in (Laplace(scale=1, grid=grid), Gaussian(sigma=1, grid=grid)):
            kind = f"{type(mechanism).__name__} on a grid of 2**{grid.exponent}"
            released.append(_Released(kind, mechanism, mechanism.loss(distance=1)))
    return released


def _types_of_totals() -> set[str]:
    """Return the types in which totals of float columns carry their noise."""
    question = AuditedQuestion(
        sql="SELECT SUM(cost) AS s, AVG(cost) AS m, STDDEV(cost) AS d FROM visits",
        price={"epsilon": 1},
        options={"policy": POLICY},
    )
    answers: Any = question.draw({"visits": visits(5, row_of(5, cost=0.1))}, 4)
    return {str(np.ma.getdata(column).dtype) for column in answers.values()}
