"""Books: one filter a cell, for one record and for two, against brute force over small domains."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    UNPROTECTED,
    Box,
    Leaf,
    Parallel,
    Post,
    Repeat,
    Where,
    at_least,
    equals,
    exact_size,
    one_of,
)
from discreet.accounting.amounts import amount_up, amount_value
from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.filter import PrivacyFilter
from discreet.errors import NotComposable, OverBudget, WrongKind
from discreet.loss import Approximate, GaussianDP, Pure, ZeroConcentrated
from discreet.mechanisms import Laplace
from discreet.units import person, row
from tests.accounting.games import Ask, response, value

STATES = [f"S{k:02d}" for k in range(50)]
COUNT = Leaf(Pure(epsilon="0.1"), replaced=Pure(epsilon=0))  # replacing a record leaves it alone


def state(*names):
    return Box({"state": one_of(*names)})


def open_filter(relation="add_remove", **limits):
    return PrivacyFilter(Budget(**limits), unit=row(relation=relation))


# --- one record ---------------------------------------------------------------------------------


@pytest.mark.theorem("cell-filters")
@given(st.randoms(use_true_random=False))
@settings(max_examples=3)
def test_fifty_states_asked_twenty_questions_each_cost_as_twenty(random):
    spending = open_filter(epsilon=2)
    asked = [name for name in STATES for _ in range(20)]
    random.shuffle(asked)
    for name in asked:
        spending.charge(Pure(epsilon="0.1"), scope=state(name))
    assert spending.spent == (2 * 10**24, 0)
    for scope in (state("S07"), state("S07", "elsewhere"), Box.everything()):
        assert spending.left(scope).how_many(Pure(epsilon="0.1")) == 0
        with pytest.raises(OverBudget):
            spending.charge(Pure(epsilon="0.1"), scope=scope)
    assert spending.left(state("elsewhere")).how_many(Pure(epsilon="0.1")) == 20


def test_ten_tenths_fit_and_an_eleventh_does_not():
    spending = open_filter(epsilon=1)
    for _ in range(10):
        spending.charge(Pure(epsilon=0.1))
    with pytest.raises(OverBudget):
        spending.charge(Pure(epsilon="1e-24"))
    spending.charge(Pure(epsilon=0))
    assert spending.guarantee == Pure(epsilon=1)


@pytest.mark.theorem("cell-filters")
def test_a_tree_is_one_charge_at_its_tight_price():
    plan = Repeat(Leaf(Pure(epsilon="0.1")), 100)
    together, one_by_one = (open_filter(rho=10) for _ in range(2))
    together.charge(plan)
    for _ in range(100):
        one_by_one.charge(Pure(epsilon="0.1"))
    assert together.spent <= one_by_one.spent
    basic = open_filter(epsilon=10)
    basic.charge(plan)
    assert basic.spent == (10 * 10**24, 0)
    named = open_filter(epsilon=10, delta="1e-3")
    named.charge(plan, delta="1e-6")
    assert amount_value(named.spent[0]) < 5
    assert amount_value(named.spent[1]) == Fraction(1, 10**6)


def test_parallel_parts_are_charged_where_they_are():
    spending = open_filter(epsilon=1)
    wards = Parallel("ward", {"A": Leaf(Pure(epsilon="0.7")), "B": 2 * Leaf(Pure(epsilon="0.1"))})
    charge = spending.charge(Post(Where(Box({"age": at_least(18)}), wards)))
    assert charge.amounts == (7 * 10**23, 0)
    assert [str(piece.box) for piece in charge.pieces] == [
        "age from 18; ward 'A'",
        "age from 18; ward 'B'",
    ]
    adult = Box({"age": equals(30)})
    assert spending.left(adult & Box({"ward": equals("A")})).amounts == (3 * 10**23, 0)
    assert spending.left(adult & Box({"ward": equals("B")})).amounts == (8 * 10**23, 0)
    assert spending.left(adult & Box({"ward": equals("C")})).amounts == (10**24, 0)
    assert spending.left(Box({"age": equals(12)})).amounts == (10**24, 0)


def test_parts_that_a_record_can_share_are_charged_everywhere():
    parts = {"A": Leaf(Pure(epsilon="0.1")), "B": Leaf(Pure(epsilon="0.2"))}
    spending = open_filter(epsilon=1)
    assert len(spending.charge(Parallel("tag", parts, overlap=2)).pieces) == 1
    assert spending.spent == (3 * 10**23, 0)


def test_a_value_of_a_key_with_several_does_not_say_where_a_record_is():
    parts = Parallel("tag", {name: Leaf(Pure(epsilon="0.1")) for name in "AB"}, overlap=2)
    spending = open_filter(epsilon=1)
    spending.charge(parts, scope=Box({"tag": equals("A"), "age": at_least(18)}))
    assert spending.left(Box({"tag": equals("C"), "age": equals(30)})).amounts == (8 * 10**23, 0)
    assert spending.left(Box({"age": equals(12)})).amounts == (10**24, 0)
    counts = Parallel("tag", dict.fromkeys("AB", COUNT), overlap=2)
    tagged = open_filter("replace", epsilon=1)
    tagged.charge(counts, scope=Box({"tag": equals("A")}))
    untagged = open_filter("replace", epsilon=1)
    untagged.charge(counts)
    assert tagged.spent[0] >= untagged.spent[0] >= 10**23


def test_a_refusal_changes_nothing_even_if_most_parts_would_fit():
    spending = open_filter(epsilon=1)
    spending.charge(Pure(epsilon="0.9"), scope=state("B"))
    parts = Parallel("state", {name: Leaf(Pure(epsilon="0.2")) for name in "ABC"})
    before = [spending.left(state(name)).amounts for name in "ABC"]
    with pytest.raises(OverBudget):
        spending.charge(parts)
    assert [spending.left(state(name)).amounts for name in "ABC"] == before
    assert spending.charge(Pure(epsilon="0.1")).number == 2


def test_nothing_is_charged_for_what_looks_at_nobody():
    spending = open_filter(epsilon=1)
    charge = spending.charge(Pure(epsilon=5), scope=state("A") & state("B"))
    assert charge.amounts == (0, 0)
    assert spending.spent == (0, 0)


# --- what is never accepted ---------------------------------------------------------------------

BUDGETS = [
    {"epsilon": 10},
    {"epsilon": 10, "delta": "0.5"},
    {"rho": 10, "delta": "0.5"},
]


@pytest.mark.parametrize("limits", BUDGETS, ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
@pytest.mark.parametrize(
    "what",
    [
        UNPROTECTED,
        Leaf(UNPROTECTED),
        2 * Leaf(UNPROTECTED),
        Leaf(Pure(epsilon=1)) + Leaf(UNPROTECTED),
    ],
)
def test_telling_everything_is_refused(limits, relation, what):
    spending = open_filter(relation, **limits)
    with pytest.raises(OverBudget):
        spending.charge(what)
    with pytest.raises(OverBudget):
        spending.charge(what, scope=state("A"))
    assert not any(spending.spent)


def test_an_exact_size_is_free_where_records_are_replaced_and_nowhere_else():
    spending = open_filter("replace", epsilon=0)
    spending.charge(exact_size())
    assert spending.spent == (0, 0)
    for relation, scope in [("add_remove", None), ("either", None), ("replace", state("A"))]:
        with pytest.raises(OverBudget):
            open_filter(relation, epsilon=1).charge(exact_size(), scope=scope)


def test_a_bounded_certificate_holds_for_all_records_and_not_for_some():
    leaf = Leaf(Pure(epsilon="0.1"), relation="replace")
    spending = open_filter("replace", epsilon=1)
    spending.charge(leaf)
    assert spending.spent == (10**23, 0)
    with pytest.raises(OverBudget):
        spending.charge(leaf, scope=state("A"))
    with pytest.raises(OverBudget):
        open_filter(epsilon=1).charge(leaf)


def test_a_certificate_about_the_whole_table_may_read_a_part():
    parts = {
        name: Leaf(Pure(epsilon=e), relation="replace", common_domain=True)
        for name, e in [("A", "0.1"), ("B", "0.2"), ("C", "0.3")]
    }
    spending = open_filter("replace", epsilon=1)
    spending.charge(Parallel("state", parts))
    assert spending.spent == (5 * 10**23, 0)


def test_such_a_certificate_is_charged_everywhere_even_if_its_scope_is_smaller():
    spending = open_filter("replace", epsilon=1)
    leaf = Leaf(Pure(epsilon="0.1"), relation="replace", common_domain=True)
    (piece,) = spending.charge(leaf, scope=state("A")).pieces
    assert piece.box == Box.everything()
    assert spending.left(state("B")).amounts == (9 * 10**23, 0)


@pytest.mark.parametrize("bad", [0.1, "a lot", None, Box.everything()])
def test_only_what_has_a_price_is_charged(bad):
    with pytest.raises(WrongKind):
        open_filter(epsilon=1).charge(bad)


def test_bad_filters_and_scopes():
    with pytest.raises(WrongKind):
        PrivacyFilter(1, unit=row())
    with pytest.raises(WrongKind):
        PrivacyFilter(Budget(epsilon=1), unit="person")
    with pytest.raises(WrongKind):
        PrivacyFilter(Budget(epsilon=1), unit=row(), constant="age")
    with pytest.raises(WrongKind):
        open_filter(epsilon=1).charge(Pure(epsilon=1), scope={"age": 1})
    with pytest.raises(WrongKind):
        open_filter(epsilon=1).left("everything")


# --- units of several rows ----------------------------------------------------------------------


@pytest.mark.theorem("cell-filters")
def test_a_person_is_charged_everywhere_for_a_column_that_can_change():
    spending = PrivacyFilter(Budget(epsilon=1), unit=person("patient"))
    spending.charge(Pure(epsilon="0.3"), scope=Box({"ward": equals("A")}))
    spending.charge(Pure(epsilon="0.3"), scope=Box({"ward": equals("B")}))
    assert spending.spent == (6 * 10**23, 0)
    assert spending.left(Box({"ward": equals("C")})).amounts == (4 * 10**23, 0)


@pytest.mark.theorem("cell-filters")
def test_but_not_for_columns_that_all_rows_of_a_person_share():
    spending = PrivacyFilter(Budget(epsilon=1), unit=person("patient"), constant=["birth_year"])
    for year in (1980, 1981):
        spending.charge(Pure(epsilon="0.3"), scope=Box({"birth_year": equals(year)}))
    spending.charge(Pure(epsilon="0.1"), scope=Box({"patient": equals(7)}))
    assert spending.spent == (4 * 10**23, 0)
    both = Box({"birth_year": equals(1980), "ward": equals("A")})
    spending.charge(Pure(epsilon="0.6"), scope=both)
    assert spending.spent == (10**24, 0)
    assert spending.left(Box({"birth_year": equals(1981)})).amounts == (6 * 10**23, 0)


def test_parallel_parts_of_a_person_are_one_charge_unless_the_key_is_constant():
    limits = Contribution(rows=3)
    parts = Parallel("ward", {name: Leaf(Pure(epsilon="0.1")) for name in "ABCD"})
    spending = PrivacyFilter(Budget(epsilon=1), unit=person("patient"), contribution=limits)
    spending.charge(parts)
    assert spending.spent == (3 * 10**23, 0)  # three rows, wherever they are
    spending = PrivacyFilter(
        Budget(epsilon=1), unit=person("patient"), constant=["ward"], contribution=limits
    )
    charge = spending.charge(parts)
    assert len(charge.pieces) == 4
    assert spending.spent == (3 * 10**23, 0)
    assert spending.left(Box({"ward": equals("E")})).amounts == (10**24, 0)


def test_rows_are_not_counted_by_guessing():
    spending = PrivacyFilter(Budget(epsilon=1), unit=person("patient"))
    known = Leaf(Pure(epsilon="0.1"), unit=person("patient"))
    by_ward = Parallel("ward", {"A": known, "B": known})  # a person may be in both
    for what in (Laplace(scale=10), Leaf(Laplace(scale=10)), 2 * Leaf(Laplace(scale=10)), by_ward):
        with pytest.raises(NotComposable, match="rows"):
            spending.charge(what)
    spending.charge(Post(Where(Box({"ward": equals("A")}), 2 * known + (known | known))))
    assert spending.spent == (3 * 10**23, 0)


@pytest.mark.theorem("cell-pairs")
def test_a_scope_that_is_widened_may_see_one_of_two_people():
    """x has visits in the ward and y has none: the count changes, though both may have some."""
    ward = Box({"ward": equals("A")})
    for what, scope in [(COUNT, ward), (Where(ward, COUNT), None)]:
        patients = person("patient", relation="replace")
        spending = PrivacyFilter(
            Budget(epsilon=1), unit=patients, contribution=Contribution(rows=1)
        )
        spending.charge(what, scope=scope)
        assert spending.spent == (10**23, 0)
    spending.charge(COUNT)  # everybody has rows that it sees
    assert spending.spent == (10**23, 0)
    rows = open_filter("replace", epsilon=1)
    perhaps = ward.for_unit(person("patient"))
    assert not perhaps.exact
    rows.charge(COUNT, scope=perhaps)
    assert rows.spent == (10**23, 0)


# --- two records --------------------------------------------------------------------------------


@pytest.mark.theorem("cell-pairs")
def test_one_request_about_both_cells_costs_four_times_its_rho():
    everything = open_filter("replace", rho=1)
    everything.charge(ZeroConcentrated(rho="0.1"))
    assert amount_value(everything.spent[0]) == Fraction(4, 10)  # not 0.2
    cells = open_filter("replace", rho=1)
    for name in "AB":
        cells.charge(ZeroConcentrated(rho=0), scope=state(name))
    cells.charge(ZeroConcentrated(rho="0.1"), scope=state("A", "B"))
    assert amount_value(cells.spent[0]) == Fraction(4, 10)


@pytest.mark.theorem("cell-pairs")
def test_counts_of_two_states_cost_both_where_a_record_can_move():
    spending = open_filter("replace", epsilon=1)
    spending.charge(COUNT, scope=state("A"))
    assert spending.spent == (10**23, 0)
    spending.charge(COUNT, scope=state("B"))  # as much as A paid, but not the same
    assert spending.spent == (2 * 10**23, 0)
    spending.charge(COUNT, scope=state("C"))
    assert spending.spent == (2 * 10**23, 0)
    spending.charge(COUNT)  # all records: replacing one leaves the count alone
    assert spending.spent == (2 * 10**23, 0)


RECORDS = list(itertools.product("abc", "xy"))
PRICES = st.integers(0, 5)
BOXES = st.tuples(
    st.sets(st.sampled_from("abc"), min_size=1), st.sets(st.sampled_from("xy"), min_size=1)
)
REQUEST = st.tuples(BOXES, PRICES, PRICES).map(
    lambda r: (r[0], r[1], min(r[2], 2 * r[1]))  # a row leaves, and another comes
)
REQUESTS = st.lists(REQUEST, max_size=8)


def box_of(sets):
    letters, signs = sets
    return Box({"letter": one_of(*sorted(letters)), "sign": one_of(*sorted(signs))})


def leaf_of(added, replaced):
    return Leaf(Pure(epsilon=Fraction(added, 10)), replaced=Pure(epsilon=Fraction(replaced, 10)))


def truth(requests, x, y):
    """Add up what two neighbors pay for each request: x in the one table, y in the other."""
    total = 0
    for (letters, signs), added, replaced in requests:
        holds = [
            record is not None and record[0] in letters and record[1] in signs for record in (x, y)
        ]
        total += replaced if all(holds) else added if any(holds) else 0
    return amount_up(Fraction(total, 10))


@pytest.mark.theorem("cell-filters")
@given(REQUESTS)
def test_one_record_owes_exactly_what_it_should(requests):
    spending = open_filter(epsilon=100)
    for sets, added, _ in requests:
        spending.charge(Pure(epsilon=Fraction(added, 10)), scope=box_of(sets))
    assert spending.spent[0] == max(truth(requests, x, None) for x in RECORDS)
    for x in RECORDS:
        here = Box({"letter": equals(x[0]), "sign": equals(x[1])})
        assert spending.left(here).amounts[0] == 100 * 10**24 - truth(requests, x, None)


@pytest.mark.theorem("cell-pairs")
@pytest.mark.parametrize("relation", ["replace", "either"])
@given(requests=REQUESTS)
def test_two_records_never_owe_more_than_is_kept(relation, requests):
    spending = open_filter(relation, epsilon=100)
    for sets, added, replaced in requests:
        spending.charge(leaf_of(added, replaced), scope=box_of(sets))
    pairs = list(itertools.product(RECORDS, repeat=2))
    found = max(truth(requests, x, y) for x, y in pairs)
    if relation == "either":
        found = max(found, *(truth(requests, x, None) for x in RECORDS))
    assert found <= spending.spent[0]
    most = [(sets, max(a, r) if relation == "either" else a, r) for sets, a, r in requests]
    doubled = max(truth(requests, x, None) for x in RECORDS) * 2
    if all(r <= 2 * a for _, a, r in most):
        assert spending.spent[0] <= max(doubled, found)
    for x in RECORDS:
        here = Box({"letter": equals(x[0]), "sign": equals(x[1])})
        worst = max(truth(requests, x, y) for y in RECORDS)
        assert spending.left(here).amounts[0] <= 100 * 10**24 - worst


@given(REQUESTS, BOXES, PRICES, PRICES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_charge_fits_just_if_what_is_owed_does(relation, requests, sets, added, replaced):
    spending = open_filter(relation, epsilon=100)
    for each, one, both in requests:
        spending.charge(leaf_of(one, both), scope=box_of(each))
    before = spending.spent
    spending.charge(leaf_of(added, replaced), scope=box_of(sets))
    least = PrivacyFilter(Budget(epsilon=amount_value(spending.spent[0])), unit=spending.unit)
    for each, one, both in (*requests, (sets, added, replaced)):
        least.charge(leaf_of(one, both), scope=box_of(each))
    if spending.spent > before:
        less = PrivacyFilter(
            Budget(epsilon=amount_value(spending.spent[0] - 1)), unit=spending.unit
        )
        for each, one, both in requests:
            less.charge(leaf_of(one, both), scope=box_of(each))
        with pytest.raises(OverBudget):
            less.charge(leaf_of(added, replaced), scope=box_of(sets))


@pytest.mark.theorem("cell-filters")
@pytest.mark.theorem("cell-pairs")
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
@given(requests=REQUESTS)
def test_nobody_ever_owes_more_than_the_limit_and_refusals_leave_no_trace(relation, requests):
    spending = open_filter(relation, epsilon=1)
    accepted = []
    for sets, added, replaced in requests:
        before = (spending.spent, spending._owed.paid.written(), spending._owed.everywhere)
        try:
            spending.charge(leaf_of(added, replaced), scope=box_of(sets))
        except OverBudget:
            assert (
                spending.spent,
                spending._owed.paid.written(),
                spending._owed.everywhere,
            ) == before
        else:
            accepted.append((sets, added, replaced))
    others = [None] if relation == "add_remove" else RECORDS
    for x, y in itertools.product(RECORDS, others):
        assert truth(accepted, x, y) <= 10**24
        assert truth(accepted, x, None) <= 10**24


@pytest.mark.theorem("cell-pairs")
def test_no_strategy_beats_two_cells():
    """x in A is replaced by y in B: requests about A, about B, and about both."""
    odds = Fraction(3, 2)
    leaf = Leaf(Pure(epsilon="0.4055"))  # log 1.5, rounded up; replaced: twice as much
    scopes = [state("A"), state("B"), state("A", "B")]
    menu = [
        Ask(law, tuple(int(k == index) for k in range(3)))
        for index, law in enumerate([response(odds), response(odds), response(odds**2)])
    ]

    def accepts(counts):
        spending = open_filter("replace", epsilon="1.7")
        try:
            for scope, count in zip(scopes, counts, strict=True):
                for _ in range(count):
                    spending.charge(leaf, scope=scope)
        except OverBudget:
            return False
        return True

    accepted = {c: accepts(c) for c in itertools.product(range(6), repeat=3) if sum(c) < 8}
    found = value(menu, lambda total: accepted.get(total, False), Fraction(5473, 1000), 3)
    assert found <= Fraction(1, 1000)
    assert value(menu, lambda total: accepted.get(total, False), Fraction(3), 3) > 0


# --- what is left -------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
@pytest.mark.parametrize("scope", [None, state("A"), state("B", "C")])
@pytest.mark.parametrize(
    "limits",
    [
        {"epsilon": 1},
        {"rho": "0.3"},
        {"epsilon": 2, "delta": "1e-6"},
    ],
)
def test_how_many_is_how_many_can_be_charged(relation, scope, limits):
    spending = open_filter(relation, **limits)
    what = Pure(epsilon="0.07")
    spending.charge(Pure(epsilon="0.1"), scope=state("A"))
    spending.charge(COUNT, scope=state("B"))
    expected = spending.left(scope).how_many(what)
    assert expected > 0
    for _ in range(expected):
        spending.charge(what, scope=scope)
    with pytest.raises(OverBudget):
        spending.charge(what, scope=scope)


def test_what_is_left_is_a_loss_that_fits_and_nothing_more():
    spending = open_filter(rho=1)
    spending.charge(GaussianDP(mu=1), scope=state("A"))
    assert spending.left().loss == ZeroConcentrated(rho="0.5")
    assert spending.left(state("B")).loss == ZeroConcentrated(rho=1)
    spending.charge(spending.left().loss)
    assert spending.left(state("A")).loss == ZeroConcentrated(rho=0)
    assert spending.left().how_many(ZeroConcentrated(rho="1e-24")) == 0


def test_what_is_shown_names_unit_relation_delta_and_currency_and_is_on_the_safe_side():
    budget = Budget(epsilon=2, delta=1e-9)
    spending = PrivacyFilter(budget, unit=person("patient", relation="replace"))
    charge = spending.charge(Approximate(epsilon="1/30", delta="1e-12"))
    left = spending.left().details
    for word in ("person", "patient", "replace", "delta 1e-09", "epsilon 2", "rho", "mu squared"):
        assert word in left
    assert "alone" not in left
    assert "rho 0.002222, " in str(charge)  # 0.0022213995... rounded up
    spent, limit = amount_value(spending.spent[0]), amount_value(spending.budget.limit[0])
    shown = Fraction(left.split()[1])
    assert limit - spent - Fraction(1, 10**3) <= shown <= limit - spent
    with pytest.raises(OverBudget) as caught:
        spending.charge(Pure(epsilon=2))
    for word in ("rho", "person", "replace", "epsilon 2 at delta 1e-09"):
        assert word in caught.value.details
    assert "200 % of the budget; 96.66 % is left" in str(caught.value)
    assert "epsilon 2 at delta 1e-09" in str(caught.value)


def test_what_is_left_is_a_value_and_one_line():
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
    left = spending.left()
    assert (left.share, left.epsilon, left.delta) == (1, 1, Fraction(1, 10**9))
    assert left.how_many(Approximate(epsilon=left.epsilon, delta=left.delta)) == 1
    spending.charge(Pure(epsilon="0.1"))
    left = replace(spending.left(), like=(Pure(epsilon="0.1"), None))
    assert str(left) == "90 % of the budget left, about 9 more like this"
    assert (left.share, left.epsilon) == (Fraction(9, 10), Fraction(9, 10))
    assert left.how_many(Approximate(epsilon=left.epsilon, delta=left.delta)) == 1
    for losses in ([Pure(epsilon="0.01")] * 150, [Approximate(epsilon="0.01", delta="1e-11")] * 5):
        spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
        for loss in losses:
            spending.charge(loss)
        left = spending.left()
        assert left.how_many(Approximate(epsilon=left.epsilon, delta=left.delta)) == 1
    assert PrivacyFilter(Budget(rho="0.5"), unit=row()).left().epsilon == 1
    spending = PrivacyFilter(Budget(epsilon=1, delta="1e-9"), unit=row())
    spending.exhaust()
    left = spending.with_budget(Budget(epsilon=2, delta="1e-9")).left()  # on every route
    assert 0 < left.epsilon < 1
    assert left.how_many(Pure(epsilon=left.epsilon)) == 1


# --- currencies of filters ---------------------------------------------------------------------
