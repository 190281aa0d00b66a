"""Bounds follow from noisy bins alone; their law is private, bin by bin, exactly."""

import functools
import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.errors import DiscreetError, EngineFailed, EntropyUnavailable
from discreet.mechanisms import Laplace
from discreet.noise import DiscreteLaplace
from discreet.plan.bounds_search import FALSE_ALARM, FLOATS, SearchBins
from discreet.plan.pricing.requested_price import estimate
from discreet.release.answer import bounds_from_bins, private_bounds
from discreet.requests.raw_totals import RawTotals
from tests.plan.clinic import planned

SMALL = SearchBins(ends=((Fraction(1), Fraction(1)), (Fraction(2), Fraction(3))), whole=True)
TARGET = SimpleNamespace(about="x", bins=SMALL)


def noise_of(scale):
    return SimpleNamespace(mechanism=Laplace(scale=scale))


def raw_of(**leaves):
    none = np.zeros(1, np.int64)
    return RawTotals(keys=(), units=none, totals={}, leaves=leaves)


@pytest.mark.theorem("bounds-found")
def test_bounds_are_those_of_the_bins_that_stand_out():
    noise = noise_of(2)
    least = noise.mechanism.error(confidence=1 - FALSE_ALARM, coordinates=5)
    for above in itertools.product([False, True], repeat=5):
        noisy = np.array([least + one for one in above], np.int64)
        found = bounds_from_bins(TARGET, noise, noisy)
        places = [place for place, one in enumerate(above) if one]
        assert found.seen == bool(places)
        assert found.bounds == (SMALL.span(places[0], places[-1]) if places else SMALL.widest)


@pytest.mark.theorem("bounds-found")
@pytest.mark.parametrize("scale", [Fraction(1, 10**20), 1, 20, Fraction(200, 3)])
def test_empty_bins_hardly_ever_stand_out(scale):
    law = DiscreteLaplace(scale=scale)
    least = Laplace(scale=scale).error(confidence=1 - FALSE_ALARM, coordinates=FLOATS.count)
    beyond = 2 * (1 - float(law.cdf(least)))
    assert FLOATS.count * math.log1p(-beyond) >= math.log1p(-float(FALSE_ALARM)) - 1e-12


@functools.cache
def outcomes(scale):
    """Return the threshold, and what is found for all sets of bins that stand out."""
    least = Laplace(scale=scale).error(confidence=1 - FALSE_ALARM, coordinates=5)
    found = []
    for above in itertools.product([False, True], repeat=5):
        noisy = np.array([least + one for one in above], np.int64)
        outcome = bounds_from_bins(TARGET, noise_of(scale), noisy)
        found.append((above, (outcome.bounds, outcome.seen)))
    return least, found


@functools.cache
def law(counts, scale):
    """Return the chance of all bounds that can be found."""
    least, every = outcomes(scale)
    noise = DiscreteLaplace(scale=scale)
    chances = [1 - float(noise.cdf(least - count)) for count in counts]
    found = {}
    for above, outcome in every:
        chance = math.prod(p if one else 1 - p for p, one in zip(chances, above, strict=True))
        found[outcome] = found.get(outcome, 0.0) + chance
    return found


@pytest.mark.theorem("bounds-search")
@pytest.mark.parametrize("scale", [1, Fraction(5, 2)])
def test_the_law_of_bounds_is_private(scale):
    most = math.exp(1 / scale)
    for counts in itertools.product([0, 5, 11], repeat=5):
        here = law(counts, scale)
        assert sum(here.values()) == pytest.approx(1)
        for place in range(5):
            there = law(tuple(n + (index == place) for index, n in enumerate(counts)), scale)
            for outcome in here.keys() | there.keys():
                one, other = here.get(outcome, 0.0), there.get(outcome, 0.0)
                assert max(one, other) <= most * min(one, other) * (1 + 1e-9) + 1e-300


def test_the_law_of_half_the_noise_is_not():
    here, there = (law((0, 0, 0, 0, last), Fraction(1, 2)) for last in (2, 3))
    ratios = [max(here[each], there[each]) / min(here[each], there[each]) for each in here]
    assert max(ratios) > math.exp(1)


def test_the_histogram_gets_the_noise_of_the_plan():
    plan = planned("SELECT AVG(note) AS m FROM visits", epsilon=1, bounds=estimate(epsilon="0.1"))
    (noise,) = plan.search.noises
    assert noise.mechanism == Laplace(scale=10)
    seen = []

    class Spy:
        def run(self, exact, *, entropy):
            seen.append(exact.copy())
            return exact + np.where(np.arange(exact.size) == FLOATS.zero + 66, 200, 0)

        def error(self, **named):
            return noise.mechanism.error(**named)

    search = SimpleNamespace(
        targets=plan.search.targets, noises=(SimpleNamespace(mechanism=Spy()),)
    )
    leaves = np.array([0, 0]), np.array([FLOATS.zero + 65, FLOATS.zero + 67]), np.array([3, 200])
    (found,) = private_bounds(search, raw_of(bounds=leaves))
    assert found.bounds == (0, 8)  # from 2 on, and zero is near
    assert found.seen
    assert seen[0].sum() == 203
    assert seen[0][FLOATS.zero + 67] == 200


def test_what_fails_on_the_way_says_nothing():
    plan = planned("SELECT AVG(note) AS m FROM visits", epsilon=1, bounds=estimate(epsilon="0.1"))
    with pytest.raises(EngineFailed) as caught:
        private_bounds(plan.search, raw_of(other=()))
    assert caught.value.__context__ is None

    class Dry:
        def bits(self, count):
            raise EntropyUnavailable(what="no bits.", why="a test.", do="wait.")

        words = bits

    leaves = (np.zeros(0, np.int64),) * 3
    with pytest.raises(DiscreetError) as dry:
        private_bounds(plan.search, raw_of(bounds=leaves), entropy=Dry())
    frames = []
    trace = dry.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert not any(
        isinstance(value, RawTotals) for frame in frames[1:] for value in frame.f_locals.values()
    )
