"""A question about a thousand million groups, from the table to the record."""

import time

import numpy as np
import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder
from discreet.errors import WrongKind
from discreet.query.types import Type
from tests.engines.answers import flat
from tests.reference.engine import Reference

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "20"
[limits]
max_groups = 3
max_rows = 3
[tables.visits.columns]
a = {type = "integer", categories = NUMBERS, nullable = true}
b = {type = "text", categories = TEXTS, nullable = false}
c = {type = "integer", categories = NUMBERS, nullable = false}
cost = {type = "float", low = 0, high = 100}
""".replace("NUMBERS", str(list(range(1000)))).replace(
    "TEXTS", str([f"x{at}" for at in range(999)])
)
GROUPS = 1001 * 999 * 1000
ASKED = (
    "SELECT a, b, c, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m, MEDIAN(cost) AS q, "
    "COUNT(DISTINCT patient) AS p FROM visits GROUP BY a, b, c HAVING COUNT(*) >= 160 AND b <> 'x2'"
)
TYPES = {
    "patient": Type.INTEGER,
    "a": Type.INTEGER,
    "b": Type.TEXT,
    "c": Type.INTEGER,
    "cost": Type.FLOAT,
}


def visits(rows=20_000):
    """Return visits in 40 groups, and in some that are no public values."""
    at = np.arange(rows)
    a = np.where(at % 97 == 0, 5000, at % 5)
    return pa.table(
        {
            "patient": at % 7001,
            "a": pa.array(a, mask=at % 5 == 4),
            "b": [f"x{each}" if each < 4 else f"y{each}" for each in (at // 5 % 5).tolist()],
            "c": at // 25 % 2,
            "cost": (at % 101).astype(float),
        }
    )


def opened(folder, **changes):
    arguments = {"policy": POLICY, "ledger": folder / "visits.ledger", **changes}
    return sessions.open({"visits": visits()}, **arguments)


@pytest.mark.theorem("zero-groups")
def test_a_question_about_a_thousand_million_groups(tmp_path):
    with opened(tmp_path) as session:
        started = time.process_time()
        plan = session.plan(ASKED, epsilon=4)
        first = session.ask(ASKED, epsilon=4)
        spent = time.process_time() - started
        assert f"has {GROUPS} public groups of a, b, c" in str(plan)
        assert spent < 5  # most of it loads what the first answer needs
        found = first.rows()
        assert {row["b"] for row in found} >= {"x0", "x1", "x3"}
        assert all(row["n"] >= 160 and row["b"] != "x2" for row in found)
        assert None in {row["a"] for row in found}
        keys = [(row["a"], row["b"], row["c"]) for row in found]
        assert keys == sorted(keys, key=lambda key: (key[0] is not None, key))
        again = session.ask(ASKED, epsilon=4)
        assert again.replayed
        assert again.to_arrow().equals(first.to_arrow())
        assert session.ledger.verify(receipts=[first.receipt]).ok
    with opened(tmp_path) as session:
        replayed = session.ask(ASKED, epsilon=4)
        assert replayed.replayed
        assert replayed.to_arrow().equals(first.to_arrow())


def test_empty_groups_take_little_time(tmp_path):
    """Thousands of empty groups are shown out of a thousand million."""
    sql = "SELECT a, b, c, COUNT(*) AS n FROM visits GROUP BY a, b, c HAVING n >= 100"
    with opened(tmp_path) as session:
        session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        plan = session.plan(sql, epsilon=1)
        expected = plan.having_threshold.zeros.expected().high
        assert 3000 < expected < 30_000
        started = time.process_time()
        found = session.ask(sql, epsilon=1)
        assert time.process_time() - started < 2
        assert abs(len(found) - expected) < 60 + 5 * float(expected) ** 0.5


def test_engines_agree_about_touched_groups(tmp_path):
    with opened(tmp_path) as session:
        plan = session.plan(ASKED, epsilon=4)
    order = HashOrder(salt=3, portable=True)
    table = visits(3000)
    with DuckDB({"visits": table}) as engine:
        found = flat(engine.run(plan.request, order=order))
    reference = Reference({"visits": table.to_pylist()}, {"visits": TYPES})
    assert found == flat(reference.run(plan.request, order=order))
    assert 20 < len(found["units"]) <= 40


def test_a_draw_of_groups_is_not_measured_again(tmp_path):
    with opened(tmp_path) as session:
        first = session.ask(ASKED, epsilon=4)
        left = session.remaining
        with pytest.raises(WrongKind, match="no number to be averaged"):
            session.remeasure(first, epsilon=5)
        assert session.remaining == left
