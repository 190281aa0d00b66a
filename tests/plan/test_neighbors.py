"""No unit moves what is measured further than the plan claims, whatever the tables hold."""

import functools
import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from discreet.accounting import Leaf
from discreet.mechanisms import Gaussian, Laplace, SumKeys
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.group_sensitivity import Releases, ScoredChoice, trees_of
from discreet.plan.pricing.linear_strategy import SimplexTotals
from discreet.plan.pricing.release_composition import composition_of
from discreet.query.expressions import Call, Column, Literal
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import ARROW_TYPES, RawTotals, arrow_values
from discreet.requests.table_schema import Schema
from discreet.units import person, row
from tests.plan.clinic import (
    FLOATS,
    NUMBERS,
    PEOPLE,
    answers,
    databases,
    moved,
    planned,
    score_change,
    table,
    without,
)

QUESTIONS = [
    (
        "SELECT COUNT(*) AS n, COUNT(age) AS a, COUNTIF(age > 5) AS o, "
        "COUNT(DISTINCT patient) AS p FROM visits"
    ),
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits GROUP BY ward",
    "SELECT ward, SUM(stay) AS s, SUM(age) AS t FROM visits GROUP BY ward",
    "SELECT sex, COUNT(DISTINCT city) AS c, COUNT(DISTINCT born) AS b FROM visits GROUP BY sex",
    "SELECT city, COUNT(DISTINCT patient) AS p, AVG(age) AS a FROM visits GROUP BY city",
    "SELECT city, ward, STDDEV(stay) AS d, VAR_POP(cost) AS v FROM visits GROUP BY city, ward",
    (
        "SELECT ward, SUM(note, contribution_bounds_per_group => (-5, 20)) AS s, "
        "SUM(age, contribution_bounds_per_group => (1, 9)) AS t, "
        "AVG(note, contribution_bounds_per_group => (0, 7)) AS m, "
        "COUNT(*, contribution_bounds_per_group => (1, 2)) AS n FROM visits GROUP BY ward"
    ),
    (
        "SELECT ward, MEDIAN(age) AS m, MIN(stay) AS l, PERCENTILE_CONT(cost, 0.9) AS p "
        "FROM visits GROUP BY ward"
    ),
    "SELECT APPROX_QUANTILES(stay, 3) AS q FROM visits WHERE paid",
    "SELECT ward, APPROX_QUANTILES(cost, 12) AS q, MAX(cost) AS h FROM visits GROUP BY ward",
    "SELECT MODE(ward) AS w, MODE(paid) AS p, MODE(stay) FILTER (WHERE cost > 1) AS s FROM visits",
    (
        "SELECT ward, MODE(age) AS a, MODE(city) FILTER (WHERE city IN ('x', 'y')) AS c "
        "FROM visits GROUP BY ward"
    ),
    "SELECT SUM(dose) AS s, AVG(dose) AS m FROM drugs",
    (
        "SELECT v.ward, AVG(d.dose * 2) AS m, COUNT(*) AS n FROM visits v "
        "JOIN drugs d ON v.patient = d.person GROUP BY v.ward"
    ),
    (
        "SELECT w.beds, SUM(v.cost) AS s FROM visits v LEFT JOIN wards w ON v.ward = w.ward "
        "WHERE w.beds IN (1, 2) GROUP BY w.beds"
    ),
    (
        "SELECT w.ward, COUNT(v.cost) AS n FROM visits v "
        "RIGHT JOIN (SELECT DISTINCT ward FROM wards) w ON v.ward = w.ward GROUP BY w.ward"
    ),
    (
        "SELECT k, COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient "
        "ORDER BY age) AS k FROM visits) AS t WHERE k IN (1, 2, 3) GROUP BY k"
    ),
    (
        "SELECT ward, SUM(n, contribution_bounds_per_row => (0, 2)) AS s FROM "
        "(SELECT patient, ward, COUNT(*) AS n FROM visits GROUP BY patient, ward) AS t "
        "GROUP BY ward"
    ),
    "SELECT COUNT(*) AS n, AVG(sum) AS m FROM bills",
    (
        "SELECT v.ward, COUNT(*) AS n, SUM(b.sum) AS s, COUNT(DISTINCT v.patient) AS p "
        "FROM bills b JOIN visits v ON b.visit = v.visit GROUP BY v.ward"
    ),
    (
        "SELECT v.city, AVG(d.dose) AS m, COUNT(b.sum) AS n FROM visits v "
        "LEFT JOIN bills b ON b.visit = v.visit AND b.sum > 1 "
        "JOIN drugs d ON d.person = v.patient GROUP BY v.city"
    ),
    (
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits v WHERE city NOT IN "
        "(SELECT ward FROM wards WHERE beds > 1) AND NOT EXISTS (SELECT 1 FROM drugs d "
        "WHERE d.person = v.patient AND d.dose > v.stay) GROUP BY ward"
    ),
    (
        "SELECT COUNT(*) AS n, COUNT(DISTINCT patient) AS p FROM visits v, wards w "
        "WHERE v.ward = w.ward AND EXISTS (SELECT 1 FROM bills b WHERE b.visit = v.visit)"
    ),
    (
        "SELECT v.ward, SUM(b.sum) AS s FROM visits v, bills b WHERE b.visit = v.visit AND "
        "b.visit IN (SELECT visit FROM bills GROUP BY visit HAVING COUNT(*) > 1) GROUP BY v.ward"
    ),
    (
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits v WHERE stay <= (SELECT "
        "AVG(w.stay) FROM visits w WHERE w.patient = v.patient) AND age > (SELECT MIN(beds) "
        "FROM wards x WHERE x.ward = v.ward) GROUP BY ward"
    ),
    (
        "SELECT ward, COUNT(*) AS n, SUM(stay) AS s FROM visits v WHERE "
        "(SELECT COUNT(*) FROM bills b WHERE b.visit = v.visit) < 2 GROUP BY ward"
    ),
    "SELECT cost, COUNT(*) AS n, SUM(stay) AS s FROM visits GROUP BY cost",
    "SELECT cost, SUM(stay) AS s FROM visits WHERE cost IN (0, 0.5, 1) GROUP BY cost",
    (
        "SELECT place, COUNT(*) AS n FROM (SELECT ward AS place FROM visits UNION ALL "
        "SELECT drug AS place FROM drugs) AS t GROUP BY place"
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1, "
        "max_rows_per_group = 1) ward, COUNT(*) AS n, SUM(age) AS s, AVG(stay) AS m "
        "FROM visits GROUP BY ward"
    ),
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city",
    "SELECT city, SUM(cost) AS s FROM visits GROUP BY city",
    (
        "SELECT ward, COUNTIF(age < 1) AS a, COUNTIF(age < 5) AS b, COUNTIF(age < 110) AS c, "
        "COUNTIF(NOT paid) AS p, COUNT(*) AS n FROM visits GROUP BY ward"
    ),
    (
        "SELECT city, COUNT(CASE WHEN ward = 'A' THEN 1 END) AS a, COUNTIF(ward = 'B') AS b, "
        "COUNT(DISTINCT patient) AS p FROM visits GROUP BY city"
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) city, COUNT(*) AS n, "
        "AVG(cost) AS m, COUNT(age) AS k FROM visits GROUP BY city"
    ),
    (
        "SELECT ward, SUM(CASE WHEN age < 5 THEN stay END) AS a, AVG(cost) FILTER (WHERE age >= 5) "
        "AS b, SUM(stay) FILTER (WHERE age < 110) AS c, COUNTIF(paid) AS p FROM visits "
        "GROUP BY ward"
    ),
    (
        "SELECT city, SUM(CASE WHEN ward = 'A' THEN cost ELSE 0 END) AS a, SUM(stay) FILTER "
        "(WHERE ward = 'B') AS b, VAR_POP(age) FILTER (WHERE ward = 'C') AS c FROM visits "
        "GROUP BY city"
    ),
]
PRICES = [{"epsilon": 1, "delta": 1e-9}, {"rho": "0.1", "delta": 1e-9}]


@functools.cache
def known(text, at, relation):
    return planned(text, unit=person("patient", relation=relation), **PRICES[at])


def leaves_of(plan):
    return {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}


def check(plan, here, there, *, replaced):
    """Compare what moved with what every leaf of the tree is priced for."""
    (totals, histograms), (others, other_histograms) = here, there
    claims = leaves_of(plan)
    most = (plan.request.groups or 1) * (2 if replaced else 1)
    for name, values in totals.items():
        change = moved(values, others[name])
        assert len(change) <= most
        if name not in claims or plan.cube is not None:  # priced for sums of tables, below
            continue
        leaf = claims[name]
        claim = leaf.replaced if replaced else leaf.added
        if isinstance(leaf.source, Gaussian):
            assert len(change) <= leaf.coordinates
            assert sum(step * step for step in change.values()) <= claim * claim
        else:
            assert isinstance(leaf.source, Laplace)
            assert sum(map(abs, change.values())) <= claim
    if plan.selection is not None:
        change = moved(totals[plan.chosen_by], others[plan.chosen_by])
        assert len(change) <= plan.selection.groups * (2 if replaced else 1)
        most = getattr(plan.selection, "most", 1)
        assert all(abs(step) <= most for step in change.values())
        for group, units in totals["units"].items():  # none of nobody, and all of somebody
            assert (totals[plan.chosen_by][group] >= 1) == (units >= 1)
    check_choices(plan, histograms, other_histograms, replaced=replaced)
    for noise in plan.noises:
        strategy = noise.distances.strategy
        if strategy is not None and strategy.source.frames:
            one, other = totals[noise.measure], others[noise.measure]
            check_group_sums(noise, plan, one, other, replaced=replaced)
        elif plan.cube is not None:
            one, other = (
                cube_sums(noise, plan, each["units"], each[noise.measure])
                for each in (totals, others)
            )
            check_steps((one - other).tolist(), claims[noise.measure], replaced=replaced)
        elif strategy is not None:
            one, other = (columns_of(noise, *each) for each in (here, there))
            check_sums(noise, claims[noise.measure], one, other, replaced=replaced)


def check_group_sums(noise, plan, here, there, *, replaced):
    """Compare how far all sums of groups moved with what their noise is priced for."""
    keys, leaf = plan.request.listed, leaves_of(plan)[noise.measure]
    columns = tuple(pa.array(each) for each in zip(*keys, strict=True))
    places = np.arange(len(keys))
    counts = (np.array([each.get(key, 0) for key in keys], np.int64) for each in (here, there))
    one, other = (
        noise.distances.strategy.read(
            RawTotals(keys=columns, units=each, totals={noise.measure: each}, leaves={}), places
        )
        for each in counts
    )
    check_steps((one - other).tolist(), leaf, replaced=replaced)


def cube_sums(noise, plan, units, totals):
    """Return all sums of the tables of a cube, from the groups that are touched."""
    columns = tuple(
        arrow_values([group[at] for group in units], ARROW_TYPES[key.type])
        for at, key in enumerate(plan.request.keys)
    )
    counts = np.array([totals[group] for group in units], np.int64)
    raw = RawTotals(keys=columns, units=counts, totals={noise.measure: counts}, leaves={})
    return noise.distances.cells.read(raw)


def columns_of(noise, totals, leaves):
    """Return what the sums of a strategy add up, by group."""
    strategy = noise.distances.strategy
    if isinstance(strategy.source, SimplexTotals):
        return corners_of(strategy, totals)
    found = {}
    for place, value in enumerate(strategy.values):
        for group, sums in leaves[value.measure].items():
            columns = {place * strategy.cells + cell: total for cell, total in sums.items()}
            found.setdefault(group, {}).update(columns)
    return found


def corners_of(strategy, totals):
    """Return the points of all units of each group together, as the source of a strategy does."""
    groups = list(totals["units"])
    totals = {
        name: np.array([each.get(group, 0) for group in groups], np.int64)
        for name, each in totals.items()
    }
    raw = RawTotals(keys=(), units=totals.pop("units"), totals=totals, leaves={})
    found = {group: {} for group in groups}
    for group, column, total in zip(
        *(each.tolist() for each in strategy.source.read(strategy, raw, np.arange(len(groups)))),
        strict=True,
    ):
        assert total >= 0
        found[groups[group]][column] = total
    return found


def check_sums(noise, leaf, here, there, *, replaced):
    """Compare how far all sums of cells moved with what their noise is priced for."""
    steps = []
    if isinstance(leaf.source, SumKeys):
        terms = [*noise.distances.strategy.terms()]
        sums = [
            {
                group: {
                    at: sum(factor * found.get(cell, 0) for cell, factor in zip(*both, strict=True))
                    for at, both in enumerate(terms)
                }
                for group, found in each.items()
            }
            for each in (here, there)
        ]
        check_coordinates(leaf.source, *sums, replaced=replaced)
        return
    for group in {*here, *there}:
        one, other = here.get(group, {}), there.get(group, {})
        steps += [
            sum(
                factor * (one.get(cell, 0) - other.get(cell, 0))
                for cell, factor in zip(*both, strict=True)
            )
            for both in noise.distances.strategy.terms()
        ]
    check_steps(steps, leaf, replaced=replaced)


def check_coordinates(keys, here, there, *, replaced):
    """Compare coordinates that choose their group with what their choice believes, group by group.

    A person adds the same to the sum of each of her groups, whatever her rows are.
    """
    sides = 2 if replaced else 1
    pairs = [(here.get(group, {}), there.get(group, {})) for group in {*here, *there}]
    steps = [[one.get(at, 0) - other.get(at, 0) for at in {*one, *other}] for one, other in pairs]
    for side in (1, -1):
        moved = [sum(max(side * step, 0) for step in each) for each in steps]
        assert max(moved, default=0) <= keys.most
        assert sum(map(bool, moved)) <= keys.groups
    squares = [sum(step * step for step in each) for each in steps]
    assert max(squares, default=0) <= sides * keys.squared
    assert all(sum(each.values()) % keys.most == 0 for pair in pairs for each in pair)


def check_steps(steps, leaf, *, replaced):
    claim = leaf.replaced if replaced else leaf.added
    if isinstance(leaf.source, Gaussian):
        assert sum(map(bool, steps)) <= leaf.coordinates
        assert sum(step * step for step in steps) <= claim * claim
    else:
        assert isinstance(leaf.source, Laplace)
        assert sum(map(abs, steps)) <= claim


def check_choices(plan, here, there, *, replaced):
    claims = leaves_of(plan)
    for choice in plan.choices:
        if isinstance(choice, ScoredChoice):
            check_choice(choice, claims, here, there, replaced=replaced)
    for tree, read in trees_of(plan.choices).items():
        leaf = claims[f"{tree.measure} at {len({choice.level for choice in read})} levels"]
        check_tree(tree, leaf, here[tree.measure], there[tree.measure], replaced=replaced)


def check_tree(tree, leaf, here, there, *, replaced):
    """Compare how far the counts of all blocks moved with what their noise is priced for."""
    assert leaf.source == tree.mechanism
    far, steps = tree.distances, Counter()
    for group in {*here, *there}:
        one, other = here.get(group, {}), there.get(group, {})
        for place in {*one, *other}:
            assert 0 <= place < far.leaves
            for level in range(far.levels):
                block = group, level, place // far.arity**level
                steps[block] += one.get(place, 0) - other.get(place, 0)
    moves = [step for step in steps.values() if step]
    claim = leaf.replaced if replaced else leaf.added
    if isinstance(leaf.source, Gaussian):
        assert len(moves) <= leaf.coordinates
        assert sum(step * step for step in moves) <= claim * claim
    else:
        assert sum(map(abs, moves)) <= claim


def check_choice(choice, claims, here, there, *, replaced):
    leaf = claims[choice.name]
    one, other = here[choice.measure], there[choice.measure]
    ranges = []
    for group in {*one, *other}:
        rows, others = one.get(group, {}), other.get(group, {})
        if rows != others:
            ranges.append(score_change(choice, rows, others))
    if not replaced:
        assert len(ranges) <= choice.groups
        assert all(step <= leaf.added for step in ranges)
        return
    claim = 2 * leaf.added if leaf.replaced is None else leaf.replaced
    assert all(step <= claim for step in ranges)
    assert sum(ranges) <= choice.groups * claim


@pytest.mark.theorem("bounded-contribution")
@pytest.mark.theorem("plan-distances")
@settings(max_examples=9)
@given(tables=databases(), salt=st.integers(0, 9))
def test_one_unit_added_or_removed(tables, salt):
    """All questions are asked about the same tables, since drawing tables takes long."""
    fewer = [without(tables, who) for who in PEOPLE]
    for text, at in itertools.product(QUESTIONS, range(len(PRICES))):
        note(text)
        plan = known(text, at, "add_remove")
        whole = answers(plan.request, tables, salt)
        for part in fewer:
            check(plan, whole, answers(plan.request, part, salt), replaced=False)


@pytest.mark.theorem("linked-joins")
@pytest.mark.parametrize("text", [text for text in QUESTIONS if "bills" in text])
@settings(max_examples=25)
@given(tables=databases(visits_shared=2), salt=st.integers(0, 9))
def test_one_unit_where_keys_have_several_owners(text, tables, salt):
    plan = known(text, 0, "add_remove")
    whole = answers(plan.request, tables, salt)
    for who in PEOPLE:
        check(plan, whole, answers(plan.request, without(tables, who), salt), replaced=False)


@pytest.mark.theorem("plan-distances")
@settings(max_examples=6)
@given(tables=databases(), salt=st.integers(0, 9))
def test_one_unit_replaced(tables, salt):
    fewer = [without(tables, who) for who in PEOPLE[:2]]
    for text, at in itertools.product(QUESTIONS, range(len(PRICES))):
        note(text)
        plan = known(text, at, "replace")
        check(plan, *(answers(plan.request, part, salt) for part in fewer), replaced=True)


def crowd(**more):
    """One person who does as much as possible, in all wards."""
    row = {"patient": 1, "sex": "f", "height": 1.5, "born": 1980, "city": "x", "day": None}
    row |= {"cost": 100.0, "age": 110, "stay": 10, "note": 1e9, "paid": True} | more
    visits = [
        row | {"visit": 9 * at + ward, "ward": "ABC"[ward]} for at in range(9) for ward in range(3)
    ]
    return {"visits": visits, "drugs": [], "bills": [], "wards": []}


MUTATED = QUESTIONS[1]


def mutants(plan):
    """Plans with one thing forgotten, by its name."""
    noises = plan.noises

    def with_noises(changed):
        return replace(plan, tree=composition_of(Releases(noises=changed), plan.unit))

    def narrower(noise, **change):
        return replace(noise, distances=replace(noise.distances, **change))

    def off_center(measure):
        if not isinstance(measure, Total) or measure.rows is None:
            return measure
        plain = Call("*", (Column("age"), Literal(2**24)))  # and nothing is taken off
        return replace(measure, row=plain, low=0, high=10**10, per=None)

    yield "none", plan
    yield "groups", with_noises(tuple(narrower(noise, groups=1) for noise in noises))
    yield (
        "rows",
        with_noises(
            tuple(
                narrower(noise, low=noise.distances.low // 3, high=noise.distances.high // 3)
                for noise in noises
            )
        ),
    )
    measures = tuple(map(off_center, plan.request.measures))
    lowered = replace(plan.request, measures=measures)
    yield "center", replace(plan, request=lowered)


@pytest.mark.parametrize("relation", ["add_remove"])
@pytest.mark.parametrize("name", ["none", "groups", "rows", "center"])
def test_mutants_are_caught(name, relation):
    plan = dict(mutants(known(MUTATED, 0, relation)))[name]
    tables = crowd()
    here, there = answers(plan.request, tables), answers(plan.request, without(tables, 1))
    if name == "none":
        check(plan, here, there, replaced=False)
        return
    with pytest.raises(AssertionError):
        check(plan, here, there, replaced=False)


ROW_POLICY = read_policy(
    """
format = 1
unit = "row"
[tables.visits.columns]
ward = {type = "text", categories = ["A", "B"]}
city = {type = "text"}
cost = {type = "float", low = 0, high = 100}
age = {type = "integer", low = 0, high = 110}
"""
)
ROWS = table(
    5,
    ward=st.sampled_from([None, "A", "B", "D"]),
    city=st.sampled_from([None, "x", "y"]),
    cost=FLOATS,
    age=NUMBERS,
)
ROW_QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits GROUP BY ward",
    "SELECT city, SUM(age) AS s, STDDEV(cost) AS d, MEDIAN(age) AS m FROM visits GROUP BY city",
    (
        "SELECT COUNT(DISTINCT city) AS c, MAX(age) AS m, "
        "AVG(cost, contribution_bounds_per_group => (0, 5)) AS k FROM visits"
    ),
    (
        "SELECT SUM(CASE WHEN ward = 'A' THEN cost END) AS a, SUM(age) FILTER (WHERE ward = 'B') "
        "AS b, AVG(cost) FILTER (WHERE age > 9) AS c, COUNTIF(ward = 'C') AS d FROM visits"
    ),
]


@functools.cache
def known_rows(text, relation):
    schema, unit = Schema(ROW_POLICY.tables), row(relation=relation)
    return planned(text, policy=ROW_POLICY, schema=schema, unit=unit, epsilon=1, delta=1e-9)


@pytest.mark.theorem("plan-distances")
@pytest.mark.parametrize("text", ROW_QUESTIONS)
@settings(max_examples=15)
@given(rows=ROWS)
def test_one_row_that_is_a_unit(text, rows):
    apart = [rows[:at] + rows[at + 1 :] for at in range(len(rows))]
    for relation, tables in (("add_remove", [rows, *apart]), ("replace", apart)):
        plan = known_rows(text, relation)
        found = [answers(plan.request, {"visits": each}) for each in tables]
        for other in found[1:]:
            check(plan, found[0], other, replaced=relation == "replace")
