"""Tables divided by unit, in any way: what tasks compute adds up to the answer, bit for bit."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import NotPerUnit
from tests.engines import answers
from tests.engines.answers import flat, reference
from tests.engines.questions import crowded_tables, lowered_questions, orders, plain_questions
from tests.engines.questions import tables as random_tables
from tests.engines.spark import paper

FEW = settings(max_examples=10, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=300, suppress_health_check=list(HealthCheck))
DIVISIONS = st.dictionaries(st.sampled_from([1, 2, 3, 4, 5, -(2**63)]), st.integers(0, 3))


def answers_agree(rows, lowered, order, division):
    actual = flat(paper.run(lowered, rows, order, lambda row: division.get(row["u"], 0)))
    assert actual == answers.run(lowered, rows, order)
    if order.portable:
        assert actual == reference(lowered, rows, order)


@pytest.mark.theorem("division-by-unit")
@given(
    rows=crowded_tables(),
    lowered=plain_questions(by_row=False),
    order=orders() | orders(portable=False),
    division=DIVISIONS,
)
@FEW
def test_plain_questions_agree_however_units_are_divided(rows, lowered, order, division):
    answers_agree(rows, lowered, order, division)


@pytest.mark.theorem("division-by-unit")
@given(
    rows=random_tables(),
    lowered=lowered_questions(by_row=False),
    order=orders() | orders(portable=False),
    division=DIVISIONS,
)
@FEW
def test_questions_agree_however_units_are_divided(rows, lowered, order, division):
    answers_agree(rows, lowered, order, division)


def row_answers_agree(rows, lowered, order, divide):
    numbers = iter(range(1000))
    try:
        actual = flat(paper.run(lowered, rows, order, lambda _: next(numbers) % divide))
    except NotPerUnit:
        assume(False)
    assert actual == answers.run(lowered, rows, order)


@pytest.mark.theorem("division-by-unit")
@given(
    rows=random_tables() | crowded_tables(),
    lowered=lowered_questions(by_row=True) | plain_questions(by_row=True),
    order=orders(),
    divide=st.integers(1, 4),
)
@FEW
def test_rows_that_are_units_agree_however_they_are_divided(rows, lowered, order, divide):
    row_answers_agree(rows, lowered, order, divide)


@pytest.mark.slow
@given(
    rows=random_tables() | crowded_tables(),
    lowered=lowered_questions(depth=2, by_row=False) | plain_questions(by_row=False),
    order=orders() | orders(portable=False),
    division=DIVISIONS,
)
@MANY
def test_many_questions_agree_however_units_are_divided(rows, lowered, order, division):
    answers_agree(rows, lowered, order, division)


@pytest.mark.slow
@given(
    rows=random_tables() | crowded_tables(),
    lowered=lowered_questions(depth=2, by_row=True) | plain_questions(by_row=True),
    order=orders(),
    divide=st.integers(1, 4),
)
@MANY
def test_many_rows_that_are_units_agree(rows, lowered, order, divide):
    row_answers_agree(rows, lowered, order, divide)
