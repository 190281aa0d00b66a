"""The order of hashes: canonical texts, and the meaning of salt and purpose."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

from datetime import date, datetime
from hashlib import md5

import duckdb
import pytest

from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import HashOrder
from discreet.errors import OutOfRange, WrongKind
from discreet.query.types import Type
from tests.reference.order import GROUPS, LEAVES, place, text_of


def test_texts_are_pinned():
    values = (
        None,
        True,
        -5,
        "é:1",
        date(1, 2, 3),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        0.1,
        -0.0,
    )
    text = text_of(HashOrder(salt=2**63 - 1), LEAVES, values)
    assert text == "9223372036854775807 leaves-4:true2:-53:é:110:0001-02-037:-9999993:0.13:0.0"
    assert place(HashOrder(salt=0), GROUPS, ()) == md5(b"0 groups").hexdigest()  # noqa: S324


@pytest.mark.parametrize(
    ("salt", "error"), [(-1, OutOfRange), (2**63, OutOfRange), (1.5, WrongKind)]
)
def test_a_salt_is_a_number_of_63_bits(salt, error):
    with pytest.raises(error):
        HashOrder(salt=salt)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("salt", [1, 2**40 + 7, 2**62 + 12345])
def test_no_group_is_kept_more_often_than_others(salt, portable):
    """Of six groups 4,000 units keep four: each group is kept 2,667 times, give or take 8 x 30."""
    cell = [(DUCKDB.column("u0"), Type.INTEGER), (DUCKDB.column("k0"), Type.TEXT)]
    order = DUCKDB.printed(DUCKDB.place(GROUPS, cell, portable=portable))
    statement = f"""
        SELECT k0, count(*) FROM (
            SELECT k0, row_number() OVER (PARTITION BY u0 ORDER BY {order}) AS n
            FROM range(4000) AS u(u0),
            (SELECT unnest(['chol', 'dbp', 'fib4', 'hdl', 'sbp', 'smoke']) AS k0)
        ) WHERE n <= 4 GROUP BY k0"""  # noqa: S608
    with duckdb.connect() as connection:
        connection.execute(f"SET VARIABLE salt = {salt}::BIGINT")
        kept = dict(connection.execute(statement).fetchall())
    assert len(kept) == 6
    assert all(abs(count - 8000 / 3) < 240 for count in kept.values()), kept
