"""A7: claimed against measured, for every mechanism and every aggregate of SQL.

Trust: public.  The audit itself is :mod:`discreet.attacks.estimate`.

What counts is the noise that is really drawn.  Mechanisms run on neighbors of their own domain;
aggregates are asked of a table with and without the person who moves them most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.findings import Finding
from discreet.attacks.implementation.cases import CASES
from discreet.attacks.implementation.clinic import (
    AGGREGATES,
    ONE_AGGREGATE,
    POLICY,
    row_of,
    visits,
)
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair
from discreet.attacks.questions import Question
from discreet.attacks.subjects import Runs
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse

__all__ = ["Audited", "aggregates", "attack", "measure", "mechanisms"]

_FAST: Final = (Laplace, Gaussian, RandomizedResponse)
_PEOPLE: Final = 12
_COLUMNS: Final = {"cost": 100.0, "age": 110, "ward": "A", "city": "x"}


class Audited(NamedTuple):
    """What is audited, on which neighbors, against which claim, and whether draws are fast."""

    name: str
    subject: object
    neighbors: list[Pair]
    claim: PrivacyLoss
    fast: bool = True


def attack(*, quick: bool, subjects: Iterable[Audited] | None = None) -> Finding:
    """Audit mechanisms and aggregates, or what is given."""
    audited = [*mechanisms(), *aggregates()] if subjects is None else list(subjects)
    rows = measure(audited, quick=quick)
    wrong = [name for name, row in rows.items() if row.violates]
    closest = max(rows, key=lambda name: _share(rows[name]))
    return Finding(
        code="A7",
        title="claimed against measured",
        claimed="no certified lower bound is above the claim, at level 1e-6 each",
        measured=f"{len(rows)} audits, {len(wrong)} violations; closest to its claim: {closest}, "
        f"{rows[closest]}",
        passed=not wrong,
        numbers={
            "audits": len(rows),
            "violations": len(wrong),
            "false_alarm_rate": len(rows) * 1e-6,
            **{f"lower bound, {name}": row.lower for name, row in rows.items()},
        },
        rows=tuple(rows.values()),
        not_covered="other parameters, neighbors and events; a bound below a claim does not prove "
        "the claim",
    )


def measure(
    subjects: Iterable[Audited], *, quick: bool, n: int | None = None
) -> dict[str, Measured]:
    """Return the bound of every subject by its name.

    ``n`` is how many answers are judged; unless it is given, as many as take moderate time.
    """
    found: dict[str, Measured] = {}
    for name, subject, neighbors, claim, fast in subjects:
        few, many = (2_000, 10_000_000) if fast else (200, 50_000)
        size = n or (few if quick else many)
        pairs = neighbors[:1] if quick else neighbors
        found[name] = estimate_epsilon(subject, pairs, size, claim=claim)
    return found


def mechanisms() -> list[Audited]:
    """Return every mechanism with its neighbors and its claim."""
    return [
        Audited(
            case.name,
            Runs(case.mechanism),
            list(case.pairs),
            case.claim,
            isinstance(case.mechanism, _FAST),
        )
        for case in CASES
    ]


def aggregates() -> list[Audited]:
    """Return every aggregate: for everybody, by public groups, and by private ones."""
    found = [_asked(each, ONE_AGGREGATE.format(each), {"epsilon": 1}) for each in AGGREGATES]
    by_ward = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward"
    by_city = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    return [
        *found,
        _asked("by public groups", by_ward, {"rho": "0.5"}),
        _asked("by private groups", by_city, {"epsilon": 1, "delta": "0.01"}),
    ]


def _asked(name: str, sql: str, price: dict[str, Any]) -> Audited:
    question = Question(sql=sql, price=price, options={"policy": POLICY})
    without = {"visits": visits(_PEOPLE)}
    person = [row_of(_PEOPLE, **_COLUMNS)] * 3
    alone = [row_of(_PEOPLE, **(_COLUMNS | {"city": "alone"}))] * 3
    tables = [{"visits": visits(_PEOPLE, *rows)} for rows in (person, alone)]
    pairs = [pair for table in tables for pair in ((table, without), (without, table))]
    return Audited(f"SQL {name}", question, pairs, question.loss(without))


def _share(row: Measured) -> float:
    return row.lower / row.claimed if row.claimed else row.lower
