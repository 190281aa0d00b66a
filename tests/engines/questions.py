"""Random tables, relations and lowered questions."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

import math
from datetime import date, datetime
from functools import cache

from hypothesis import strategies as st

from discreet.engines.engine import HashOrder
from discreet.query.expression_types import columns
from discreet.query.expressions import Aggregate, Call, Case, Cast, Column, Literal, Order, Window
from discreet.query.relations import Aggregated, Distinct, Filter, Join, Project, Scan, UnionAll
from discreet.query.types import Type
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    KeyColumn,
    Leaves,
    Total,
)
from discreet.requests.table_schema import Product
from tests.engines.edges import EDGES

EVENTS = {
    "u": Type.INTEGER,
    "k": Type.TEXT,
    "g": Type.INTEGER,
    "i": Type.INTEGER,
    "f": Type.FLOAT,
    "t": Type.TEXT,
    "b": Type.BOOLEAN,
    "d": Type.DATE,
    "m": Type.TIMESTAMP,
}
WARDS = {"ward": Type.TEXT, "beds": Type.INTEGER, "cost": Type.FLOAT, "since": Type.DATE}
TYPES = {"events": EVENTS, "wards": WARDS}

_VALUES = {
    Type.INTEGER: st.sampled_from(EDGES[Type.INTEGER]) | st.integers(-9, 9),
    Type.FLOAT: st.sampled_from(EDGES[Type.FLOAT]) | st.floats(),
    Type.TEXT: st.sampled_from([None, "", "a", "A", "b", "\0", "é", "12"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    Type.BOOLEAN: st.sampled_from([None, True, False]),
    Type.DATE: st.sampled_from(EDGES[Type.DATE]) | st.dates(),
    Type.TIMESTAMP: st.sampled_from(EDGES[Type.TIMESTAMP])
    | st.datetimes().map(lambda moment: moment.replace(fold=0)),
}
_SPECIAL = {
    "u": st.sampled_from([None, 1, 2, 3, 4, 5, -(2**63)]),
    "k": st.sampled_from([None, "a", "b", "A", "é", ""]),
    "g": st.sampled_from([None, 0, 1, 2, 3]),
    "ward": st.sampled_from([None, "a", "b", "A", ""]),
}


def tables(most=25):
    """Draw the rows of both tables."""

    def row(types):
        return st.fixed_dictionaries(
            {name: _SPECIAL.get(name, _VALUES[kind]) for name, kind in types.items()}
        )

    return st.fixed_dictionaries(
        {
            "events": st.lists(row(EVENTS), max_size=most),
            "wards": st.lists(row(WARDS), max_size=5),
        }
    )


def _literals(kind):
    values = {
        Type.INTEGER: st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63), 2**40]),
        Type.FLOAT: st.fractions(-10, 10, max_denominator=100),
        Type.TEXT: st.sampled_from(["", "a", "b%", "it's", "é"]),
        Type.BOOLEAN: st.booleans(),
        Type.DATE: st.sampled_from([date(2024, 2, 29), date(1, 1, 1)]),
        Type.TIMESTAMP: st.sampled_from([datetime(2024, 2, 29, 12), datetime(9999, 12, 31)]),
    }[kind]
    literal = values.map(Literal)
    if kind is Type.FLOAT:  # a whole number is an INTEGER, however it is spelled
        return literal.map(lambda each: each if each.type is kind else Cast(each, kind))
    return literal


def expressions(kind, types, depth=2):
    """Draw an expression of a type."""
    return _expressions(kind, tuple(types.items()), depth)


@cache
def _expressions(kind, columns, depth):
    types = dict(columns)
    names = [Column(name) for name, value in types.items() if value is kind]
    leaves = [_literals(kind), st.just(Cast(Literal(None), kind))]
    if names:
        leaves = [st.sampled_from(names), st.sampled_from(names), leaves[0]]
    if depth == 0:
        return st.one_of(leaves)
    below = {
        each: st.deferred(lambda each=each: expressions(each, types, depth - 1)) for each in Type
    }
    options = [
        *leaves,
        *_CALLS[kind](below),
        _call("COALESCE", below[kind], below[kind]),
        _call("LEAST", below[kind], below[kind]),
        _call("GREATEST", below[kind], below[kind], below[kind]),
        st.builds(
            lambda condition, one, other: Case(((condition, one),), other),
            *(below[Type.BOOLEAN], below[kind], st.none() | below[kind]),
        ),
    ]
    return st.one_of(options)


def _call(name, *arguments):
    return st.tuples(*arguments).map(lambda found: Call(name, found))


def _numbers(kind, below):
    operators = ["+", "-", "*"]
    return [
        *(_call(sign, below[kind], below[kind]) for sign in operators),
        *(_call(name, below[kind]) for name in ("NEGATE", "ABS", "FLOOR", "CEIL", "ROUND")),
    ]


def _integers(below):
    number = below[Type.INTEGER] | below[Type.FLOAT]
    return [
        *_numbers(Type.INTEGER, below),
        _call("DIV", below[Type.INTEGER], below[Type.INTEGER]),
        _call("MOD", below[Type.INTEGER], below[Type.INTEGER]),
        _call("SIGN", number),
        _call("LENGTH", below[Type.TEXT]),
        _call("EXTRACT", st.just(Literal("DAYOFWEEK")), below[Type.DATE]),
        _call("DATE_DIFF", below[Type.DATE], below[Type.DATE], st.just(Literal("DAY"))),
        _call("RANGE_BUCKET", number, *(st.just(Literal(edge)) for edge in (-1, 0, 3))),
        *(
            below[each].map(lambda found: Cast(found, Type.INTEGER))
            for each in (Type.FLOAT, Type.TEXT, Type.BOOLEAN)
        ),
    ]


def _floats(below):
    number = below[Type.INTEGER] | below[Type.FLOAT]
    return [
        *_numbers(Type.FLOAT, below),
        _call("+", below[Type.FLOAT], below[Type.INTEGER]),
        _call("/", number, number),
        _call("SQRT", number),
        below[Type.INTEGER].map(lambda found: Cast(found, Type.FLOAT)),
        below[Type.TEXT].map(lambda found: Cast(found, Type.FLOAT)),
    ]


def _texts(below):
    text = below[Type.TEXT]
    return [
        *(_call(name, text) for name in ("LOWER", "UPPER", "TRIM")),
        _call("CONCAT", text, text),
        _call("REPLACE", text, text, text),
        _call("SUBSTR", text, st.integers(1, 3).map(Literal), st.integers(0, 3).map(Literal)),
        below[Type.INTEGER].map(lambda found: Cast(found, Type.TEXT)),
        below[Type.DATE].map(lambda found: Cast(found, Type.TEXT)),
    ]


def _booleans(below):
    condition = below[Type.BOOLEAN]
    signs = ["=", "<>", "<", "<=", ">", ">="]
    return [
        *(
            _call(sign, below[kind], below[kind])
            for sign in signs
            for kind in (Type.FLOAT, Type.TEXT)
        ),
        *(_call(sign, below[Type.INTEGER], below[Type.FLOAT]) for sign in signs),
        *(_call(word, condition, condition) for word in ("AND", "OR")),
        *(_call(word, condition) for word in ("NOT", "IS NULL", "IS TRUE", "IS FALSE")),
        *(_call("IS NULL", below[kind]) for kind in Type),
        _call("IN", below[Type.INTEGER], st.just(Literal(1)), st.just(Literal(2))),
        _call("LIKE", below[Type.TEXT], st.sampled_from(["%", "a%", "_", "%b"]).map(Literal)),
        _call("STARTS_WITH", below[Type.TEXT], below[Type.TEXT]),
    ]


def _dates(below):
    parts = st.sampled_from(["DAY", "MONTH", "QUARTER", "YEAR"]).map(Literal)
    return [
        _call("DATE_TRUNC", below[Type.DATE], parts),
        _call("DATE_ADD", below[Type.DATE], st.integers(-400, 400).map(Literal)),
        below[Type.TIMESTAMP].map(lambda found: Cast(found, Type.DATE)),
        below[Type.TEXT].map(lambda found: Cast(found, Type.DATE)),
    ]


def _moments(below):
    parts = st.sampled_from(["DAY", "MONTH", "QUARTER", "YEAR"]).map(Literal)
    return [
        _call("DATE_TRUNC", below[Type.TIMESTAMP], parts),
        below[Type.DATE].map(lambda found: Cast(found, Type.TIMESTAMP)),
    ]


_CALLS = {
    Type.INTEGER: _integers,
    Type.FLOAT: _floats,
    Type.TEXT: _texts,
    Type.BOOLEAN: _booleans,
    Type.DATE: _dates,
    Type.TIMESTAMP: _moments,
}


def _window(draw, types, owner):
    function = draw(
        st.sampled_from(
            ["ROW_NUMBER", "RANK", "DENSE_RANK", "COUNT", "SUM", "MIN", "MAX", "FIRST_VALUE", "LAG"]
        )
    )
    arguments = {
        "COUNT": lambda: draw(st.just(()) | expressions(Type.FLOAT, types, 1).map(lambda e: (e,))),
        "SUM": lambda: (draw(expressions(Type.INTEGER, types, 1)),),
        "MIN": lambda: (draw(expressions(Type.FLOAT, types, 1)),),
        "MAX": lambda: (draw(expressions(Type.TEXT, types, 1)),),
        "FIRST_VALUE": lambda: (draw(expressions(Type.TEXT, types, 1)),),
        "LAG": lambda: (Column(owner), Literal(draw(st.integers(0, 2)))),
    }.get(function, tuple)()
    order = draw(
        st.lists(
            st.builds(
                Order,
                st.sampled_from([Type.INTEGER, Type.FLOAT, Type.TEXT]).flatmap(
                    lambda kind: expressions(kind, types, 1)
                ),
                st.booleans(),
                st.booleans(),
            ),
            max_size=2,
        )
    )
    return Window(function, tuple(arguments), (Column(owner),), tuple(order))


@st.composite
def relations(draw, owner="u", depth=2):  # noqa: PLR0911 (one for each kind of node)
    """Draw a unit-local relation that keeps the owner's column."""
    if depth == 0:
        return Scan("events", tuple(EVENTS.items()))
    below = draw(relations(owner, depth - 1))
    types = dict(columns(below))
    match draw(
        st.sampled_from(["filter", "project", "join", "group", "distinct", "union", "window"])
    ):
        case "filter":
            return Filter(below, draw(expressions(Type.BOOLEAN, types)))
        case "project":
            kinds = draw(st.lists(st.sampled_from(list(Type)), min_size=1, max_size=4))
            outputs = [
                (f"p{index}", draw(expressions(kind, types))) for index, kind in enumerate(kinds)
            ]
            swapped = draw(st.permutations([name for name in types if name != owner][:2]))
            kept = [(name, Column(other)) for name, other in zip(sorted(swapped), swapped)]  # noqa: B905
            return Project(below, ((owner, Column(owner)), *kept, *outputs))
        case "join":
            return _join(draw, below, types)
        case "group":
            return _grouped(draw, below, types, owner)
        case "distinct":
            return Distinct(below)
        case "union":
            return UnionAll((below, Filter(below, draw(expressions(Type.BOOLEAN, types)))))
        case _:
            window = _window(draw, types, owner)
            node = Call("IS NULL", (window,)) if draw(st.booleans()) else window
            return Project(below, ((owner, Column(owner)), ("w", node), ("v", window)))


def _join(draw, below, types):
    taken = "ward" in types
    wards = Scan("wards", tuple(WARDS.items()))
    if taken:
        outputs = tuple((f"{name} {len(types)}", Column(name)) for name in WARDS)
        wards = Project(wards, outputs)
    both = {**types, **dict(columns(wards))}
    texts = [Column(name) for name, kind in types.items() if kind is Type.TEXT]
    on = draw(expressions(Type.BOOLEAN, both, 1))
    if texts and draw(st.booleans()):
        key = next(name for name, kind in columns(wards) if kind is Type.TEXT)
        on = Call("=", (draw(st.sampled_from(texts)), Column(key)))
    kind = draw(st.sampled_from(["inner", "left", "cross", "right", "full"]))
    return Join(below, wards, kind, None if kind == "cross" else on)


def _grouped(draw, below, types, owner):
    key = draw(st.sampled_from([name for name in types if name != owner] or [owner]))
    keys = ((owner, Column(owner)),) + (((key, Column(key)),) if key != owner else ())
    where = draw(st.none() | expressions(Type.BOOLEAN, types, 1))
    outputs = [("n", Aggregate("COUNT", where=where))]
    for index, kind in enumerate([Type.INTEGER, Type.FLOAT, Type.TEXT]):
        functions = ["COUNT", "MIN", "MAX"] + (["SUM"] if kind.is_number else [])
        function = draw(st.sampled_from(functions))
        distinct = draw(st.booleans()) if function in {"COUNT", "SUM"} else False
        value = draw(expressions(kind, types, 1))
        outputs.append((f"a{index}", Aggregate(function, value, distinct=distinct, where=where)))
    taken = {name for name, _ in keys}
    renamed = [(f"{name} again" if name in taken else name, value) for name, value in outputs]
    return Aggregated(below, keys, tuple(renamed))


@st.composite
def lowered_questions(draw, depth=1, by_row=None):
    """Draw a lowered question over a random relation; rows are units now and then."""
    relation = draw(relations(depth=draw(st.integers(0, depth))))
    types = dict(columns(relation))
    kinds = draw(
        st.lists(
            st.sampled_from([Type.TEXT, Type.INTEGER, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP]),
            max_size=2,
        )
    )
    keys = tuple(
        KeyColumn(f"key {index}", draw(expressions(kind, types, index)), kind)
        for index, kind in enumerate(kinds)
    )
    by_row = draw(st.integers(0, 4)) == 0 if by_row is None else by_row
    return EngineRequest(
        relation=relation,
        unit=() if by_row else (Column("u"),),
        keys=keys,
        groups=None if by_row else draw(st.integers(1, 3)),
        public=draw(_public(kinds)),
        measures=draw(measures(types)),
    )


def _public(kinds):
    values = {
        Type.TEXT: ["a", "b", None, "zzz"],
        Type.INTEGER: [0, 1, None, -7],
        Type.BOOLEAN: [True, False, None],
        Type.DATE: [date(2024, 2, 29), None],
        Type.TIMESTAMP: [datetime(1970, 1, 1), None],
    }
    groups = st.tuples(*(st.sampled_from(values[kind]) for kind in kinds))
    listed = st.none() | st.lists(groups, unique=True, max_size=6).map(tuple)
    if not kinds:
        return listed
    each = (st.lists(st.sampled_from(values[kind]), unique=True, min_size=1) for kind in kinds)
    return listed | st.tuples(*(some.map(tuple) for some in each)).map(Product)


@st.composite
def measures(draw, types):
    """Draw one measure of every kind, and some more totals."""
    found = [Total(name="ones", row=Literal(1), low=0, high=draw(st.integers(1, 4)))]
    for number in range(draw(st.integers(0, 3))):
        low = draw(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9))
        high = draw(st.integers(low, min(low + 2**40, 2**63 - 1)) | st.just(2**63 - 1))
        rows = draw(st.none() | st.integers(1, 4))
        row = draw(expressions(Type.INTEGER, types) | st.just(Literal(1)))
        found.append(Total(name=f"total {number}", row=row, low=low, high=high, rows=rows))
    inner, within = draw(expressions(Type.INTEGER, types)), found[0].high * draw(st.integers(0, 9))
    found.append(Total(name="some", row=inner, low=0, high=found[0].high, per="ones"))
    low = -found[0].high * draw(st.integers(0, 9))
    row = draw(expressions(Type.INTEGER, types))
    rows = draw(st.none() | st.just(found[0].high))
    found.append(Total(name="within", row=row, low=low, high=within, rows=rows, per="some"))
    kind = draw(st.sampled_from(list(Type)))
    values = draw(expressions(kind, types, 1))
    found.append(DistinctCount(name="values", expression=values, most=draw(st.integers(1, 3))))
    leaf = Call("MOD", (Call("ABS", (draw(expressions(Type.INTEGER, types, 1)),)), Literal(5)))
    rows = draw(st.integers(1, 3))
    found.append(Leaves(name="leaves", row=leaf, leaves=draw(st.integers(1, 5)), rows=rows))
    low, high = draw(st.sampled_from([(-9, 9), (0, 7), (-(2**30), 2**35), (-4, -2)]))
    value = draw(expressions(Type.INTEGER, types, 1))
    found.append(
        CellSums(name="sums", row=leaf, cells=4, value=value, low=low, high=high, rows=rows)
    )
    found.append(DistinctSum(name="added", row=value, low=low, high=high, most=rows))
    return tuple(found)


def crowded_tables(most=40):
    """Draw tables in which few units have many rows in few groups."""
    small = st.sampled_from([None, 0, 1, 2, 3])
    row = st.fixed_dictionaries(
        {
            **{name: st.none() for name in EVENTS},
            "u": st.sampled_from([None, 1, 2]),
            "k": st.sampled_from([None, "a", "b", "c"]),
            "g": small,
            "i": st.integers(-7, 7) | st.none(),
            "b": st.sampled_from([None, True, False]),
            "f": st.sampled_from([None, 0.0, -0.0, 1.5, -2.5, math.nan]),
        }
    )
    events = st.lists(row, min_size=8, max_size=most)
    return st.builds(lambda rows: {"events": rows, "wards": []}, events)


@st.composite
def plain_questions(draw, by_row=None):
    """Draw a question about the columns of the table as they are."""
    chosen = draw(st.lists(st.sampled_from(["k", "g", "b"]), unique=True, max_size=2))
    keys = tuple(KeyColumn(name, Column(name), EVENTS[name]) for name in chosen)
    totals = [
        Total(name=f"{name} {rows}", row=row, low=low, high=high, rows=rows)
        for name, row in (("ones", Literal(1)), ("i", Column("i")), ("g", Column("g")))
        for low, high in [(draw(st.integers(-9, 2)), draw(st.integers(2, 9)))]
        for rows in (None, 1, 2, 3)
    ]
    values = draw(st.sampled_from(["i", "k", "f", "b"]))
    by_row = draw(st.integers(0, 5)) == 0 if by_row is None else by_row
    return EngineRequest(
        relation=Scan("events", tuple(EVENTS.items())),
        unit=() if by_row else (Column("u"), Column("b"))[: draw(st.integers(1, 2))],
        keys=keys,
        groups=None if by_row else draw(st.integers(1, 3)),
        public=draw(_public([key.type for key in keys])),
        measures=(
            *totals,
            DistinctCount(name="values", expression=Column(values), most=draw(st.integers(1, 3))),
            DistinctSum(
                name="added", row=Column("i"), low=-4, high=5, most=draw(st.integers(1, 3))
            ),
            Leaves(
                name="leaves",
                row=Column("g"),
                leaves=draw(st.integers(1, 4)),
                rows=draw(st.integers(1, 4)),
            ),
            CellSums(
                name="sums",
                row=Column("g"),
                cells=3,
                value=Column("i"),
                low=draw(st.integers(-9, 2)),
                high=draw(st.integers(2, 9)),
                rows=draw(st.integers(1, 4)),
            ),
        ),
    )


def orders(portable=True):
    """Draw an order of hashes."""
    return st.builds(HashOrder, salt=st.integers(0, 2**63 - 1), portable=st.just(portable))
