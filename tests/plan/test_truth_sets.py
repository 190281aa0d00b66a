"""No row for which a condition is true, false or NULL lies outside the region that says so."""

import random
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet.plan.binding.truth_sets as truth
from discreet.accounting import Box
from discreet.accounting.values import nothing
from discreet.engines.duckdb import Connection
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Performance
from discreet.engines.expressions import Expressions
from discreet.errors import DiscreetError
from discreet.plan.binding.value_facts import Facts
from discreet.query.expression_types import check_condition
from discreet.query.expressions import Call
from discreet.query.relations import Scan
from discreet.query.sql.parse import read_relation
from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES
from tests.plan.conditions import (
    FACTS,
    SIMPLE,
    TYPES,
    around,
    atoms,
    drawn,
    one_deeper,
    place,
    values,
)
from tests.reference.casts import read
from tests.reference.expressions import compiled

ROWS = {kind: [{kind.value.lower(): read(value, kind)} for value in values(kind)] for kind in Type}
LEAVES = {kind: atoms(kind) for kind in Type}


def region_of(found, outcome):
    return found.true if outcome is True else found.false if outcome is False else found.null


def inside(row, region):
    return region is not None and all(place(row[name]) in held for name, held in region.items())


def check(condition, rows):
    """Hold what a condition says of rows against its regions; return the number of rows."""
    try:
        check_condition(condition, TYPES)
    except DiscreetError:  # a NULL without a type
        return 0
    found, rule = truth.truth_sets(condition, FACTS), compiled(condition, TYPES)
    more = truth.narrowed(condition, FACTS)
    for row in rows:
        outcome = rule(row)
        assert inside(row, region_of(found, outcome)), (condition, row)
        if outcome is True:
            assert all(holds(more[name], row[name]) for name in more), (condition, row)
    return len(rows)


def holds(facts, value):
    """Whether a value of a row that passed lies within what its condition says of the column."""
    if value is None:
        return facts.nullable
    if facts.type.is_number:
        low = facts.low is None or facts.low <= Fraction(value)
        return low and (facts.high is None or Fraction(value) <= facts.high)
    day = value.date() if isinstance(value, datetime) else value
    return facts.days is None or facts.days[0] <= day <= facts.days[1]


def test_conditions_narrow_what_is_declared():
    known = {
        "x": Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(900)),
        "d": Facts(type=Type.DATE, days=(date(2020, 1, 1), date(2021, 12, 31))),
    }

    def after(text):
        found = truth.narrowed(condition_of(text), known)
        return found.get("x", known["x"]).bounds, found.get("d", known["d"]).days

    both = known["d"].days
    assert after("x BETWEEN 10 AND 20") == ((10, 20), both)
    assert after("x > 10") == ((11, 900), both)
    assert after("x > 10 OR x < 5") == ((0, 900), both)
    assert after("x IN (7, 3)") == ((3, 7), both)
    assert after("x > 1000") == after("x = 5") == ((0, 900), both)  # clamped as declared
    assert after("d >= DATE '2021-06-01'")[1] == (date(2021, 6, 1), date(2021, 12, 31))
    assert after("d < DATE '1999-01-01'")[1] == both
    assert not truth.narrowed(condition_of("x <> 3"), known)["x"].nullable


def condition_of(text):
    return read_relation(f"SELECT * FROM t WHERE {text}").child.predicate  # noqa: S608 (ours)


@pytest.mark.parametrize("mutant", ["strict ends", "one stretch"])
def test_a_set_with_other_ends_is_noticed(mutant, monkeypatch):
    honest = truth.ends_of

    def wrong(kind, values):
        ends = honest(kind, values)
        if mutant == "one stretch" and len(values.cuts) > 2:
            return ends and (ends[0], ends[0])
        return ends if ends is None or not isinstance(ends[1], int) else (ends[0], ends[1] - 1)

    monkeypatch.setattr(truth, "ends_of", wrong)
    with pytest.raises(AssertionError):
        [check(leaf, ROWS[Type.INTEGER]) for leaf in LEAVES[Type.INTEGER]]


@pytest.mark.theorem("truth-sets")
@pytest.mark.parametrize("kind", Type)
def test_conditions_of_every_form_to_depth_three(kind):
    leaves = atoms(kind, many=False)
    second = leaves + one_deeper(leaves)
    assert sum(check(each, near(kind)) for each in one_deeper(second)) > 6000


def near(kind):
    """Return rows around the simplest literal, and NULL."""
    edges = (None, *around(kind, SIMPLE[kind]))
    return [{kind.value.lower(): read(each, kind)} for each in edges]


@pytest.mark.theorem("truth-sets")
@pytest.mark.parametrize("kind", Type)
def test_every_comparison_under_every_word(kind):
    for leaf in LEAVES[kind]:
        check(leaf, ROWS[kind])
        for word in ("NOT", "IS TRUE", "IS FALSE", "IS NULL"):
            check(Call(word, (leaf,)), ROWS[kind])
            check(Call("NOT", (Call(word, (leaf,)),)), ROWS[kind])


LARGE = [leaf for leaves in LEAVES.values() for leaf in leaves]


def records(chance, count):
    """Draw rows with a value in the column of every type."""
    return [
        {name: value for kind in Type for name, value in chance.choice(ROWS[kind]).items()}
        for _ in range(count)
    ]


def fuzzed(seed, cases):
    """Check random conditions on one column or on several; count them and their rows."""
    chance, seen, drawn_conditions = random.Random(seed), 0, 0  # noqa: S311
    while seen < cases:
        kind = chance.choice([None, *Type])
        leaves = LARGE if kind is None else LEAVES[kind]
        rows = records(chance, 8) if kind is None else chance.choices(ROWS[kind], k=8)
        seen += check(drawn(chance, leaves, chance.choice([2, 3, 4])), rows)
        drawn_conditions += 1
    return drawn_conditions, seen


@pytest.mark.theorem("truth-sets")
def test_random_conditions():
    fuzzed(seed=1, cases=8_000)


@pytest.mark.slow
def test_a_million_random_conditions(capsys):
    count, seen = 0, 0
    for seed in range(100):
        more, rows = fuzzed(seed=1000 + seed, cases=10_000)
        count, seen = count + more, seen + rows
    with capsys.disabled():
        print(f"\ntruth sets: {count} conditions, {seen} rows held against them")  # noqa: T201
    assert seen >= 10**6


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("_either", truth._both),
        ("_not", lambda inner: inner),
        ("_two_valued", lambda one, _: truth.TruthSets(true=one, false=None, null=None)),
    ],
)
def test_mutants_are_found(monkeypatch, name, mutant):
    fuzzed(seed=2, cases=800)
    monkeypatch.setattr(truth, name, mutant)
    with pytest.raises(AssertionError):
        fuzzed(seed=2, cases=800)


def test_duckdb_says_the_same():
    """A sample of the conditions, computed by the engine, from values as a source holds them."""
    chance = random.Random(3)  # noqa: S311
    arrow = {**ARROW_TYPES, Type.FLOAT: pa.float64()}
    columns = {
        kind.value.lower(): pa.array([chance.choice(values(kind)) for _ in range(64)], arrow[kind])
        for kind in Type
    }
    table = pa.table({**columns, "place": list(range(64))})
    scan = Scan("t", (*TYPES.items(), ("place", Type.INTEGER)))
    connection = Connection({"t": table}, Performance(threads=1))
    rows = [
        {name: read(value, TYPES[name]) for name, value in row.items() if name in TYPES}
        for row in table.to_pylist()
    ]
    for _ in range(300):
        kind = chance.choice([None, *Type])
        condition = drawn(chance, LARGE if kind is None else LEAVES[kind], 3)
        if not check(condition, rows):
            continue
        printed = DUCKDB.printed(Expressions(DUCKDB, TYPES).node(condition, Type.BOOLEAN))
        rows_of = DUCKDB.printed(connection.scan(scan))
        found = connection.fetch(
            f"SELECT place, {printed} AS outcome FROM ({rows_of}) ORDER BY place"  # noqa: S608
        )
        regions = truth.truth_sets(condition, FACTS)
        for row, outcome in zip(rows, found.column("outcome").to_pylist(), strict=True):
            assert inside(row, region_of(regions, outcome)), (condition, row)
    connection.close()


@pytest.mark.parametrize(
    ("condition", "true"),
    [
        ("(born <> 5) IS NOT TRUE", "born 5, or NULL"),
        ("(born = 5) IS NOT FALSE", "born 5, or NULL"),
        ("NOT ((NOT paid) IS TRUE)", "paid True, or NULL"),
        ("(born NOT IN (5, 6)) IS NOT TRUE", "born 5, 6, or NULL"),
        ("(born < 5) IS NULL", "born NULL"),
        ("NOT (born < 5 OR born > 7)", "born from 5 to 7"),
        ("(born < 5 AND born > 7) IS NOT NULL", "born not NULL"),
        ("NOT (born = 5 OR paid)", "born other than 5; paid False"),
        ("born IS NULL AND born > 3", "nothing"),
        ("born = NULL", "nothing"),
        ("FALSE", "nothing"),
        ("born + 1 = 3", "everything"),
        ("(born + 1 = 3) IS NOT NULL", "everything"),
        ("(name < 'x') IS TRUE", "name perhaps not NULL"),
        ("(name < 'x') IS NOT TRUE", "everything"),
    ],
)
def test_what_is_known_is_used(condition, true):
    kinds = {"born": Type.INTEGER, "paid": Type.BOOLEAN, "name": Type.TEXT}
    relation = read_relation(f"SELECT born FROM t WHERE {condition}")  # noqa: S608
    predicate = relation.child.predicate
    region = truth.truth_sets(predicate, {name: Facts(type=kind) for name, kind in kinds.items()})
    found = Box({"": nothing()} if region.true is None else region.true)
    assert str(found) == true
