"""One text for one question: what may differ, and what must not."""

import itertools
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.query import (
    Scan,
    Type,
    canonical,
    read,
    read_expression,
    said,
    transformed,
    walk,
)
from discreet.query.canonical import form
from discreet.query.expressions import Call, Column
from tests.query.dialect import ACCEPTED
from tests.query.expressions import expressions
from tests.query.question_text import drawn_relation

SAME = {
    "space": ("SELECT COUNT(*) AS n FROM t", "SELECT\n  COUNT( * )   AS n\nFROM t ;"),
    "comments": ("SELECT COUNT(*) AS n FROM t", "SELECT /* all */ COUNT(*) AS n FROM t -- rows"),
    "case": (
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a",
        "select A, count(*) as N from T group by a",
    ),
    "alias of a table": (
        "SELECT SUM(a) FROM t WHERE b > 1",
        "SELECT SUM(x.a) FROM t AS x WHERE x.b > 1",
    ),
    "name of a table": ("SELECT SUM(a) FROM s.t", "SELECT SUM(t.a) FROM s.t"),
    "aliases in joins": (
        "SELECT SUM(x.a) FROM t AS x JOIN u AS y ON x.k = y.k",
        "SELECT SUM(t.a) FROM t INNER JOIN u z ON z.k = t.k",
    ),
    "order of AND": (
        "SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2 AND c",
        "SELECT COUNT(*) FROM t WHERE c AND (b = 2 AND a = 1)",
    ),
    "order of OR": ("SELECT COUNT(*) FROM t WHERE a OR b", "SELECT COUNT(*) FROM t WHERE b OR a"),
    "sides of =": ("SELECT COUNT(*) FROM t WHERE a = b", "SELECT COUNT(*) FROM t WHERE b = a"),
    "sides of <": ("SELECT COUNT(*) FROM t WHERE a < 1", "SELECT COUNT(*) FROM t WHERE 1 > a"),
    "sides of >=": ("SELECT COUNT(*) FROM t WHERE a >= b", "SELECT COUNT(*) FROM t WHERE b <= a"),
    "order of + and *": ("SELECT SUM(a + b * c) FROM t", "SELECT SUM(c * b + a) FROM t"),
    "order of least": ("SELECT SUM(LEAST(a, b, 1)) FROM t", "SELECT SUM(LEAST(1, b, a)) FROM t"),
    "order of IN": (
        "SELECT COUNT(*) FROM t WHERE a IN (1, 2)",
        "SELECT COUNT(*) FROM t WHERE a IN (2, 1, 2.0)",
    ),
    "parentheses": ("SELECT COUNT(*) FROM t WHERE a", "SELECT (COUNT(*)) FROM t WHERE ((a))"),
    "numbers": (
        "SELECT SUM(a * 1.50) FROM t WHERE b = 100",
        "SELECT SUM(a * 1.5) FROM t WHERE b = 1e2",
    ),
    "between": (
        "SELECT COUNT(*) FROM t WHERE a BETWEEN 1 AND 2",
        "SELECT COUNT(*) FROM t WHERE a <= 2 AND a >= 1",
    ),
    "not equal": ("SELECT COUNT(*) FROM t WHERE a != 1", "SELECT COUNT(*) FROM t WHERE a <> 1"),
    "not in": (
        "SELECT COUNT(*) FROM t WHERE a NOT IN (1)",
        "SELECT COUNT(*) FROM t WHERE NOT a IN (1)",
    ),
    "countif": ("SELECT COUNTIF(a) AS n FROM t", "SELECT COUNT(*) FILTER (WHERE a) AS n FROM t"),
    "synonyms": (
        "SELECT MEDIAN(a) AS m, STDDEV(a) AS s FROM t",
        "SELECT PERCENTILE_CONT(a, 0.5) AS m, STDDEV_SAMP(a) AS s FROM t",
    ),
    "order spelled out": (
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY a, n DESC",
        "SELECT ALL a, COUNT(*) n FROM t GROUP BY 1 ORDER BY 1 ASC NULLS FIRST, 2 DESC NULLS LAST",
    ),
    "keys by alias": (
        "SELECT LOWER(a) AS k FROM t GROUP BY k",
        "SELECT LOWER(a) AS k FROM t GROUP BY LOWER(A)",
    ),
    "names of outputs spelled out": (
        "SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT a AS a, COUNT(*) AS count FROM t GROUP BY a",
    ),
    "distinct": ("SELECT DISTINCT a, b FROM t", "SELECT a, b FROM t GROUP BY a, b"),
    "subqueries named before": (
        "SELECT COUNT(*) FROM (SELECT a FROM t) AS s",
        "WITH x AS (SELECT a FROM t) SELECT COUNT(*) FROM x",
    ),
    "a subquery of all columns": (
        "SELECT SUM(a) FROM t WHERE b",
        "SELECT SUM(s.a) FROM (SELECT * FROM t) AS s WHERE s.b",
    ),
    "an empty clause": (
        "SELECT COUNT(*) FROM t",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS() COUNT(*) FROM t",
    ),
    "numbers of the clause": (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, delta = 1e-5) COUNT(*) FROM t",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(DELTA = .00001, EPSILON = 1e-1) COUNT(*) FROM t",
    ),
    "order of a partition": (
        "SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY a, b) AS r FROM t)",
        "SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY b, a) AS r FROM t)",
    ),
}

DIFFERENT = """
SELECT COUNT(*) AS n FROM t
SELECT COUNT(*) AS m FROM t
SELECT COUNT(*) AS n, COUNT(*) AS m FROM t
SELECT COUNT(*) AS m, COUNT(*) AS n FROM t
SELECT COUNT(*) AS n FROM u
SELECT COUNT(*) AS n FROM s.t
SELECT COUNT(a) AS n FROM t
SELECT COUNT(DISTINCT a) AS n FROM t
SELECT COUNT(*) AS n FROM t WHERE a
SELECT COUNT(*) AS n FROM t WHERE NOT a
SELECT COUNT(*) AS n FROM t WHERE a IS NULL
SELECT COUNT(*) AS n FROM t WHERE a = 1
SELECT COUNT(*) AS n FROM t WHERE a = '1'
SELECT COUNT(*) AS n FROM t WHERE a = TRUE
SELECT COUNT(*) AS n FROM t WHERE a = 'true'
SELECT COUNT(*) AS n FROM t WHERE a = DATE '2025-01-01'
SELECT COUNT(*) AS n FROM t WHERE a = '2025-01-01'
SELECT COUNT(*) AS n FROM t WHERE a = TIMESTAMP '2025-01-01 00:00:00'
SELECT COUNT(*) AS n FROM t WHERE a = NULL
SELECT COUNT(*) AS n FROM t WHERE a = 'NULL'
SELECT COUNT(*) AS n FROM t WHERE a = 'A'
SELECT COUNT(*) AS n FROM t WHERE a = 'a'
SELECT COUNT(*) AS n FROM t WHERE a = 'a '
SELECT COUNT(*) AS n FROM t WHERE a = b
SELECT COUNT(*) AS n FROM t WHERE a <> b
SELECT COUNT(*) AS n FROM t WHERE a < b
SELECT COUNT(*) AS n FROM t WHERE a > b
SELECT COUNT(*) AS n FROM t WHERE a <= b
SELECT COUNT(*) AS n FROM t WHERE a >= b
SELECT COUNT(*) AS n FROM t WHERE a AND b OR c
SELECT COUNT(*) AS n FROM t WHERE a AND (b OR c)
SELECT COUNT(*) AS n FROM t WHERE a IN (1, 2)
SELECT COUNT(*) AS n FROM t WHERE a IN (1, 3)
SELECT COUNT(*) AS n FROM t WHERE a IN ('1', '2')
SELECT COUNT(*) AS n FROM t WHERE a LIKE 'b'
SELECT COUNT(*) FILTER (WHERE a) AS n FROM t
SELECT SUM(a) AS n FROM t
SELECT SUM(a - b) AS n FROM t
SELECT SUM(b - a) AS n FROM t
SELECT SUM(a / b) AS n FROM t
SELECT SUM(b / a) AS n FROM t
SELECT SUM(a + b + c) AS n FROM t
SELECT SUM(a + (b + c)) AS n FROM t
SELECT SUM(DIV(a, b)) AS n FROM t
SELECT SUM(CAST(a AS INTEGER)) AS n FROM t
SELECT SUM(CAST(a AS FLOAT)) AS n FROM t
SELECT SUM(CASE WHEN a THEN 1 END) AS n FROM t
SELECT SUM(CASE WHEN a THEN 1 ELSE NULL END) AS n FROM t
SELECT SUM(CASE WHEN a THEN 1 ELSE 0 END) AS n FROM t
SELECT SUM(COALESCE(a, b)) AS n FROM t
SELECT SUM(COALESCE(b, a)) AS n FROM t
SELECT SUM(a, contribution_bounds_per_row => (0, 1)) AS n FROM t
SELECT SUM(a, contribution_bounds_per_group => (0, 1)) AS n FROM t
SELECT SUM(a, contribution_bounds_per_group => (0, 2)) AS n FROM t
SELECT SUM(a, epsilon => 1) AS n FROM t
SELECT PERCENTILE_CONT(a, 0.5) AS n FROM t
SELECT PERCENTILE_CONT(a, 0.25) AS n FROM t
SELECT COUNT(*) AS n FROM t GROUP BY a
SELECT COUNT(*) AS n FROM t GROUP BY b
SELECT COUNT(*) AS n FROM t GROUP BY a, b
SELECT a, COUNT(*) AS n FROM t GROUP BY a
SELECT b, COUNT(*) AS n FROM t GROUP BY b
SELECT a AS b, COUNT(*) AS n FROM t GROUP BY a
SELECT a, COUNT(*) AS n FROM t GROUP BY a HAVING n > 1
SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n
SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY a
SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n DESC
SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n NULLS LAST
SELECT a, COUNT(*) AS n FROM t GROUP BY a LIMIT 1
SELECT a, COUNT(*) AS n FROM t GROUP BY a LIMIT 2
SELECT COUNT(*) AS n FROM t, u
SELECT COUNT(*) AS n FROM u, t
SELECT COUNT(*) AS n FROM t JOIN u ON t.a = u.a
SELECT COUNT(*) AS n FROM t JOIN u ON t.a = t.a
SELECT COUNT(*) AS n FROM t JOIN u ON a = u.a
SELECT COUNT(*) AS n FROM t JOIN u USING (a)
SELECT COUNT(*) AS n FROM t LEFT JOIN u USING (a)
SELECT COUNT(*) AS n FROM t RIGHT JOIN u USING (a)
SELECT COUNT(*) AS n FROM t FULL JOIN u USING (a)
SELECT COUNT(*) AS n FROM t JOIN u USING (a, b)
SELECT COUNT(*) AS n FROM (SELECT a FROM t)
SELECT COUNT(*) AS n FROM (SELECT a AS b FROM t)
SELECT COUNT(*) AS n FROM (SELECT DISTINCT a FROM t)
SELECT COUNT(*) AS n FROM (SELECT DISTINCT * FROM t)
SELECT COUNT(*) AS n FROM (SELECT a FROM t GROUP BY a)
SELECT COUNT(*) AS n FROM (SELECT a, COUNT(*) AS b FROM t GROUP BY a)
SELECT COUNT(*) AS n FROM (SELECT a FROM t UNION ALL SELECT a FROM t)
SELECT COUNT(*) AS n FROM (SELECT a FROM t UNION ALL SELECT a FROM u)
SELECT COUNT(*) AS n FROM (SELECT RANK() OVER (PARTITION BY a ORDER BY b) AS r FROM t)
SELECT COUNT(*) AS n FROM (SELECT RANK() OVER (PARTITION BY a ORDER BY b DESC) AS r FROM t)
SELECT COUNT(*) AS n FROM (SELECT RANK() OVER (PARTITION BY a, b) AS r FROM t)
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rho = 1) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 0) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = a) COUNT(*) AS n FROM t
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = LAPLACE) COUNT(*) AS n FROM t
""".strip().splitlines()


@pytest.mark.parametrize("name", SAME)
def test_the_same_question(name):
    one, two = SAME[name]
    assert canonical(read(one)) == canonical(read(two))


def test_different_questions():
    texts = [canonical(read(sql)) for sql in DIFFERENT]
    twins = [
        (DIFFERENT[one], DIFFERENT[two])
        for one, two in itertools.combinations(range(len(texts)), 2)
        if texts[one] == texts[two]
    ]
    assert twins == []


def test_the_dialect_has_no_twins():
    texts = {}
    for entry in ACCEPTED:
        texts.setdefault(canonical(read(entry.sql)), []).append(entry.rule)
    assert [rules for rules in texts.values() if len(rules) > 1] == []


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_the_text_is_json_in_ascii(entry):
    text = canonical(read(entry.sql))
    assert text.isascii()
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text


def scope(count=1):
    return [frozenset({"t"})][:count]


@settings(max_examples=300)
@given(expressions)
def test_the_form_of_an_expression_survives_its_words(expression):
    assert form(read_expression(said(expression)), scope()) == form(expression, scope())


SMALL = expressions.filter(lambda expression: len(list(walk(expression))) < 30)


@settings(max_examples=200)
@given(st.lists(SMALL, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_operands_in_any_order(parts, chance):
    shuffled = list(parts)
    chance.shuffle(shuffled)
    for name in ("AND", "OR", "LEAST"):
        assert form(Call(name, tuple(parts)), scope()) == form(Call(name, tuple(shuffled)), scope())
    nested = Call("AND", (parts[0], Call("AND", (*parts[1:], parts[1]))))
    parts = [*parts, parts[1]]
    assert form(nested, scope()) == form(Call("AND", tuple(parts)), scope())


@settings(max_examples=200)
@given(expressions, st.integers(0, 20))
def test_one_changed_leaf_changes_the_form(expression, number):
    leaves = [node for node in walk(expression) if isinstance(node, Column)]
    assume(leaves)
    chosen = leaves[number % len(leaves)]
    changed = transformed(expression, lambda node: Column("elsewhere") if node is chosen else None)
    assert form(changed, scope()) != form(expression, scope())


def test_a_qualifier_that_names_no_table_stays():
    one = form(read("SELECT COUNT(*) FROM t WHERE x.a").relation)
    two = form(read("SELECT COUNT(*) FROM t WHERE t.a").relation)
    three = form(read("SELECT COUNT(*) FROM t WHERE a").relation)
    assert one != two
    assert two == three


def test_two_tables_of_one_name_are_told_apart():
    one = read("SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.a = y.b")
    two = read("SELECT COUNT(*) FROM t AS x JOIN t AS y ON y.a = x.b")
    assert canonical(one) != canonical(two)


def test_bound_relations_have_a_form_and_a_picture():
    scan = Scan("Visits", (("Ward", Type.TEXT),))
    assert form(scan) == ["scan", "visits", [["ward", "TEXT"]]]
    assert drawn_relation(scan) == "scan Visits (Ward TEXT)"
