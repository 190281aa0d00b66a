"""Ranges and listed conjunctions: what they count, what moves them, and how far off they may be."""

import itertools
import json
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import DiscreetError, OutOfRange, TooLarge, UnknownName, WrongKind
from discreet.noise import DiscreteGaussian, KeyedEntropy
from discreet.query.types import Type
from discreet.synthetic import all_ranges, between, counts_of, other_than
from discreet.synthetic.domain import Categories, CodedColumn, Domain, NumberBins, Periods
from discreet.synthetic.dual_query.conjunctions import count_conjunctions
from discreet.synthetic.inference.dense import DenseModel
from discreet.synthetic.inference.inference import CodedDomain
from discreet.synthetic.joint import UnitMoves
from discreet.synthetic.methods.dual_query import listed_queries
from discreet.synthetic.methods.method import Task
from discreet.synthetic.report import marginal_answer as query_count
from discreet.synthetic.report.marginal_bounds import NoisyMarginal
from discreet.synthetic.workload import coded_query
from tests.synthetic import clinic

ALPHA = 1e-6
DAYS = tuple(date(2024, month, 1) for month in range(1, 6))
DOMAIN = Domain(
    (
        CodedColumn(name="ward", type=Type.TEXT, coding=Categories(("A", "B")), nullable=True),
        CodedColumn(
            name="age",
            type=Type.INTEGER,
            coding=NumberBins(tuple(map(Fraction, (0, 20, 40, 60, 80))), whole=True),
            nullable=False,
        ),
        CodedColumn(name="day", type=Type.DATE, coding=Periods(DAYS), nullable=True),
    )
)
QUERIES = [
    {"ward": "A"},
    {"ward": None, "age": between(25, 61)},
    {"ward": other_than("A"), "day": between(date(2024, 2, 3), date(2024, 3, 1))},
    {"age": other_than(70), "day": None},
    {"age": between(0, 79)},
    {"AGE": between("20", "39"), "day": "2024-04-30"},
]
MEANT = [
    lambda ward, _age, _day: ward == 0,
    lambda ward, age, _day: ward == 2 and 1 <= age <= 3,
    lambda ward, _age, day: ward != 0 and day in {1, 2},
    lambda _ward, age, day: age != 3 and day == 4,
    lambda _ward, _age, _day: True,
    lambda _ward, age, day: age == 1 and day == 3,
]
ROWS = list(itertools.product(*map(range, DOMAIN.coded.sizes)))


def task(workload, rho=Fraction(1)):
    unit = dp.person("patient")
    return Task(
        domain=DOMAIN.coded,
        workload=workload,
        zeros=(),
        moves=UnitMoves(2, unit),
        rho=rho,
        epsilon=None,
    )


def met(query, row):
    return all(row[column] in codes for column, codes in query)


def test_conditions_allow_the_codes_that_they_mean():
    for conditions, meant in zip(QUERIES, MEANT, strict=True):
        query = coded_query(DOMAIN, tuple(conditions.items()))
        assert [met(query, row) for row in ROWS] == [meant(*row) for row in ROWS]


def test_queries_weigh_the_marginals_of_their_columns():
    found = counts_of(QUERIES, weights=[1, 2, 3, 4, 5, 6]).compiled(DOMAIN, 1000)
    assert dict(found.weights) == {(0,): 1, (0, 1): 2, (0, 2): 3, (1, 2): 10, (1,): 5}
    ranges = all_ranges("age", "day").compiled(DOMAIN, 1000)
    assert dict(ranges.weights) == {(1,): 10, (2,): 10}
    assert len(set(ranges.queries)) == 20
    assert ((2, (1, 2, 3)),) in ranges.queries
    assert not any(4 in codes for ((column, codes),) in ranges.queries if column == 2)  # NULL


@pytest.mark.parametrize(
    "workload", [counts_of(QUERIES), all_ranges("age", "day")], ids=["listed", "ranges"]
)
def test_dual_query_draws_the_queries_themselves(workload):
    compiled = workload.compiled(DOMAIN, 1000)
    conjunctions = listed_queries(task(compiled))
    told = [query for query in compiled.queries if not all(met(query, row) for row in ROWS)]
    assert conjunctions.count == len(told) == len(compiled.queries) - 1
    for row in ROWS:
        assert conjunctions.holds(np.array(row)).tolist() == [met(query, row) for query in told]


@pytest.mark.theorem("query-counts")
@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_moves_every_query_by_no_more_than_its_rows(most):
    """All units of up to ``most`` rows on a small domain, added to tables and put for another."""
    small = Domain(
        (
            DOMAIN.columns[0],
            CodedColumn(
                name="age",
                type=Type.INTEGER,
                coding=NumberBins(tuple(map(Fraction, (0, 20, 40, 60))), whole=True),
                nullable=False,
            ),
        )
    )
    asked = counts_of(
        [
            {"age": between(0, 39)},
            {"ward": other_than("A"), "age": between(20, 59)},
            {"ward": other_than(None)},
            {"ward": "B", "age": other_than(0)},
        ]
    )
    compiled = asked.compiled(small, 100)
    conjunctions = listed_queries(
        Task(
            domain=small.coded,
            workload=compiled,
            zeros=(),
            moves=UnitMoves(most, dp.person("p")),
            rho=Fraction(1),
            epsilon=None,
        )
    )
    cells = list(itertools.product(*map(range, small.coded.sizes)))
    codes = np.array(cells).T

    def counted(rows):
        counts = np.array([rows.count(cell) for cell in range(len(cells))], np.int64)
        found, others = count_conjunctions(conjunctions, codes, counts)
        expected = [sum(met(q, cells[row]) for row in rows) for q in compiled.queries]
        assert found.tolist() == expected
        return found, others

    units = [
        unit
        for size in range(most + 1)
        for unit in itertools.combinations_with_replacement(range(len(cells)), size)
    ]
    table = [0, 4, 4, 8]
    answers = {unit: counted([*table, *unit]) for unit in units}
    base, others = answers[()]
    reached = 0
    for found, rest in answers.values():
        assert ((found - base >= 0) & (found - base <= most)).all()
        assert ((rest - others >= 0) & (rest - others <= most)).all()
        reached = max(reached, int((found - base).max()))
    assert reached == most
    for one, other in itertools.combinations(answers.values(), 2):
        assert abs(one[0] - other[0]).max() <= most


SMALL = CodedDomain(names=("a", "b"), sizes=(3, 5))
ASKED = ((0, (0, 2)), (1, (1, 2, 3)))


def failures(missed, trials=300):
    """Count trials in which the half-width of a count is below the truth."""
    truth = np.arange(15, dtype=np.int64) * 7 % 40
    exact, model = DenseModel(SMALL, truth.astype(float)), DenseModel(SMALL, np.full(15, 18.0))
    right = float(exact.marginal((0, 1))[np.ix_(*(codes for _, codes in ASKED))].sum())
    law, failed = DiscreteGaussian(variance=60), 0
    for trial in range(trials):
        entropy = KeyedEntropy(key=bytes(32), label=f"query {trial}")
        measured = [NoisyMarginal((0, 1), truth + law.sample(15, entropy), law) for _ in range(2)]
        found = query_count.count_of(model, measured, ASKED, missed)
        failed += abs(found.rows - right) > found.half_width
    return failed, trials


@pytest.mark.theorem("measured-marginal")
def test_counts_are_within_their_half_widths():
    failed, trials = failures(Fraction(1, 5))
    assert failed <= binom.isf(ALPHA, trials, 0.2)
    single = query_count.count_of(DenseModel(SMALL, np.ones(15)), [], ASKED, Fraction(1, 20))
    assert (single.rows, single.half_width) == (6.0, None)
    assert "no measured marginal" in str(single)


@pytest.mark.parametrize("factor", [0.0, 0.25])
def test_half_widths_with_less_for_the_noise_fail(monkeypatch, factor):
    honest = query_count.cell_noise
    monkeypatch.setattr(query_count, "cell_noise", lambda *a, **k: factor * honest(*a, **k))
    failed, trials = failures(Fraction(1, 5))
    assert failed > binom.isf(ALPHA, trials, 0.2)


def test_a_table_for_queries_is_made_and_asked(tmp_path):
    wanted = counts_of([{"ward": "A", "age": between(0, 49)}, {"paid": True}])
    with clinic.opened(tmp_path, budget=dp.Budget(rho=50)) as session:
        plan = clinic.planned(session, workload=wanted, method=dp.synthetic.AIM(), rho=9)
        release = dp.synthesize(session, plan)
        count = release.count({"ward": "A", "age": between(0, 49)}, confidence="0.999999")
        true = sum(row["ward"] == "A" and row["age"] < 50 for row in clinic.crowd())
        assert abs(count.rows - true) <= (count.half_width or 60)  # none if AIM took other pairs
        count = release.count({"ward": "A"}, confidence="0.999999")  # each column is measured
        true = sum(row["ward"] == "A" for row in clinic.crowd())
        assert abs(count.rows - true) <= min(count.half_width, 60)  # errors are a few rows
        assert "confidence" in str(count)
        with pytest.raises(WrongKind, match="names of columns"):
            release.count({})
        games = clinic.planned(session, workload=wanted, method=dp.synthetic.DualQuery(), rho=9)
        assert dp.synthesize(session, games).table(50).num_rows == 50


def test_other_queries_have_other_digests():
    with clinic.opened() as session:
        wanted = [
            counts_of([{"ward": "A"}]),
            counts_of([{"ward": "B"}]),
            counts_of([{"age": other_than(0)}]),
            dp.synthetic.marginals_of([("ward",)]),
        ]
        plans = [
            clinic.planned(session, workload=each, method=dp.synthetic.DualQuery(rows=120))
            for each in wanted
        ]
        assert len({plan.program.digest for plan in plans}) == len(wanted)
        documents = [plan.program.draw.document() for plan in plans]
        assert documents[3]["queries"] == ()
        assert json.dumps(documents[0]["queries"]) == "[[[0, [0]]]]"


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: counts_of([]), OutOfRange, "no marginal"),
        (lambda: counts_of([{}]), WrongKind, "which columns"),
        (lambda: counts_of(["ward"]), WrongKind, "which columns"),
        (lambda: counts_of([{"ward": "A"}], weights=[1, 2]), WrongKind, "as many weights"),
        (lambda: counts_of([{"ward": "A"}], weights=[0]), DiscreetError, "weight"),
        (lambda: counts_of([{"height": 3}]), UnknownName, "height"),
        (lambda: counts_of([{"ward": "Z"}]), OutOfRange, "cannot have"),
        (lambda: counts_of([{"age": None}]), OutOfRange, "cannot have"),
        (lambda: counts_of([{"age": "old"}]), OutOfRange, "cannot have"),
        (lambda: counts_of([{"day": date(2025, 1, 1)}]), OutOfRange, "cannot have"),
        (lambda: counts_of([{"age": between(60, 20)}]), OutOfRange, "allows no value"),
        (lambda: counts_of([{"ward": between("A", "B")}]), WrongKind, "no ranges"),
        (lambda: counts_of([{"age": 1, "AGE": 30}]), WrongKind, "two conditions"),
        (lambda: all_ranges("ward"), WrongKind, "no ranges"),
        (all_ranges, OutOfRange, "no marginal"),
    ],
)
def test_what_makes_no_sense_is_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make().compiled(DOMAIN, 1000)


def test_too_many_ranges_are_refused_soon():
    edges = tuple(map(Fraction, range(5001)))
    wide = CodedColumn(
        name="x", type=Type.FLOAT, coding=NumberBins(edges, whole=False), nullable=True
    )
    with pytest.raises(TooLarge, match="literals"):
        all_ranges("x").compiled(Domain((wide,)), 10_000)


def test_queries_on_bins_that_are_bought_are_refused():
    with clinic.opened() as session, pytest.raises(WrongKind, match="a query names column age"):
        clinic.planned(
            session,
            workload=counts_of([{"age": between(0, 20)}]),
            bins={"age": dp.synthetic.quantile_bins(epsilon=1, count=4)},
        )
