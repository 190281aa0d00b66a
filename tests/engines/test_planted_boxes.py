"""A wrong box costs rows, and nobody's privacy: totals do not move for people outside."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from discreet.accounting import Box
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Performance
from discreet.plan.pricing.requested_price import BoundsPrice
from discreet.query.relations import Filter, Scan
from tests.engines.answers import flat
from tests.engines.planted import (
    BY_ROW,
    ORDER,
    QUESTIONS,
    TYPES,
    arrow,
    boxes,
    clinic,
    outside,
    planned,
    planted,
    record,
    without,
)
from tests.reference.engine import Reference

FULL = clinic()


def by_reference(lowered, tables):
    return flat(Reference(tables, TYPES).run(lowered, order=ORDER))


@pytest.fixture(scope="module")
def by_duckdb():
    """Answer with DuckDB, which opens the same tables once."""
    engines = {}
    with ExitStack() as opened:

        def answer(lowered, tables):
            key = repr(tables)
            if key not in engines:
                engine = DuckDB(arrow(tables), Performance(threads=1))
                engines[key] = opened.enter_context(engine)
            return answered(engines[key], lowered)

        yield answer


def answered(engine, lowered):
    engine.check(lowered)
    return flat(engine.run(lowered, order=ORDER))


def unfiltered(node):
    """Take the filters away that stand directly above scans."""
    if isinstance(node, Filter) and isinstance(node.child, Scan):
        return node.child
    return node.rebuilt([unfiltered(child) for child in node.children()])


def check(plan, answer):
    """Take everybody outside the box away, and see that nothing moves."""
    if plan is None:
        return set()
    gone = outside(plan.scope, FULL)
    for lowered in (plan.request, *([plan.search.request] if plan.search else [])):
        assert answer(lowered, FULL) == answer(lowered, without(FULL, gone))
    return gone


@pytest.mark.theorem("question-scope")
@pytest.mark.parametrize("question", QUESTIONS)
def test_people_outside_a_wrong_box_do_not_count(monkeypatch, question):
    found = [
        check(planted(monkeypatch, box, question), by_reference) for box in boxes(seed=1, count=60)
    ]
    assert sum(map(bool, found)) > 10


@pytest.mark.theorem("question-scope")
@pytest.mark.parametrize("question", QUESTIONS)
def test_nor_do_they_on_duckdb(monkeypatch, by_duckdb, question):
    for box in boxes(seed=2, count=4):
        check(planted(monkeypatch, box, question), by_duckdb)


def test_nor_do_they_while_bounds_are_looked_for(monkeypatch, by_duckdb):
    question = "SELECT AVG(stay) AS a FROM visits WHERE patient > 0"
    for place, box in enumerate(boxes(seed=3, count=6)):
        plan = planted(monkeypatch, box, question, epsilon=1, bounds=BoundsPrice(epsilon=1))
        assert plan is None or plan.search is not None
        check(plan, by_duckdb if place < 2 else by_reference)


@pytest.mark.parametrize("engine", ["reference", "duckdb"])
def test_rows_that_are_units_do_not_count_outside_either(monkeypatch, by_duckdb, engine):
    answer = by_duckdb if engine == "duckdb" else by_reference
    question = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE cost >= 0"
    for box in boxes(seed=4, count=8, policy=BY_ROW):
        plan = planted(monkeypatch, box, question, policy=BY_ROW, epsilon=1)
        if plan is None:
            continue
        kept = [row for row in FULL["visits"] if record(row, BY_ROW) in plan.scope]
        assert plan.scope == box
        assert answer(plan.request, FULL) == answer(plan.request, {**FULL, "visits": kept})


def test_without_the_filters_they_would_count(monkeypatch):
    """A mutant: the box is charged as it was inferred."""
    monkeypatch.setattr("discreet.plan.binding.bound_question.enforce_scope", lambda rows, *_: rows)
    (box, *_) = boxes(seed=1, count=0)
    with pytest.raises(AssertionError):
        check(planted(monkeypatch, box, QUESTIONS[0]), by_reference)


def test_a_box_that_is_right_changes_no_answer(by_duckdb):
    """The filters let everybody through whom the question is about."""
    for condition in ("born = 1980", "weight IS NULL", "sex <> 'f'", "ill IS NOT TRUE"):
        question = f"SELECT COUNT(*) AS n FROM visits WHERE {condition}"  # noqa: S608
        plan = planned(question)
        bare = replace(plan.request, relation=unfiltered(plan.request.relation))
        assert plan.scope != Box.everything()
        assert by_duckdb(plan.request, FULL) == by_duckdb(bare, FULL) == by_reference(bare, FULL)
