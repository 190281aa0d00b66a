"""What lowers a price is enforced where data is read: a wrong inference costs accuracy alone.

Each plant makes planning believe something that is not true of the data, so that the price falls.
Real engines then compute what that plan hands to them, for tables that differ in one person, and
nothing moves further than the wrong plan claims.  An engine that does not enforce what was believed
is a twin that the same comparison catches.
"""

import contextlib
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import planner as steps
from discreet.engines.engine import HashOrder
from discreet.engines.expressions import Expressions
from discreet.errors import OutOfRange
from discreet.plan.binding import binder, joins, value_facts
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing import noise_steps as sketching
from discreet.plan.statistics import contribution_bounds as contribution_limits
from discreet.plan.statistics import partition_selection as groups
from discreet.plan.workload import joined_measures as joined_counts
from discreet.plan.workload import joined_measures as joined_sums
from discreet.plan.workload import simplex
from discreet.plan.workload.cells import Cells
from discreet.query.expressions import Call, Case, Literal
from discreet.requests.engine_request import CellSums, Total
from discreet.requests.table_schema import Schema
from discreet.units import person, row
from tests.engines.contract.cases import Asked
from tests.engines.contract.places import KeptDuckDBPlace, PostgresPlace, ReferencePlace, SparkPlace
from tests.plan import clinic
from tests.plan.test_neighbors import check, leaves_of
from tests.servers.spark import local_session

ORDER = HashOrder(salt=5, portable=True)
TOTALS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a, COUNT(DISTINCT city) AS c "
    "FROM visits GROUP BY ward"
)
MEANS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a, AVG(stay) FILTER (WHERE paid) AS p "
    "FROM visits GROUP BY ward"
)
DIFFERENT = "SELECT ward, SUM(DISTINCT stay) AS s FROM visits GROUP BY ward"
SHOWN = "SELECT SUM(DISTINCT visit, contribution_bounds_per_row => (0, 50)) AS s FROM visits"
SUM = "SELECT SUM(stay) AS s FROM visits"
COSTS = "SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward"
PAID = "SELECT ward, COUNTIF(paid) AS p FROM visits GROUP BY ward"
FORMULA = "SELECT SUM(age * 2 + stay) AS s FROM visits"
MEDIAN = "SELECT ward, MEDIAN(age) AS m, SUM(cost) AS s FROM visits GROUP BY ward"
DISTINCT = (
    "SELECT ward, COUNT(DISTINCT city) AS c, COUNT(DISTINCT visit) AS v FROM visits GROUP BY ward"
)
CITIES = (
    "SELECT city, COUNT(*, contribution_bounds_per_group => (2, 2)) AS n FROM visits GROUP BY city"
)
BY_CITY = "SELECT city, COUNT(*) AS n, SUM(stay) AS s FROM visits GROUP BY city"


def visits():
    """Three people, who break everything that is planted: many rows, everywhere, far outside."""
    rows = []
    for who in clinic.PEOPLE:
        for number in range(12 * who):
            rows.append(
                {
                    "visit": len(rows),
                    "patient": who,
                    "ward": "ABCD"[number % 4],
                    "city": "xyzuvw"[number % 6],
                    "sex": "fm"[number % 2],
                    "height": 1.5 + number,
                    "born": 1900 + number,
                    "day": None,
                    "cost": [100.0, -1e9, 1e300, None][number % 4],
                    "age": [110, 10**9, -(10**9), 55][number % 4],
                    "stay": [10, -(10**6), 10**6][number % 3],
                    "note": 1e12,
                    "paid": number % 2 == 0,
                }
            )
    return rows


TABLES = {"visits": visits(), "drugs": [], "bills": [], "wards": clinic.WARDS}


def changed(**facts_of_columns):
    """Return the schema with other facts of columns of visits, and the policy with it."""
    tables = []
    for table in clinic.SCHEMA.tables:
        columns = tuple(
            replace(column, **facts_of_columns.get(column.name, {})) for column in table.columns
        )
        tables.append(replace(table, columns=columns) if table.name == "visits" else table)
    return {"schema": Schema(tables)}


def keyed(*key):
    """Declare a key of visits that is none."""
    tables = [
        replace(table, key=key) if table.name == "visits" else table
        for table in clinic.SCHEMA.tables
    ]
    return contextlib.nullcontext({"schema": Schema(tables)})


@contextlib.contextmanager
def planted(monkeypatch, owner, name, value):
    """Replace a step of planning while a plan is made."""
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, value)
        yield {}


def limits(**change):
    """Let planning believe in other limits than those that it was given."""
    honest = contribution_limits.contribution_bounds
    return lambda *arguments, **named: replace(honest(*arguments, **named), **change)


def narrow_sums(name, kind, below):
    """Believe that every formula lies between 0 and 1."""
    return Fraction(0), Fraction(1), False


def never_together(conditions, facts):
    """Believe that no row makes two conditions true."""
    branches = tuple((each, Literal(at)) for at, each in enumerate(conditions))
    return Cells(conditions=tuple((at,) for at in range(len(conditions))), number=Case(branches))


def narrow_conditions(predicate, facts):
    """Believe that a condition leaves values from 0 to 1 alone."""
    return {"stay": replace(facts["stay"], low=Fraction(0), high=Fraction(1), nullable=False)}


STEPS = (
    "SELECT ward, COUNTIF(age <= 60) AS a, COUNTIF(stay <= 10) AS b, COUNTIF(paid) AS c "
    "FROM visits GROUP BY ward"
)
SUMS = (
    "SELECT ward, SUM(CASE WHEN age <= 60 THEN stay END) AS a, SUM(stay) FILTER (WHERE age > 60) "
    "AS b, AVG(cost) FILTER (WHERE paid) AS c, COUNTIF(NOT paid) AS d FROM visits GROUP BY ward"
)
TWO_SUMS = (
    "SELECT ward, SUM(cost) FILTER (WHERE cost > 5) AS a, SUM(cost) FILTER (WHERE born > 0) AS b "
    "FROM visits GROUP BY ward"
)
AT_A = "SELECT COUNTIF(paid) AS p FROM visits WHERE ward = 'A'"
STEPS_AT_A = STEPS.replace("GROUP", "WHERE ward = 'A' GROUP")
CHOOSING = (
    "SELECT city, COUNT(*) AS n, AVG(cost) AS a, COUNTIF(paid) AS p FROM visits GROUP BY city"
)
LIMITS = "contribution_bounds"
ONE = {"low": 0, "high": 1}
SURE = {"nullable": False}
SAME = {"constant": True}
PLANTS = {
    "bounds": (SUM, lambda m: contextlib.nullcontext(changed(stay=ONE))),
    "bounds of floats": (TOTALS, lambda m: contextlib.nullcontext(changed(cost=ONE, age=ONE))),
    "bounds of ranks": (MEDIAN, lambda m: contextlib.nullcontext(changed(age=ONE, cost=ONE))),
    "bounds of formulas": (FORMULA, lambda m: planted(m, value_facts, "_called", narrow_sums)),
    "bounds by a condition": (
        SUM + " WHERE stay > -9",
        lambda m: planted(m, binder, "narrowed", narrow_conditions),
    ),
    "bounds beside counts": (MEANS, lambda m: contextlib.nullcontext(changed(cost=ONE, age=ONE))),
    "never NULL beside counts": (
        MEANS,
        lambda m: contextlib.nullcontext(changed(cost=SURE, age=SURE, stay=SURE)),
    ),
    "rows beside counts": (
        MEANS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "groups beside counts": (
        MEANS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(groups=1)),
    ),
    "counts that are not parts": (
        "SELECT ward, COUNTIF(paid) AS n, AVG(cost) AS a FROM visits GROUP BY ward",
        lambda m: planted(m, simplex, "are_nested", lambda measures, most: True),
    ),
    "bounds of coordinates that choose": (
        CHOOSING,
        lambda m: contextlib.nullcontext(changed(cost=ONE)),
    ),
    "rows of coordinates that choose": (
        CHOOSING,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "groups of coordinates that choose": (
        CHOOSING,
        lambda m: planted(m, contribution_limits, LIMITS, limits(groups=1)),
    ),
    "counts that are not parts where they choose": (
        CHOOSING,
        lambda m: planted(m, simplex, "are_nested", lambda measures, most: True),
    ),
    "key of a table of coordinates that choose": (CHOOSING, lambda m: keyed("patient", "city")),
    "key of a table beside counts": (MEANS, lambda m: keyed("patient", "sex")),
    "never NULL": (TOTALS, lambda m: contextlib.nullcontext(changed(cost=SURE, age=SURE))),
    "rows of a unit": (COSTS, lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1))),
    "rows in all totals": (
        TOTALS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "rows in ranks": (MEDIAN, lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1))),
    "groups of a unit": (
        TOTALS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(groups=1)),
    ),
    "constant keys": (TOTALS, lambda m: contextlib.nullcontext(changed(ward=SAME))),
    "conditions": (STEPS, lambda m: planted(m, joined_counts, "cells_of", never_together)),
    "conditions of sums": (SUMS, lambda m: planted(m, joined_sums, "cells_of", never_together)),
    "bounds of sums in cells": (TWO_SUMS, lambda m: contextlib.nullcontext(changed(cost=ONE))),
    "bounds of a sum among cells": (SUMS, lambda m: contextlib.nullcontext(changed(stay=ONE))),
    "rows in sums of cells": (
        TWO_SUMS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "rows in all sums of cells": (
        SUMS,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "key of a table in sums of cells": (TWO_SUMS, lambda m: keyed("patient", "sex")),
    "key of a table in all sums of cells": (SUMS, lambda m: keyed("patient", "sex")),
    "rows in cells": (STEPS, lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1))),
    "key of a table": (COSTS, lambda m: keyed("patient")),
    "key of a table in ranks": (MEDIAN, lambda m: keyed("patient")),
    "key of a table in cells": (STEPS, lambda m: keyed("patient", "sex")),
    "key with a group": (PAID, lambda m: keyed("patient", "ward")),
    "key with a group in all totals": (TOTALS, lambda m: keyed("patient", "ward")),
    "key with a condition": (AT_A, lambda m: keyed("patient", "ward")),
    "key with a condition in cells": (STEPS_AT_A, lambda m: keyed("patient", "ward")),
    "constant values": (
        DISTINCT,
        lambda m: contextlib.nullcontext(changed(city=SAME, visit=SAME)),
    ),
    "constant values in all totals": (
        TOTALS,
        lambda m: contextlib.nullcontext(changed(city=SAME)),
    ),
    "bounds of different values": (
        DIFFERENT,
        lambda m: contextlib.nullcontext(changed(stay=ONE)),
    ),
    "rows of different values": (
        SHOWN,
        lambda m: planted(m, contribution_limits, LIMITS, limits(rows=1)),
    ),
    "listed values": (
        SHOWN,
        lambda m: contextlib.nullcontext(changed(visit={"categories": (7,)})),
    ),
}
COARSE = {"never NULL", "bounds of floats", "conditions", "conditions of sums"}
COARSE |= {"bounds of a sum among cells", "rows in all sums of cells"}
COARSE |= {"key of a table in all sums of cells"}
BESIDE = {name for name in PLANTS if name.endswith(("beside counts", "choose"))}
BESIDE |= {"counts that are not parts"}
COARSE |= BESIDE - {"groups beside counts", "groups of coordinates that choose"}
CHEAPER = [name for name in PLANTS if name not in COARSE]
"""Others lower no claim, or one that is counted in finer steps then, or what answers add up."""


def claims(plan):
    """Return how far every release is priced for, in steps."""
    return {name: leaf.added for name, leaf in leaves_of(plan).items()}


def steps_of(plan):
    """Return what a step of every total stands for."""
    return {name: step for each in plan.estimates for name, step in each.estimator.steps().items()}


def claimed_values(plan):
    """Return how far every release is priced for, in the units of the answer."""
    sizes = steps_of(plan)
    return {name: claim * sizes.get(name, 1) for name, claim in claims(plan).items()}


def plan_with(name, monkeypatch, relation="add_remove"):
    text, plant = PLANTS[name]
    with plant(monkeypatch) as more:
        return clinic.planned(text, unit=person("patient", relation=relation), **more)


def answered(place, lowered, tables, known=None):
    """Answer with an engine, in the form that neighbors are compared in."""
    types = {name: clinic.TYPES[name] for name in tables}
    asked = place.taken(
        Asked(
            name="planted",
            request=lowered,
            rows=tables,
            types=types,
            known=clinic.SCHEMA if known is None else known,
        )
    )
    raw = place.answer(asked, ORDER)
    by = list(zip(*raw["keys"], strict=True)) if raw["keys"] else [()] * len(raw["units"])
    totals = {"units": raw["units"], **raw["totals"]}
    leaves = {name: {} for name in raw["leaves"]}
    for name, parts in raw["leaves"].items():
        for group, leaf, count in zip(*parts, strict=True):
            leaves[name].setdefault(by[group], {})[leaf] = count
    return {name: dict(zip(by, value, strict=True)) for name, value in totals.items()}, leaves


def check_people(place, plan, tables=TABLES, people=clinic.PEOPLE):
    """Take one person after the other out, and compare what moves with what is claimed."""
    whole = answered(place, plan.request, tables)
    for who in people:
        rest = answered(place, plan.request, clinic.without(tables, who))
        check(plan, whole, rest, replaced=False)


@pytest.mark.parametrize(
    "place", [ReferencePlace(), KeptDuckDBPlace()], ids=lambda each: each.engine
)
@pytest.mark.parametrize("name", PLANTS)
def test_a_wrong_inference_costs_accuracy_alone(name, place, monkeypatch):
    check_people(place, plan_with(name, monkeypatch))


@pytest.mark.theorem("within-count")
@pytest.mark.parametrize(
    "place", [ReferencePlace(), KeptDuckDBPlace()], ids=lambda each: each.engine
)
def test_rows_of_no_count_add_nothing_to_the_sum_beside_it(place, monkeypatch):
    """Nobody but the first has paid, and all rows are believed to be part of those that have."""
    plan = plan_with("counts that are not parts", monkeypatch)
    rows = [{**each, "paid": each["patient"] == 1} for each in TABLES["visits"]]
    check_people(place, plan, {**TABLES, "visits": rows})


@pytest.mark.parametrize("name", PLANTS)
def test_nor_does_it_cost_more_where_one_person_is_replaced(name, monkeypatch):
    plan = plan_with(name, monkeypatch, "replace")
    found = [
        answered(KeptDuckDBPlace(), plan.request, clinic.without(TABLES, who)) for who in (1, 2)
    ]
    check(plan, *found, replaced=True)


SOME = (
    "bounds",
    "rows of a unit",
    "groups of a unit",
    "conditions of sums",
    "listed values",
)
"""What engines of others bound themselves; all else is in the question, which is the same there."""


@pytest.mark.parametrize("names", [SOME, pytest.param(PLANTS, marks=pytest.mark.slow)], ids=len)
def test_a_wrong_inference_costs_accuracy_alone_on_postgres(names, postgres, monkeypatch):
    for name in names:
        check_people(PostgresPlace(postgres), plan_with(name, monkeypatch), people=[3])


def test_a_wrong_inference_costs_accuracy_alone_on_spark(monkeypatch):
    for name in SOME:
        check_people(SparkPlace(local_session()), plan_with(name, monkeypatch), people=[3])


def narrow(node, columns):
    """Believe that whatever is measured lies between 0 and 1."""
    return 0, 1


def test_a_wrong_range_in_the_engine_costs_accuracy_alone(monkeypatch):
    monkeypatch.setattr(Expressions, "bounds", narrow)
    for text in (TOTALS, SUM, FORMULA, MEANS):
        check_people(KeptDuckDBPlace(), clinic.planned(text))


@pytest.mark.parametrize("name", CHEAPER)
def test_the_plants_lower_the_price(name, monkeypatch):
    honest, wrong = clinic.planned(PLANTS[name][0]), plan_with(name, monkeypatch)
    less = [
        claimed_values(wrong)[each] < claim
        for each, claim in claimed_values(honest).items()
        if each in claims(wrong)
    ]
    fewer = (wrong.request.groups or 1) < (honest.request.groups or 1)
    finer = honest.choices != wrong.choices
    assert any(less) or fewer or finer


UNSEEN = {"never NULL", "constant values in all totals"}
"""Nothing is cheaper, or others have the same values: not to enforce it does not show."""
ALIKE = {"rows in all totals", "key with a group in all totals"}
ALIKE |= {"bounds of a sum among cells", "rows in all sums of cells"}
ALIKE |= {"key of a table in all sums of cells", "bounds of different values", *BESIDE}
"""Measured in cells in one plan and apart in the other, or in other steps; other plants show it,
and twins of sums beside counts are in ``tests/plan/test_simplex.py``."""
APART = {"conditions", "conditions of sums"}
"""Read one by one, further below."""
TWINS = [name for name in PLANTS if name not in UNSEEN | ALIKE | APART]


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_that_does_not_enforce_is_caught(name, monkeypatch):
    """The twin computes what the honest plan would have enforced, at the price of the wrong one."""
    honest, wrong = clinic.planned(PLANTS[name][0]), plan_with(name, monkeypatch)
    measures = {measure.name: measure for measure in honest.request.measures}
    sizes, finer = steps_of(honest), steps_of(wrong)
    ratios = {total: sizes[total] / step for total, step in finer.items() if total in sizes}
    assert all(ratio >= 1 for ratio in ratios.values())
    if "cells_0" in measures:  # sums of one column
        (ratios["cells_0"],) = {*ratios.values()}
    twin = replace(
        wrong,
        request=replace(
            wrong.request,
            groups=honest.request.groups,
            measures=tuple(
                in_steps(measures[measure.name], ratios.get(measure.name, 1))
                if measure.name in measures
                else measure
                for measure in wrong.request.measures
            ),
        ),
    )
    with pytest.raises(AssertionError):
        check_people(KeptDuckDBPlace(), twin)


def in_steps(measure, ratio):
    """Return a total in steps that are finer by a whole ratio."""
    if not isinstance(measure, Total | CellSums) or ratio == 1:
        return measure
    assert ratio == int(ratio)
    field = "row" if isinstance(measure, Total) else "value"
    finer = Call("*", (getattr(measure, field), Literal(int(ratio))))
    low, high = (int(ratio) * end for end in (measure.low, measure.high))
    return replace(measure, **{field: finer}, low=low, high=high)


def halved(distances):
    return replace(distances, low=distances.low // 2, high=distances.high // 2)


def as_parts(change):
    """Let noise be scaled to another distance than the one that is measured."""
    honest = sketching._part

    def part(*arguments):
        found = honest(*arguments)
        return change(found)

    return part


def as_keys(**change):
    """Let groups be chosen as if less could move."""
    honest = sketching._keys
    return lambda *known: replace(honest(*known), **change)


def narrower(part):
    far = getattr(part, "distances", None)
    return replace(part, rows=1) if far is None else replace(part, distances=halved(far))


def in_one_group(part):
    far = getattr(part, "distances", None)
    return (
        replace(part, groups=1) if far is None else replace(part, distances=replace(far, groups=1))
    )


@pytest.mark.parametrize(
    ("text", "owner"), [(STEPS, joined_counts), (TWO_SUMS, joined_sums)], ids=["counts", "sums"]
)
def test_counts_and_sums_that_are_read_one_by_one_are_caught(text, owner, monkeypatch):
    """The twin reads each of them by itself, at the price of conditions that exclude each other."""
    with planted(monkeypatch, owner, "cells_of", never_together):
        wrong = clinic.planned(text)
    (noise,) = wrong.noises
    place, claim = KeptDuckDBPlace(), claims(wrong)[noise.measure]
    with planted(monkeypatch, steps, "join_counts", lambda _, apart: apart):
        apart = clinic.planned(text)
    assert steps_of(apart) == steps_of(wrong)
    whole, _ = answered(place, apart.request, TABLES)
    rest, _ = answered(place, apart.request, clinic.without(TABLES, 3))
    names = [each.measure for each in apart.noises]
    moves = [clinic.moved(whole[name], rest[name]).values() for name in names]
    assert sum(abs(step) for each in moves for step in each) > claim


UNCOVERED = {
    "fewer groups in all": (BY_CITY, groups.GroupSelection, "available", 1),
    "smaller distances": (TOTALS, sketching, "_part", as_parts(narrower)),
    "fewer rows in ranks": (MEDIAN, sketching, "_part", as_parts(narrower)),
    "fewer groups": (TOTALS, sketching, "_part", as_parts(in_one_group)),
    "fewer rows in cells": (STEPS, sketching, "_part", as_parts(narrower)),
    "fewer groups of cells": (STEPS, sketching, "_part", as_parts(in_one_group)),
    "fewer groups in ranks": (MEDIAN, sketching, "_part", as_parts(in_one_group)),
    "smaller counts that choose": (CITIES, sketching, "_keys", as_keys(most=1)),
    "fewer groups that are chosen": (CITIES, sketching, "_keys", as_keys(groups=1)),
}


@pytest.mark.theorem("bounded-contribution")
@pytest.mark.parametrize("name", UNCOVERED)
def test_a_claim_that_nothing_enforces_is_refused(name, monkeypatch):
    text, owner, step, value = UNCOVERED[name]
    clinic.planned(text)
    with pytest.raises(OutOfRange), planted(monkeypatch, owner, step, value):
        clinic.planned(text)


def test_a_unit_of_many_rows_cannot_pass_for_a_single_row(monkeypatch):
    with (
        pytest.raises(OutOfRange),
        planted(monkeypatch, contribution_limits, LIMITS, limits(single=True)),
    ):
        clinic.planned(TOTALS)


ROWS = read_policy(
    """
format = 1
unit = "row"
[tables.visits.columns]
ward = {type = "text", categories = ["A", "B"]}
age = {type = "integer", low = 0, high = 110}
[tables.wards]
public = true
key = ["ward"]
[tables.wards.columns]
ward = {type = "text"}
beds = {type = "integer", low = 0, high = 50}
"""
)
JOINS = [
    "SELECT COUNT(*) AS n, SUM(w.beds) AS s FROM visits v JOIN wards w ON v.ward = w.ward",
    "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.age < w.beds",
    "SELECT COUNT(*) AS n FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND w.beds > 1",
    "SELECT COUNT(*) AS n FROM wards w RIGHT JOIN visits v ON v.age = w.beds",
    "SELECT COUNT(*) AS n, SUM(w.beds) AS s FROM visits v CROSS JOIN wards w",
]
SEVERAL = [{"ward": ward, "beds": beds} for ward in "AB" for beds in (2, 3, 4)]


ROW_TYPES = {table.name: {c.name: c.type for c in table.columns} for table in ROWS.tables}


def check_rows(text, place, monkeypatch, **patch):
    """Join rows, each of which is a unit, with a public table whose key is none."""
    monkeypatch.setattr(clinic, "TYPES", ROW_TYPES)
    schema = Schema(ROWS.tables)
    with monkeypatch.context() as wrong:
        for name, value in {"_is_key": lambda *_: True, **patch}.items():
            wrong.setattr(joins, name, value)
        plan = clinic.planned(text, policy=ROWS, schema=schema, unit=row(), epsilon=1)
    rows = [{"ward": "ABC"[number % 3], "age": number % 4} for number in range(9)]
    found = [
        answered(place, plan.request, {"visits": some, "wards": SEVERAL}, schema)
        for some in (rows, *(rows[:number] + rows[number + 1 :] for number in range(len(rows))))
    ]
    for rest in found[1:]:
        check(plan, found[0], rest, replaced=False)


@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize(
    "place", [ReferencePlace(), KeptDuckDBPlace()], ids=lambda each: each.engine
)
@pytest.mark.parametrize("text", JOINS)
def test_a_row_counts_once_whatever_is_believed_of_keys(text, place, monkeypatch):
    check_rows(text, place, monkeypatch)


@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize("text", JOINS)
def test_a_twin_that_joins_all_rows_is_caught(text, monkeypatch):
    with pytest.raises(AssertionError):
        check_rows(text, KeptDuckDBPlace(), monkeypatch, _met=lambda _, public, *__: (public, 1))


def test_a_wrong_range_of_a_row_costs_accuracy_alone(monkeypatch):
    monkeypatch.setattr(Expressions, "bounds", narrow)
    check_rows("SELECT COUNT(*) AS n, SUM(age) AS s FROM visits", KeptDuckDBPlace(), monkeypatch)
