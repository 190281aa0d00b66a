"""The accountant for people with several rows, against enumeration: never below, and equal where
it says that a worst neighbor exists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Choice,
    Contribution,
    Group,
    Leaf,
    Node,
    Parallel,
    Sampled,
    Sequential,
    Statement,
    Where,
    account,
    at_least,
    below,
    between,
    equals,
    exact_size,
    is_not_null,
    one_of,
)
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.errors import NotComposable, OutOfRange
from discreet.loss import GaussianDP, Pure
from discreet.units import PrivacyUnit, custom, person, row
from tests.accounting.unit_oracle import (
    Limits,
    Row,
    Rows,
    Truth,
    anyone,
    balance,
    days,
    leak,
    people,
    rows,
    same_again,
    told,
)

HALF, THIRDS, FIFTHS = Fraction(1, 2), Fraction(2, 3), Fraction(4, 5)
RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0)
CELLS: list[Row] = [
    {"ward": w, "sex": s, "day": 1} for w, s in product(("A", "B", "C"), ("f", "m", "x"))
]
WARDS: list[Row] = [{"ward": w, "sex": "f", "day": d} for w, d in product("ABC", (1, 2))]
ADD, REPLACE, EITHER = (person("id", relation=r) for r in ("add_remove", "replace", "either"))
ROW, ROW_REPLACED = row(), row(relation="replace")
ONE = Leaf(Pure(epsilon=1))
STRANGERS: tuple[Rows, ...] = (
    (),
    ({**CELLS[0], "id": 1},),
    ({**CELLS[0], "id": 1}, {**CELLS[4], "id": 2}),
)


def contribution(limits: Limits) -> Contribution:
    units = None if limits.days is None else {"person-day": limits.days}
    return Contribution(rows=limits.rows, per_part=limits.per_part, parts=limits.parts, units=units)


def never_below(statement: Statement, truth: Truth) -> None:
    for ratio in RATIOS:
        claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
        assert claimed >= truth.delta(ratio) - 1e-9, (ratio, claimed, truth.delta(ratio))


def never_above(statement: Statement, truth: Truth) -> None:
    """The lower ends of the price are attained by some neighbor."""
    assert statement.interval(delta=0).low <= truth.epsilon() + 1e-9
    for delta in (0.01, 0.1):
        low = statement.interval(delta=Fraction(delta)).low
        assert low <= 1e-6 or truth.delta(math.exp(low - 1e-6)) >= delta - 1e-9, (low, delta)


def check(
    tree: Node,
    cells: Sequence[Row],
    unit: PrivacyUnit,
    limits: Limits = Limits(),  # noqa: B008  (frozen)
    others: Sequence[Rows] = ((),),
    *,
    tight: bool = False,
) -> Statement:
    statement = account(tree, unit=unit, contribution=contribution(limits))
    truth = Truth(tree, cells, unit, limits=limits, others=others)
    never_below(statement, truth)
    never_above(statement, truth)
    if tight:
        for ratio in RATIOS:
            claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
            assert claimed <= truth.delta(ratio) + 1e-7, (ratio, claimed, truth.delta(ratio))
    return statement


# Several rows


@pytest.mark.theorem("contribution")
@pytest.mark.parametrize("unit", [ADD, REPLACE, EITHER], ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize(
    "limits",
    [Limits(rows=2), Limits(rows=2, per_part={"ward": 1}), Limits(rows=2, parts={"ward": 1})],
    ids=["rows", "one-a-part", "one-part"],
)
def test_rows_are_handed_out_to_the_costliest_parts(unit: PrivacyUnit, limits: Limits) -> None:
    parts = {"A": rows(HALF), "B": rows(THIRDS)}
    tree = Sequential(rows(FIFTHS), Parallel("ward", parts))
    check(tree, WARDS[::2], unit, limits, tight=True)


@pytest.mark.theorem("contribution")
def test_a_part_that_saturates_is_not_the_worst_place_for_two_rows() -> None:
    parts = {"A": anyone(HALF), "B": anyone(THIRDS)}
    statement = check(Parallel("ward", parts), WARDS[::2], ADD, Limits(rows=2), tight=True)
    assert statement.epsilon(delta=0) == pytest.approx(HALF + THIRDS)


@pytest.mark.theorem("contribution")
@pytest.mark.parametrize("unit", [ADD, REPLACE], ids=lambda unit: unit.relation.value)
def test_leaves_with_a_direction_keep_it(unit: PrivacyUnit) -> None:
    tree = Parallel("ward", {"A": leak(THIRDS), "B": Sequential(leak(HALF), rows(HALF))})
    check(tree, WARDS[::2], unit, Limits(rows=2, per_part={"ward": 1}))


@pytest.mark.theorem("contribution")
def test_limits_on_single_values_do_not_limit_a_range_of_them() -> None:
    tree = Parallel("age", {below(18): ONE, at_least(18): ONE})
    limits = Contribution(rows=4, per_part={"age": 1})
    assert account(tree, unit=ADD, contribution=limits).epsilon(delta=0) == 4


@pytest.mark.parametrize("unit", [ADD, REPLACE], ids=lambda unit: unit.relation.value)
@pytest.mark.parametrize(
    "limits",
    [Limits(rows=2), Limits(rows=2, per_part={"ward": 1}), Limits(rows=2, parts={"sex": 1})],
)
def test_nested_and_crossing_keys_are_never_priced_too_low(
    unit: PrivacyUnit, limits: Limits
) -> None:
    wards = Parallel("ward", {"A": rows(HALF)})
    nested = Parallel("sex", {"f": wards, "m": wards})
    crossing = Sequential(
        Parallel("ward", {"A": rows(HALF), "B": rows(FIFTHS)}), Parallel("sex", {"f": rows(THIRDS)})
    )
    for tree in (nested, crossing):
        check(tree, CELLS, unit, limits)


@pytest.mark.theorem("contribution")
def test_without_a_limit_on_rows_there_is_no_price() -> None:
    with pytest.raises(OutOfRange, match="how many rows"):
        account(ONE, unit=ADD)
    assert account(people(HALF), unit=ADD).epsilon(delta=0) == pytest.approx(math.log(2))


def test_more_rows_than_can_be_gone_through_are_chained() -> None:
    statement = account(ONE, unit=REPLACE, contribution=Contribution(rows=1000))
    assert statement.epsilon(delta=0) == pytest.approx(2000)


@pytest.mark.theorem("contribution")
def test_more_ways_to_hand_out_rows_than_can_be_looked_at_are_chained() -> None:
    many = Contribution(rows=20)
    pure = Parallel("w", {n: Leaf(Pure(epsilon=Fraction(n, 10))) for n in range(1, 6)})
    assert account(pure, unit=ADD, contribution=many).epsilon(delta=0) == pytest.approx(10)
    gauss = Parallel("w", {n: Leaf(GaussianDP(mu=Fraction(n, 10))) for n in range(1, 6)})
    found = account(gauss, unit=ADD, contribution=many)
    least = GaussianDP(mu=10).epsilon(delta=1e-6)  # all rows in the costliest part
    assert least <= found.epsilon(delta=1e-6) <= 1.2 * least
    assert not found.witness.exact


def test_crossing_keys_with_too_many_cells_are_priced_apart() -> None:
    keys = [
        Parallel(key, {n: Leaf(Pure(epsilon=Fraction(n, 100))) for n in range(1, 20)})
        for key in "abcd"
    ]
    crossed = Sequential(
        Where(Box({key: (~equals(0) & is_not_null()) for key in "abcd"}), ONE), *keys
    )
    price = account(crossed, relation="add_remove")
    assert price.epsilon(delta=0) == pytest.approx(1 + 4 * 0.19)
    assert not price.witness.exact


def test_all_rows_of_a_unit_share_its_columns() -> None:
    visits = custom("person-day", columns=["id", "day"])
    tree = Parallel("day", {1: anyone(HALF), 2: anyone(HALF)})
    found = account(tree, unit=visits, contribution=Contribution(rows=2)).interval(delta=0)
    assert found.low - 1e-9 <= HALF <= found.high


# Mixed granularities


@pytest.mark.theorem("general-composition")
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
def test_a_count_of_people_where_one_row_changes(relation: str) -> None:
    parts = {"A": people(HALF), "B": Sequential(people(THIRDS), rows(FIFTHS))}
    for tree in (people(HALF), Parallel("ward", parts)):
        check(tree, CELLS[:6], row(relation=relation), others=STRANGERS)


@pytest.mark.theorem("general-composition")
def test_a_row_can_move_between_people() -> None:
    by_person = Leaf(Pure(epsilon=1), unit=ADD)
    assert account(by_person, relation="add_remove").epsilon(delta=0) == 2
    assert account(by_person, relation="replace").epsilon(delta=0) == 4
    fixed = Leaf(Pure(epsilon=1), unit=REPLACE)
    for relation in ("add_remove", "replace"):
        assert math.isinf(account(fixed, relation=relation).epsilon(delta=0))
    common = Leaf(Pure(epsilon=1), unit=REPLACE, common_domain=True)
    assert math.isinf(account(common, relation="replace").epsilon(delta=0))


@pytest.mark.theorem("general-composition")
@pytest.mark.parametrize("unit", [ADD, REPLACE], ids=lambda unit: unit.relation.value)
def test_days_of_a_person(unit: PrivacyUnit) -> None:
    tree = Sequential(days(HALF), Parallel("ward", {"A": days(THIRDS), "B": people(FIFTHS)}))
    check(tree, WARDS, unit, Limits(rows=2, days=1))
    check(tree, WARDS, unit, Limits(rows=2))


# Other relations


@pytest.mark.theorem("bounded-parallel")
def test_exact_sizes_are_free_only_where_they_cannot_change() -> None:
    assert account(told(), relation="replace").epsilon(delta=0) == 0
    inside = Parallel("ward", {"A": told()})
    for tree, relation in ((told(), "add_remove"), (told(), "either"), (inside, "replace")):
        statement = account(tree, relation=relation)
        assert math.isinf(statement.epsilon(delta=0))
        assert "infinite" in str(statement)
    one_row = account(told(), unit=REPLACE, contribution=Contribution(rows=1))
    assert one_row.epsilon(delta=0) == 0
    two_rows = account(told(), unit=REPLACE, contribution=Contribution(rows=2))
    assert math.isinf(two_rows.epsilon(delta=0))


@pytest.mark.theorem("scenario-accounting")
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
def test_either_is_the_worse_of_both(relation: str) -> None:
    tree = Sequential(rows(THIRDS), Parallel("ward", {"A": rows(HALF), "B": balance(THIRDS)}))
    check(tree, CELLS, row(relation=relation))
    either = account(tree, relation="either").epsilon(delta=0)
    assert either >= account(tree, relation=relation).epsilon(delta=0)


# Records with several values of a key


TAGS: list[Row] = [{"tag": each} for each in (("a",), ("b",), ("a", "b"), ("a", "c"), ("b", "c"))]


@pytest.mark.theorem("parallel")
@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
def test_a_record_with_two_tags_pays_for_both(relation: str) -> None:
    parts = {"a": rows(HALF), "b": rows(THIRDS), "c": rows(FIFTHS)}
    tree = Sequential(Parallel("tag", parts, overlap=2), rows(FIFTHS))
    check(tree, TAGS, row(relation=relation))


def test_a_sample_of_tags_is_never_priced_too_low() -> None:
    tags = Parallel("tag", {"a": rows(HALF), "b": leak(THIRDS)}, overlap=2)
    check(Sampled(tags, rate=Fraction(1, 4)), TAGS, ROW)


def test_what_no_theorem_covers_about_tags_is_refused() -> None:
    def tags(names: str, overlap: int) -> Node:
        return Parallel("tag", dict.fromkeys(names, ONE), overlap=overlap)

    nested = Parallel("tag", {"a": tags("b", 2)}, overlap=2)
    narrowed = Where(Box({"tag": equals("a")}), tags("ab", 2))
    for tree in (tags("abc", 3) + tags("ab", 2), nested, narrowed):
        with pytest.raises(NotComposable, match="several values"):
            account(tree, relation="add_remove")


# Preprocessing


@pytest.mark.theorem("preprocessing")
def test_what_a_row_becomes_may_lie_in_other_parts() -> None:
    def spread(row: Row, distance: int) -> Rows:
        return tuple({**row, "ward": ward} for ward in "AB"[:distance])

    def moved(row: Row, distance: int) -> Rows:
        return ({**row, "ward": "B" if row["ward"] == "A" else "A"},) * distance

    inside = Group(Parallel("ward", {"A": anyone(HALF), "B": rows(THIRDS)}), distance=2)
    tree = Sequential(Parallel("ward", {"A": anyone(HALF), "B": anyone(THIRDS)}), inside)
    for relation in ("add_remove", "replace"):
        unit = row(relation=relation)
        statement = account(tree, unit=unit)
        for expand in (spread, moved, same_again):
            never_below(statement, Truth(tree, WARDS[::2], unit, expand=expand))


@pytest.mark.theorem("preprocessing")
@pytest.mark.theorem("poisson-sampling")
def test_what_a_row_becomes_is_drawn_row_by_row() -> None:
    tree = Group(Sampled(Sequential(anyone(HALF), leak(HALF)), rate=Fraction(1, 10)), distance=2)
    check(tree, WARDS[:1], ROW)
    check(Sampled(Group(rows(HALF), distance=2), rate=HALF), WARDS[:1], ROW)


@pytest.mark.theorem("preprocessing")
def test_what_a_row_becomes_may_belong_to_others() -> None:
    by_person = Leaf(Pure(epsilon=1), unit=ADD)
    limits = Contribution(rows=5)
    for tree in (Group(by_person, distance=2), Group(Choice(by_person), distance=2)):
        # ten rows, each of a person who changes in part
        assert account(tree, unit=ADD, contribution=limits).epsilon(delta=0) == 20


# Samples


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("unit", [ADD, REPLACE, ROW, ROW_REPLACED])
def test_a_sample_of_people(unit: PrivacyUnit) -> None:
    inside = Sequential(rows(HALF), Parallel("ward", {"A": balance(THIRDS)}))
    tree = Sampled(inside, rate=Fraction(1, 4), unit=ADD)
    limits = Limits(rows=2) if unit.columns else Limits()
    statement = account(tree, unit=unit, contribution=contribution(limits))
    others = ((), ({**CELLS[4], "id": 2},))
    never_below(statement, Truth(tree, CELLS[:4], unit, limits=limits, others=others))


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.theorem("bounded-parallel")
def test_a_certificate_for_tables_of_one_size_says_nothing_about_who_is_drawn() -> None:
    # it may tell how many rows there are, and one bit of a record by randomized response
    truth, lie = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))
    q = 0.1
    with_one = {("more", bit): q * (truth if bit else lie) for bit in (0, 1)}
    with_zero = {("more", bit): q * (lie if bit else truth) for bit in (0, 1)}
    true = max(math.log(with_one[s] / with_zero[s]) for s in with_one)
    for common in (False, True):
        leaf = Leaf(Pure(epsilon=1), relation="replace", common_domain=common)
        statement = account(Sampled(leaf, rate=Fraction(1, 10)), relation="replace")
        assert statement.epsilon(delta=0) >= true * (1 - 1e-12)


@pytest.mark.theorem("amplification")
def test_a_sample_of_fixed_size_needs_a_population_of_fixed_size() -> None:
    sample = Sampled(ONE, size=10, population=100)
    found = account(sample, relation="add_remove").interval(delta=0)
    assert math.isinf(found.high)
    assert found.low <= 2  # a sample of ten can change by one row in any case
    replaced = account(sample, relation="replace").epsilon(delta=0)
    assert replaced == pytest.approx(math.log1p(math.expm1(2) / 10), rel=1e-6)


@pytest.mark.theorem("amplification")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_samples_of_fixed_size_are_never_priced_too_low(size: int) -> None:
    parts = Parallel("ward", {"A": rows(HALF), "B": balance(THIRDS)})
    alone = Sampled(parts, size=size, population=3)
    for tree in (alone, Sequential(rows(HALF), Parallel("sex", {"f": rows(FIFTHS)}), alone)):
        others = [
            tuple({**cell, "id": 3} for cell in two) for two in product(CELLS[:5:2], repeat=2)
        ]
        truth = Truth(tree, CELLS, ROW_REPLACED, others=others)
        never_below(account(tree, unit=ROW_REPLACED), truth)


# Impossible records and sets that are not exactly known


def test_ranges_of_text_may_or_may_not_meet() -> None:
    parts = (Where(Box({"name": at_least("n")}), ONE), Where(Box({"name": between("a", "m")}), ONE))
    found = account(Sequential(*parts), relation="add_remove").interval(delta=0)
    assert found.high == 2
    assert found.low <= 1  # where they do not meet


def test_what_is_impossible_for_rows_is_never_priced_too_low() -> None:
    tree = Sequential(
        Parallel("ward", {"A": rows(HALF), "B": rows(THIRDS)}), Parallel("sex", {"m": rows(HALF)})
    )
    cells = [cell for cell in CELLS if cell["ward"] != "A" or cell["sex"] != "m"]
    limits = Limits(rows=2)
    for unit in (ADD, REPLACE):
        statement = account(
            tree,
            unit=unit,
            contribution=contribution(limits),
            impossible=[{"ward": "A", "sex": "m"}],
        )
        truth = Truth(tree, cells, unit, limits=limits)
        never_below(statement, truth)
        never_above(statement, truth)


def test_the_worst_neighbor_is_called_by_its_relation() -> None:
    assert str(account(ONE, relation="replace").witness) == "replace a row"
    assert str(account(ONE, relation="add_remove").witness) == "remove a row"
    parts = Parallel("ward", {"A": rows(HALF), "B": rows(THIRDS)})
    witness = account(parts, unit=ADD, contribution=Contribution(rows=2)).witness_at(delta=0)
    (place,) = witness.removed or witness.inserted
    assert (place.column, place.rows, place.values) == ("ward", 2, equals("A"))
    assert witness.exact
    assert math.isinf(account(exact_size(), relation="add_remove").epsilon(delta=0))
    assert math.isinf(account(Leaf(UNPROTECTED), relation="replace").epsilon(delta=0))


# Random trees

RATIO = st.sampled_from([HALF, THIRDS, FIFTHS])
KINDS = st.sampled_from([rows, people, balance, anyone, leak])
COUNTS = st.sampled_from([rows, people])


def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    boxes = st.sampled_from(
        [
            Box({"ward": one_of("A", "B")}),
            Box({"ward": equals("B"), "sex": equals("m")}),
            Box({"sex": (~equals("f") & is_not_null())}),
        ]
    )
    return st.one_of(
        st.builds(Sequential, children, children),
        st.builds(lambda a, b: Parallel("ward", {"A": a, "B": b}), children, children),
        st.builds(lambda a, b: Parallel("sex", {"f": a, "m": b}), children, children),
        st.builds(Where, boxes, children),
        st.builds(Choice, children, children),
    )


def trees(kinds: st.SearchStrategy) -> st.SearchStrategy[Node]:
    leaves = st.builds(lambda kind, ratio: kind(ratio), kinds, RATIO)
    return st.recursive(leaves, grown, max_leaves=3)


LIMITS = st.sampled_from(
    [
        Limits(rows=2),
        Limits(rows=2, per_part={"ward": 1}),
        Limits(rows=2, parts={"ward": 1}, per_part={"sex": 1}),
    ]
)
SLOW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.theorem("contribution")
@SLOW
@given(tree=trees(COUNTS), limits=LIMITS, unit=st.sampled_from([ADD, REPLACE, EITHER]))
def test_random_trees_of_counts_for_people(tree: Node, limits: Limits, unit: PrivacyUnit) -> None:
    check(tree, CELLS, unit, limits)


@SLOW
@given(tree=trees(KINDS), limits=LIMITS, unit=st.sampled_from([ADD, REPLACE]))
def test_random_trees_for_people_are_never_priced_too_low(
    tree: Node, limits: Limits, unit: PrivacyUnit
) -> None:
    statement = account(tree, unit=unit, contribution=contribution(limits))
    never_below(statement, Truth(tree, CELLS, unit, limits=limits))


@SLOW
@given(tree=trees(KINDS), relation=st.sampled_from(["add_remove", "replace", "either"]))
def test_random_trees_for_rows_are_never_priced_too_low(tree: Node, relation: str) -> None:
    unit = row(relation=relation)
    truth = Truth(tree, CELLS, unit, others=STRANGERS)
    never_below(account(tree, unit=unit), truth)
