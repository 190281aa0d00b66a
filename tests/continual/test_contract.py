"""Every mechanism of this room passes the contract of mechanisms, and broken twins do not."""

import inspect
import itertools

import pytest

from discreet import continual
from discreet.continual import BinaryTreeCounter, FactorizedCounter
from discreet.mechanisms import Gaussian, Laplace, Mechanism
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.hierarchy import Hierarchy, NoisyThresholds
from discreet_course.refined_tree import RefinedTreeCounter
from tests.mechanisms import contract
from tests.mechanisms.contract import Broken, Case, hashable
from tests.noise.laws import WrongLaw
from tests.twins import mechanisms as twins

BITS_2 = list(itertools.product(range(2), repeat=2))
BITS_3 = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1)]


def changed(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def rows_apart(x, y):
    moves = [a - b for a, b in zip(x, y, strict=True)]
    return sum(abs(move) for move in moves)


def replaced(x, y):
    moves = [a - b for a, b in zip(x, y, strict=True)]
    return sum(move for move in moves if move > 0) if sum(moves) == 0 else None


def neighbors(distance):
    """Compare neighbors only: further apart, the loss is a bound that is not attained."""
    return lambda x, y: 1 if distance(x, y) == 1 else None


def farthest_sum(sums, x):
    return max(abs(a - b) for a, b in zip(sums, itertools.accumulate(x), strict=True))


def around(counter, radius):
    """Return the outcomes whose noise lies in a window."""

    def outcomes(x):
        noises = itertools.product(range(-radius, radius + 1), repeat=counter.draws)
        found = []
        for noise in noises:
            steps, left = counter._state(), list(noise)
            found.append(
                tuple(
                    steps.step(value, [left.pop(0) for _ in range(steps.draws(t))])
                    for t, value in enumerate(x, start=1)
                )
            )
        return found

    return outcomes


def counters(name, make, noise, narrow, *, inputs, radius, **more):
    """Return a case of a counter of bits, compared on neighbors."""
    length = len(inputs[0])
    counter = make(length=length, noise=noise)
    return Case(
        name=name,
        mechanism=counter,
        twin=make(length=length, noise=narrow),
        inputs=inputs,
        outcomes=around(counter, radius),
        distance=neighbors(changed),
        noises=counter.draws,
        radius=radius,
        key=hashable,
        sampled=[inputs[0], inputs[-1]],
        **more,
    )


def nodes_near(mechanism, radius):
    def outcomes(x):
        nodes = mechanism._nodes(x).tolist()
        noises = itertools.product(range(-radius, radius + 1), repeat=mechanism.noisy)
        pairs = (itertools.zip_longest(nodes, noise, fillvalue=0) for noise in noises)
        return [tuple(a + z for a, z in pair) for pair in pairs]

    return outcomes


def hierarchies(name, relation, noise, narrow, *, inputs, radius, distance, **more):
    plan = {"cells": 2, "relation": relation}
    mechanism = Hierarchy(noise=noise, **plan)
    return Case(
        name=name,
        mechanism=mechanism,
        twin=Hierarchy(noise=narrow, **plan),
        inputs=inputs,
        outcomes=nodes_near(mechanism, radius),
        distance=distance,
        noises=mechanism.noisy,
        radius=radius,
        key=hashable,
        **more,
    )


def farthest_node(mechanism):
    def miss(counts, x):
        return max(abs(a - b) for a, b in zip(counts, mechanism._nodes(x).tolist(), strict=True))

    return miss


HALF, ONE, QUARTER = Laplace(scale="1/2"), Laplace(scale=1), Laplace(scale="1/4")
NARROW, THIN = Gaussian(sigma="3/4"), Gaussian(sigma="3/8")
ADDED = [(0, 0), (1, 0), (0, 1), (1, 1)]
SWAPPED = [(2, 0), (1, 1), (0, 2)]

CASES = [
    counters(
        "NoisyPrefixes",
        NoisyPrefixes,
        ONE,
        HALF,
        inputs=BITS_2,
        radius=9,
        miss=farthest_sum,
        tight=True,
        tight_at_zero=True,
    ),
    counters(
        "NoisyPrefixes, Gaussian",
        NoisyPrefixes,
        NARROW,
        THIN,
        inputs=BITS_2,
        radius=6,
        miss=farthest_sum,
        tight=True,
    ),
    counters(
        "NoisyBits",
        NoisyBits,
        ONE,
        HALF,
        inputs=BITS_2,
        radius=9,
        miss=farthest_sum,
        worst=False,
        tight=True,
        tight_at_zero=True,
    ),
    counters(
        "BinaryTreeCounter",
        BinaryTreeCounter,
        HALF,
        QUARTER,
        inputs=BITS_3,
        radius=4,
        miss=farthest_sum,
        worst=False,
        tight=True,
        tight_at_zero=True,
    ),
    counters(
        "BinaryTreeCounter, Gaussian",
        BinaryTreeCounter,
        NARROW,
        THIN,
        inputs=BITS_3,
        radius=3,
        miss=farthest_sum,
        worst=False,
        tight=True,
        slack=1e-6,
    ),
    Case(
        name="FactorizedCounter",
        mechanism=FactorizedCounter(length=2, noise=NARROW, bits=2),
        twin=FactorizedCounter(length=2, noise=THIN, bits=2),
        inputs=BITS_2,
        outcomes=around(FactorizedCounter(length=2, noise=NARROW, bits=2), 13),
        distance=neighbors(changed),
        miss=farthest_sum,
        worst=False,
        noises=2,
        radius=13,
        key=hashable,
        sampled=[(0, 1), (1, 1)],
        near=True,
    ),
    hierarchies(
        "Hierarchy, add or remove",
        "add_remove",
        HALF,
        QUARTER,
        inputs=ADDED,
        radius=4,
        distance=neighbors(rows_apart),
        miss=farthest_node(Hierarchy(cells=2, relation="add_remove", noise=HALF)),
        tight=True,
        tight_at_zero=True,
    ),
    hierarchies(
        "Hierarchy, replace",
        "replace",
        ONE,
        HALF,
        inputs=SWAPPED,
        radius=9,
        distance=replaced,
        miss=farthest_node(Hierarchy(cells=2, relation="replace", noise=ONE)),
        tight=True,
        tight_at_zero=True,
    ),
]
BLENDS = [
    RefinedTreeCounter(length=3, noise=ONE),
    NoisyThresholds(cells=3, noise=ONE, relation="replace"),
]


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=str)


def test_every_mechanism_has_a_case():
    public = [getattr(continual, name) for name in continual.__all__]
    kinds = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, Mechanism)}
    concrete = {kind for kind in kinds if not inspect.isabstract(kind)}
    tried = {type(case.mechanism) for case in CASES} | {type(blend) for blend in BLENDS}
    assert concrete - tried == set()


@by_name(CASES)
def test_the_value(case):
    contract.check_value(case.mechanism, case)


@pytest.mark.parametrize("mechanism", BLENDS, ids=lambda blend: type(blend).__name__)
def test_the_value_of_a_blend(mechanism):
    contract.check_value(mechanism, Case("", mechanism, (), changed, miss=changed))


@by_name(CASES)
def test_the_enclosures(case):
    contract.check_enclosures(case.mechanism, case)


@by_name(CASES)
def test_the_sampler_exactly(case):
    contract.check_sampler_exactly(case.mechanism, case)


@by_name(CASES)
def test_the_sampler(case):
    contract.check_sampler(case.mechanism, case)


@pytest.mark.theorem("linear-measurements")
@pytest.mark.theorem("noisy-prefixes")
@pytest.mark.theorem("noisy-bits")
@pytest.mark.theorem("binary-tree")
@pytest.mark.theorem("matrix-mechanism")
@pytest.mark.theorem("hierarchy-levels")
@by_name(CASES)
def test_the_privacy(case):
    contract.check_privacy(case.mechanism, case)


@by_name(CASES)
def test_the_privacy_further_apart(case):
    further = {"add_remove": rows_apart, "replace": replaced}
    relation = getattr(getattr(case.mechanism, "relation", None), "value", None)
    whole = {**vars(case), "distance": further.get(relation, changed)}
    loose = {"tight": False, "tight_at_zero": False, "near": False}
    contract.check_privacy(case.mechanism, Case(**{**whole, **loose}))


@by_name(CASES)
def test_the_error(case):
    contract.check_error(case.mechanism, case)


@by_name(CASES)
def test_a_sampler_with_half_the_noise_is_caught(case):
    with pytest.raises(Broken):
        contract.check_sampler(twins.half_the_noise_in_the_sampler(case), case)


@by_name(CASES)
def test_a_sampler_with_half_the_noise_is_caught_exactly(case):
    with pytest.raises(WrongLaw):
        contract.check_sampler_exactly(twins.half_the_noise_in_the_sampler(case), case)


@by_name(CASES)
def test_half_the_noise_at_the_old_price_is_caught(case):
    with pytest.raises(Broken):
        contract.check_privacy(twins.half_the_noise(case), case)


@by_name(CASES)
def test_a_wrong_sensitivity_is_caught(case):
    with pytest.raises(Broken):
        contract.check_privacy(twins.wrong_sensitivity(case), case)


@by_name([case for case in CASES if case.worst])
@pytest.mark.parametrize("units", [-1, 1])
def test_an_error_that_is_off_by_one_is_caught(case, units):
    with pytest.raises(Broken):
        contract.check_error(twins.error_off_by(case, units), case)
