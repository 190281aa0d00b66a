"""A node holds what it should hold, or it cannot be made."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, InputError, QuestionError
from discreet.query.builder import Rows, table
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Grouped,
    InnerQuery,
    Literal,
    Order,
    Star,
    Window,
)
from discreet.query.question import Clause, Question
from discreet.query.relations import (
    KINDS,
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
)
from discreet.query.source_text import Span
from discreet.query.sql.select import Item, Select
from discreet.query.types import Type

A, ONE = Column("a"), Literal(1)
VISITS = Table("visits")
COUNT = Aggregate("COUNT")
HALF = Fraction(1, 2)


NAMES = ["", "a\0b", "\ud800", b"a", None, 1, ["a"]]
FLAGS = [0, 1, None, "yes"]
NO_EXPRESSIONS = [None, "a", 1, VISITS, Order(A), Column, [A], (A,)]
NO_RELATIONS = [None, "visits", A, Table, (VISITS,)]
LIMITS = {"rows": 1, "text_bytes": 1}
NO_FRACTIONS = [1, 0.5, "1/2", Fraction(2**9000), True]
NO_PAIRS = [
    [HALF, HALF],
    (HALF,),
    (HALF, HALF, HALF),
    (Fraction(1), Fraction(0)),
    (0, 1),
]
TEXTS_OF_JOINS = ["", "INNER", "inner ", "semi", "left outer", "cross JOIN other --"]

HOSTILE = [
    *((Column, (name,)) for name in NAMES),
    *((Column, ("a", name)) for name in NAMES if name is not None),
    *((Star, (name,)) for name in NAMES if name is not None),
    *((Grouped, (number,)) for number in (-1, True, 0.0, "0", None)),
    *((Literal, (value,)) for value in (0.5, 1j)),
    *((Literal, (value,)) for value in (datetime.now(UTC), b"a", [1], A, type)),
    *((Literal, (value,)) for value in ("\ud800", "a\udfffb", 2**9000, Fraction(1, 2**9000), 1j)),
    *((Call, (name, (A,))) for name in ("", "NOPE", "not", None, "COUNT", "a) OR (1")),
    *((Call, ("NOT", arguments)) for arguments in ((), (A, A), [A], None, A, "a")),
    *((Call, ("NOT", (node,))) for node in NO_EXPRESSIONS),
    *((Case, (branches,)) for branches in ((), [(A, A)], ([A, A],), ((A,),), ((A, A, A),), None)),
    *((Case, (((A, node),),)) for node in NO_EXPRESSIONS),
    *((Case, (((A, A),), node)) for node in NO_EXPRESSIONS if node is not None),
    *((Cast, (A, to)) for to in ("INTEGER", None, int, Type)),
    *((Cast, (node, Type.TEXT)) for node in NO_EXPRESSIONS),
    *((Order, (node,)) for node in NO_EXPRESSIONS),
    *((Order, (A, flag)) for flag in FLAGS),
    *((Order, (A, False, flag)) for flag in FLAGS),
    *((Window, (name, ())) for name in ("", "NTILE", "rank", "SQRT", None)),
    *((Window, ("RANK", ()), {"partition": given}) for given in ([A], (1,), None, A)),
    *((Window, ("RANK", ()), {"order": given}) for given in ([Order(A)], (A,), None, "a DESC")),
    *((Window, ("LAG", given)) for given in ((), (A,), (A, ONE, ONE), [A, ONE])),
    *((Aggregate, (name, A)) for name in ("", "MEDIAN", "sum", "SQRT", None)),
    *((Aggregate, ("SUM", given)) for given in (None, "a", (A,))),
    *((Aggregate, ("COUNT", A), {"where": given}) for given in ("true", True, [A])),
    *((Aggregate, ("COUNT", A), {"distinct": flag}) for flag in FLAGS),
    (Aggregate, ("COUNT",), {"distinct": True}),
    (Aggregate, ("AVG", A), {"distinct": True}),
    *((Aggregate, ("SUM", A), {"epsilon": value}) for value in (*NO_FRACTIONS, Fraction(0), -HALF)),
    *((Aggregate, ("SUM", A), {"bounds_per_row": value}) for value in NO_PAIRS),
    *((Aggregate, ("SUM", A), {"bounds_per_group": value}) for value in NO_PAIRS),
    *((Aggregate, ("SUM", A), {"parameter": value}) for value in (HALF, 1)),
    *((Aggregate, ("PERCENTILE_CONT", A), {"parameter": value}) for value in (None, 2 * HALF * 3)),
    *((Aggregate, ("PERCENTILE_CONT", A), {"parameter": value}) for value in NO_FRACTIONS),
    *(
        (Aggregate, ("APPROX_QUANTILES", A), {"parameter": value})
        for value in (HALF, Fraction(0), Fraction(1001), Fraction(3, 2))
    ),
    *((Table, (name,)) for name in NAMES),
    *((Scan, (name, ())) for name in NAMES),
    *((Scan, ("t", ((name, Type.TEXT),))) for name in NAMES),
    *((Scan, ("t", given)) for given in ([], (("a", "TEXT"),), (["a", Type.TEXT],), (("a",),))),
    *((Named, (VISITS, name)) for name in NAMES),
    *((Named, (node, "v")) for node in NO_RELATIONS),
    *((Filter, (node, A)) for node in NO_RELATIONS),
    *((Filter, (VISITS, node)) for node in NO_EXPRESSIONS),
    *((Filter, (VISITS, node)) for node in (Star(), COUNT, Grouped(0), Window("RANK", ()))),
    *((Filter, (VISITS, Call("NOT", (node,)))) for node in (COUNT, Window("RANK", ()), Grouped(0))),
    *((Project, (VISITS, ((name, A),))) for name in NAMES),
    *((Project, (VISITS, given)) for given in ([("a", A)], (["a", A],), (("a", A, A),), ("ab",))),
    *((Project, (VISITS, (("a", node),))) for node in (*NO_EXPRESSIONS, COUNT, Grouped(0))),
    (Project, (VISITS, (("a", Call("NOT", (Star(),))),))),
    (Project, (VISITS, (("a", Window("MIN", (Window("RANK", ()),))),))),
    (Project, (VISITS, (("a", Window("RANK", (), partition=(COUNT,))),))),
    *((Join, (VISITS, VISITS, kind, A)) for kind in TEXTS_OF_JOINS),
    *((Join, (VISITS, VISITS, kind, A)) for kind in (None, 1, ("inner",), b"inner")),
    *((Join, (VISITS, VISITS, kind)) for kind in KINDS if kind != "cross"),
    *((Join, (VISITS, VISITS, kind, A, ("k",))) for kind in KINDS),
    (Join, (VISITS, VISITS, "cross", A)),
    (Join, (VISITS, VISITS, "inner", COUNT)),
    (Join, (VISITS, VISITS, "inner", Window("RANK", ()))),
    *((Join, (VISITS, VISITS, "inner", None, using)) for using in (["k"], "k", (1,), ("",))),
    *((Join, (node, VISITS, "inner", A)) for node in NO_RELATIONS),
    *((SemiJoin, (VISITS, node)) for node in NO_RELATIONS),
    *((SemiJoin, (node, VISITS)) for node in NO_RELATIONS),
    *((SemiJoin, (VISITS, VISITS, node)) for node in (COUNT, Window("RANK", ()), InnerQuery(0))),
    *((SemiJoin, (VISITS, VISITS, A, pair)) for pair in ([A, A], (A,), (A, COUNT), (A, A, A))),
    (SemiJoin, (VISITS, VISITS, A), {"anti": 1}),
    *((Aggregated, (VISITS, (("k", node),), ())) for node in (COUNT, Star(), Window("RANK", ()))),
    *((Aggregated, (VISITS, (), (("n", node),))) for node in (A, Grouped(0), None, "COUNT(*)")),
    (Aggregated, (VISITS, (), (("n", Aggregate("AVG", A)),))),
    (Aggregated, (VISITS, (), (("n", Aggregate("SUM", A, epsilon=HALF)),))),
    (Aggregated, (VISITS, (), (("n", Aggregate("SUM", A, bounds_per_row=(HALF, HALF))),))),
    *((Aggregate, ("SUM", node)) for node in (COUNT, Call("ABS", (Window("RANK", ()),)))),
    (Aggregated, (VISITS, [], ())),
    *((Distinct, (node,)) for node in NO_RELATIONS),
    *((UnionAll, (parts,)) for parts in ((), [VISITS], (VISITS, "t"), None, VISITS)),
    *((BoundedUnits, (node, ("p",), ()), LIMITS) for node in NO_RELATIONS),
    *((BoundedUnits, (VISITS, unit, ()), LIMITS) for unit in ((), ["p"], "p", (1,), ("",))),
    *((BoundedUnits, (VISITS, ("p",), texts), LIMITS) for texts in ([A], (COUNT,), ("a",))),
    *((BoundedUnits, (VISITS, ("p",), ()), LIMITS | {"rows": most}) for most in (-1, True, 1.5)),
    *((Item, (node,)) for node in NO_EXPRESSIONS),
    *((Item, (A, name)) for name in NAMES if name is not None),
    (Select, (), {"items": [Item(A)], "source": VISITS}),
    (Select, (), {"items": (A,), "source": VISITS}),
    (Select, (), {"items": (Item(A),), "source": "visits"}),
    *((Rows, (node,)) for node in NO_RELATIONS),
    (Rows, (VISITS, "a")),
    *((Clause, (), {"epsilon": value}) for value in (*NO_FRACTIONS, Fraction(0), -HALF)),
    *((Clause, (), {"rho": value}) for value in (*NO_FRACTIONS, Fraction(0), -HALF)),
    *((Clause, (), {"delta": value}) for value in (*NO_FRACTIONS, Fraction(1), -HALF)),
    *((Clause, (), {"max_rows_per_group": value}) for value in (0, -1, True, 1.0)),
    *((Clause, (), {"max_groups_contributed": value}) for value in (0, "1", HALF, 2**31)),
    *((Clause, (), {"noise": value}) for value in ("gaussian", "NONE", 1)),
    *((Clause, (), {"group_selection_strategy": value}) for value in ("ALL", 1)),
    *((Clause, (), {"privacy_unit_column": value}) for value in ("patient", ONE)),
]


@pytest.mark.parametrize("given", HOSTILE, ids=lambda given: given[0].__name__)
def test_what_is_not_known_cannot_be_made(given):
    made, arguments, *named = given
    with pytest.raises(DiscreetError):
        made(*arguments, **(named[0] if named else {}))


NODES = [
    Column("a", "t"),
    Literal(HALF),
    Call("AND", (A, A, A)),
    Case(((A, ONE),), ONE),
    Cast(A, Type.TEXT),
    Window("LAG", (A, ONE), (A,), (Order(A, descending=True),)),
    Aggregate("SUM", A, where=A, bounds_per_row=(HALF, HALF), epsilon=HALF),
    Grouped(3),
    Star("t"),
    VISITS,
    Scan("t", (("a", Type.TEXT),)),
    Named(VISITS, "v"),
    Filter(VISITS, A),
    Project(VISITS, (("a", A), ("*", Star()), ("r", Window("RANK", ())))),
    Join(VISITS, VISITS, "left", A),
    Join(VISITS, VISITS, "full", using=("k",)),
    Join(VISITS, VISITS, "cross"),
    SemiJoin(VISITS, VISITS, A, (A, A), anti=True),
    InnerQuery(1),
    Aggregated(VISITS, (("k", A),), (("n", Aggregate("SUM", A, where=A)),)),
    Distinct(VISITS),
    UnionAll((VISITS, VISITS)),
    BoundedUnits(VISITS, ("p",), (A,), rows=1, text_bytes=1),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_what_is_known_can_be_made_and_changed_to_nothing_else(node):
    assert replace(node) == node
    for name in node.__slots__:
        if name == "type":
            continue
        for value in (0.5, [A], object(), b"a"):
            with pytest.raises((DiscreetError, ValueError)):
                replace(node, **{name: value})


def test_a_place_in_a_text_is_a_span():
    assert Column("a", span=Span("a", 0, 1)).span is not None
    with pytest.raises(InputError):
        Column("a", span="a")


@pytest.mark.parametrize(
    "change",
    [
        {"relation": Scan("visits", (("a", Type.TEXT),))},
        {"relation": Filter(Scan("visits", (("a", Type.TEXT),)), A)},
        {"relation": "visits"},
        {"keys": [("a", A)]},
        {"keys": (("a", COUNT),)},
        {"keys": (("a", Window("RANK", ())),)},
        {"outputs": (("a", A),)},
        {"outputs": (("a", Grouped(0)),)},
        {"outputs": (("a", Window("SUM", (A,))),)},
        {"outputs": [("n", COUNT)]},
        {"outputs": (("n", Aggregate("MIN", A, distinct=True)),)},
        {"having": A},
        {"having": "true"},
        {"order": (COUNT,)},
        {"order": (Order(Grouped(0)),)},
        {"limit": -1},
        {"limit": True},
        {"limit": 1.5},
        {"clause": {"epsilon": 1}},
    ],
)
def test_a_question_holds_groups_above_and_rows_below(change):
    question = Question(relation=VISITS, outputs=(("n", COUNT),))
    with pytest.raises(DiscreetError):
        replace(question, **change)


def test_a_question_is_small_however_it_is_built():
    wide, deep, tables = A, A, VISITS
    for _ in range(60):
        wide = Call("+", (wide, wide))
        tables = Join(tables, tables, "cross")
    for _ in range(5000):
        deep = Call("NEGATE", (deep,))
    for node in (wide, deep):
        with pytest.raises(QuestionError):
            Question(relation=VISITS, keys=(("k", node),), outputs=(("n", COUNT),))
        with pytest.raises(QuestionError):
            Question(relation=Filter(VISITS, node), outputs=(("n", COUNT),))
        with pytest.raises(QuestionError):
            Question(relation=VISITS, outputs=(("n", Aggregate("SUM", node)),))
    with pytest.raises(QuestionError):
        Question(relation=tables, outputs=(("n", COUNT),))


@pytest.mark.parametrize("kind", TEXTS_OF_JOINS)
def test_the_builder_knows_kinds_of_joins(kind):
    with pytest.raises(InputError):
        table("visits").join(table("wards"), on="ward = w", kind=kind)
