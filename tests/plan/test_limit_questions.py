"""Questions about limits: what one unit moves in them, what they count, and what is proposed."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, UnsupportedSQL, WrongKind
from discreet.plan.binding.bound_question import bind_question
from discreet.plan.pricing.requested_price import estimate
from discreet.plan.statistics.limit_choice import (
    EDGES,
    BinnedSpread,
    QuestionLimits,
    estimate_limits,
    limits,
    proposed,
    share_cut,
    share_question,
    spread_questions,
)
from discreet.planner import plan
from discreet.query.sql.parse import read
from tests.engines.contract.places import KeptDuckDBPlace, ReferencePlace
from tests.engines.test_planted_inferences import TABLES, answered, check_people
from tests.plan import clinic

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
ALL = "SELECT COUNT(*) AS n FROM visits"
BY_BOTH = "SELECT ward, city, AVG(cost) AS m FROM visits WHERE age > -10 GROUP BY ward, city"
JOINED = (
    "SELECT v.ward, COUNT(*) AS n FROM visits v JOIN drugs d ON v.patient = d.person "
    "GROUP BY v.ward"
)


def bound(text):
    return bind_question(read(text), clinic.SCHEMA, clinic.public_rows, ("patient",))


def planned(question, **price):
    return plan(
        question,
        schema=clinic.SCHEMA,
        policy=clinic.POLICY,
        unit=clinic.POLICY.unit,
        public_rows=clinic.public_rows,
        **(price or {"epsilon": 1}),
    )


@pytest.mark.theorem("bounded-contribution")
@pytest.mark.parametrize(
    "place", [ReferencePlace(), KeptDuckDBPlace()], ids=lambda each: each.engine
)
@pytest.mark.parametrize("text", [ALL, BY_WARD, BY_BOTH, JOINED])
def test_one_unit_moves_one_bin_by_one(text, place):
    for question in spread_questions(bound(text)).values():
        made = planned(question)
        (noise,) = made.noises
        assert noise.mechanism.scale == 1
        assert made.request.groups == 1
        check_people(place, made)


@pytest.mark.parametrize(
    "place", [ReferencePlace(), KeptDuckDBPlace()], ids=lambda each: each.engine
)
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (2, None), (3, 2)])
def test_one_unit_moves_a_share_no_further_than_it_is_priced_for(rows, groups, place):
    question = share_question(bound(BY_WARD), rows=rows, groups=groups)
    (name, cut), kept = question.outputs
    cut = replace(cut, bounds_per_row=(Fraction(0), Fraction(4)))  # as if these had been found
    check_people(place, planned(replace(question, outputs=((name, cut), kept))))


def cells(keys):
    """Count the rows of each person and group, in groups that are listed."""
    rows = [row for row in TABLES["visits"] if row["ward"] in {"A", "B", "C", None}]
    return Counter((row["patient"], *(row[key] for key in keys)) for row in rows)


@pytest.mark.parametrize("text", [BY_WARD, BY_BOTH])
def test_spreads_are_those_of_the_rows_that_are_asked_about(text):
    keys = ["ward"] if text == BY_WARD else ["ward", "city"]
    found = cells(keys) if text == BY_WARD else Counter(
        (row["patient"], row["ward"], row["city"])
        for row in TABLES["visits"] if row["ward"] != "D" and row["age"] > -10
    )  # fmt: skip
    people = {who: [n for cell, n in found.items() if cell[0] == who] for who in clinic.PEOPLE}
    wanted = {
        "rows": Counter(_bin(max(numbers)) for numbers in people.values()),
        "groups": Counter(_bin(len(numbers)) for numbers in people.values()),
    }
    for name, question in spread_questions(bound(text)).items():
        totals, _ = answered(KeptDuckDBPlace(), planned(question).request, TABLES)
        units = {group[0]: count for group, count in totals["units"].items() if count}
        assert units == dict(wanted[name])


def _bin(number):
    return sum(edge <= number for edge in EDGES[1:])


@pytest.mark.parametrize(("rows", "groups"), [(2, 2), (4, None), (1, 3)])
def test_the_share_is_that_of_rows_beyond_the_limits(rows, groups):
    question = share_question(bound(BY_WARD), rows=rows, groups=groups)
    made = planned(question, epsilon=1, bounds=estimate(epsilon=1))
    found, cut, kept = cells(["ward"]), 0, 0
    for who in clinic.PEOPLE:
        numbers = [n for (person, _), n in found.items() if person == who]
        part = min(Fraction(1), Fraction(groups or 9, len(numbers)))
        stays = int(sum(min(n, rows) for n in numbers) * part)
        cut, kept = cut + sum(numbers) - stays, kept + stays
    totals, _ = answered(KeptDuckDBPlace(), made.request, TABLES)
    steps = {name: step for each in made.estimates for name, step in each.estimator.steps().items()}
    sums = sorted(float(totals[name][()] * step) for name, step in steps.items())
    assert sums == sorted([cut, kept])


def test_what_does_not_name_its_unit_is_refused():
    inner = "SELECT COUNT(*) AS n FROM (SELECT cost FROM visits) AS t"
    for text in ("SELECT COUNT(*) AS n FROM bills", inner):
        with pytest.raises(UnsupportedSQL):
            spread_questions(bound(text))


def test_limits_that_are_given_are_those_of_the_clause():
    question = read(BY_WARD)
    assert limits(max_rows=7).applied(question) == read(
        BY_WARD.replace(
            "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 7)"
        )
    )
    both = limits(max_rows=1, max_groups=1)
    made = planned(both.applied(question), epsilon=1)
    assert made.request.groups == 1
    assert made.predicted[0].half_width == 3


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "3", True])
def test_limits_are_whole_numbers(wrong):
    with pytest.raises(DiscreetError):
        limits(max_rows=wrong)


@pytest.mark.parametrize("buy", [estimate_limits, share_cut])
def test_what_is_bought_has_a_price(buy):
    with pytest.raises(WrongKind):
        buy(epsilon=0)


def brute_force(rows, groups, epsilon, available):
    """Return the smallest error over all pairs of limits up to the largest that was seen."""
    ends = [range(1, spread.most + 1) for spread in (rows, groups)]

    def off(most, kept):
        cut = rows.over(most) * groups.mean() + groups.over(kept) * min(rows.mean(), most)
        return 3 * most * kept / epsilon + cut * rows.number / available

    return min(off(*pair) for pair in itertools.product(*ends)), off


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("available", [1, 4])
def test_proposals_are_the_best_ends_of_bins(epsilon, available):
    units = [0] * len(EDGES)
    rows = BinnedSpread((400, 0, 300, 0, 90, 40, 0, 9, 0, 3, *units[10:]))
    groups = BinnedSpread((600, 200, 40, 2, *units[4:]))
    found = proposed(rows, groups, epsilon=epsilon, available=available)
    best, off = brute_force(rows, groups, epsilon, available)
    assert best <= off(found.max_rows, found.max_groups) <= Fraction(5, 4) * best


def test_where_nothing_stands_out_one_row_is_proposed():
    nobody = BinnedSpread.of(dict.fromkeys(range(len(EDGES)), 5), least=6)
    assert proposed(nobody, nobody, epsilon=Fraction(1), available=3) == QuestionLimits(
        max_rows=1, max_groups=1
    )


def test_bins_lie_side_by_side():
    assert list(EDGES) == sorted(set(EDGES))
    last = BinnedSpread((1,) * len(EDGES)).ends
    assert [end for end, _ in last][:-1] == [edge - 1 for edge in EDGES[1:]]
