"""Every function of every type of argument, at the edges: DuckDB and the reference agree."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

import contextlib
import itertools
import math
from datetime import date, datetime
from fractions import Fraction

import pytest

from discreet.errors import WrongType
from discreet.query.expression_types import CASTS, FUNCTIONS, PARTS, typed
from discreet.query.expressions import Call, Case, Cast, Column, Literal
from discreet.query.relations import Project, Scan
from discreet.query.types import Type
from tests.engines.edges import EDGES, WRITTEN, both, products

SMALL = {kind: values[: 12 if kind is Type.TEXT else 9] for kind, values in EDGES.items()}


def signatures(function):
    """Yield the types of the arguments, with two more arguments where the last repeats."""
    takes = list(function.takes)
    counts = {len(takes) - function.optional, len(takes)} - {0}
    if function.repeats:
        counts |= {len(takes) + 1}
    for count in sorted(counts):
        padded = takes[:count] + [takes[-1]] * (count - len(takes))
        yield from itertools.product(
            *(sorted(kind, key=lambda each: each.value) for kind in padded)
        )


def written_values(function, kind):
    if function.name in PARTS and kind is Type.TEXT:
        return PARTS[function.name]
    return WRITTEN[kind]


def calls(function, kinds):
    """Yield the calls with these types: columns, and literals where they must be written."""
    places = [
        min(number, len(function.takes) - 1) in function.written for number in range(len(kinds))
    ]
    options = [
        [Literal(value) for value in written_values(function, kind)]
        if must
        else [Column(f"c{index}")]
        for index, (kind, must) in enumerate(zip(kinds, places, strict=True))
    ]
    yield from (Call(function.name, arguments) for arguments in itertools.product(*options))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_agrees_on_all_edges(name):
    function, compared = FUNCTIONS[name], 0
    for kinds in signatures(function):
        types = {"id": Type.INTEGER, **{f"c{index}": kind for index, kind in enumerate(kinds)}}
        outputs = []
        for call in calls(function, kinds):
            try:
                typed(call, types)
            except WrongType:
                continue
            outputs.append((f"o{len(outputs)}", call))
        if not outputs:
            continue
        free = [
            kind
            if any(Column(f"c{index}") in call.arguments for _, call in outputs)
            else Type.BOOLEAN
            for index, kind in enumerate(kinds)
        ]
        types |= {f"c{index}": kind for index, kind in enumerate(free)}
        rows = products(free, EDGES if len(kinds) < 3 else SMALL)
        node = Project(Scan("t", tuple(types.items())), (("id", Column("id")), *outputs))
        actual, expected = both(node, {"t": rows}, {"t": types})
        assert actual == expected
        compared += len(rows) * len(outputs)
    assert compared > 0


@pytest.mark.parametrize("start", Type)
@pytest.mark.parametrize("to", Type)
def test_a_cast_agrees_on_all_edges(start, to):
    if to not in CASTS[start]:
        return
    types = {"id": Type.INTEGER, "c0": start}
    node = Project(
        Scan("t", tuple(types.items())), (("id", Column("id")), ("o", Cast(Column("c0"), to)))
    )
    actual, expected = both(node, {"t": products([start])}, {"t": types})
    assert actual == expected


def written_exactly(value):
    """Return a value as it is written in a question: floats as fractions."""
    return Fraction(value) if isinstance(value, float) else value


@pytest.mark.parametrize("kind", Type)
def test_literals_are_exact(kind):
    values = [edge for edge in EDGES[kind] if edge not in (math.inf, -math.inf) and edge == edge]  # noqa: PLR0124
    values = [*map(written_exactly, values), *WRITTEN.get(kind, ())]
    literals = [Literal(value) for value in values if value is not None]
    outputs = tuple(
        (f"o{index}", literal) for index, literal in enumerate(literals) if literal.type is kind
    )
    node = Project(Scan("t", (("id", Type.INTEGER),)), outputs)
    actual, expected = both(node, {"t": [{"id": 1}]}, {"t": {"id": Type.INTEGER}})
    assert actual == expected


def test_a_bare_null_fits_everywhere():
    null = Literal(None)
    outputs = (
        ("a", Call("+", (Column("c0"), null))),
        ("b", Call("=", (null, Column("c0")))),
        ("c", Call("COALESCE", (null, Call("NEGATE", (null,)), Column("c0")))),
        ("d", Case(((Call("IS NULL", (null,)), null),), Column("c0"))),
        ("e", Call("CONCAT", (null, Literal("a")))),
        ("f", Call("EXTRACT", (Literal("YEAR"), null))),
        ("g", Call("AND", (null, Literal(False)))),
        ("h", Cast(null, Type.DATE)),
        ("i", Call("IN", (Column("c0"), null, Literal(7)))),
        ("j", Call("LEAST", (Column("c0"), null))),
    )
    types = {"id": Type.INTEGER, "c0": Type.INTEGER}
    node = Project(Scan("t", tuple(types.items())), outputs)
    actual, expected = both(node, {"t": products([Type.INTEGER])}, {"t": types})
    assert actual == expected


NUMBERS = [None, 0.0, 1.0, -2.5, 0.1, 1e308, -1e308, 5e-324, 3.0, 1e200]
SIGNS = ["+", "-", "*", "/"]


def over(value):
    """Return every function that may stand directly above arithmetic of floats."""
    unary = ["NEGATE", "ABS", "SIGN", "FLOOR", "CEIL", "ROUND", "SQRT", "IS NULL", "COALESCE"]
    yield from (Call(name, (value,)) for name in unary)
    yield from (Call(sign, (value, Column("c2"))) for sign in (*SIGNS, "<", "=", ">="))
    yield from (Call(sign, (Column("c2"), value)) for sign in (*SIGNS, "<>", ">", "IN"))
    yield Call("LEAST", (value, Column("c2")))
    yield Call("GREATEST", (value, Literal(1), Column("c2")))
    yield Call("GREATEST", (Call("LEAST", (value, Literal(2))), Literal(-1)))
    yield Call("COALESCE", (value, Literal(7)))
    yield Call("RANGE_BUCKET", (value, Literal(-1), Literal(0), Literal(1)))
    yield Cast(value, Type.INTEGER)
    yield Case(((Call("<", (value, Literal(0))), Literal(0)),), value)


def test_what_is_not_finite_is_null_wherever_it_arises():
    below = [Call(sign, (Column("c0"), Column("c1"))) for sign in SIGNS]
    below += [Call("SQRT", (Call("-", (Column("c0"), Column("c1"))),))]
    twice = [above for value in below for above in over(value)]
    outputs = tuple((f"o{index}", value) for index, value in enumerate(twice))
    types = {"id": Type.INTEGER, "c0": Type.FLOAT, "c1": Type.FLOAT, "c2": Type.FLOAT}
    rows = products([Type.FLOAT] * 3, {Type.FLOAT: NUMBERS[:8]})
    node = Project(Scan("t", tuple(types.items())), (("id", Column("id")), *outputs))
    actual, expected = both(node, {"t": rows}, {"t": types})
    assert actual == expected


LITERALS = {
    Type.INTEGER: [Literal(0), Literal(-1), Literal(3)],
    Type.FLOAT: [Literal(Fraction(1, 2)), Literal(2), Literal(Fraction(10) ** 400)],
    Type.TEXT: [Literal("a"), Literal("")],
    Type.BOOLEAN: [Literal(True), Literal(False)],
    Type.DATE: [Literal(date(2000, 1, 1))],
    Type.TIMESTAMP: [Literal(datetime(2000, 1, 1))],
}


@pytest.mark.parametrize("kind", Type)
def test_literals_may_stand_in_every_place(kind):
    types = {"id": Type.INTEGER, "c0": kind}
    outputs = [("id", Column("id"))]
    for function in FUNCTIONS.values():
        if not function.accepts(2) or function.written:
            continue
        for literal in LITERALS[kind]:
            for pair in ((Column("c0"), literal), (literal, Column("c0"))):
                call = Call(function.name, pair)
                with contextlib.suppress(WrongType):
                    typed(call, types)
                    outputs.append((f"o{len(outputs)}", call))
    node = Project(Scan("t", tuple(types.items())), tuple(outputs))
    actual, expected = both(node, {"t": products([kind])}, {"t": types})
    assert actual == expected
    assert len(outputs) > 10


@pytest.mark.parametrize("kind", Type)
def test_constants_are_computed_like_columns(kind):
    """An engine computes what is written beforehand, with types and functions of its own."""
    values = [written_exactly(value) for value in EDGES[kind][1:13]]
    literals = [*map(Literal, values), Cast(Literal(None), kind)]
    outputs = [("id", Column("id"))]
    for function in FUNCTIONS.values():
        for count in (1, 2):
            if not function.accepts(count) or function.written:
                continue
            for arguments in itertools.product(literals, repeat=count):
                call = Call(function.name, arguments)
                with contextlib.suppress(WrongType):
                    typed(call, {})
                    outputs.append((f"o{len(outputs)}", call))
    casts = [Cast(literal, to) for literal in literals for to in CASTS[kind]]
    with contextlib.suppress(WrongType):
        outputs += [(f"c{index}", cast) for index, cast in enumerate(casts) if typed(cast, {})]
    node = Project(Scan("t", (("id", Type.INTEGER),)), tuple(outputs))
    actual, expected = both(node, {"t": [{"id": 1}]}, {"t": {"id": Type.INTEGER}})
    assert actual == expected


@pytest.mark.parametrize(
    "low", [Literal(0), Literal(9), Literal(Fraction(10) ** 400), Literal(None)]
)
@pytest.mark.parametrize("high", [Literal(5), Literal(Fraction(1, 2)), Literal(-(2**63))])
def test_clamps_are_what_they_are_made_of(low, high):
    types = {"id": Type.INTEGER, "c0": Type.INTEGER, "c1": Type.FLOAT}
    outputs = [("id", Column("id"))]
    for column in (Column("c0"), Column("c1")):
        least = Call("GREATEST", (Call("LEAST", (column, high)), low))
        greatest = Call("LEAST", (Call("GREATEST", (column, low)), high))
        outputs += [(f"o{len(outputs)}", least), (f"p{len(outputs)}", greatest)]
    node = Project(Scan("t", tuple(types.items())), tuple(outputs))
    actual, expected = both(node, {"t": products([Type.INTEGER, Type.FLOAT])}, {"t": types})
    assert actual == expected
