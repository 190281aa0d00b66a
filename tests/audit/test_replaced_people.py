"""Is enough paid where one person takes the place of another?

Under ``replace``, neighbors are tables in which the rows of one person are exchanged for those of
another: totals may move down in some groups and up in others, and from one bound to the other.  Two
people at opposite ends take each other's place, in the same groups and in others, and the totals
are compared with what every release is priced for under that relation.  There is no chance in it.
"""

from fractions import Fraction
from itertools import product

from discreet.accounting import Leaf
from discreet.mechanisms.additive import AdditiveNoise
from discreet.session import open as opened
from discreet.units import Relation, person
from tests.audit.clinic import POLICY, Moved, row_of, totals_of, visits

_RULES = POLICY.replace('unit = "patient"\n', "").replace("low = 0,", "low = -50,", 1)
_QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits",
    "SELECT SUM(age) AS a, VAR_POP(cost) AS v FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward",
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city",
    "SELECT ward, COUNT(DISTINCT patient) AS p, AVG(age) AS a FROM visits GROUP BY ward",
)
_PRICES = (
    {"epsilon": 1, "delta": "1e-6"},
    {"rho": "0.1", "delta": "1e-6"},
)
_PEOPLE = 8
_WHO = 500


def _pairs():
    """Yield what two people have, who take each other's place."""
    high, low = {"cost": 100.0, "age": 110}, {"cost": -50.0, "age": 0}
    for rows in (3, 30):
        yield _rows(rows, "AB", "xy", high), _rows(rows, "AB", "xy", low)
        yield _rows(rows, "AB", "xy", high), _rows(rows, "C", "zw", high)
        yield _rows(rows, "AC", "xy", high), _rows(rows, "BC", "wy", low)
        yield _rows(rows, "ABC", "xyz", high), _rows(1, "A", "w", low)


def _rows(count, wards, cities, values):
    return [
        row_of(_WHO, ward=ward, city=city, **values)
        for ward, city in zip(wards, cities, strict=False)
        for _ in range(count)
    ]


def test_people_who_are_replaced_move_no_total_beyond_its_price(found, quick):
    """Under replace, two people at opposite ends move no total beyond its price."""
    moved = []
    for one, other in list(_pairs())[: 4 if quick else None]:
        tables = [visits(_PEOPLE, *rows) for rows in (one, other)]
        moved += _moved(tables, salts=(0,) if quick else tuple(range(10)))
    wrong = [each.measure for each in moved if each.too_far]
    wrong += ["nobody moves all that is allowed"] * (max(each.share for each in moved) < 1)
    found.attack(f"{len(moved)} totals", wrong, not_covered="quantiles and trees of counts")


def _moved(tables, *, salts):
    unit = person("patient", relation=Relation.REPLACE)
    options = {"policy": _RULES, "unit": unit, "test_mode": True}
    with (
        opened({"visits": tables[0]}, **options) as here,
        opened({"visits": tables[1]}, **options) as there,
    ):
        for sql, price, salt in product(_QUESTIONS, _PRICES, salts):
            plan = here.plan(sql, **price)
            pair = [totals_of(each, plan, salt=salt) for each in (here, there)]
            yield from replaced_moves(plan, *pair)


def replaced_moves(plan, here, there):
    """Compare totals with what every release of a plan is priced for under ``replace``."""
    leaves = {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}
    for name, values in here.items():
        leaf = leaves.get(name)
        if leaf is None or not isinstance(leaf.source, AdditiveNoise):
            continue
        claim = leaf.replaced
        assert isinstance(claim, int | Fraction)
        groups = {*values, *there[name]}
        steps = [values.get(group, 0) - there[name].get(group, 0) for group in groups]
        squared = leaf.source.norm == 2
        length = sum(step * step for step in steps) if squared else sum(map(abs, steps))
        yield Moved(name, length, Fraction(claim) ** 2 if squared else Fraction(claim))
