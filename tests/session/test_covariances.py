"""Covariances and correlations, as formulas of means."""

import duckdb
import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.errors import QuestionError

POLICY = """
format = 1
unit = "id"
[limits]
max_rows = 1
max_groups = 1
[tables.t.columns]
id = {type = "integer", nullable = false}
g = {type = "text", categories = ["a", "b"]}
x = {type = "integer", low = 0, high = 100}
y = {type = "float", low = -10, high = 100}
"""
SIZE = 4000
XS = [number * 7919 % 101 for number in range(SIZE)]
YS = [None if n % 13 == 5 else 0.5 * x + n * 104729 % 40 - 5 for n, x in enumerate(XS)]
ROWS = pa.table(
    {
        "id": range(SIZE),
        "g": ["ab"[number % 2] for number in range(SIZE)],
        "x": XS,
        "y": pa.array(YS, pa.float64()),
    }
)
ASKED = (
    "SELECT CORR(x, y) AS r, COVAR_POP(x, y) AS p, COVAR_SAMP(x, y) AS s FROM t",
    "SELECT g, CORR(y, x) AS r FROM t GROUP BY g ORDER BY g",
    "SELECT CORR(x, y) FILTER (WHERE x > 50) AS r FROM t",
    "SELECT CORR(x, x) AS r FROM t",
)


@pytest.fixture(scope="module")
def session():
    with sessions.open({"t": ROWS}, policy=POLICY, test_mode=True) as opened:
        yield opened


def truth(sql):
    with duckdb.connect() as connection:
        connection.register("t", ROWS)
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_it_is_what_sql_says(sql, session):
    answer = session.ask(sql, epsilon=10**9).rows()
    for row, expected in zip(answer, truth(sql), strict=True):
        for name, value in expected.items():
            close = pytest.approx(value, rel=1e-4) if isinstance(value, float) else value
            assert row[name] == close


def rows_of(session, sql):
    return session.ask(sql, epsilon=1, confidence="0.9999999").rows()


def test_with_noise_it_stays_a_correlation_inside_its_interval(session):
    for sql in ASKED[:3]:
        for row, expected in zip(rows_of(session, sql), truth(sql), strict=True):
            assert -1 <= row["r"] <= 1
            assert row["r_low"] <= expected["r"] <= row["r_high"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CORR(x) AS r FROM t",
        "SELECT CORR(x, y, x) AS r FROM t",
        "SELECT CORR(DISTINCT x, y) AS r FROM t",
        "SELECT CORR(x, y, contribution_bounds_per_row => (0, 1)) AS r FROM t",
        "SELECT CORR(*) AS r FROM t",
    ],
)
def test_other_forms_are_refused(sql, session):
    with pytest.raises(QuestionError):
        session.plan(sql, epsilon=1)
