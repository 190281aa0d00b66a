"""Questions in the dialects that people have: one question, however it is written."""

import pytest

import discreet as dp
from discreet.errors import BadPolicy, QuestionError, UnknownName, WrongKind
from discreet.plan.policy.policy import read_policy
from discreet.query import canonical, read
from tests.session.clinic import POLICY, in_test_mode, visits

PLAIN = "SELECT ward, COUNT(*) AS n FROM visits WHERE region = 'north' GROUP BY ward"
WRITTEN = [
    ("bigquery", PLAIN.replace("ward", "`ward`").replace("'north'", '"north"')),
    ("postgres", PLAIN.replace("ward", '"ward"')),
    ("snowflake", PLAIN.replace("ward", '"ward"')),
    ("tsql", PLAIN.replace("ward", "[ward]")),
    ("duckdb", PLAIN + ";"),
    (None, PLAIN.replace("ward", '"ward"').replace("region", "`region`")),
]


@pytest.mark.parametrize(("dialect", "text"), WRITTEN)
def test_a_question_is_the_same_in_every_dialect(dialect, text):
    assert canonical(read(text, dialect)) == canonical(read(PLAIN))


@pytest.mark.parametrize("dialect", ["bigquery", "duckdb", "postgres", "spark", "tsql"])
def test_the_clause_is_read_in_every_dialect(dialect):
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, max_groups_contributed = 1)"
    text = PLAIN.replace("SELECT", clause) + " HAVING COUNT(*, epsilon => 0.25) > 1"
    question = read(text, dialect)
    assert float(question.clause.epsilon) == 0.5
    assert canonical(question) == canonical(read(text))


def test_a_session_and_a_question_name_their_dialect():
    with in_test_mode() as session:
        plain = session.plan(PLAIN, epsilon=1)
        for dialect, text in WRITTEN:
            assert session.plan(text, epsilon=1, dialect=dialect).digest == plain.digest
    with dp.open(
        {"visits": visits()}, policy=POLICY, test_mode=True, dialect="bigquery"
    ) as session:
        text = dict(WRITTEN)["bigquery"]
        answer = session.ask(text, epsilon=1)
        assert answer.plan.digest == plain.digest
        assert session.ask(dict(WRITTEN)["postgres"], epsilon=1, dialect="postgres").replayed


@pytest.mark.parametrize("dialect", ["latin", 5, "duckdb, foo=bar", "mysql", "sqlite"])
def test_other_dialects_are_refused(dialect):
    with pytest.raises(UnknownName, match="dialect"):
        dp.open({"visits": visits()}, policy=POLICY, test_mode=True, dialect=dialect)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH ROLLUP",
        "SELECT COUNT(*) FROM visits LIMIT 5 WITH TIES",
        "SELECT COUNT(*) FROM visits ORDER BY 1 WITH FILL",
        "SELECT DISTINCT ON (ward) ward FROM visits",
        "SELECT COUNT(*) |> WHERE x",
        "SELECT COUNT(*) FROM visits CONNECT BY PRIOR a = b",
        "SELECT COUNT(*) FROM visits CLUSTER BY ward",
        "SELECT COUNT(*) FROM visits v USE INDEX (i)",
        "SELECT SUM(cost) PER ward FROM visits",
        "SELECT COUNT(*) FROM visits WHERE region = _utf8 'north'",
        "SELECT COUNT(*) FROM visits WHERE day = {d '2025-01-01'}",
        "SELECT COUNT(*) FROM visits WHERE a AT TIME ZONE 'UTC' = b",
        "SELECT COUNT(*) FROM visits WHERE x ->> 'a' = 'b'",
        "SELECT COUNT(*) FROM visits WHERE (a, b) OVERLAPS (c, d)",
        "SELECT COUNT(*) FILTER (WHERE a) FILTER (WHERE b) FROM visits",
        "SELECT COUNT(*) FROM visits; DROP TABLE visits",
        "EXPLAIN SELECT COUNT(*) FROM visits",
        "DESCRIBE visits",
        "SET x = 1",
    ],
)
@pytest.mark.parametrize("dialect", [None, "duckdb", "postgres", "bigquery", "clickhouse", "tsql"])
def test_what_sqlglot_reads_beyond_the_dialect_is_refused(dialect, text):
    with pytest.raises(QuestionError):
        read(text, dialect)


@pytest.mark.parametrize("dialect", ["postgres", "tsql", "redshift", "trino"])
def test_a_division_that_drops_remainders_elsewhere_is_refused(dialect):
    with pytest.raises(QuestionError, match="drops the remainder"):
        read("SELECT SUM(cost / 2) AS s FROM visits", dialect)
    for text in ("cost * 1.0 / 2", "CAST(cost AS FLOAT) / 2"):
        read(f"SELECT SUM({text}) AS s FROM visits", dialect)  # noqa: S608 (of this test)


def test_ilike_lowers_the_letters_that_lower_does():
    text = "SELECT COUNT(*) AS n FROM visits WHERE region ILIKE 'ÉCOLE%'"
    plain = "SELECT COUNT(*) AS n FROM visits WHERE LOWER(region) LIKE 'École%'"
    assert canonical(read(text)) == canonical(read(plain))


@pytest.mark.parametrize("end", ["LIMIT 3", "ORDER BY a", "OFFSET 1"])
def test_a_union_has_no_order(end):
    with pytest.raises(QuestionError):
        read(f"SELECT COUNT(*) AS n FROM (SELECT a FROM u UNION ALL SELECT a FROM v {end}) x")  # noqa: S608


def test_values_can_be_given_apart_from_the_text():
    text = PLAIN.replace("'north'", ":region")
    with in_test_mode() as session:
        plain = session.plan(PLAIN, epsilon=1)
        assert session.plan(text, epsilon=1, params={"region": "north"}).digest == plain.digest
        assert session.plan(text, epsilon=1, params={"region": "south"}).digest != plain.digest
        with pytest.raises(WrongKind, match="beside"):
            session.ask(plain, params={"region": "south"})
        with pytest.raises(WrongKind, match="not text"):
            session.plan(plain.question, epsilon=1, params=["north"])


def test_a_policy_names_the_dialect_of_its_analysts():
    policy = POLICY.replace("format = 1", 'format = 1\ndialect = "bigquery"')
    bigquery, postgres = (dict(WRITTEN)[name] for name in ("bigquery", "postgres"))
    with dp.open({"visits": visits()}, policy=policy, test_mode=True) as session:
        assert session.plan(bigquery, epsilon=1) == session.plan(
            postgres, epsilon=1, dialect="postgres"
        )
        assert read_policy(read_policy(policy).written()).dialect == "bigquery"
    with pytest.raises(BadPolicy, match="dialect"):
        read_policy(policy.replace("bigquery", "latin"))


def test_pages_of_groups_are_those_of_the_whole_answer():
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"
    with in_test_mode() as session:
        whole = session.ask(text, epsilon=10**9).rows()
        pages = [
            row
            for start in range(len(whole))
            for row in session.ask(f"{text} LIMIT 1 OFFSET {start}", epsilon=10**9).rows()
        ]
        assert [row["n"] for row in pages] == [row["n"] for row in whole]
        assert len(session.ask(f"{text} OFFSET 1", epsilon=10**9).rows()) == len(whole) - 1
