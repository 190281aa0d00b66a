"""A small clinic: who visits which ward, and what it costs."""

from fractions import Fraction

import pyarrow as pa

from discreet.query.expressions import Call, Cast, Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Leaves, Total

TYPES = {"patient": Type.INTEGER, "ward": Type.TEXT, "cost": Type.FLOAT}
VISITS = Scan("visits", tuple(TYPES.items()))


def visits(count, *, patients=50, wards=12, start=0):
    """Return an Arrow table of visits that looks random and is always the same."""
    numbers = [
        (7919 * number + 104729 * (number // 11) + 13) % 1000003
        for number in range(start, start + count)
    ]
    return pa.table(
        {
            "patient": [number % patients for number in numbers],
            "ward": [f"ward {number // 7 % wards}" for number in numbers],
            "cost": [(number % 2003) / 20 for number in numbers],
        }
    )


def cents():
    """Return the cost of a visit in whole cents, as a plan would write it."""
    inside = Call("GREATEST", (Call("LEAST", (Column("cost"), Literal(100))), Literal(0)))
    scaled = Call("+", (Call("*", (inside, Literal(100))), Literal(Fraction(1, 2))))
    return Cast(Call("FLOOR", (scaled,)), Type.INTEGER)


def by_ward(**changes):
    """Return a question with every kind of measure, by ward."""
    leaf = Cast(Call("FLOOR", (Call("/", (Column("cost"), Literal(10))),)), Type.INTEGER)
    fields = {
        "relation": VISITS,
        "unit": (Column("patient"),),
        "keys": (KeyColumn("ward", Column("ward"), Type.TEXT),),
        "groups": 3,
        "measures": (
            Total(name="visits", row=Literal(1), low=0, high=5),
            Total(name="cents", row=cents(), low=0, high=50000),
            Total(name="mean", row=cents(), low=-5000, high=50000, rows=2),
            DistinctCount(name="costs", expression=Column("cost"), most=2),
            Leaves(name="leaf", row=leaf, leaves=11, rows=2),
        ),
        **changes,
    }
    return EngineRequest(**fields)
