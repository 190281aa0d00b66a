"""Games of a few rounds against all strategies, one by one, and against the accountant."""

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Choice, Leaf, Sequential, account
from discreet.mechanisms import FiniteMechanism
from tests.accounting.adaptive_game import AdaptiveGame

ODDS = [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)]
COIN = FiniteMechanism(matrix=[["3/4", "1/4"], ["1/4", "3/4"]])
ALARM = FiniteMechanism(matrix=[["1/4", "3/4"], [0, 1]])


def law(size):
    """Chances in eighths, some of them zero."""
    weights = st.lists(st.integers(0, 8), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: [Fraction(x, sum(w)) for x in w])


def mechanisms(inputs=2):
    sizes = st.sampled_from([2, 2, 3])
    return sizes.flatmap(
        lambda n: st.lists(law(n), min_size=inputs, max_size=inputs).map(
            lambda rows: FiniteMechanism(matrix=rows)
        )
    )


MENUS = st.lists(st.lists(mechanisms(), min_size=1, max_size=2), min_size=1, max_size=2)


def delta(strategy, rounds, here, there, odds):
    """What one strategy, a function of the outputs so far, reaches between two inputs."""
    ends = [((), Fraction(1), Fraction(1))]
    for menu in rounds:
        ends = [
            ((*seen, y), p * a, q * b)
            for seen, p, q in ends
            for option in [menu[strategy[seen]]]
            for y, a, b in zip(
                option.outputs, option.matrix[here], option.matrix[there], strict=True
            )
        ]
    return sum((max(p - odds * q, Fraction(0)) for _, p, q in ends), Fraction(0))


def all_strategies(rounds):
    """Every map from lists of outputs to mechanisms; outputs are numbered up to the most."""
    most = [max(len(option.outputs) for option in menu) for menu in rounds]
    prefixes = [p for k in range(len(rounds)) for p in product(*(range(n) for n in most[:k]))]
    for picks in product(*(range(len(rounds[len(prefix)])) for prefix in prefixes)):
        yield dict(zip(prefixes, picks, strict=True))


def brute_force(rounds, odds, strategies):
    return max(
        delta(strategy, rounds, here, there, odds)
        for strategy in strategies
        for here, there in rounds[0][0].graph.ordered()
    )


@settings(max_examples=60, deadline=None)
@given(MENUS, st.sampled_from(ODDS))
def test_the_value_is_that_of_the_best_of_all_strategies(rounds, odds):
    game = AdaptiveGame(*rounds)
    strategies = list(all_strategies(rounds))
    assert game.delta_at(odds=odds) == brute_force(rounds, odds, strategies)
    blind = [s for s in strategies if all(s[p] == s[(0,) * len(p)] for p in s)]
    assert game.planned_delta_at(odds=odds) == brute_force(rounds, odds, blind)


@settings(max_examples=40, deadline=None)
@given(MENUS)
def test_the_accountant_is_never_below_the_game(rounds):
    """Adaptive choices cost at least the value, choices in advance at least the planned one."""
    game = AdaptiveGame(*rounds)
    epsilon = Fraction("0.4")
    solved = game.solve(epsilon)
    assert (
        solved.planned.low <= solved.planned.high <= solved.adaptive.high <= solved.joined + 1e-12
    )
    assert solved.adaptive.width < 1e-12
    leaves = [[Leaf(option.loss()) for option in menu] for menu in rounds]
    looking = Sequential(*(Choice(*menu, adaptive=True) for menu in leaves))
    blind = Sequential(*(Choice(*menu) for menu in leaves))
    assert account(looking, relation="add_remove").delta(epsilon) >= solved.adaptive.low
    assert account(blind, relation="add_remove").delta(epsilon) >= solved.planned.low


def test_looking_pays_and_the_joined_price_is_above_it():
    """Mutants of the recursion: a player who cannot look, and a bound that is not attained."""
    solved = AdaptiveGame(*[[COIN, ALARM]] * 3).solve("0.7")
    assert solved.planned.high + 0.01 < solved.adaptive.low
    assert solved.adaptive.high + 0.01 < solved.joined
    assert str(solved).startswith("delta at epsilon 0.7: planned 0.57")


def test_the_numbers_of_the_guide():
    game = AdaptiveGame([COIN, ALARM], [COIN, ALARM], [COIN, ALARM])
    found = game.solve("0.7")
    deltas = (found.planned.high, found.adaptive.high, found.joined)
    assert [round(delta, 3) for delta in deltas] == [0.578, 0.593, 0.672]
    picks = game.strategy(odds=2)
    assert picks[()] == 0
    assert [picks[answer,] for answer in (0, 1)] == [0, 1]
