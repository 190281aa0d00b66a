"""Conditions on columns of every type, and values at the edges of their literals."""

# ruff: noqa: DTZ001, DTZ901 (moments have no time zone here)

import itertools
import math
import random
from datetime import date, datetime, timedelta
from fractions import Fraction

from discreet.plan.binding.value_facts import Facts
from discreet.query.expressions import Call, Column, Literal
from discreet.query.types import Type

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
FACTS = {kind.value.lower(): Facts(type=kind) for kind in Type}
TYPES = {name: facts.type for name, facts in FACTS.items()}
INF, NAN = math.inf, math.nan

DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999)
CLOSE, HUGE = Fraction(5) + Fraction(1, 10**30), Fraction(10**400)
LITERALS = {
    Type.INTEGER: [
        *(5, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63)),
        *(Fraction(11, 2), Fraction(2**60), CLOSE, Fraction(2**52) - Fraction(1, 10), HUGE),
    ],
    Type.FLOAT: [
        *(5, 0, 2**53 + 1, Fraction(1, 10), Fraction(-1, 3)),
        *(Fraction(5e-324), Fraction(1.7976931348623157e308), CLOSE, HUGE),
    ],
    Type.TEXT: ["f", "", "F", "f ", "é", "e\u0301", "\U0001f600"],
    Type.BOOLEAN: [True, False],
    Type.DATE: [DAY, date.min, date.max],
    Type.TIMESTAMP: [MOMENT, datetime.min, datetime.max, datetime(2024, 2, 29)],
}
"""Literals that columns of each type are compared with."""

SIMPLE = {
    Type.INTEGER: 5,
    Type.FLOAT: Fraction(1, 10),
    Type.TEXT: "f",
    Type.BOOLEAN: True,
    Type.DATE: DAY,
    Type.TIMESTAMP: MOMENT,
}


def around(kind, value):
    """Return values of a column next to a literal, on both sides, as a source may hold them."""
    match kind:
        case Type.INTEGER:
            near = [math.floor(value), math.ceil(value)]
            return {each + step for each in near for step in (-1, 0, 1)}
        case Type.FLOAT:
            near = float(max(min(value, 10**308), -(10**308)))
            return {near, math.nextafter(near, INF), math.nextafter(near, -INF), -near}
        case Type.TEXT:
            return {value, f"{value} ", value.upper(), f"{value}a", value[:-1]}
        case Type.DATE:
            steps = [timedelta(days=each) for each in (-1, 0, 1)]
        case Type.TIMESTAMP:
            steps = [timedelta(microseconds=each) for each in (-1, 0, 1)]
        case _:
            return {True, False}
    return {
        value + step for step in steps if type(value).min - value <= step <= type(value).max - value
    }


def values(kind):
    """Return values of a type as they lie in a source: NULL, NaN, infinities, and every edge."""
    found = [None, *itertools.chain.from_iterable(around(kind, each) for each in LITERALS[kind])]
    if kind is Type.INTEGER:
        found = [each for each in found if each is None or -(2**63) <= each < 2**63]
    if kind is Type.FLOAT:
        found += [NAN, INF, -INF, 0.0, -0.0]
    return list({repr(each): each for each in found}.values())


def atoms(kind, *, many=True):
    """Return conditions without logic on the column of a type."""
    column = Column(kind.value.lower())
    found = [Call("IS NULL", (column,))]
    if kind is Type.BOOLEAN:
        found.append(column)
    simple = Literal(SIMPLE[kind])
    if not many:
        listed = Call("IN", (column, simple, Literal(None)))
        return [*found, Call("<>", (column, simple)), Call("<", (column, simple)), listed][-3:]
    literals = [*map(Literal, LITERALS[kind]), Literal(None)]
    for sign, literal in itertools.product(SIGNS, literals):
        found += [Call(sign, (column, literal)), Call(sign, (literal, column))]
    for pair in itertools.combinations(literals, 2):
        found.append(Call("IN", (column, *pair)))
    return [*found, *(Call("IN", (column, each)) for each in literals)]


def one_deeper(below):
    """Return all conditions with one more level of logic."""
    unary = [
        Call(word, (each,)) for word in ("NOT", "IS TRUE", "IS FALSE", "IS NULL") for each in below
    ]
    pairs = itertools.product(below, repeat=2)
    return unary + [Call(word, pair) for pair in pairs for word in ("AND", "OR")]


def drawn(chance: random.Random, leaves, depth):
    """Draw a condition of at most some depth."""
    if depth == 1 or chance.random() < 0.15:
        return chance.choice(leaves)
    word = chance.choice(["NOT", "IS TRUE", "IS FALSE", "IS NULL", "AND", "OR", "AND", "OR"])
    count = chance.choice([2, 2, 3]) if word in {"AND", "OR"} else 1
    return Call(word, tuple(drawn(chance, leaves, depth - 1) for _ in range(count)))


def place(value):
    """Return a value as sets of values know it: floats are exact."""
    return Fraction(value) if isinstance(value, float) else value
