"""Units on Spark: collations that blur people are refused, and UUIDs have one form."""

import pytest

import discreet as dp
from discreet.engines.spark_frames import SparkSource
from discreet.errors import BadPolicy
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

RULES = 'format = 1\nunit = "patient"\n{}[limits]\nmax_rows = 5\n'
ONE = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
ROLES = {
    "unit": RULES.format(""),
    "key": RULES.format("").replace('"patient"', '"who"') + '[tables.t]\nkey = ["patient"]\n',
    "pointer": RULES.format("").replace('"patient"', '"who"')
    + '[tables.t.link]\ncolumn = "patient"\nparent = "p"\nkey = "k"\n[tables.p]\n',
}


@pytest.mark.parametrize(
    "collation", ["UTF8_LCASE", "UNICODE_CI", "UNICODE", "UTF8_BINARY_RTRIM", "de_CI_AI"]
)
def test_a_collation_that_blurs_people_is_refused(collation):
    """Three spellings counted as three people, and were one to Spark."""
    session = local_session()
    frame = session.sql(f"SELECT 'Ana' COLLATE {collation} AS patient, 'a' AS who")
    other = session.sql("SELECT 'Ana' AS k, 'a' AS who")
    for rules in ROLES.values():
        with pytest.raises(BadPolicy, match="collation"):
            dp.open(
                {"t": frame, "p": other} if "link" in rules else {"t": frame},
                policy=rules,
                test_mode=True,
            )


def test_a_text_that_is_filled_up_is_refused(tmp_path):
    session = local_session()
    session.sql("DROP TABLE IF EXISTS padded")
    session.sql(
        f"CREATE TABLE padded (patient CHAR(5), name VARCHAR(5)) USING parquet"
        f" LOCATION '{tmp_path / 'padded'}'"
    )
    try:
        found = SparkSource.of(session.table("padded"), table="padded").stored
        assert found["patient"].blurred
        assert not found["name"].blurred
        with pytest.raises(BadPolicy, match="blanks"):
            dp.open({"padded": session.table("padded")}, policy=RULES.format(""), test_mode=True)
    finally:
        session.sql("DROP TABLE padded")


def test_types_are_told_as_spark_calls_them():
    frame = local_session().sql(
        "SELECT CAST(1 AS DECIMAL(9, 2)) AS d, 'a' AS t, CAST(1 AS FLOAT) AS f, 'b' COLLATE"
        " UTF8_LCASE AS l"
    )
    found = SparkSource.of(frame, table="t").stored
    assert {name: (value.native, value.form) for name, value in found.items()} == {
        "d": ("decimal(9,2)", None),
        "t": ("string", "text"),
        "f": ("float", None),
        "l": ("string collate UTF8_LCASE", "text"),
    }


def test_a_uuid_in_upper_case_is_the_same_person():
    session = local_session()
    one = session.createDataFrame([(ONE,), (ONE.upper(),), ("no uuid",), (None,)], "patient string")
    other = session.createDataFrame([("{" + ONE.upper() + "}",)], "patient string")
    rules = RULES.format('unit_form = "uuid"\n')
    question = (
        "SELECT COUNT(DISTINCT patient) AS n, COUNT(*) AS rows FROM"
        " (SELECT patient FROM t UNION ALL SELECT patient FROM p) AS both"
    )
    with dp.open({"t": one, "p": other}, policy=rules, test_mode=True) as opened:
        (row,) = opened.ask(question, epsilon=10**20).rows()
    assert (row["n"], row["rows"]) == (1, 3)
