"""Random expressions, as a reader could have made them."""

from fractions import Fraction

from hypothesis import strategies as st

from discreet.query.expressions import Call, Case, Cast, Column, Literal
from discreet.query.functions import FUNCTIONS, PARTS
from discreet.query.types import Type

NAMES = ["a", "b", "Ward", "my ward", "group", "größe", "x1"]

numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.decimals(
        allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000
    ).map(Fraction),
)
texts = st.text(
    st.characters(exclude_characters="\\\0", exclude_categories=["Cs"]), max_size=6
).filter(lambda text: not text.startswith("'"))
days = st.dates()
moments = st.datetimes()
literals = st.one_of(st.none(), st.booleans(), numbers, texts, days, moments).map(Literal)
columns = st.builds(Column, st.sampled_from(NAMES), st.sampled_from([None, "t", "s.t", "order"]))

WITH_FORMS = {"AND", "OR", "IN", "LIKE", "RANGE_BUCKET", "EXTRACT", "DATE_TRUNC", "DATE_DIFF"}
ORDINARY = sorted(set(FUNCTIONS) - WITH_FORMS - {"DATE_ADD", "NEGATE"})


def calls(inner):
    """Return strategies for every form of call over expressions."""
    real = st.integers(-50, 50).map(Literal)
    written = literals.filter(lambda literal: literal.value is not None)
    edges = st.lists(st.integers(-50, 50), min_size=1, max_size=4, unique=True).map(
        lambda found: tuple(Literal(edge) for edge in sorted(found))
    )
    part = {name: st.sampled_from(parts).map(Literal) for name, parts in PARTS.items()}
    return st.one_of(
        st.sampled_from(ORDINARY).flatmap(
            lambda name: st.lists(
                inner,
                min_size=len(FUNCTIONS[name].takes) - FUNCTIONS[name].optional,
                max_size=len(FUNCTIONS[name].takes) + FUNCTIONS[name].repeats * 2,
            ).map(lambda found: Call(name, tuple(found)))
        ),
        st.sampled_from(["AND", "OR"]).flatmap(
            lambda name: st.lists(
                inner.filter(lambda node: getattr(node, "function", "") != name),
                min_size=2,
                max_size=4,
            ).map(lambda found: Call(name, tuple(found)))
        ),
        inner.filter(lambda node: not is_number(node)).map(lambda node: Call("NEGATE", (node,))),
        st.tuples(inner, st.lists(written, min_size=1, max_size=3)).map(
            lambda pair: Call("IN", (pair[0], *pair[1]))
        ),
        st.tuples(inner, texts.map(Literal)).map(lambda pair: Call("LIKE", pair)),
        st.tuples(inner, edges).map(lambda pair: Call("RANGE_BUCKET", (pair[0], *pair[1]))),
        st.tuples(part["EXTRACT"], inner).map(lambda pair: Call("EXTRACT", pair)),
        st.tuples(inner, part["DATE_TRUNC"])
        .filter(not_text)
        .map(lambda pair: Call("DATE_TRUNC", pair)),
        st.tuples(inner, inner, part["DATE_DIFF"])
        .filter(not_text)
        .map(lambda triple: Call("DATE_DIFF", triple)),
        st.tuples(inner, real).map(lambda pair: Call("DATE_ADD", pair)),
    )


def is_number(node):
    return isinstance(node, Literal) and node.type in {Type.INTEGER, Type.FLOAT}


def not_text(values):
    """Whether the first value is not a text, which would stand for the part of a date."""
    return not (isinstance(values[0], Literal) and values[0].type is Type.TEXT)


def larger(inner):
    return st.one_of(
        calls(inner),
        st.builds(Cast, inner, st.sampled_from(Type)),
        st.builds(
            Case,
            st.lists(st.tuples(inner, inner), min_size=1, max_size=3).map(tuple),
            st.none() | inner,
        ),
    )


expressions = st.recursive(columns | literals, larger, max_leaves=12)
