"""Every construct at its bound, with and without the one person whose rows reach it.

An answer that fails tells whoever asked that somebody's rows were too many.  Here the memory of the
engine is small, others have hardly any rows, and one person has all that a question can multiply.
"""

# ruff: noqa: S608 (all text here is ours)

import contextlib
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import Performance
from discreet.errors import EngineFailed, NotAllowed, UnsupportedSQL
from discreet.plan.binding import fan_out as bounded_units
from discreet.plan.binding.fan_out import MOST_FAN_OUT
from discreet.query.functions import LONGEST_TEXT, _like
from discreet.requests.text_limits import LONGEST_HELD, MOST_TEXTS

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 5
max_groups = 3
[tables.visits.columns]
patient = {type = "integer"}
visit = {type = "integer"}
tag = {type = "text"}
cost = {type = "float", low = 0, high = 100}
age = {type = "integer", low = 0, high = 150}
note = {type = "text"}
memo = {type = "text"}
[tables.areas]
public = true
[tables.areas.columns]
area = {type = "integer"}
tag = {type = "text"}
[tables.many]
public = true
[tables.many.columns]
area = {type = "integer"}
tag = {type = "text"}
"""
PEOPLE = 50
AREAS = pa.table({"area": range(MOST_FAN_OUT), "tag": ["x"] * MOST_FAN_OUT})
MANY = pa.table({"area": range(MOST_FAN_OUT + 1), "tag": ["x"] * (MOST_FAN_OUT + 1)})
NOTE = "\N{MATHEMATICAL SCRIPT SMALL A}" * (
    LONGEST_HELD // MOST_FAN_OUT
)  # the longest that is held
MEMO = "a" * LONGEST_TEXT  # the longest that functions take
SMALL = Performance(threads=2, memory="400MB")

PERSON = (
    "SELECT COUNT(*) AS n FROM (SELECT {what} FROM {tables} GROUP BY v.patient{by}) WHERE c > 0"
)
EQUAL = "visits v JOIN areas a ON v.tag = a.tag"
UNEQUAL = "visits v JOIN areas a ON v.age > 100 AND a.area >= 0"
PAIRS = "visits v JOIN visits w ON v.patient = w.patient"


def by_person(what, tables, by=""):
    return PERSON.format(what=f"v.patient, {what} AS c", tables=tables, by=by)


UNION = " UNION ALL ".join(["SELECT patient, cost FROM visits"] * MOST_FAN_OUT)
TOWER = "note"
for _ in range(5):
    TOWER = f"CONCAT({TOWER}, note)"
QUESTIONS = {
    "equal": by_person("SUM(v.cost)", EQUAL),
    "unequal": by_person("SUM(v.cost)", UNEQUAL),
    "left": by_person("SUM(v.cost)", EQUAL.replace("JOIN", "LEFT JOIN")),
    "crossed": by_person("SUM(v.cost)", "visits v CROSS JOIN areas a"),
    "distinct": by_person("COUNT(DISTINCT v.visit * 100 + a.area)", EQUAL),
    "texts": by_person("MAX(LENGTH(v.note))", EQUAL, ", v.note, a.area"),
    "largest": "SELECT COUNT(*) AS n FROM (SELECT v.patient, a.area, MAX(v.note) AS c "
    f"FROM {EQUAL} GROUP BY v.patient, a.area) WHERE c > ''",
    "pairs": by_person("SUM(v.cost)", PAIRS),
    "triples": by_person("SUM(v.cost)", f"{PAIRS} JOIN visits x ON v.patient = x.patient"),
    "full": f"SELECT COUNT(*) AS n FROM {PAIRS.replace('JOIN', 'FULL JOIN')}",
    "union": f"SELECT COUNT(*) AS n FROM ({UNION}) WHERE cost > 0",
    "rows": f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT v.patient, v.note, a.area FROM {EQUAL})",
    "ranks": "SELECT COUNT(*) AS n FROM (SELECT v.patient, ROW_NUMBER() OVER (PARTITION BY "
    f"v.patient ORDER BY v.cost, v.note) AS r FROM {EQUAL}) WHERE r = 1",
    "running": "SELECT COUNT(*) AS n FROM (SELECT v.patient, SUM(v.age) OVER (PARTITION BY "
    f"v.patient ORDER BY a.area) AS s FROM {EQUAL}) WHERE s > 0",
    "tower": f"SELECT COUNT({TOWER}) AS n FROM visits",
    "replaced": "SELECT COUNT(REPLACE(REPLACE(SUBSTR(memo, 1, 100), 'a', 'bbbbbbbb'), 'b', "
    "'cccccccc')) AS n FROM visits",
    "cases": "SELECT COUNT(LOWER(UPPER(TRIM(memo)))) AS n FROM visits",
    "like": "SELECT COUNT(*) AS n FROM visits WHERE memo LIKE '%a_a%a_a%a_a%a_a%a_a%b'",
}


def visits(rows, *, present):
    """Return two plain rows of each person, and those of the one who has the property."""
    plain = [(number // 2, number, "y", 1.0, 40, "", "") for number in range(2 * PEOPLE)]
    own = (
        [(999, 10**6 + number, "x", number / 7, 120, NOTE, MEMO) for number in range(rows)]
        if present
        else []
    )
    names = ("patient", "visit", "tag", "cost", "age", "note", "memo")
    return pa.table(dict(zip(names, map(list, zip(*plain, *own, strict=True)), strict=True)))


def opened(rows, *, present, **more):
    tables = {"visits": visits(rows, present=present), "areas": AREAS, "many": MANY}
    policy = more.get("policy", POLICY)
    return dp.open(tables, policy=policy, test_mode=True, performance=SMALL)


def check(question, rows):
    """Both answers are there, and differ by no more than was promised."""
    counts = []
    for present in (False, True):
        with opened(rows, present=present) as session:
            counts.append(session.ask(question, epsilon=10**6).to_arrow().column(0)[0].as_py())
    assert 0 <= counts[1] - counts[0] <= 15


@pytest.mark.parametrize("name", QUESTIONS)
def test_nobody_makes_an_answer_fail(name):
    check(QUESTIONS[name], rows=20)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_nobody_with_many_rows_makes_an_answer_fail(name):
    check(QUESTIONS[name], rows=1000)


WINDOWS = {
    "before": "SELECT COUNT(*) AS n FROM (SELECT patient, LAG(note) OVER (PARTITION BY patient "
    "ORDER BY cost) AS b FROM visits) WHERE LENGTH(b) >= 0",
    "first": "SELECT COUNT(*) AS n FROM (SELECT patient, note, ROW_NUMBER() OVER (PARTITION BY "
    "patient ORDER BY cost) AS r FROM visits) WHERE r = 1 AND LENGTH(note) >= 0",
    "least": "SELECT COUNT(*) AS n FROM (SELECT patient, MIN(note) OVER (PARTITION BY patient "
    "ORDER BY visit) AS m FROM visits) WHERE LENGTH(m) >= 0",
}


def held(question, rows, memory, *, present=True):
    """Answer a question where one person has many rows with the longest texts that are held."""
    plain = 2 * PEOPLE
    size = plain + (rows if present else 0)
    table = pa.table(
        {
            "patient": [*(number // 2 for number in range(plain)), *[999] * (size - plain)],
            "visit": range(size),
            "tag": ["y"] * size,
            "cost": [1.0] * size,
            "age": [40] * size,
            "note": [*[""] * plain, *["a" * LONGEST_HELD] * (size - plain)],
            "memo": [""] * size,
        }
    )
    tables = {"visits": table, "areas": AREAS, "many": MANY}
    small = Performance(threads=2, memory=memory)
    with dp.open(tables, policy=POLICY, test_mode=True, performance=small) as session:
        return session.ask(question, epsilon=10**6).to_arrow().column(0)[0].as_py()


@pytest.mark.theorem("bounded-units")
def test_whoever_fills_the_memory_of_a_window_is_left_out(monkeypatch):
    """Without the bound the question fails because of one person's rows, and tells of them."""
    question, rows, memory = WINDOWS["before"], 8000, "100MB"
    monkeypatch.setattr(bounded_units, "MOST_TEXT", 2**22)
    absent = held(question, rows, memory, present=False)
    assert held(question, rows, memory) == absent == PEOPLE
    monkeypatch.setattr(bounded_units, "MOST_TEXT", 2**60)
    with pytest.raises(EngineFailed):
        held(question, rows, memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("rows", [bounded_units.MOST_TEXT // LONGEST_HELD, 50_000])
def test_nobody_at_the_limit_of_windows_or_beyond_makes_an_answer_fail(name, rows):
    counts = [held(WINDOWS[name], rows, "400MB", present=present) for present in (False, True)]
    assert 0 <= counts[1] - counts[0] <= 15


@pytest.mark.parametrize(
    "tables",
    [
        "visits v JOIN many a ON v.tag = a.tag",
        "visits v JOIN many a ON v.age > 100",
        "visits v CROSS JOIN many a",
        "visits v JOIN areas a ON v.tag = a.tag JOIN areas b ON v.tag = b.tag",
        f"({UNION} UNION ALL SELECT patient, cost FROM visits) v",
    ],
)
def test_what_multiplies_further_is_refused_from_the_question_alone(tables):
    told = set()
    for present in (False, True):
        with opened(1, present=present) as session, pytest.raises(NotAllowed) as caught:
            session.plan(f"SELECT COUNT(*) AS n FROM {tables}", epsilon=1)
        told.add(str(caught.value))
    assert len(told) == 1


def test_the_owner_may_allow_more():
    policy = POLICY.replace("[limits]", f"[limits]\nmax_fan_out = {MOST_FAN_OUT + 1}")
    with opened(1, present=True, policy=policy) as session:
        session.ask(by_person("SUM(v.cost)", "visits v JOIN many a ON v.tag = a.tag"), epsilon=1)


ONE_ROW = 'format = 1\nunit = "patient"\n[limits]\nmax_rows = 1\n'
PAIRS_OF_LETTERS = ", 'a', 'b')"


def searching(times, pattern):
    """Look for a pattern in a text that a question makes long, for one person alone."""
    made = f"CONCAT(note, '{'x' * 8000}')"
    cases = (f"WHEN patient = 17 AND {made} LIKE '{pattern}{n}' THEN {n}" for n in range(times))
    return f"CASE {' '.join(cases)} ELSE 0 END > 0"


@pytest.mark.parametrize("pattern", ["%a%_b%", "%ab%a_b", "a_b%", "%a__b%", "%_%_%", "%%_%%"])
@pytest.mark.parametrize("size", [LONGEST_TEXT, LONGEST_TEXT + 1])
def test_patterns_with_both_signs_are_matched_up_to_the_longest_text(pattern, size):
    text = ("ab" * size)[: size - 4] + "aacb"
    table = pa.table({"patient": range(40), "note": ["a-b", text] * 20})
    wanted = 20 * (_like("a-b", pattern) or 0) + 20 * (_like(text, pattern) or 0)
    sql = f"SELECT COUNT(*) AS n FROM visits WHERE note LIKE '{pattern}'"
    with dp.open({"visits": table}, policy=ONE_ROW, test_mode=True) as session:
        found = session.ask(sql, epsilon=10**6, confirm=True).to_arrow().column(0)[0].as_py()
    assert found == wanted


def test_no_text_of_one_row_takes_half_a_tick():
    """What a question at the limit does to one row, measured: 20 ms are reckoned."""
    rnd = np.random.default_rng(1)
    text = "".join(rnd.choice(["a", "b"], LONGEST_TEXT - 10))
    slowest = "%a" + "_" * 80 + "b%a"
    for predicate in (
        f"note LIKE '{slowest}'",
        f"note LIKE '%{'a_' * 225}b%' OR note LIKE '%{'_b' * 225}b%'",
        f"note LIKE '%{'a' * 450}b%' OR note LIKE '%{'b' * 450}a%'",
        f"note LIKE '%{'a_%b_%' * 4}' OR note LIKE '%{'a_%_b%' * 4}'",
        f"{'REPLACE(' * 25}note{PAIRS_OF_LETTERS * 25} = 'a'",
    ):
        took = []
        for own in ("", text):
            table = pa.table({"patient": range(40), "note": [own] + [""] * 39})
            with dp.open({"visits": table}, policy=ONE_ROW, test_mode=True) as session:
                sql = f"SELECT COUNT(*) AS n FROM visits WHERE {predicate}"
                plans = [session.plan(sql, epsilon=1 + n) for n in range(3)]
                begun = [time.monotonic()]
                for plan in plans:
                    session.ask(plan)
                    begun.append(time.monotonic())
            took.append(min(later - before for before, later in pairwise(begun)))
        assert took[1] - took[0] < 0.5


def reading(column, times):
    """Read a text as a number, which takes long if it has very many digits."""
    return " OR ".join(f"CAST({column} AS FLOAT) = {number}" for number in range(times))


HOT = "CASE WHEN v.patient = 999 AND v.age > 100 THEN {} ELSE {} END"
FOR_EACH_ROW = f"LENGTH(REPLACE(CONCAT(v.note, '{'ab' * 2500}'), 'a', 'b'))"
COMPARED_TEXTS = """
SELECT COUNT(*) AS n FROM visits v
WHERE EXISTS (
  SELECT 1 FROM visits w WHERE w.patient = v.patient AND REPLACE(w.memo, 'a', v.note) = 'b'
)
"""
FOR_EACH_PAIR = f"LENGTH(CONCAT(a.tag, v.note, '{'ab' * 2500}'))"


@pytest.mark.parametrize(
    "condition",
    [
        f"EXISTS (SELECT 1 FROM many a WHERE {HOT.format(f'{FOR_EACH_PAIR} = 5', 'FALSE')})",
        f"NOT EXISTS (SELECT 1 FROM many a WHERE {HOT.format(f'{FOR_EACH_PAIR} = 5', 'FALSE')})",
        f"v.age IN (SELECT {HOT.format(FOR_EACH_PAIR, '0')} FROM many a)",
        "EXISTS (SELECT 1 FROM many a WHERE a.tag = v.tag AND a.area > v.age)",
    ],
)
def test_no_row_is_compared_with_many_others_in_a_subquery(condition):
    """A million public rows would be a million times what the question does to one row."""
    with opened(1, present=True) as session, pytest.raises(NotAllowed, match="compare, more than"):
        session.plan(f"SELECT COUNT(*) AS n FROM visits v WHERE {condition}", epsilon=1)


@pytest.mark.parametrize(
    "condition",
    [
        f"EXISTS (SELECT 1 FROM areas a WHERE {HOT.format(f'{FOR_EACH_ROW} = 5', 'FALSE')})",
        f"NOT EXISTS (SELECT 1 FROM areas a WHERE {HOT.format(f'{FOR_EACH_ROW} = 5', 'FALSE')})",
        f"{HOT.format(FOR_EACH_ROW, '0')} IN (SELECT a.area FROM areas a)",
        f"{HOT.format(FOR_EACH_ROW, '0')} NOT IN (SELECT a.area FROM areas a)",
    ],
)
def test_a_condition_on_one_side_of_a_subquery_is_computed_once_for_a_row(condition):
    """With a hundred thousand public rows it takes as long for the one person as for nobody."""
    took = []
    areas = pa.table({"area": range(100_000), "tag": ["x"] * 100_000})
    for present in (False, True):
        tables = {"visits": visits(1, present=present), "areas": areas, "many": MANY}
        with dp.open(tables, policy=POLICY, test_mode=True) as session:
            question = f"SELECT COUNT(*) AS n FROM visits v WHERE {condition}"
            plans = [session.plan(question, epsilon=1 + n) for n in range(3)]
            begun = [time.monotonic()]
            for plan in plans:
                session.ask(plan)
                begun.append(time.monotonic())
        took.append(min(later - before for before, later in pairwise(begun)))
    assert took[1] - took[0] < 0.5


def test_a_question_with_very_many_conditions_is_answered_or_not_paid_for():
    """Engines refuse expressions that are nested a thousand deep, after they were paid for."""
    with opened(1, present=True) as session:
        for count in (1000, 1001):
            many = " OR ".join(f"age = {number}" for number in range(1000, 1000 + count))
            with contextlib.nullcontext() if count == 1000 else pytest.raises(UnsupportedSQL):
                session.ask(f"SELECT COUNT(*) AS n FROM visits WHERE {many}", epsilon=1)
        largest = ", ".join(f"age * {number}" for number in range(60))
        session.ask(f"SELECT COUNT(*) AS n FROM visits WHERE GREATEST({largest}) > 0", epsilon=1)


def test_a_question_that_makes_too_many_texts_is_refused():
    many = ", ".join(
        f"COUNT(LOWER(note || '{number}')) AS n{number}" for number in range(MOST_TEXTS)
    )
    copies = ", ".join(f"note AS n{number}" for number in range(MOST_TEXTS + 2))
    copied = f"(SELECT DISTINCT patient, {copies} FROM visits)"
    with opened(1, present=True) as session:
        for question in (
            f"SELECT {many} FROM visits",
            f"SELECT COUNT(*) AS n FROM {copied}",
            f"SELECT COUNT(*) AS n FROM visits WHERE note LIKE '{'_%' * 600}'",
            f"SELECT COUNT(*) AS n FROM visits WHERE {searching(20, 'a_' * 60 + '%b')}",
            f"SELECT COUNT(*) AS n FROM visits WHERE {searching(3, '%a_%b_%c' * 3)}",
            f"SELECT COUNT({'REPLACE(' * 63}note{PAIRS_OF_LETTERS * 63}) AS n FROM visits",
            f"SELECT COUNT(*) AS n FROM visits WHERE {reading('memo', 126)}",
            by_person("MAX(CASE WHEN v.tag LIKE '%a_a%a_a%' THEN 1 ELSE 0 END)", EQUAL),
            by_person(f"MAX(CASE WHEN {reading('v.tag', 2)} THEN 1 ELSE 0 END)", EQUAL),
            COMPARED_TEXTS,
        ):
            with pytest.raises(UnsupportedSQL):
                session.plan(question, epsilon=1)
