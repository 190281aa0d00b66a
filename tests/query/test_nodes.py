"""Nodes of expressions, relations and questions are plain values."""

import copy
import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings

from discreet.query import (
    Aggregate,
    Call,
    Column,
    Grouped,
    Literal,
    Question,
    Span,
    Table,
    aggregates,
    descend,
    folded,
    read,
    transformed,
    walk,
)
from tests.query.dialect import ACCEPTED
from tests.query.expressions import expressions


def everything(question):
    """Yield all expressions of a question, from the top."""
    above = [value for _, value in (*question.keys, *question.outputs)]
    above += [item.expression for item in question.order]
    above += [] if question.having is None else [question.having]
    for relation in descend(question.relation):
        above.extend(relation.expressions())
    for expression in above:
        yield from walk(expression)


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_a_node_rebuilt_over_its_children_is_the_same(entry):
    question = read(entry.sql)
    for node in everything(question):
        assert node.rebuilt(node.children()) == node
        assert node.rebuilt(node.children()).span == node.span
    for relation in descend(question.relation):
        assert relation.rebuilt(relation.children()) == relation


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_every_node_points_at_its_words(entry):
    question = read(entry.sql)
    for node in everything(question):
        if node.span is not None:
            assert node.span.text == entry.sql
            assert node.span.words.strip() == node.span.words != ""
        if isinstance(node, Column) and node.span is not None and node.table is None:
            shown = node.span.words.strip('`"')
            assert shown == node.name or node.name.startswith(("key_", "total_"))
    for relation in descend(question.relation):
        assert relation.span is not None
        if isinstance(relation, Table):
            assert relation.span.words.strip('"') == relation.name
    assert question.text == entry.sql


@settings(max_examples=200)
@given(expressions)
def test_expressions_are_values(expression):
    assert copy.deepcopy(expression) == expression
    assert pickle.loads(pickle.dumps(expression)) == expression  # noqa: S301 (our own)
    assert hash(copy.deepcopy(expression)) == hash(expression)
    assert expression.rebuilt(expression.children()) == expression
    assert transformed(expression, lambda _: None) is expression
    assert repr(copy.deepcopy(expression)) == repr(expression)


def test_spans_do_not_count():
    here = Column("a", span=Span("a + b", 0, 1))
    assert here == Column("a")
    assert hash(here) == hash(Column("a"))
    assert "span" not in repr(here)


@settings(max_examples=100)
@given(expressions)
def test_columns_can_be_replaced(expression):
    gone = transformed(expression, lambda n: Literal(1) if isinstance(n, Column) else None)
    assert not any(isinstance(node, Column) for node in walk(gone))
    assert len(list(walk(gone))) == len(list(walk(expression)))


def test_aggregates_come_once_and_in_order():
    question = read(
        "SELECT a, SUM(x) / COUNT(*) AS m, COUNT(*) AS n FROM t GROUP BY a "
        "HAVING MAX(x) > 1 ORDER BY MIN(x), n"
    )
    assert [total.function for total in aggregates(question)] == ["SUM", "COUNT", "MAX", "MIN"]


def test_aggregates_with_other_bounds_are_others():
    question = read("SELECT COUNT(*), COUNT(*, epsilon => 1), COUNT(*) FILTER (WHERE a) FROM t")
    assert len(aggregates(question)) == 3


def test_names_are_folded_in_ascii_only():
    assert folded("ABC_é_É_ß_İ") == "abc_é_É_ß_İ"


def test_a_question_without_text():
    question = Question(relation=Table("t"), outputs=(("n", Aggregate("COUNT")),))
    assert question.text is None
    assert question == read("SELECT COUNT(*) AS n FROM t")


def test_keys_stand_for_themselves():
    assert Grouped(1).children() == ()
    assert Grouped(1) != Grouped(2)


def test_calls_and_aggregates_keep_their_hash_and_hand_it_to_no_copy():
    """The hashes of texts differ from process to process."""
    call = Call("+", (Column("a"), Literal(1)))
    total = Aggregate("SUM", call, where=Call("NOT", (Column("b"),)))
    for node in (call, total):
        assert hash(node) == hash(replace(node)) == node._hashed
        again = pickle.loads(pickle.dumps(node))  # noqa: S301  our own bytes
        assert not hasattr(again, "_hashed")
        assert {again: 1}[node] == 1
    assert hash(total) != hash(replace(total, distinct=True))
