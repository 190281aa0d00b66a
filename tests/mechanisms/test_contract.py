"""Every mechanism of the library passes the contract, and broken twins do not."""

import inspect
import itertools
from collections import Counter
from fractions import Fraction

import pytest

from discreet import mechanisms
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    NoisyKeys,
    NumericSparse,
    OptimalKeys,
    RandomizedResponse,
    Sparse,
    SumKeys,
)
from discreet.noise import DyadicGrid
from discreet_course.counting import Histogram
from discreet_course.permute_and_flip import PermuteAndFlip
from tests.mechanisms import contract
from tests.mechanisms.contract import Broken, Case, hashable
from tests.noise.laws import WrongLaw
from tests.twins import mechanisms as twins


def apart(x, y):
    return abs(x - y)


def l1(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def linf(x, y):
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


def differ(x, y):
    return int(x != y)


def one_way(x, y):
    """The distance of monotone scores; None where scores move in both directions."""
    moves = [a - b for a, b in zip(x, y, strict=True)]
    return linf(x, y) if min(moves) >= 0 or max(moves) <= 0 else None


def window(radius):
    return lambda x: range(x - radius, x + radius + 1)


def box(radius):
    return lambda x: itertools.product(*(range(a - radius, a + radius + 1) for a in x))


def cells(radius, step):
    return lambda x: [x // step * step + (k + 0.5) * step for k in range(-radius, radius + 1)]


def farthest(y, x):
    return linf(y, x)


def score_gap(y, scores):
    return max(scores) - scores[y if isinstance(y, int) else y[0]]


def rows_apart(x, y):
    left, right = Counter(x), Counter(y)
    return sum(((left - right) + (right - left)).values())


def rank_miss(c, values):
    def miss(place):
        rank = Fraction(len(values), 2)
        return max(0, sum(x < place for x in values) - rank, rank - sum(x <= place for x in values))

    return miss(c) - min(miss(place) for place in (0, 1, 2))


def shown_counts(answer):
    counts = iter(answer.counts.tolist())
    return tuple(next(counts) if shown else None for shown in answer.shown)


def shown_sums(answer):
    points = iter(answer.coordinates.tolist())
    return tuple(tuple(next(points)) if shown else None for shown in answer.shown)


def sum_keys(noise, relation="add_remove"):
    return SumKeys(
        noise=noise,
        threshold=6,
        coordinates=2,
        most=2,
        squared=4,
        groups=1,
        relation=relation,
    )


def units_apart(x, y):
    """People whose coordinates are (2, 0), (1, 1) or (0, 2), of which one is added or removed."""
    moves = [
        a - b for one, other in zip(x, y, strict=True) for a, b in zip(one, other, strict=True)
    ]
    one_way = min(moves) >= 0 or max(moves) <= 0
    return abs(sum(moves)) // 2 if one_way and sum(moves) % 2 == 0 else None


def replaced_units(x, y):
    up = sum(max(a - b, 0) for a, b in zip(x[0], y[0], strict=True))
    return -(-up // 2) if sum(x[0]) == sum(y[0]) else None


POINTS = [((0, 0),), ((2, 0),), ((1, 1),), ((0, 2),), ((2, 2),), ((8, 0),), ((8, 2),)]


def noisy_points(radius):
    return lambda x: [
        (None,),
        *(
            (point,)
            for point in itertools.product(*(range(a - radius, a + radius + 1) for a in x[0]))
            if sum(point) >= 6
        ),
    ]


def shown_or(miss):
    """How far one group is off, where a hidden one is taken to have no units."""
    return lambda y, x: miss(y[0], x[0]) if y[0] else x[0]


SMALL_SCORES = list(itertools.product(range(3), repeat=3))
SMALL_TABLES = [
    rows for size in range(4) for rows in itertools.combinations_with_replacement(range(3), size)
]


def gaps(places, *, best_last=False):
    worst = [(0,) * (places - 1) + (g,) for g in range(40)]
    return worst if best_last else [row[::-1] for row in worst]


def selections(kind, change, distance):
    return Case(
        name=f"{kind.__name__}, {change} scores",
        mechanism=kind(candidates=3, scale=2, change=change),
        twin=kind(candidates=3, scale=1, change=change),
        inputs=SMALL_SCORES,
        error_inputs=gaps(3),
        sampled=[(2, 0, 1), (0, 1, 2)],
        distance=distance,
        miss=score_gap,
        near=True,
    )


CASES = [
    Case(
        name="Laplace",
        mechanism=Laplace(scale=2),
        twin=Laplace(scale=1),
        inputs=range(4),
        outcomes=window(70),
        noises=1,
        distance=apart,
        miss=apart,
        tight=True,
        tight_at_zero=True,
    ),
    Case(
        name="Laplace, narrow",
        mechanism=Laplace(scale="2/3"),
        twin=Laplace(scale="1/3"),
        inputs=range(-1, 2),
        outcomes=window(40),
        noises=1,
        distance=apart,
        miss=apart,
        tight=True,
        tight_at_zero=True,
    ),
    Case(
        name="Laplace on vectors",
        mechanism=Laplace(scale=1),
        twin=Laplace(scale="1/2"),
        inputs=[(0, 0), (1, 0), (1, 1), (2, 0)],
        outcomes=box(9),
        distance=l1,
        tight=True,
        tight_at_zero=True,
        noises=2,
        radius=9,
        key=hashable,
    ),
    Case(
        name="Laplace on a grid",
        mechanism=Laplace(scale=1, grid=DyadicGrid(exponent=-1)),
        twin=Laplace(scale="1/2", grid=DyadicGrid(exponent=-1)),
        inputs=[-0.3, 0.0, 0.2, 0.5, 1.4],
        outcomes=cells(60, 0.5),
        noises=1,
        distance=lambda x, y: abs(Fraction(x) - Fraction(y)),
        miss=lambda y, x: abs(Fraction(y) - Fraction(x)),
        worst=False,
    ),
    Case(
        name="Gaussian",
        mechanism=Gaussian(sigma=2),
        twin=Gaussian(sigma=1),
        inputs=range(4),
        outcomes=window(40),
        noises=1,
        distance=apart,
        miss=apart,
        tight=True,
    ),
    Case(
        name="Gaussian on vectors",
        mechanism=Gaussian(sigma=1),
        twin=Gaussian(sigma="1/2"),
        inputs=[(0, 0), (1, 0), (0, 2), (2, 0)],
        outcomes=box(6),
        distance=l1,
        noises=2,
        radius=6,
        key=hashable,
    ),
    selections(Exponential, "general", linf),
    selections(Exponential, "monotone", one_way),
    selections(PermuteAndFlip, "general", linf),
    selections(PermuteAndFlip, "monotone", one_way),
    Case(
        name="Histogram, add or remove",
        mechanism=Histogram(cells=2, noise=Laplace(scale=1), relation="add_remove"),
        twin=Histogram(cells=2, noise=Laplace(scale="1/2"), relation="add_remove"),
        inputs=[(0, 0), (1, 0), (1, 1), (2, 0)],
        outcomes=box(9),
        distance=l1,
        miss=farthest,
        tight=True,
        tight_at_zero=True,
        noises=2,
        radius=9,
        key=hashable,
    ),
    Case(
        name="Histogram, replace",
        mechanism=Histogram(cells=2, noise=Laplace(scale=1), relation="replace"),
        twin=Histogram(cells=2, noise=Laplace(scale="1/2"), relation="replace"),
        inputs=[(2, 0), (1, 1), (0, 2)],
        outcomes=box(9),
        distance=linf,
        miss=farthest,
        tight=True,
        tight_at_zero=True,
        noises=2,
        radius=9,
        key=hashable,
    ),
    Case(
        name="Histogram, Gaussian",
        mechanism=Histogram(cells=2, noise=Gaussian(sigma=1), relation="replace"),
        twin=Histogram(cells=2, noise=Gaussian(sigma="1/2"), relation="replace"),
        inputs=[(2, 0), (1, 1), (0, 2)],
        outcomes=box(6),
        distance=linf,
        miss=farthest,
        tight=True,
        noises=2,
        radius=6,
        key=hashable,
    ),
    Case(
        name="OptimalKeys",
        mechanism=OptimalKeys(epsilon=1, delta="1/10", groups=1, relation="add_remove"),
        twin=OptimalKeys(epsilon=2, delta="1/10", groups=1, relation="add_remove"),
        inputs=[(n,) for n in range(9)],
        sampled=[(3,), (2,)],
        distance=l1,
        miss=shown_or(lambda y, x: 0),
        near=True,
        words=False,
        key=hashable,
    ),
    Case(
        name="NoisyKeys",
        mechanism=NoisyKeys(noise=Laplace(scale=1), threshold=3, groups=1, relation="add_remove"),
        twin=NoisyKeys(noise=Laplace(scale="1/2"), threshold=3, groups=1, relation="add_remove"),
        inputs=[(n,) for n in range(4)],
        error_inputs=[(n,) for n in range(14)],
        outcomes=lambda x: [(None,), *((y,) for y in range(3, 3 + x[0] + 30))],
        sampled=[(2,), (0,), (3,)],
        distance=l1,
        miss=shown_or(apart),
        near=True,
        noises=1,
        key=shown_counts,
    ),
    Case(
        name="NoisyKeys, replace",
        mechanism=NoisyKeys(noise=Gaussian(sigma=1), threshold=2, groups=1, relation="replace"),
        twin=NoisyKeys(noise=Gaussian(sigma="1/2"), threshold=2, groups=1, relation="replace"),
        inputs=[(2, 0), (1, 1), (0, 2)],
        outcomes=lambda x: itertools.product([None, *range(2, 9)], repeat=2),
        sampled=[(1, 2)],
        distance=linf,
        near=True,
        noises=2,
        radius=6,
        key=shown_counts,
    ),
    *(
        Case(
            name=f"SumKeys, {type(noise).__name__}",
            mechanism=sum_keys(noise),
            twin=sum_keys(type(noise)(**{name: width / 2})),
            inputs=POINTS,
            outcomes=noisy_points(14),
            sampled=[((2, 2),), ((0, 0),)],
            distance=units_apart,
            near=True,
            noises=2,
            radius=12,
            key=shown_sums,
        )
        for name, width, noise in [
            ("scale", Fraction(2), Laplace(scale=2)),
            ("sigma", Fraction(2), Gaussian(sigma=2)),
        ]
    ),
    Case(
        name="SumKeys, replace",
        mechanism=sum_keys(Laplace(scale=2), "replace"),
        twin=sum_keys(Laplace(scale=1), "replace"),
        inputs=[((2, 0),), ((1, 1),), ((0, 2),), ((8, 0),), ((6, 2),)],
        outcomes=noisy_points(14),
        sampled=[((2, 0),)],
        distance=replaced_units,
        near=True,
        noises=2,
        radius=12,
        key=shown_sums,
    ),
    Case(
        name="RandomizedResponse",
        mechanism=RandomizedResponse(epsilon=1, categories=range(3)),
        twin=RandomizedResponse(epsilon=2, categories=range(3)),
        inputs=range(3),
        distance=differ,
        miss=differ,
        slack=1e-4,
        tight=True,
        tight_at_zero=True,
        words=False,
    ),
    Case(
        name="FiniteMechanism",
        mechanism=FiniteMechanism(matrix=[["0.7", "0.2", "0.1"], ["0.2", "0.6", "0.2"]]),
        twin=FiniteMechanism(matrix=[["7/8", "1/16", "1/16"], ["1/8", "3/4", "1/8"]]),
        inputs=range(2),
        distance=differ,
        miss=apart,
        slack=1e-4,
        words=False,
        tight=True,
        tight_at_zero=True,
    ),
    Case(
        name="AboveThreshold",
        mechanism=AboveThreshold(threshold=0, epsilon=1),
        twin=AboveThreshold(threshold=0, epsilon=2),
        inputs=list(itertools.product(range(-1, 2), repeat=2)),
        sampled=[(-1, 1), (2, -2)],
        distance=linf,
        words=False,
    ),
    Case(
        name="Sparse",
        mechanism=Sparse(threshold=0, answers=2, epsilon=2),
        twin=Sparse(threshold=0, answers=2, epsilon=4),
        inputs=list(itertools.product(range(2), repeat=3)),
        sampled=[(-2, 2, 2), (2, -2, 3)],
        distance=linf,
        words=False,
    ),
    Case(
        name="NumericSparse",
        mechanism=NumericSparse(threshold=0, answers=1, epsilon=9),
        twin=NumericSparse(threshold=0, answers=1, epsilon=18),
        inputs=list(itertools.product(range(2), repeat=2)),
        outcomes=lambda x: [
            (None, None),
            *((y,) for y in range(-14, 16)),
            *((None, y) for y in range(-14, 16)),
        ],
        sampled=[(0, 1), (1, 1)],
        distance=linf,
        words=False,
    ),
]
NUMBERS = [case for case in CASES if case.name in {"Laplace", "Laplace, narrow", "Gaussian"}]


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=str)


def test_every_mechanism_has_a_case():
    public = [getattr(mechanisms, name) for name in mechanisms.__all__]
    kinds = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, Mechanism)}
    concrete = {kind for kind in kinds if not inspect.isabstract(kind)}
    assert concrete - {type(case.mechanism) for case in CASES} == set()


@by_name(CASES)
def test_the_value(case):
    contract.check_value(case.mechanism, case)


@by_name(CASES)
def test_the_enclosures(case):
    contract.check_enclosures(case.mechanism, case)


@by_name([case for case in CASES if case.exactly])
def test_the_sampler_exactly(case):
    contract.check_sampler_exactly(case.mechanism, case)


@by_name(CASES)
def test_the_sampler(case):
    contract.check_sampler(case.mechanism, case)


@by_name(CASES)
def test_the_privacy(case):
    contract.check_privacy(case.mechanism, case)


@by_name([case for case in CASES if case.miss])
def test_the_error(case):
    contract.check_error(case.mechanism, case)


@by_name([case for case in CASES if case.twin])
def test_a_sampler_with_half_the_noise_is_caught(case):
    with pytest.raises(Broken):
        contract.check_sampler(twins.half_the_noise_in_the_sampler(case), case)


@by_name([case for case in CASES if case.twin and case.exactly])
def test_a_sampler_with_half_the_noise_is_caught_exactly(case):
    with pytest.raises(WrongLaw):
        contract.check_sampler_exactly(twins.half_the_noise_in_the_sampler(case), case)


@by_name([case for case in CASES if case.twin and case.sharp])
def test_half_the_noise_at_the_old_price_is_caught(case):
    with pytest.raises(Broken):
        contract.check_privacy(twins.half_the_noise(case), case)


@by_name([case for case in CASES if case.twin and case.sharp])
def test_a_wrong_sensitivity_is_caught(case):
    with pytest.raises(Broken):
        contract.check_privacy(twins.wrong_sensitivity(case), case)


@by_name(NUMBERS)
def test_a_forgotten_sign_is_caught(case):
    with pytest.raises(Broken):
        contract.check_sampler(twins.forgotten_sign(case), case)
    with pytest.raises(WrongLaw):
        contract.check_sampler_exactly(twins.forgotten_sign(case), case)


@by_name([case for case in CASES if case.miss and case.worst])
@pytest.mark.parametrize("units", [-1, 1])
def test_an_error_that_is_off_by_one_is_caught(case, units):
    with pytest.raises(Broken):
        contract.check_error(twins.error_off_by(case, units), case)


@by_name(NUMBERS)
def test_a_law_that_is_off_by_one_is_caught(case):
    with pytest.raises(Broken):
        contract.check_sampler(twins.shifted_law(case), case)
