"""The reference: values worked out by hand, since it defines what everything means."""

from collections import Counter
from datetime import date

import pytest

from discreet.engines.engine import HashOrder
from discreet.query.expressions import Aggregate, Call, Cast, Column, Literal, Order, Window
from discreet.query.relations import Aggregated, Filter, Join, Project, Scan, Table, UnionAll
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Leaves, Total
from tests.engines.answers import flat
from tests.reference import bounding
from tests.reference.bounding import _thinned, kept_cells, one_unit_total
from tests.reference.engine import Reference
from tests.reference.expressions import compiled
from tests.reference.order import place
from tests.reference.relations import rows_of

TYPES = {"u": Type.INTEGER, "k": Type.TEXT, "x": Type.INTEGER}
SCAN = Scan("t", tuple(TYPES.items()))
ROWS = [
    {"u": 1, "k": "a", "x": 5},
    {"u": 1, "k": "a", "x": 7},
    {"u": 1, "k": "b", "x": None},
    {"u": 2, "k": "a", "x": -9},
    {"u": 2, "k": None, "x": 1},
    {"u": None, "k": "a", "x": 100},
]


def value(expression, **row):
    types = {"i": Type.INTEGER, "f": Type.FLOAT, "t": Type.TEXT, "d": Type.DATE}
    return compiled(expression, types)({"i": None, "f": None, "t": None, "d": None, **row})


@pytest.mark.parametrize(
    ("expression", "row", "expected"),
    [
        (Call("+", (Column("i"), Literal(1))), {"i": 2**63 - 1}, None),
        (Call("DIV", (Column("i"), Literal(2))), {"i": -7}, -3),
        (Call("MOD", (Column("i"), Literal(2))), {"i": -7}, -1),
        (Call("MOD", (Column("i"), Literal(-1))), {"i": -(2**63)}, 0),
        (Call("DIV", (Column("i"), Literal(-1))), {"i": -(2**63)}, None),
        (Call("/", (Column("i"), Literal(0))), {"i": 1}, None),
        (Call("/", (Column("i"), Literal(4))), {"i": 1}, 0.25),
        (Call("*", (Column("f"), Column("f"))), {"f": 1e200}, None),
        (Call("=", (Column("i"), Column("f"))), {"i": 2**53 + 1, "f": 2.0**53}, True),
        (Call("ROUND", (Column("f"),)), {"f": -2.5}, -3.0),
        (Cast(Column("f"), Type.INTEGER), {"f": 0.49999999999999994}, 0),
        (Cast(Column("f"), Type.INTEGER), {"f": 2.0**63}, None),
        (Cast(Column("t"), Type.INTEGER), {"t": "1e3"}, None),
        (Cast(Column("t"), Type.FLOAT), {"t": "1e3"}, 1000.0),
        (Cast(Column("t"), Type.DATE), {"t": "2023-02-29"}, None),
        (Call("LOWER", (Column("t"),)), {"t": "ÀB"}, "Àb"),
        (Call("SUBSTR", (Column("t"), Literal(2), Literal(2))), {"t": "añb"}, "ñb"),
        (Call("LIKE", (Column("t"), Literal("a_c%"))), {"t": "a\nc"}, True),
        (Call("REPLACE", (Column("t"), Literal("aa"), Literal("b"))), {"t": "aaa"}, "ba"),
        (Call("LEAST", (Column("i"), Literal(1))), {"i": None}, None),
        (Call("EXTRACT", (Literal("DAYOFWEEK"), Column("d"))), {"d": date(2024, 1, 7)}, 1),
        (Call("DATE_TRUNC", (Column("d"), Literal("YEAR"))), {"d": date(1, 6, 9)}, date(1, 1, 1)),
        (Call("DATE_ADD", (Column("d"), Literal(1))), {"d": date(9999, 12, 31)}, None),
        (Call("RANGE_BUCKET", (Column("f"), Literal(0), Literal(10))), {"f": 10.0}, 2),
        (Call("IN", (Column("i"), Literal(1), Literal(None))), {"i": 2}, None),
    ],
)  # fmt: skip
def test_functions_mean_what_they_say(expression, row, expected):
    assert value(expression, **row) == expected


def test_windows_and_their_ties():
    rank = Window("RANK", (), (Column("u"),), (Order(Column("k")),))
    number = Window("ROW_NUMBER", (), (Column("u"),), (Order(Column("k")),))
    running = Window("SUM", (Column("x"),), (Column("u"),), (Order(Column("k")),))
    before = Window("LAG", (Column("x"), Literal(1)), (Column("u"),))
    node = Project(SCAN, (("r", rank), ("n", number), ("s", running), ("l", before)))
    found = [tuple(row.values()) for row in rows_of(node, {"t": ROWS[:3]})]
    assert found == [(1, 1, 12, None), (1, 2, 12, 5), (3, 3, 12, 7)]


def test_joins_keep_what_has_no_partner():
    wards = Scan("w", (("ward", Type.TEXT),))
    tables = {"t": ROWS[2:4], "w": [{"ward": "a"}, {"ward": "c"}, {"ward": None}]}
    on = Call("=", (Column("k"), Column("ward")))
    found = {
        kind: sorted(
            (row["u"] or 0, row["ward"] or "")
            for row in rows_of(Join(SCAN, wards, kind, on), tables)
        )
        for kind in ("inner", "left", "right", "full")
    }
    assert found == {
        "inner": [(2, "a")],
        "left": [(1, ""), (2, "a")],
        "right": [(0, ""), (0, "c"), (2, "a")],
        "full": [(0, ""), (0, "c"), (1, ""), (2, "a")],
    }
    assert len(rows_of(Join(SCAN, wards, "cross"), tables)) == 6


def test_a_plain_aggregation_without_keys_is_one_row():
    outputs = (("n", Aggregate("COUNT")), ("s", Aggregate("SUM", Column("x"))))
    nothing = Filter(SCAN, Literal(False))
    assert rows_of(Aggregated(nothing, (), outputs), {"t": ROWS}) == [{"n": 0, "s": None}]
    both = UnionAll((SCAN, SCAN))
    assert rows_of(Aggregated(both, (), outputs), {"t": ROWS}) == [{"n": 12, "s": 208}]


def question(**changes):
    fields = {
        "relation": SCAN,
        "unit": (Column("u"),),
        "keys": (KeyColumn("k", Column("k"), Type.TEXT),),
        "groups": 2,
        "measures": (
            Total(name="x", row=Column("x"), low=-5, high=20),
            Total(name="mean", row=Column("x"), low=-5, high=20, rows=1),
            DistinctCount(name="values", expression=Column("x"), most=2),
            Leaves(name="leaves", row=Column("x"), leaves=8, rows=5),
        ),
        **changes,
    }
    return EngineRequest(**fields)


def answer(lowered):
    return flat(Reference({"t": ROWS}, {"t": TYPES}).run(lowered, order=HashOrder(salt=1)))


def test_an_answer_by_hand():
    assert answer(question()) == {
        "keys": [[None, "a", "b"]],
        "units": [1, 2, 1],
        "totals": {"x": [1, 12 - 5, 0], "mean": [1, 6 - 5, 0], "values": [1, 3, 0]},
        "leaves": {"leaves": [[0, 1, 1], [1, 5, 7], [1, 1, 1]]},
    }


def test_public_groups_stand_in_their_order_and_may_be_empty():
    totals = answer(question(public=(("z",), ("a",), (None,))))
    assert totals["keys"] == [["z", "a", None]]
    assert totals["units"] == [0, 2, 1]
    assert totals["totals"]["x"] == [0, 7, 1]
    assert totals["leaves"]["leaves"] == [[1, 1, 2], [5, 7, 1], [1, 1, 1]]


def test_rows_that_are_units_touch_one_group_each():
    totals = answer(question(unit=(), groups=None))
    assert totals["units"] == [1, 4, 1]
    assert totals["totals"]["x"] == [1, 5 + 7 - 5 + 20, 0]


def test_without_keys_there_is_one_group_even_of_nothing():
    totals = answer(question(keys=(), groups=1, relation=Filter(SCAN, Literal(False))))
    assert (totals["keys"], totals["units"], totals["totals"]["x"]) == ([], [0], [0])


def test_a_unit_keeps_the_groups_with_the_lowest_hashes():
    order = HashOrder(salt=4)
    cells = kept_cells(question(groups=1), rows_of(SCAN, {"t": ROWS}), TYPES, order)
    for unit, groups in ((1, ("a", "b")), (2, ("a", None))):
        kept = [group for (who, group) in cells if who == (unit,)]
        assert kept == [
            min(((group,) for group in groups), key=lambda g: place(order, "groups", (unit, *g)))
        ]


def test_a_unit_shows_few_of_its_values():
    rows = [{"u": 1, "k": "a", "x": number} for number in range(9)]
    for most in (1, 4, 9, 20):
        measure = DistinctCount(name="values", expression=Column("x"), most=most)
        engine = Reference({"t": rows}, {"t": TYPES})
        raw = engine.run(question(measures=(measure,)), order=HashOrder(salt=2))
        assert raw.totals["values"].tolist() == [min(most, 9)]


def test_groups_that_are_not_public_use_up_nothing():
    lowered = question(groups=1, public=(("b",), (None,)), measures=())
    assert answer(lowered)["units"] == [1, 1]


def test_a_mean_is_kept_when_rows_are_cut():
    total = Total(name="x", row=Column("x"), low=-100, high=100, rows=3)
    assert one_unit_total(total, [4, 4, 4, 4, 4]) == 12
    assert one_unit_total(total, [-1, -1, -1, -2]) == -4  # -15/4, rounded down
    assert one_unit_total(total, [-1, -1]) == -2


@pytest.mark.parametrize("inside", [{0: 5, 3: 1}, {1: 1, 2: 1, 5: 7}, {0: 100}, {2: 3, 4: 4, 6: 2}])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_row_is_as_likely_to_stay_as_any_other(inside, most, monkeypatch):
    count, kept = sum(inside.values()), Counter()
    for start in range(count):
        monkeypatch.setattr(bounding, "below", lambda *_, start=start: start)
        stayed = _thinned(most, Counter(inside), (), HashOrder(salt=0))
        assert sum(stayed.values()) == most
        assert all(0 <= stayed[leaf] <= inside[leaf] for leaf in inside)
        kept.update(stayed)
    assert kept == {leaf: rows * most for leaf, rows in inside.items()}


def test_only_bound_nodes_are_computed():
    with pytest.raises(TypeError):
        rows_of(Table("t"), {"t": []})
    with pytest.raises(TypeError):
        compiled(Window("RANK", ()), {})
