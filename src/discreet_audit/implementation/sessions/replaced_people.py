"""A23: is enough paid where one person takes the place of another?

Trust: public.

Under ``replace``, neighbors are tables in which the rows of one person are exchanged for those of
another: totals may move down in some groups and up in others, and from one bound to the other.  Two
people at opposite ends take each other's place, in the same groups and in others, and the totals
are compared with what every release is priced for under that relation.  There is no chance in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, Final

from discreet.accounting import Leaf
from discreet.mechanisms.additive import AdditiveNoise
from discreet.plan.plan import Plan
from discreet.session import open as opened
from discreet.units import Relation, person
from discreet_audit.clinic import POLICY, Moved, Totals, row_of, totals_of, visits
from discreet_audit.findings import Finding

_RULES: Final = POLICY.replace('unit = "patient"\n', "").replace("low = 0,", "low = -50,", 1)
_QUESTIONS: Final = (
    "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits",
    "SELECT SUM(age) AS a, VAR_POP(cost) AS v FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward",
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city",
    "SELECT ward, COUNT(DISTINCT patient) AS p, AVG(age) AS a FROM visits GROUP BY ward",
)
_PRICES: Final[tuple[dict[str, Any], ...]] = (
    {"epsilon": 1, "delta": "1e-6"},
    {"rho": "0.1", "delta": "1e-6"},
)
_PEOPLE: Final = 8
_WHO: Final = 500


def _pairs() -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield what two people have, who take each other's place."""
    high, low = {"cost": 100.0, "age": 110}, {"cost": -50.0, "age": 0}
    for rows in (3, 30):
        yield _rows(rows, "AB", "xy", high), _rows(rows, "AB", "xy", low)
        yield _rows(rows, "AB", "xy", high), _rows(rows, "C", "zw", high)
        yield _rows(rows, "AC", "xy", high), _rows(rows, "BC", "wy", low)
        yield _rows(rows, "ABC", "xyz", high), _rows(1, "A", "w", low)


def _rows(count: int, wards: str, cities: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        row_of(_WHO, ward=ward, city=city, **values)
        for ward, city in zip(wards, cities, strict=False)
        for _ in range(count)
    ]


def attack(*, quick: bool) -> Finding:
    """Exchange people, and compare totals with what is priced."""
    found: list[Moved] = []
    for one, other in list(_pairs())[: 4 if quick else None]:
        tables = [visits(_PEOPLE, *rows) for rows in (one, other)]
        found += _moved(tables, salts=(0,) if quick else tuple(range(10)))
    wrong = [each.measure for each in found if each.too_far]
    largest = max(each.share for each in found)
    wrong += ["nobody moves all that is allowed"] * (largest < 1)
    return Finding(
        claimed="nobody who takes another's place moves a total further than it is priced for",
        measured=f"{len(found)} totals: the largest move is {largest:.4g} of what is allowed; "
        f"{len(wrong)} violations{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={"totals": len(found), "largest_share": largest, "violations": len(wrong)},
        not_covered="quantiles and trees of counts, whose scores the tests of plans compare",
    )


def _moved(tables: list[Any], *, salts: tuple[int, ...]) -> Iterator[Moved]:
    unit = person("patient", relation=Relation.REPLACE)
    options: dict[str, Any] = {"policy": _RULES, "unit": unit, "test_mode": True}
    with (
        opened({"visits": tables[0]}, **options) as here,
        opened({"visits": tables[1]}, **options) as there,
    ):
        for sql, price, salt in product(_QUESTIONS, _PRICES, salts):
            plan = here.plan(sql, **price)
            pair = [totals_of(each, plan, salt=salt) for each in (here, there)]
            yield from replaced_moves(plan, *pair)


def replaced_moves(plan: Plan, here: Totals, there: Totals) -> Iterator[Moved]:
    """Compare totals with what every release of a plan is priced for under ``replace``."""
    leaves = {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}
    for name, values in here.items():
        leaf = leaves.get(name)
        if leaf is None or not isinstance(leaf.source, AdditiveNoise):
            continue
        claim = leaf.replaced
        assert isinstance(claim, int | Fraction)  # noqa: S101  (additive noise has distances)
        groups = {*values, *there[name]}
        steps = [values.get(group, 0) - there[name].get(group, 0) for group in groups]
        squared = leaf.source.norm == 2
        length = sum(step * step for step in steps) if squared else sum(map(abs, steps))
        yield Moved(name, length, Fraction(claim) ** 2 if squared else Fraction(claim))
