"""Can a row move a sum further than its bounds say?

Casacuberta, Shoemate, Vadhan and Wagaman 2022, Widespread Underestimation of
Sensitivity in Differentially Private Libraries and How to Fix It.

Integers that wrap around, floats that are rounded and added in another order move sums by far more
than one row.  Here the totals themselves are compared, before noise, on tables made for that: whole
numbers at the ends of 64 bits, halves of the last bit in great number, subnormal numbers, and the
same rows in other orders, which must give the same totals.
"""

from typing import Any, NamedTuple

import pyarrow as pa

from discreet.noise import KeyedEntropy, Uniform
from discreet.session import open as opened
from discreet.units import person, row
from tests.audit.clinic import moves, totals_of

_POLICY = """
format = 1
[limits]
max_rows = 3
[tables.t.columns]
who = {{type = "integer"}}
x = {{type = "{type}", low = {low}, high = {high}}}
"""
_QUESTIONS = (
    "SELECT SUM(x) AS s FROM t",
    "SELECT AVG(x) AS m, COUNT(*) AS n FROM t",
    "SELECT VAR_POP(x) AS v FROM t",
)
_ROWS = 7
"""How many rows a person has; three of them count."""
_PRICES = ({"epsilon": 1}, {"rho": "0.1"})


class _Table(NamedTuple):
    """Values of which the first belong to the unit that comes and goes."""

    name: str
    type: str
    bounds: tuple[str, str]
    values: list[Any]


def test_no_row_moves_a_sum_beyond_its_bounds(found, quick):
    """Overflow, rounding and order move no sum beyond its bounds."""
    moved, wrong = [], []
    for table in list(_tables(120 if quick else 20_000))[:: 2 if quick else 1]:
        for prices in _PRICES[:1] if quick else _PRICES:
            these, changed = _compared(table, prices, orders=1 if quick else 5)
            moved += these
            wrong += [f"{table.name}: {m.measure} moved too far" for m in these if m.too_far]
            wrong += [f"{table.name}: {name} depends on the order" for name in changed]
    found.attack(
        f"{len(moved)} totals; the largest move is {max(m.share for m in moved):.4g} of what is "
        "allowed",
        wrong,
        not_covered="other tables; random ones are compared in the tests of plans",
    )


def _tables(n):
    half = 2.0**-53
    yield _Table("ends of 64 bits", "integer", ("-1000", "1000"), [2**63 - 1, *[-(2**63)] * n])
    large = str(2**40)
    yield _Table("wide bounds", "integer", (f"-{large}", large), [2**63 - 1] * (n + 1))
    yield _Table("halves of the last bit", "float", ("-1", "1"), [1.0, *[half] * n])
    yield _Table("cancelling", "float", ("-1", "1"), [1.0, *[1.0, -1.0, half, -half] * (n // 4)])
    yield _Table("subnormal", "float", ("0", "1"), [5e-324, *[5e-324, 1.0 - half] * (n // 2)])
    yield _Table("far outside", "float", ("-1", "1"), [1e308, *[1e308, -1e308] * (n // 2)])
    yield _Table("odd bounds", "float", ("-0.1", "0.7"), [0.7, *[0.1, 0.3, -0.1] * (n // 3)])
    yield _Table("not numbers", "float", ("-1", "1"), [1.0, *[float("nan"), None] * (n // 2)])


def _compared(table, price, *, orders):
    """Return what moved without the first unit, and what changed in other orders."""
    low, high = table.bounds
    policy = _POLICY.format(type=table.type, low=low, high=high)
    size = len(table.values)
    kind = pa.int64() if table.type == "integer" else pa.float64()
    moved = []
    changed = []
    for unit, rows in ((row(), 1), (person("who"), _ROWS)):
        units = [max(place - rows + 1, 0) for place in range(size)]  # the first have one unit
        whole = pa.table({"who": units, "x": pa.array(table.values, kind)})
        others = [whole.take(_order(size, place)) for place in range(orders)]
        tables = [whole, whole.slice(rows), *others]
        seen = [_totals(some, policy, unit, price) for some in tables]
        for place, (plan, here) in enumerate(seen[0]):
            moved += moves(plan, here, seen[1][place][1])
            changed += [_QUESTIONS[place] for other in seen[2:] if other[place][1] != here]
    return moved, changed


def _totals(table, policy, unit, price):
    with opened({"t": table}, policy=policy, unit=unit, test_mode=True) as session:
        plans = [session.plan(question, **price) for question in _QUESTIONS]
        return [(plan, totals_of(session, plan)) for plan in plans]


def _order(size, first):
    """Return an order of rows: drawn from a fixed stream, so that an attack can be repeated."""
    drawn = Uniform(below=1 << 40).sample(
        size, KeyedEntropy(key=bytes(32), label=f"order {first} of {size}")
    )
    return drawn.argsort(kind="stable").tolist()
