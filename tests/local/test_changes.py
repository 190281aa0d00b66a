"""The tree over changes: one epsilon for all times, and counts without bias."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.attacks import exact_law
from discreet.errors import DiscreetError
from discreet.local import ChangeTree
from discreet.local import changes as changes_module
from discreet.mechanisms.randomized_response import respond, response_chances
from tests.mechanisms.contract import narrow_words
from tests.noise.laws import stream


def law(tree, history):
    """Add up the chances of all lists of signs, by the definition."""
    kept, lied = response_chances(tree.epsilon, 2)
    heights = tree.times.bit_length()
    changes = [t for t, (a, b) in enumerate(itertools.pairwise((0, *history)), start=1) if a != b]
    chances = {}
    for height, drawn in itertools.product(range(heights), range(tree.changes)):
        ends = [t for t in range(1, tree.times + 1) if (t & -t) == 1 << height]
        when = changes[drawn] if drawn < len(changes) else None
        up = 1 if drawn % 2 == 0 else -1
        for signs in itertools.product((-1, 1), repeat=len(ends)):
            chance = Fraction(1, heights * tree.changes)
            for end, sign in zip(ends, signs, strict=True):
                inside = when is not None and end - (1 << height) < when <= end
                chance *= (kept if sign == up else lied) if inside else Fraction(1, 2)
            row = [0] * tree.times
            for end, sign in zip(ends, signs, strict=True):
                row[end - 1] = sign
            chances[tuple(row)] = chances.get(tuple(row), 0) + chance
    return chances


@pytest.mark.theorem("tree-over-changes")
@pytest.mark.parametrize(("times", "changes"), [(4, 1), (5, 2), (3, 3)])
def test_all_reports_of_a_device_lose_at_most_epsilon(times, changes):
    tree = ChangeTree(times=times, changes=changes, epsilon=1)
    laws = [law(tree, history) for history in itertools.product((0, 1), repeat=times)]
    worst = max(
        here[signs] / there[signs]
        for here, there in itertools.permutations(laws, 2)
        for signs in here
    )
    assert all(sum(chances.values()) == 1 for chances in laws)
    assert math.log(worst) <= tree.loss().epsilon(delta=0) * (1 + 1e-15)
    if changes == 1:
        assert math.log(worst) == pytest.approx(1)


@pytest.mark.theorem("tree-over-changes")
@pytest.mark.parametrize(("times", "changes"), [(4, 2), (5, 5)])
def test_counts_are_unbiased_and_vary_as_promised(times, changes):
    tree = ChangeTree(times=times, changes=changes, epsilon=1)
    for history in itertools.product((0, 1), repeat=times):
        known = law(tree, history)
        if sum(a != b for a, b in itertools.pairwise((0, *history))) > changes:
            continue
        counts = {signs: tree.counts(np.array(signs)) for signs in known}
        for time in range(times):
            mean = sum(chance * counts[signs][time] for signs, chance in known.items())
            square = sum(chance * counts[signs][time] ** 2 for signs, chance in known.items())
            assert mean == history[time]
            assert square - mean**2 <= tree.variance(people=1, time=time + 1)


@pytest.mark.theorem("tree-over-changes")
def test_a_device_has_that_law():
    tree = ChangeTree(times=2, changes=1, epsilon=1)

    def program(entropy):
        return tuple(tree.run_each(np.array([[0, 1]]), entropy=entropy)[0].tolist())

    with narrow_words():
        found = exact_law(program, unexplored=Fraction(1, 2), max_runs=3000)
    known = law(tree, (0, 1))
    assert found.unexplored <= Fraction(1, 2)
    for signs, mass in found.mass.items():
        assert mass <= known[signs] <= mass + found.unexplored


def p_value(tree, history, devices=6000):
    """Compare the reports of many devices with the law, in cells that the law decides."""
    known = law(tree, history)
    label = f"{tree.changes} {history}"
    signs = tree.run_each(np.tile(history, (devices, 1)), entropy=stream(label))
    found = Counter(map(tuple, signs.tolist()))
    assert set(found) <= set(known)
    expected = [float(devices * chance) for chance in known.values()]
    return stats.chisquare([found[each] for each in known], expected).pvalue


@pytest.mark.parametrize("changes", [1, 2])
def test_devices_with_any_history_have_that_law(changes):
    """Also those that change more often than was paid for, whose later changes go unreported."""
    tree = ChangeTree(times=3, changes=changes, epsilon=2)
    for history in itertools.product((0, 1), repeat=3):
        assert p_value(tree, history) > 1e-6


def test_devices_that_report_more_or_less_are_seen(monkeypatch):
    tree, history = ChangeTree(times=3, changes=1, epsilon=2), (1, 0, 1)
    for factor in (2, Fraction(1, 2)):
        monkeypatch.setattr(
            changes_module,
            "respond",
            lambda codes, epsilon, values, entropy, by=factor: respond(
                codes, by * epsilon, values, entropy
            ),
        )
        assert p_value(tree, history) < 1e-6


def test_many_devices_are_counted_at_all_times():
    tree, people = ChangeTree(times=12, changes=2, epsilon=2), 6000
    starts = np.arange(people) % 13
    histories = (np.arange(12)[None, :] >= starts[:, None]).astype(np.int64)
    histories[: people // 3, 10:] = 0  # a second change for some
    signs = tree.run_each(histories, entropy=stream("devices"))
    tally = sum(tree.tally(signs[part::3]) for part in range(3))
    assert np.array_equal(tally, tree.tally(signs))
    for time, count in enumerate(tree.counts(tally), start=1):
        spread = math.sqrt(tree.variance(people=people, time=time))
        assert abs(float(count) - histories[:, time - 1].sum()) < 5 * spread


def test_bad_input_is_refused():
    for change in ({"times": 0}, {"changes": 0}, {"epsilon": 0}):
        with pytest.raises(DiscreetError):
            ChangeTree(**{"times": 4, "changes": 1, "epsilon": 1, **change})
    tree = ChangeTree(times=1, changes=1, epsilon=1)
    watch = tree.start(2)
    for bits in (np.array([0]), np.array([0, 2])):
        with pytest.raises(DiscreetError):
            tree.step(watch, bits)
    watch, _ = tree.step(watch, np.array([0, 1]))
    with pytest.raises(DiscreetError):
        tree.step(watch, np.array([0, 1]))
