"""Empty groups that are drawn have the law of those that are gone through one by one."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.exact import Interval
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms import partition_selection as zero_groups
from discreet.mechanisms.partition_selection import EmptyGroups, ShownEmptyGroups
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.noise.bernoulli import CoinSizes
from discreet.noise.tablefree import FreeSizes
from tests.noise.laws import WrongLaw, check_law, stream

BITS = FreeSizes(word_bits=2, step_bits=1, coins=CoinSizes(word_bits=1, step_bits=1))
NONE = np.array([], np.int64)


def law_of(noise):
    if isinstance(noise, Laplace):
        return DiscreteLaplace(scale=noise.scale)
    return DiscreteGaussian(variance=noise.variance)


def materialised(noise, threshold, groups, touched):
    """Return the law of the groups that are shown, if every one of them gets its noise."""
    law = noise if isinstance(noise, Steps) else law_of(noise)
    hidden = law.cdf_bounds(threshold - 1)
    empty = set(range(groups)) - set(touched)

    def chance(outcome):
        shown = dict(outcome)
        if not shown.keys() <= empty or any(each < threshold for each in shown.values()):
            return Interval(Fraction(0), Fraction(0))
        parts = [law.pmf_bounds(shown[at]) if at in shown else hidden for at in empty]
        return Interval(
            math.prod((part.low for part in parts), start=Fraction(1)),
            math.prod((part.high for part in parts), start=Fraction(1)),
        )

    return chance


def check(noise, *, threshold, groups, touched, unexplored=Fraction(1, 16)):
    zeros = EmptyGroups(noise=noise, threshold=threshold, groups=groups)

    def program(entropy):
        found = zeros.run(np.array(touched, np.int64), entropy=entropy, sizes=BITS)
        return tuple(zip(found.places.tolist(), found.counts.tolist(), strict=True))

    check_law(
        program,
        materialised(noise, threshold, groups, touched),
        unexplored=unexplored,
        max_runs=12_000,
    )


@pytest.mark.theorem("zero-groups")
@pytest.mark.parametrize(
    ("noise", "threshold", "touched", "left"),
    [
        (Laplace(scale="1/2"), 1, (), Fraction(1, 16)),
        (Laplace(scale=1), 2, (0,), Fraction(1, 10)),
        (Gaussian(variance="1/3"), 1, (1,), Fraction(1, 4)),
    ],
    ids=str,
)
def test_the_law_is_that_of_all_groups_word_by_word(noise, threshold, touched, left):
    check(noise, threshold=threshold, groups=2, touched=touched, unexplored=left)


class Steps:
    """A law of which every part is a few fair bits: P[Z >= t] = 1/4, and then t or t + 1."""

    def __init__(self, threshold):
        self.threshold = threshold

    def survival_bounds(self, k, bits=64):
        """Know one chance; thresholds beside it have others."""
        chance = {self.threshold - 2: "1/2", self.threshold - 1: "1/4", self.threshold: "1/8"}[k]
        return Interval(Fraction(chance), Fraction(chance))

    def pmf_bounds(self, k):
        chance = Fraction(1, 8) if k in {self.threshold, self.threshold + 1} else Fraction(0)
        return Interval(chance, chance)

    def cdf_bounds(self, k):
        above = self.survival_bounds(k)
        return Interval(1 - above.high, 1 - above.low)

    def beyond(self, least, count, entropy, *, sizes):
        return np.array([least + entropy.bits(1) for _ in range(count)], np.int64)


def flipped(*, coins, chance, entropy, sizes):
    """Flip every coin: rare_heads does the same, as the noise room has shown."""
    wide = 3
    heads = [entropy.bits(wide) < (1 << wide) * chance(64).low for _ in range(coins)]
    return np.flatnonzero(heads)


def check_steps(monkeypatch, touched, groups=3):
    law = Steps(5)
    monkeypatch.setattr(zero_groups, "rare_heads", flipped)
    monkeypatch.setattr(EmptyGroups, "_law", lambda _: law)
    zeros = EmptyGroups(noise=Laplace(scale=1), threshold=5, groups=groups)

    def program(entropy):
        found = zeros.run(np.array(touched, np.int64), entropy=entropy)
        return tuple(zip(found.places.tolist(), found.counts.tolist(), strict=True))

    claim = materialised(law, 5, groups, touched)
    return check_law(program, claim, unexplored=0, max_runs=200_000)


@pytest.mark.theorem("zero-groups")
@pytest.mark.parametrize("touched", [(), (1,), (0, 2), (0, 1, 2)])
def test_the_law_is_that_of_all_groups(monkeypatch, touched):
    """Every outcome of three groups, with all its chance."""
    law = check_steps(monkeypatch, touched)
    assert law.unexplored == 0
    assert len(law.mass) == 3 ** (3 - len(touched))


@pytest.mark.parametrize("slip", ["lower", "higher", "touched", "tail", "sign"])
def test_slips_are_found(monkeypatch, slip):
    beyond, run, chance = Steps.beyond, EmptyGroups.run, EmptyGroups.chance

    def signed(self, *rest, **more):
        found = run(self, *rest, **more)
        return ShownEmptyGroups(
            found.places, np.where(found.places % 2, found.counts, -found.counts)
        )

    def other(step):
        return lambda self, bits=64: chance(replace(self, threshold=self.threshold + step), bits)

    slips = {
        "lower": (EmptyGroups, "chance", other(-1)),
        "higher": (EmptyGroups, "chance", other(1)),
        "touched": (EmptyGroups, "run", lambda self, _, **more: run(self, NONE, **more)),
        "tail": (
            Steps,
            "beyond",
            lambda self, t, *rest, **more: beyond(self, t + 1, *rest, **more),
        ),
        "sign": (EmptyGroups, "run", signed),
    }
    monkeypatch.setattr(*slips[slip])
    with pytest.raises(WrongLaw):
        check_steps(monkeypatch, (1,))


@pytest.mark.parametrize("noise", [Laplace(scale=3), Gaussian(sigma=4)], ids=str)
def test_touched_groups_are_never_drawn(noise):
    zeros = EmptyGroups(noise=noise, threshold=2, groups=1000)
    odd = np.arange(1, 1000, 2)
    found = zeros.run(odd, entropy=stream("odd"))
    assert found.places.size > 50
    assert not (found.places % 2).any()
    assert (np.diff(found.places) > 0).all()
    assert (found.counts >= 2).all()


def test_what_is_drawn_does_not_depend_on_touched_groups():
    """The same words are read, and other groups are the same."""
    zeros = EmptyGroups(noise=Laplace(scale=2), threshold=5, groups=10**4)
    sources = stream("same"), stream("same")
    whole, some = (
        zeros.run(touched, entropy=source)
        for touched, source in zip((NONE, np.arange(5000)), sources, strict=True)
    )
    later = whole.places >= 5000
    assert some.places.tolist() == whole.places[later].tolist()
    assert some.counts.tolist() == whole.counts[later].tolist()
    assert sources[0].bits(64) == sources[1].bits(64)


@pytest.mark.parametrize("noise", [Laplace(scale="5/2"), Gaussian(sigma=3), Laplace(scale=10**6)])
@pytest.mark.parametrize("groups", [10**7, 10**9, 2**62])
@pytest.mark.parametrize("most", [1, 1000, 10**6])
def test_the_least_threshold_is_exact(noise, groups, most):
    start = EmptyGroups(noise=noise, threshold=1, groups=groups)
    least = start.least(most)
    enough = EmptyGroups(noise=noise, threshold=least, groups=groups)
    assert enough.expected().high <= most
    assert EmptyGroups(noise=noise, threshold=least - 1, groups=groups).expected().low > most


def test_a_threshold_is_never_below_one():
    assert EmptyGroups(noise=Laplace(scale=1), threshold=9, groups=10).least(10) == 1
    assert EmptyGroups(noise=Laplace(scale=1), threshold=9, groups=10).least(9) == 1
