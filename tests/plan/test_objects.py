"""Questions as objects: what planning accepts prints known words, and moves as far as claimed."""

import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.planner import plan
from discreet.query.question import Clause
from tests.engines.edges import opened
from tests.plan.clinic import PEOPLE, POLICY, SCHEMA, SHARED, TYPES, WARDS, answers, without
from tests.plan.clinic import public_rows as rows_of_wards
from tests.plan.objects import Builder
from tests.plan.test_neighbors import check

_WORDS = """
abs all and anti as asc between bigint boolean by c case cast ceil coalesce collate concat count
cross date date_trunc day dayofweek dayofyear dense_rank desc distinct double e else end ends_with
exclude exists false filter first first_value floor from full g getvariable greatest group h hash
having hour hugeint i in inner inside int128 integer interval is isfinite join lag lambda large
last lead leaf least left len length like list_transform log lower materialized max md5 min minute
month n not null nullif nulls on one or order over own partition place position pow power quarter
rank regexp_extract replace right round row_number s second select semi sign smallint sqrt start
starts_with strlen substr substring sum text then timestamp translate trim true try try_cast union
units upper upto v varchar when where with year
"""
WORDS = frozenset(_WORDS.split())
"""All words that statements are made of, beside names and texts in quotes."""

LONG, PARTS = 10_000, 100

_QUOTED = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'')
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@pytest.fixture(scope="module")
def engine():
    with opened(TYPES) as found:
        yield found


def words_of(statement):
    """Return all words of a statement that stand outside quotes."""
    return set(_WORD.findall(_QUOTED.sub(" ", statement)))


def statements(engine: DuckDB, lowered):
    found = engine.prepare(lowered)
    return [found.totals, *found.distinct.values(), *found.leaves.values()]


def tables(seed):
    """Return the tables of a small clinic that keeps its promises."""
    chance = random.Random(seed)  # noqa: S311 (the same examples on every machine)
    visits = []
    for number in range(8):
        who = chance.choice((None, *PEOPLE, *PEOPLE))
        sex, height, born = SHARED[who]
        visits.append(
            {
                "visit": number,
                "patient": who,
                "sex": sex,
                "height": height,
                "born": born,
                "ward": chance.choice((None, "A", "B", "C")),
                "city": chance.choice((None, "x", "y")),
                "day": None,
                "cost": chance.choice((None, 0.0, 99.5, 1e308, float("inf"))),
                "age": chance.choice((None, 0, 40, 110, 2**62)),
                "stay": chance.choice((None, -3, 2, 10)),
                "note": chance.choice((None, 1.5, -1e9)),
                "paid": chance.choice((None, True, False)),
            }
        )
    drugs = [
        {"person": chance.choice(PEOPLE), "drug": chance.choice("AB"), "dose": 1.0 * at}
        for at in range(4)
    ]
    bills = [{"visit": chance.randrange(8), "sum": 2.5 * at} for at in range(4)]
    return {"visits": visits, "drugs": drugs, "bills": bills, "wards": WARDS}


def tried(engine, seed, *, poison, moves):
    """Build, plan, print and perhaps compute one question; say how far it came.

    Questions that are only printed take Laplace noise, which is priced in half of the time.
    """
    try:
        question = Builder(seed, poison).question()
    except DiscreetError:
        return "not made"
    if not moves:
        question = replace(question, clause=replace(question.clause or Clause(), noise="LAPLACE"))
    try:
        found = plan(
            question,
            schema=SCHEMA,
            policy=POLICY,
            unit=POLICY.unit,
            public_rows=rows_of_wards,
            epsilon=1,
            delta="1e-9",
        )
    except DiscreetError:
        return "not planned"
    for statement in statements(engine, found.request):
        unknown = {word for word in words_of(statement) if not known(word)}
        assert not unknown, (seed, unknown)
    if moves:
        whole = tables(seed)
        here = answers(found.request, whole, seed)
        for who in PEOPLE:
            there = answers(found.request, without(whole, who), seed)
            check(found, here, there, replaced=False)
    return "planned"


def known(word):
    return word.lower() in WORDS or re.fullmatch(r"[a-z]{1,4}\d+", word) is not None


def fuzzed(engine, seeds, *, every):
    """Try many questions; return how many came how far."""
    found = Counter()
    for seed in seeds:
        poison = (0, 0.01, 0.1)[seed % 3]
        found[tried(engine, seed, poison=poison, moves=seed % every == 0)] += 1
    return found


RARE = (700275, 705246, 710326, 714416)
"""Seeds of rare questions: sums in cells, sums of floats in a subquery, rows without columns."""


def test_objects(engine):
    found = fuzzed(engine, (*range(600), *RARE), every=6)
    assert found["planned"] >= 40
    assert found["not made"] >= 150


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_objects(engine, capsys, part):
    found = fuzzed(engine, range(part * LONG, (part + 1) * LONG), every=100)
    with capsys.disabled():
        count = f"{(part + 1) * LONG:,} of {PARTS * LONG:,}"
        print(f"\n{count} questions as objects: {dict(found)}")  # noqa: T201
    assert found["planned"] >= 600
