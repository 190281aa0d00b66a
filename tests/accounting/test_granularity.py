"""Granularities of the user's own, against enumeration of tables, neighbors and outcomes."""

import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Group,
    Leaf,
    Metric,
    Parallel,
    RecordRule,
    Sequential,
    Where,
    account,
    at_least,
    at_most,
    equals,
    f_dependent,
)
from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.loss import GaussianDP, Profile, Pure, ZeroConcentrated
from discreet.loss.finite import FinitePair
from discreet.units import person
from tests.accounting.oracle import count, excess, law_of, scaled
from tests.accounting.test_enumeration import FIFTHS, HALF, KEYS, RATIOS, RECORDS, THIRDS, TREES

SLOW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
TABLES = [t for n in range(3) for t in combinations_with_replacement(range(len(RECORDS)), n)]


def exact(tree, pairs):
    """Return the largest P(S) - a Q(S) over ordered pairs of tables, for each ratio a."""
    laws = {}
    for table in {table for pair in pairs for table in pair}:
        laws[table] = law_of(tree, [RECORDS[at] for at in table])
    outcomes = next(iter(laws.values())).keys()
    scale = math.lcm(*(p.denominator for law in laws.values() for p in law.values()))
    whole = {table: scaled(law, outcomes, scale) for table, law in laws.items()}
    different = {(whole[left], whole[right]) for left, right in pairs}
    return [float(max(excess(p, q, a) for p, q in different) / scale) for a in RATIOS]


def check(tree, relation, pairs):
    statement = account(tree, relation=relation)
    for ratio, true in zip(RATIOS, exact(tree, pairs), strict=True):
        claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
        assert claimed == pytest.approx(true, abs=1e-12), ratio


# --- built-in relations are rules -----------------------------------------------------------------


@pytest.mark.theorem("general-composition")
@SLOW
@given(tree=TREES, relation=st.sampled_from(["add_remove", "replace", "either"]))
def test_built_in_relations_are_rules_on_records(tree, relation):
    rule = account(tree, relation=RecordRule.of(relation, KEYS))
    known = account(tree, relation=relation)
    for delta in (0, 0.01, 0.2):
        assert rule.epsilon(delta=delta) == pytest.approx(known.epsilon(delta=delta), rel=1e-9)


@SLOW
@given(tree=TREES, relation=st.sampled_from(["add_remove", "replace"]))
def test_built_in_relations_are_graphs_of_tables(tree, relation):
    tables = [tuple(RECORDS[at] for at in t) for t in TABLES if len(t) < 2 or t[0] == 0]
    pairs = combinations(tables, 2)
    near = [(one, other) for one, other in pairs if _steps(one, other, relation) == 1]
    metric = Metric.of_graph(tables, near)
    graph, known = account(tree, relation=metric), account(tree, relation=relation)
    for delta in (0, 0.1):
        assert graph.epsilon(delta=delta) == pytest.approx(known.epsilon(delta=delta), rel=1e-9)


def _steps(one, other, relation):
    gone, come = (
        sum(max(left.count(r) - right.count(r), 0) for r in RECORDS)
        for left, right in ((one, other), (other, one))
    )
    return gone + come if relation == "add_remove" else gone if gone == come else math.inf


def test_one_direction_alone_is_not_the_price():
    """An alarm that may sound if the record is there, and never sounds without it."""
    alarm = FinitePair((Fraction(1, 4), Fraction(3, 4)), (Fraction(0), Fraction(1)))
    rule = RecordRule.of("add_remove", {"x": [1, 2]})
    for pair in (alarm, alarm.reverse()):
        price = account(Leaf(Profile.of(pair)), relation=rule)
        assert price.delta(epsilon=0) == pytest.approx(0.25)
        assert price.delta(epsilon=5) == pytest.approx(0.25)  # in the direction that tells


def test_a_local_rule_is_the_local_relation():
    leaf = Leaf(Pure(epsilon=1), relation="replace", common_domain=True)
    rule = RecordRule.of("local", {"vote": ["yes", "no"]})
    assert account(leaf, relation=rule).epsilon(delta=0) == 1


# --- rules of one's own ---------------------------------------------------------------------------


def allowed(seed):
    """Return a symmetric random choice of which records may take each other's place."""
    rng = np.random.default_rng(seed)
    near = rng.random((len(RECORDS), len(RECORDS))) < 0.3
    return near | near.T


@pytest.mark.theorem("general-composition")
@SLOW
@given(tree=TREES, seed=st.integers(0, 10**6))
def test_random_rules_cost_exactly_what_enumeration_says(tree, seed):
    near = allowed(seed)

    def distance(old, new):
        return 1 if near[RECORDS.index(old), RECORDS.index(new)] else "inf"

    places = [(x, y) for x, y in product(range(len(RECORDS)), repeat=2) if near[x, y]]
    if not places:
        return
    pairs = [
        (tuple(sorted((x, *rest))), tuple(sorted((y, *rest))))
        for x, y in places
        for rest in ((), (0,), (4,))
    ]
    check(tree, RecordRule(KEYS, distance), pairs)


@pytest.mark.theorem("bounded-parallel")
def test_ages_that_may_move_by_so_many_years_touch_parts_beside_each_other():
    parts = {
        at_most(19): Leaf(Pure(epsilon="0.7"), replaced=0),
        Box({"age": at_least(20)}).on("age") & at_most(39): Leaf(Pure(epsilon="0.2"), replaced=0),
        at_least(40): Leaf(Pure(epsilon="0.5"), replaced=0),
    }
    tree = Parallel("age", parts)
    domain = {"age": range(0, 100, 5)}
    near = RecordRule(domain, lambda old, new: abs(old["age"] - new["age"]) / 5)
    assert account(tree, relation="replace").epsilon(delta=0) == pytest.approx(1.2)
    assert account(tree, relation=near).epsilon(delta=0) == pytest.approx(0.9)
    assert account(tree, relation=near.within(4)).epsilon(delta=0) == pytest.approx(0.9)
    assert account(tree, relation=near.within(5)).epsilon(delta=0) == pytest.approx(1.2)


def test_a_secret_column_is_protected_alone():
    """Records may change their answer, and not their ward."""
    rule = RecordRule(
        {"ward": ["A", "B"], "ill": [True, False]},
        lambda old, new: int(old["ill"] != new["ill"]) if old["ward"] == new["ward"] else "inf",
    )
    wards = Parallel("ward", {"A": Leaf(Pure(epsilon=1)), "B": Leaf(Pure(epsilon=1))})
    ill = Where(Box({"ill": equals(True)}), Leaf(Pure(epsilon="0.5")))
    # a certificate for added rows is used twice where a record changes inside a ward
    assert account(wards, relation=rule).epsilon(delta=0) == pytest.approx(2)
    assert account(ill, relation=rule).epsilon(delta=0) == pytest.approx(1)
    sizes = Leaf(Pure(epsilon=1), replaced=0)
    free = Parallel("ward", {"A": sizes, "B": sizes})
    assert account(free, relation=rule).epsilon(delta=0) == 0
    assert account(free, relation="replace").epsilon(delta=0) == 2


def test_mechanisms_of_different_granularities_in_one_tree():
    people = Leaf(Pure(epsilon="0.5"), unit=person("id", relation="either"))
    tree = Sequential(Leaf(Pure(epsilon="0.1")), people)
    rule = RecordRule.of("replace", {"id": [1, 2]})
    assert account(tree, relation=rule).epsilon(delta=0) == pytest.approx(0.2 + 1)
    for loss, joint in ((GaussianDP(mu=1), GaussianDP(mu=1)), (ZeroConcentrated(rho="0.1"), None)):
        leaf = Leaf(loss, replaced=loss)
        found = account(leaf, relation=rule).epsilon(delta=1e-5)
        assert found == pytest.approx((joint or loss).epsilon(delta=1e-5), rel=1e-9)


# --- metrics on tables ----------------------------------------------------------------------------


def in_ward(ward):
    return lambda table: tuple(row for row in table if row == ward)


WORDS = ["".join(t) for n in range(4) for t in combinations_with_replacement("AB", n)]


def counted(table, ratio):
    """Return the law of a count with geometric noise, clamped to 0..3."""
    inside = (1 - ratio) / (1 + ratio)
    law = [inside * ratio ** abs(answer - len(table)) for answer in range(4)]
    law[0], law[3] = ratio ** len(table) / (1 + ratio), ratio ** (3 - len(table)) / (1 + ratio)
    return law


@pytest.mark.theorem("general-composition")
def test_the_theorem_is_exact_for_counts_of_parts():
    """All pairs of tables at once: log-ratios are sums of distances."""
    odds = {"A": 3, "B": 2}
    rows = Metric.of_tables([tuple(word) for word in WORDS], "add_remove")
    parts = {ward: rows.through(in_ward(ward), on=rows.points) for ward in odds}
    for one, other, _ in rows.pairs():
        laws = [
            [
                p * q
                for p, q in product(
                    *(counted(in_ward(w)(table), Fraction(1, k)) for w, k in odds.items())
                )
            ]
            for table in (one, other)
        ]
        true = max(p / q for p, q in zip(*laws, strict=True))
        told = math.prod(k ** int(parts[w].distance(one, other)) for w, k in odds.items())
        assert true == told


@pytest.mark.theorem("general-composition")
def test_metrics_agree_with_the_accountant():
    tables = [tuple(word) for word in WORDS]
    total = None
    for ward, epsilon in {"A": "0.7", "B": "0.4"}.items():
        rows = Metric.of_tables(tables, "add_remove")
        part = rows.through(in_ward(ward), on=tables) * epsilon
        total = part if total is None else total + part
    parts = {"A": Leaf(Pure(epsilon="0.7")), "B": Leaf(Pure(epsilon="0.4"))}
    tree = Parallel("ward", parts)
    for relation in ("add_remove", "replace"):
        among = Metric.of_tables(tables, relation)
        fold = account(tree, relation=RecordRule.of(relation, {"ward": ["A", "B"]}))
        inside = 2 * Fraction(7, 10) if relation == "replace" else 0  # a record replaced in a ward
        largest = max(total.largest(among=among), inside)
        assert fold.epsilon(delta=0) == pytest.approx(float(largest))


@pytest.mark.theorem("f-dependent")
def test_f_dependency_agrees_with_the_accountant():
    tables = [t for n in range(4) for t in combinations_with_replacement((12, 40, 60), n)]
    replaced = Metric.of_tables(tables, "replace")
    minors = f_dependent(replaced, lambda table: sum(age <= 18 for age in table))
    young = f_dependent(replaced, lambda table: tuple(a for a in table if a <= 18))
    assert all(minors.distance(a, b) <= d for a, b, d in replaced.pairs())
    assert minors.distance((12, 40, 40), (12, 60, 60)) == 0
    assert minors.distance((12, 40, 40), (12, 12, 60)) == 1
    leaf = Leaf(Pure(epsilon=1), relation="replace", common_domain=True)
    tree = Where(Box({"age": at_most(18)}), leaf)
    adults = RecordRule(
        {"age": [12, 40, 60]},
        lambda old, new: 1 if min(old["age"], new["age"]) > 18 else "inf",
    )
    assert account(tree, relation="replace").epsilon(delta=0) == young.largest(among=replaced) == 1
    assert account(tree, relation=adults).epsilon(delta=0) == 0


@pytest.mark.theorem("f-dependent")
@SLOW
@given(seed=st.integers(0, 10**6), kinds=st.integers(1, 4))
def test_f_dependency_is_the_least_distance_between_tables_that_look_alike(seed, kinds):
    rng = np.random.default_rng(seed)
    far = np.triu(rng.integers(1, 9, size=(7, 7)), 1)
    seen = rng.integers(0, kinds, size=7)
    metric = Metric(range(7), lambda a, b: int(far[min(a, b), max(a, b)]))
    found = f_dependent(metric, lambda point: int(seen[point]))
    for a, b in product(range(7), repeat=2):
        alike = product(np.flatnonzero(seen == seen[a]), np.flatnonzero(seen == seen[b]))
        assert found.distance(a, b) == min(int(far[min(x, y), max(x, y)]) for x, y in alike)


@pytest.mark.theorem("f-dependent")
@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("epsilons", [("1", "0.5", "0.25"), ("0.3", "0.3", "0.3")])
def test_bounded_parallel_composition_is_a_sum_of_f_dependent_metrics(epsilons):
    tables = [t for n in range(4) for t in combinations_with_replacement("ABC", n)]
    replaced = Metric.of_tables(tables, "replace")
    total, parts = None, {}
    for ward, epsilon in zip("ABC", epsilons, strict=True):
        metric = f_dependent(replaced, in_ward(ward)) * epsilon
        total = metric if total is None else total + metric
        parts[ward] = Leaf(Pure(epsilon=epsilon), relation="replace", common_domain=True)
    largest = sorted(map(Fraction, epsilons))[-2:]
    assert total.largest(among=replaced) == sum(largest)
    found = account(Parallel("ward", parts), relation="replace").epsilon(delta=0)
    assert found == pytest.approx(float(sum(largest)))


@pytest.mark.parametrize(
    ("overlap", "added", "replaced"), [(1, 1, 2), (2, 2, 4), (5, 5, 10), (10, 10, 10)]
)
def test_ten_equal_parts_between_parallel_and_sequential(overlap, added, replaced):
    leaf = Leaf(Pure(epsilon=1), relation="replace", common_domain=True)
    tree = Parallel("tag", dict.fromkeys(range(10), leaf), overlap=overlap)
    assert account(tree, relation="replace").epsilon(delta=0) == pytest.approx(replaced)
    counts = Parallel("tag", dict.fromkeys(range(10), Leaf(Pure(epsilon=1))), overlap=overlap)
    assert account(counts, relation="add_remove").epsilon(delta=0) == pytest.approx(added)


def test_a_preprocessing_that_separates_neighbors_costs_everything():
    tables = ["AA", "AB", "BB"]
    replaced = Metric.of_tables(tables, "replace")
    sizes = Metric.of_tables(["", "A", "AA"], "replace")
    seen = sizes.through(lambda table: table.replace("B", ""), on=tables)
    assert seen.distance("AB", "BB") == math.inf
    assert (seen * "0.5").largest(among=replaced) == math.inf
    tree = Group(Leaf(Pure(epsilon=1)), distance=math.inf)
    price = account(tree, relation=RecordRule.of("replace", {"ward": ["A", "B"]}))
    assert math.isinf(price.epsilon(delta=0))
    assert "nothing is promised" in str(price)


def test_steps_are_counted_along_a_graph():
    cycle = Metric.of_graph(range(6), [(k, (k + 1) % 6) for k in range(6)])
    assert [cycle.distance(0, k) for k in range(6)] == [0, 1, 2, 3, 2, 1]
    assert Metric.of_graph(["a", "b", "c"], [("a", "b")]).distance("a", "c") == math.inf
    assert len(list(cycle.neighbors())) == 6


# --- what is refused ------------------------------------------------------------------------------


def test_bad_granularities_get_a_clear_word():
    with pytest.raises(OutOfRange, match="and 2 back"):
        Metric([1, 2], lambda one, other: {(1, 2): 1, (2, 1): 2}.get((one, other), 0))
    with pytest.raises(OutOfRange, match="to itself"):
        Metric([1, 2], lambda one, other: 1)
    with pytest.raises(OutOfRange, match="negative"):
        Metric([1, 2], lambda one, other: one - other)
    with pytest.raises(WrongKind, match="different points"):
        Metric([1, 2], lambda a, b: abs(a - b)) + Metric([1, 3], lambda a, b: abs(a - b))
    with pytest.raises(WrongKind, match="not a point"):
        Metric([1, 2], lambda a, b: abs(a - b)).through(len, on=["abc"])
    with pytest.raises(TooLarge):
        Metric(range(5000), lambda a, b: abs(a - b))


def test_bad_rules_get_a_clear_word():
    leaf = Leaf(Pure(epsilon=1))
    rule = RecordRule({"x": [1, 2]}, lambda old, new: 1 if old["x"] < new["x"] else 2)
    with pytest.raises(OutOfRange, match="and 2 back"):
        account(leaf, relation=rule)
    with pytest.raises(TooLarge):
        RecordRule({"x": range(100), "y": range(100)}, lambda old, new: 1)
    tree = Parallel("ward", {"A": leaf})
    plain = RecordRule({"x": [1, 2]}, lambda old, new: 1)
    with pytest.raises(WrongKind, match="no column 'ward'"):
        account(tree, relation=plain)
    with pytest.raises(WrongKind, match="unit"):
        account(leaf, relation=plain, unit=person("id"))
    texts = Where(Box({"name": at_least("n")}), leaf)
    with pytest.raises(WrongKind, match="texts"):
        account(texts, relation=RecordRule({"name": ["a", "z"]}, lambda old, new: 1))
    with pytest.raises(WrongKind, match="mapping"):
        account(leaf, relation=Metric.of_tables(["A", "AB"], "add_remove"))


def test_impossible_records_are_left_out():
    tree = Parallel("ward", {"A": Leaf(Pure(epsilon=2)), "B": count("b", HALF)})
    rule = RecordRule.of("add_remove", {"ward": ["A", "B"], "sex": ["f", "m"]})
    found = account(tree, relation=rule, impossible=[{"ward": "A"}])
    assert found.epsilon(delta=0) == pytest.approx(math.log(2))
    assert FIFTHS > THIRDS > HALF
