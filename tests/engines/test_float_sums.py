"""Sums of floats and ties in windows: alike on both engines, in every order of the rows."""

import math
import random

from discreet.engines.sql.relations import relation
from discreet.query.expressions import Aggregate, Call, Column, Literal, Window
from discreet.query.relations import Aggregated, Project, Scan
from discreet.query.types import Type
from tests.engines.edges import both, opened
from tests.reference.float_sums import float_sum

TYPES = {"t": {"k": Type.INTEGER, "x": Type.FLOAT, "s": Type.TEXT}}
SCAN = Scan("t", tuple(TYPES["t"].items()))
POSITIVE = Call(">", (Column("x"), Literal(0)))
SUMS = Aggregated(
    SCAN,
    (("key", Column("k")),),
    (
        ("plain", Aggregate("SUM", Column("x"))),
        ("once", Aggregate("SUM", Column("x"), distinct=True)),
        ("some", Aggregate("SUM", Column("x"), where=POSITIVE)),
        ("rows", Aggregate("COUNT")),
    ),
)
NUMBERED = Project(
    SCAN,
    (
        ("k", Column("k")),
        ("n", Window("ROW_NUMBER", (), partition=(Column("k"),))),
        ("s", Column("s")),
    ),
)
EDGES = [None, 0.0, -0.0, 5e-324, -5e-324, 1e-308, 1e308, -1e308, 2.0**1023, 0.1, -0.1, 1e16, 21.0]


def rows(rng):
    """Return rows with numbers of all sizes, and texts of which some are long."""
    scale = rng.choice([0, 0, 40, 300, -300])
    return [
        {
            "k": rng.randrange(3),
            "x": rng.choice([*EDGES, rng.uniform(-1, 1) * 2.0 ** rng.gauss(scale, 20)]),
            "s": rng.choice(["", "a", "b"]) * rng.choice([1, 64, 65, 300]) + rng.choice("xy"),
        }
        for _ in range(rng.randrange(12))
    ]


def test_both_engines_agree_in_every_order():
    rng = random.Random(15)  # noqa: S311
    with opened(TYPES) as engine:
        for _ in range(60):
            data = rows(rng)
            for node in (SUMS, NUMBERED):
                actual, expected = both(node, {"t": data}, TYPES, engine)
                assert actual == expected
                rng.shuffle(data)
                assert both(node, {"t": data}, TYPES, engine)[0] == expected


def test_whole_numbers_are_added_exactly_and_others_nearly():
    rng = random.Random(16)  # noqa: S311
    for _ in range(300):
        whole = [float(rng.randrange(-(10**9), 10**9)) for _ in range(rng.randrange(1, 50))]
        assert float_sum(whole) == sum(whole)
        some = [rng.uniform(-1e6, 1e6) for _ in whole]
        assert math.isclose(float_sum(some), math.fsum(some), rel_tol=1e-12, abs_tol=1e-9)


def test_no_statement_collects_the_rows_of_a_group():
    with opened(TYPES) as engine:
        printed = relation(SUMS, engine._connection.scan)
    assert "ORDER BY" not in printed
    assert "list" not in printed
