"""The optimal choice of keys: what all small tables lose, and how often groups are shown."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from discreet.accounting import Leaf, decode, encode
from discreet.errors import OutOfRange
from discreet.loss import Approximate, Pure
from discreet.mechanisms import Laplace, NoisyKeys, OptimalKeys
from discreet.mechanisms import optimal_selection as key_selection_optimal
from discreet.mechanisms.partition_selection import worst_move
from discreet.units import Relation
from tests.mechanisms.key_selection_laws import exceeded, largest, moves, replacements
from tests.noise.laws import LAZY_COINS, TINY_COINS, WrongLaw, check_law, stream

ONE_WAY = ["add_remove"]
BOTH_WAYS = ["replace", "either", "local"]


def keys(**changes):
    plan = {"epsilon": 1, "delta": "1/10", "groups": 1, "relation": "add_remove", **changes}
    return OptimalKeys(**plan)


def laws(choice, most):
    """Return the law of hidden and shown, for each number of units."""
    chances = [float(choice.kept(n).low) for n in range(most + 1)]
    return [np.array([1 - p, p]) for p in chances]


def enough(choice):
    return choice.smallest(1) + 1


# --- what is lost --------------------------------------------------------------------------------


@pytest.mark.theorem("optimal-keys-loss")
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("1.5", "1/5"), ("1", "1/10")])
def test_all_tables_that_a_unit_tells_apart(groups, epsilon, delta):
    choice = keys(epsilon=epsilon, delta=delta, groups=groups)
    most = enough(choice)
    found = largest(laws(choice, most), moves(steps=1, groups=groups, places=groups), most=most)
    assert exceeded(found, choice.loss()) == []
    fewer = Approximate(epsilon=epsilon, delta=delta).power(groups - 1)
    assert exceeded(found, fewer) != []
    assert exceeded(found, Pure(epsilon=epsilon).power(groups)) != []


@pytest.mark.theorem("optimal-keys-loss")
@pytest.mark.parametrize("groups", [1, 2])
def test_all_tables_that_a_replaced_unit_tells_apart(groups):
    choice = keys(epsilon=2, delta="1/4", groups=groups, relation="replace")
    most = enough(choice) - groups + 1
    found = largest(laws(choice, most), replacements(groups=groups, places=2 * groups), most=most)
    assert exceeded(found, choice.loss()) == []
    assert exceeded(found, keys(epsilon=2, delta="1/4", groups=groups).loss()) != []


@pytest.mark.theorem("optimal-keys-loss")
@pytest.mark.parametrize(
    ("steps", "groups", "places"), [(2, 1, 2), (3, 1, 2), (2, 2, 3), (3, 2, 3)]
)
def test_all_tables_several_units_apart(steps, groups, places):
    choice = keys(epsilon=2, delta="1/50", groups=groups)
    most = enough(choice) - 1
    both = moves(steps=steps, groups=groups, places=places)
    found = largest(laws(choice, most), both, most=most, epsilons=(0.0, 0.7, 2.0, 4.0))
    assert exceeded(found, choice.loss(distance=steps)) == []
    assert exceeded(found, choice.loss(distance=steps - 1)) != []


@pytest.mark.parametrize("relation", ONE_WAY + BOTH_WAYS)
def test_one_unit_is_in_each_of_its_groups_or_leaves_them_for_others(relation):
    times = 3 if relation in ONE_WAY else 6
    expected = Approximate(epsilon=1, delta="1/10").power(times).as_one()
    assert keys(groups=3, relation=relation).loss() == expected
    assert keys(groups=3, relation=relation).loss(distance="0.9") == expected


def test_in_the_local_model_all_inputs_are_neighbors():
    assert keys(relation="local").loss(distance=5) == keys(relation="local").loss()


# --- the costliest move --------------------------------------------------------------------------


def fits(entries, boxes):
    """Decide whether entries fit into boxes, by trying all ways."""
    if not entries:
        return True
    first, rest = entries[0], entries[1:]
    return any(
        fits(rest, (*boxes[:at], boxes[at] - first, *boxes[at + 1 :]))
        for at in {boxes.index(size) for size in boxes if size >= first}
    )


def partitions(total, largest_part):
    if total == 0:
        yield ()
    for part in range(min(total, largest_part), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


@pytest.mark.theorem("key-moves")
@pytest.mark.parametrize("steps", range(1, 6))
@pytest.mark.parametrize("groups", range(1, 4))
def test_every_move_fits_into_the_costliest(steps, groups):
    by, places = worst_move(distance=steps, groups=groups, relation=Relation.ADD_REMOVE)
    assert by == steps
    assert all(fits(entries, (steps,) * places) for entries in partitions(steps * groups, steps))


@pytest.mark.theorem("key-moves")
def test_as_many_groups_as_one_unit_has_are_too_few_for_three_units():
    """Three units in two groups each can move three groups by two: (a, b), (b, c), (a, c)."""
    assert (2, 2, 2) in moves(steps=3, groups=2, places=3)
    assert not fits((2, 2, 2), (3, 3))
    once = Approximate(epsilon="1/10", delta="1e-9")
    three, two = once.group(2).power(3), once.group(3).power(2)
    assert three.delta_interval(epsilon=0).low > two.delta(epsilon=0)
    claim = keys(epsilon="1/10", delta="1e-9", groups=2).loss(distance=3)
    for epsilon in (0, 0.05, 0.1, 0.3, 0.5):
        assert three.delta(epsilon=epsilon) <= claim.delta(epsilon=epsilon)


@pytest.mark.theorem("optimal-keys-loss")
@pytest.mark.parametrize(("i", "j"), [(1, 1), (1, 2), (2, 2), (1, 4)])
def test_two_groups_cost_no_more_than_one_that_moves_by_both(i, j):
    once = Approximate(epsilon="1/2", delta="1e-4")
    two, one = once.group(i).power(1).compose(once.group(j)), once.group(i + j)
    for epsilon in (0, 0.2, 0.9, 1.7, 2.6):
        assert two.delta_interval(epsilon=epsilon).low <= one.delta(epsilon=epsilon)


# --- how often groups are shown ------------------------------------------------------------------


def test_groups_without_units_are_never_shown():
    shown = keys(delta="99/100").run([0] * 5000 + [-3] * 5000)
    assert not shown.any()


def test_large_groups_are_always_shown():
    assert keys().run(np.full(10_000, keys().smallest(1))).all()
    assert keys().run([2**63 - 1]).all()


@pytest.mark.parametrize("fewest", [1, 4])
def test_groups_below_the_fewest_are_never_shown(fewest):
    choice = keys(fewest=fewest)
    assert [choice.kept(n).high for n in range(fewest)] == [0] * fewest
    assert choice.kept(fewest).low == pytest.approx(0.1)
    assert not choice.run([fewest - 1] * 1000).any()
    assert choice.smallest(1) == keys().smallest(1) + fewest - 1
    assert choice.loss() == keys().loss()
    assert choice.kept(fewest + 3) == keys().kept(4)


def test_the_smallest_group_shown_with_a_chance():
    choice = keys()
    for chance in ("1/10", "1/2", "0.9", 1):
        units = choice.smallest(chance)
        assert choice.kept(units).low >= Fraction(chance) > choice.kept(units - 1).high or (
            chance == "1/10"  # delta itself is rounded down
        )
    assert choice.smallest(0) == 0


def test_the_error_is_the_largest_group_that_may_be_missed():
    choice = keys(fewest=3)
    for confidence in (0.5, 0.9, 0.999):
        reach = choice.error(confidence=confidence)
        assert choice.kept(reach + 1).low >= confidence > choice.kept(reach).high


@pytest.mark.parametrize("sizes", [TINY_COINS, LAZY_COINS])
def test_the_coins_exactly(sizes):
    choice = keys()
    law = choice.reference_pmf([2, 0, 3])

    def program(entropy):
        return tuple(choice.run([2, 0, 3], entropy=entropy).tolist())

    with mock.patch.object(key_selection_optimal, "SIZES", sizes):
        check_law(program, law.__getitem__)
        with pytest.raises(WrongLaw):
            check_law(program, keys(epsilon="1.5").reference_pmf([2, 0, 3]).__getitem__)


def test_long_arrays_follow_the_chances():
    """Every number of units, a million groups in two pieces; five deviations are one in 10**6."""
    choice = keys()
    units = np.arange(1_000_000) % 9
    shown = choice.run(units, entropy=stream("many groups"))
    for n in range(9):
        chance, times = float(choice.kept(n).low), int((units == n).sum())
        found = int(shown[units == n].sum())
        assert abs(found - chance * times) <= 5 * (chance * (1 - chance) * times) ** 0.5


# --- a total budget ------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("groups", [1, 2, 30, 1000])
def test_a_total_is_kept_and_spent(groups, relation):
    choice = OptimalKeys.within(epsilon=1, delta="1e-6", groups=groups, relation=relation)
    assert Fraction(999, 1000) < choice.loss().delta(epsilon=1) * 10**6 <= 1


def test_many_groups_are_split_better_than_evenly():
    choice = OptimalKeys.within(
        epsilon=1, delta="1e-6", groups=300, relation="add_remove", fewest=2
    )
    assert choice.epsilon > Fraction(2, 300)
    assert choice.fewest == 2
    evenly = keys(epsilon=Fraction(1, 300), delta=Fraction(1, 300 * 10**6))
    assert 2 * choice.smallest("1/2") < evenly.smallest("1/2")


def test_few_groups_are_split_evenly():
    choice = OptimalKeys.within(epsilon=1, delta="1e-6", groups=4, relation="add_remove")
    assert choice.epsilon == Fraction(1, 4)
    assert choice.delta > Fraction(999, 1000) * Fraction(1, 4 * 10**6)


def test_it_shows_no_less_than_a_laplace_threshold_of_the_same_loss():
    best = keys(delta="1e-6")
    noisy = NoisyKeys.for_delta(
        delta="1e-6", noise=Laplace(scale=1), groups=1, relation="add_remove"
    )
    assert all(best.kept(n).low >= noisy.kept(n).high for n in range(40))


# --- in a composition ----------------------------------------------------------------------------


@pytest.mark.theorem("optimal-keys-loss")
def test_a_leaf_is_priced_by_units():
    leaf = Leaf(keys(groups=2))
    assert leaf.price(1, 0) == keys(groups=2).loss()
    assert leaf.price(3, 0) == keys(groups=2).loss(distance=3)
    exact = keys(groups=2, relation="replace").loss()
    for epsilon in (0, 0.5, 1, 2, 4):
        assert leaf.price(1, 1).delta(epsilon=epsilon) >= exact.delta(epsilon=epsilon)
    with pytest.raises(OutOfRange):
        Leaf(keys(groups=2), added=2)


@pytest.mark.parametrize("choice", [keys(), keys(groups=7, relation="replace", fewest=5)])
def test_a_leaf_can_be_written_and_read(choice):
    assert decode(encode(Leaf(choice))) == Leaf(choice)
