"""The audit: its bound is wrong as rarely as it says, finds what is there, and blames nobody."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import Batches, claims, estimate_epsilon, shifts
from discreet.attacks.claims import claim_of
from discreet.attacks.proportions import at_least, at_most
from discreet.errors import OutOfRange, WrongKind
from discreet.mechanisms import AboveThreshold, Exponential, Gaussian, Laplace, RandomizedResponse
from discreet.mechanisms.finite import FiniteMechanism
from discreet_course.permute_and_flip import PermuteAndFlip

ALPHA = 1e-6


def seeded(function, seed=0):
    """A subject that draws floats or integers from a fixed seed."""
    generator = np.random.default_rng(seed)
    return Batches(lambda data, n: function(generator, data, n))


def smooth_laplace(scale=1000):
    """Laplace noise without a trace of floats: whole numbers."""
    return seeded(lambda rng, data, n: data + np.rint(rng.laplace(scale=scale, size=n)).astype(int))


# --- the bound is wrong as rarely as it says ----------------------------------------------------

COINS = [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(9, 10), 0)]


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.theorem("audit-bound")
@pytest.mark.parametrize("coins", [*COINS, (Fraction(1, 10), Fraction(1, 5))])
@pytest.mark.parametrize(
    "claim",
    [
        claims.PureClaim(),
        claims.ApproximateClaim(delta="0.1"),
        claims.Concentrated(),
        claims.GaussianMu(),
    ],
    ids=lambda claim: type(claim).__name__,
)
def test_for_every_count_together_the_bound_is_wrong_at_most_at_its_level(coins, claim):
    p, q = map(Fraction, coins)
    n, level = 10, Fraction(1, 5)
    truth = max(claim.lower(p, q).lower, claim.lower(q, p).lower)
    wrong = Fraction(0)
    for k, l in itertools.product(range(n + 1), repeat=2):
        low, high = at_least(k, n, level=level / 2), at_most(l, n, level=level / 2)
        if claim.lower(low, high).lower > truth:
            wrong += binomial(k, n, p) * binomial(l, n, q)
    assert wrong <= level


class Scripted:
    """Draws what a script says: 0 or 1, side by side."""

    def __init__(self, script):
        self.script = iter(script)

    def draw(self, data, n):
        return [next(self.script) for _ in range(n)]


@pytest.mark.theorem("audit-bound")
@pytest.mark.theorem("held-out-event")
@pytest.mark.parametrize("truth", [0, 1])
def test_the_whole_procedure_is_wrong_at_most_at_its_level(truth):
    """All that can be drawn, for learning, for choosing and for judging, with its chances."""
    level, n = Fraction(2, 5), 3
    p = Fraction(1, 2) if truth == 0 else Fraction(731, 1000)
    q = 1 - p
    epsilon = math.log(p / q)
    wrong = total = Fraction(0)
    for chosen in itertools.product((0, 1), repeat=4):  # one, other; twice
        weight = math.prod(
            (p if bit else 1 - p) if index % 2 == 0 else (q if bit else 1 - q)
            for index, bit in enumerate(chosen)
        )
        for k, l in itertools.product(range(n + 1), repeat=2):
            judged = [1] * k + [0] * (n - k) + [1] * l + [0] * (n - l)
            measured = estimate_epsilon(
                Scripted([*chosen, *judged]), (0, 1), n, level=level, learned=2
            )
            chance = weight * binomial(k, n, p) * binomial(l, n, q)
            total += chance
            wrong += chance * (measured.lower > epsilon)
    assert total == 1
    assert wrong <= level


def test_choosing_the_event_by_the_judged_answers_would_be_wrong():
    """The mutant: three outputs, no difference at all, and the best of six events is picked."""
    n, level = 6, Fraction(1, 10)
    events = [set(part) for size in (1, 2) for part in itertools.combinations(range(3), size)]
    counts = [c for c in itertools.product(range(n + 1), repeat=3) if sum(c) == n]

    def chance(c):
        ways = math.factorial(n) // math.prod(map(math.factorial, c))
        return Fraction(ways, 3**n)

    wrong = Fraction(0)
    for one, other in itertools.product(counts, repeat=2):
        bounds = [
            at_least(sum(one[y] for y in event), n, level=level / 2)
            > at_most(sum(other[y] for y in event), n, level=level / 2)
            for event in events
        ]
        wrong += chance(one) * chance(other) * any(bounds)
    assert wrong > 3 * sum(
        chance(one) * chance(other)
        for one, other in itertools.product(counts, repeat=2)
        if at_least(one[0], n, level=level / 2) > at_most(other[0], n, level=level / 2)
    )


# --- it finds what is there ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "bound"), [(10**2, 0.39), (10**3, 0.81), (10**4, 0.939), (10**5, 0.981), (10**6, 0.994)]
)
def test_what_the_best_event_shows_of_laplace_noise(n, bound):
    hits = n // 2, round(n / 2 / math.e)
    low, high = (f(k, n, level="0.025") for f, k in zip((at_least, at_most), hits, strict=True))
    assert claims.PureClaim().lower(low, high).lower == pytest.approx(bound, abs=0.006)


@pytest.mark.parametrize(("n", "least"), [(10**3, 0.6), (10**4, 0.88), (10**5, 0.96)])
def test_the_event_that_is_found_is_nearly_the_best(n, least):
    measured = estimate_epsilon(smooth_laplace(), (0, 1000), n, claim=1, level=0.05)
    assert least < measured.lower < 1.02
    assert not estimate_epsilon(smooth_laplace(), (0, 1000), n, claim=1).violates


@pytest.mark.parametrize("n", [10**3, 10**4])
def test_float_noise_is_seen_by_its_bits(n):
    noisy = seeded(lambda rng, data, n: data + rng.laplace(size=n))
    measured = estimate_epsilon(noisy, (0.0, 1.0), n, claim=1)
    assert measured.violates
    assert measured.lower > (2.5 if n == 10**3 else 5)
    assert measured.hits[1] == 0
    rounded = seeded(lambda rng, data, n: np.rint(16 * (data + rng.laplace(size=n))) / 16)
    assert not estimate_epsilon(rounded, (0.0, 1.0), n, claim=1.1).violates


@pytest.mark.parametrize("factor", [0.5, 0.8])
def test_noise_that_is_too_small_is_seen(factor):
    measured = estimate_epsilon(smooth_laplace(1000 * factor), (0, 1000), 20_000, claim=1)
    assert measured.violates
    assert 1 < measured.lower < 1 / factor + 0.05


def test_a_nan_or_an_error_tells_everything():
    def mean(rows):
        if not rows:
            raise ZeroDivisionError
        return 5.0

    for subject in (mean, lambda rows: math.nan if not rows else 5.0):
        measured = estimate_epsilon(subject, ([1], []), 1000, claim=1)
        assert measured.violates
        assert measured.hits == (1000, 0)


def test_vectors_are_taken_as_a_whole():
    """Each place alone shows a tenth of the loss, and all of them together most of it."""
    noisy = seeded(lambda rng, d, n: np.rint(1000 * (np.array(d) + rng.laplace(size=(n, 10)))))
    measured = estimate_epsilon(noisy, ([0] * 10, [1] * 10), 20_000)
    assert 4 < measured.lower <= 10


def test_many_coordinates_of_normal_noise_add_up():
    noisy = seeded(lambda rng, d, n: np.rint(1000 * (np.array(d) + rng.normal(size=(n, 16)))))
    measured = estimate_epsilon(
        noisy, ([0] * 16, [0.25] * 16), 20_000, claim=claims.GaussianMu(mu=1)
    )
    assert 0.85 < measured.lower < 1.02


@pytest.mark.parametrize(
    ("claim", "least"),
    [
        (claims.GaussianMu(mu=1), 0.9),
        (claims.Concentrated(rho="0.5"), 0.27),
        (claims.ApproximateClaim(epsilon="4.4", delta="1e-5"), 1.5),
    ],
)
def test_normal_noise_in_all_notions(claim, least):
    noisy = seeded(lambda rng, data, n: data + np.rint(1000 * rng.normal(size=n)))
    measured = estimate_epsilon(noisy, (0, 1000), 50_000, claim=claim)
    assert least < measured.lower
    assert not measured.violates
    half = seeded(lambda rng, data, n: data + np.rint(500 * rng.normal(size=n)))
    if not isinstance(claim, claims.ApproximateClaim):
        assert estimate_epsilon(half, (0, 1000), 50_000, claim=claim).violates


def test_a_tight_curve_is_refuted_where_it_is_weakest():
    noisy = seeded(lambda rng, data, n: data + np.rint(800 * rng.normal(size=n)))
    claim = claim_of(Gaussian(sigma=1000).loss(distance=1000))
    assert isinstance(claim, claims.Curve)
    measured = estimate_epsilon(noisy, (0, 1000), 50_000, claim=claim)
    assert measured.violates
    assert measured.delta > 0


def test_the_worst_pair_is_searched():
    """Noisy counts, of which only the last gets too little noise."""
    noisy = seeded(
        lambda rng, d, n: np.array(d) + np.rint(rng.laplace(scale=[3000, 3000, 300], size=(n, 3)))
    )
    pairs = [
        ((0, 0, 0), tuple(1000 * (number == place) for number in range(3))) for place in range(3)
    ]
    measured = estimate_epsilon(noisy, pairs, 5000, claim=1)
    assert measured.violates
    assert measured.pair == "pair 3 of 3"


# --- it blames nobody ---------------------------------------------------------------------------

HONEST = [
    (Laplace(scale=2), (0, 1), 1),
    (Laplace(scale=2), ([0, 0], [1, 0]), 1),
    (Gaussian(sigma=2), (0, 1), 1),
    (RandomizedResponse(epsilon=1, categories=tuple("abc")), ("a", "b"), 1),
    (AboveThreshold(threshold=0, epsilon=1), ((0, 0, 1), (1, 1, 0)), 1),
    (Exponential(candidates=4, scale=2), ((0, 0, 1, 0), (1, 1, 0, 1)), 1),
    (PermuteAndFlip(candidates=4, scale=2), ((0, 0, 1, 0), (1, 1, 0, 1)), 1),
    (FiniteMechanism(matrix=[["0.75", "0.25"], ["0.25", "0.75"]]), (0, 1), 1),
]


@pytest.mark.parametrize(
    ("mechanism", "pair", "distance"), HONEST, ids=lambda case: type(case).__name__
)
def test_mechanisms_keep_their_promises(mechanism, pair, distance):
    """Real noise: the chance of a false alarm is at most 1e-6 for each."""
    claim = claim_of(mechanism.loss(distance=distance))
    measured = estimate_epsilon(mechanism, pair, 3000, claim=claim, level=ALPHA)
    assert not measured.violates
    assert measured.lower > 0 or isinstance(mechanism, AboveThreshold)  # which hides it longest


def test_neighbors_of_query_answers():
    for start, moved in shifts(4, by=2):
        assert max(abs(a - b) for a, b in zip(start, moved, strict=True)) == 2
        assert len(start) == len(moved) == 4
    assert len(list(shifts(4))) == len(set(shifts(4)))


@pytest.mark.parametrize(("n", "level"), [(0, 0.1), (10, 0), (10, 1)])
def test_numbers_out_of_range_are_refused(n, level):
    with pytest.raises(OutOfRange):
        estimate_epsilon(len, ("a", "b"), n, level=level)


@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        (7, (0, 1)),
        (len, (0, 1)),
        (len, 7),
        (len, []),
        (len, [1, 2]),
        (Batches(lambda d, n: [0]), (0, 1)),
    ],
)
def test_what_cannot_be_audited_is_refused(mechanism, neighbors):
    with pytest.raises(WrongKind):
        estimate_epsilon(mechanism, neighbors, 10)


def test_results_can_be_shown_and_stored():
    measured = estimate_epsilon(lambda data: data, (0, 1), 100, claim=1)
    assert "VIOLATED" in str(measured)
    stored = measured.to_json()
    assert stored["violates"] is True
    assert stored["hits"] == [100, 0]
    assert stored["level"] == pytest.approx(1e-6)
