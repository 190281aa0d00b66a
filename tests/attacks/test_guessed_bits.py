"""Audits in one run: the bound against the worst private mechanism, found by a linear program."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

from discreet.accounting import Leaf, account
from discreet.attacks import guessed
from discreet.attacks.guessed_bits import _failed, _least, _peaks
from discreet.attacks.proportions import at_least, tail
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, GaussianDP
from discreet.mechanisms import Gaussian
from discreet.noise import KeyedEntropy

SMALL = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 4)]  # bits, guesses
SOLVED = 1e-7  # to which the solver is exact


def odds(epsilon):
    return 1 / (1 + math.exp(-epsilon))


def heads(v, n, chance):
    return sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(v, n + 1))


@cache
def largest_chance(m, r, v, epsilon, delta):
    """The largest chance of v right guesses, over all private maps of bits to r guesses."""
    bits = list(product((0, 1), repeat=m))
    outputs = [y for y in product((0, 1, None), repeat=m) if m - y.count(None) == r]
    steps = [
        (at, bits.index(tuple(b ^ (i == j) for j, b in enumerate(table))))
        for at, table in enumerate(bits)
        for i in range(m)
    ]
    n, size = len(outputs), len(bits) * len(outputs)
    excess = lil_matrix((len(steps) * (n + 1), size + len(steps) * n))
    limit = np.zeros(len(steps) * (n + 1))
    for k, (here, there) in enumerate(steps):  # t >= p - e^epsilon q, and t sums to delta at most
        for y in range(n):
            row = k * (n + 1) + y
            excess[row, here * n + y], excess[row, there * n + y] = 1, -math.exp(epsilon)
            excess[row, size + k * n + y] = -1
            excess[k * (n + 1) + n, size + k * n + y] = 1
        limit[k * (n + 1) + n] = delta
    whole = lil_matrix((len(bits), excess.shape[1]))
    gain = np.zeros(excess.shape[1])
    for at, table in enumerate(bits):
        for y, output in enumerate(outputs):
            whole[at, at * n + y] = 1
            right = sum(guess == bit for guess, bit in zip(output, table, strict=True))
            gain[at * n + y] = -(right >= v) / len(bits)
    found = linprog(gain, excess.tocsr(), limit, whole.tocsr(), np.ones(len(bits)))
    assert found.status == 0
    return -found.fun


def cases():
    for (m, r), epsilon, delta in product(SMALL, (0.0, 1.0), (0.001, 0.03)):
        for v in range(1, r + 1):
            yield m, r, v, epsilon, delta


def allowed(m, r, v, epsilon, delta, *, share=1.0):
    chance = odds(epsilon)
    added = float(_failed(r, Fraction(m * delta), Fraction(chance)))
    return heads(v, r, chance) + share * added


@pytest.mark.theorem("guessed-bits-approximate")
def test_no_private_mechanism_lets_more_be_guessed():
    for case in cases():
        assert largest_chance(*case) <= allowed(*case) + SOLVED, case


def test_with_less_for_failures_some_mechanism_would_break_the_bound():
    """Mutants: without the term, with half, and with nine tenths of it."""
    for share in (0.0, 0.5, 0.9):
        broken = [c for c in cases() if largest_chance(*c) > allowed(*c, share=share) + SOLVED]
        assert broken
    attained = [c for c in cases() if largest_chance(*c) > allowed(*c, share=0.999) - SOLVED]
    assert {(m, r) for m, r, *_ in attained} >= {(2, 2), (3, 1), (3, 2), (3, 3)}


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(7, 10), Fraction(99, 100)])
def test_the_peaks_are_summed_and_rounded_up(chance):
    for count in (1, 2, 3, 10, 40):
        truth = sum(
            max(math.comb(k, w) * chance**w * (1 - chance) ** (k - w) for w in range(k + 1))
            for k in range(count)
        )
        assert truth <= _peaks(count, chance) <= truth * (1 + Fraction(1, 10**30))


def test_the_term_falls_with_the_chance_and_with_the_number_of_guesses():
    chances = [Fraction(k, 200) for k in range(100, 200)]
    terms = [_failed(30, Fraction(1, 10), chance) for chance in chances]
    assert terms == sorted(terms, reverse=True)
    terms = [_failed(r, Fraction(1, 10), Fraction(3, 4)) for r in range(1, 60)]
    assert terms == sorted(terms, reverse=True)


def alarms(law, m, epsilon, delta, level, *, corrected=True):
    """The chance that the bound exceeds epsilon, given the law of the number of right guesses."""
    truth = odds(epsilon)
    failures = m * Fraction(delta) if corrected else Fraction(0)
    return sum(p for right, p in law.items() if _least(right, m, failures, Fraction(level)) > truth)


def leaky(m, epsilon, delta):
    """Randomized response that tells each bit with chance delta: (epsilon, delta)-private."""
    chance = delta + (1 - delta) * odds(epsilon)
    return {k: math.comb(m, k) * chance**k * (1 - chance) ** (m - k) for k in range(m + 1)}


def blurting(m, epsilon, delta):
    """Randomized response that tells all bits at once with chance delta."""
    chance = odds(epsilon)
    law = {
        k: (1 - delta) * math.comb(m, k) * chance**k * (1 - chance) ** (m - k) for k in range(m + 1)
    }
    return {**law, m: law[m] + delta}


@pytest.mark.theorem("one-run-audit")
@pytest.mark.parametrize("kind", [leaky, blurting])
@pytest.mark.parametrize(("m", "epsilon", "delta"), [(20, 0.5, 0.01), (30, 1.0, 1e-3)])
def test_the_chance_of_a_false_alarm_is_at_most_the_level(kind, m, epsilon, delta):
    law, refuted = kind(m, epsilon, delta), 0
    for v in range(2 * m // 3, m + 1, 2):
        for level in {heads(v, m, odds(epsilon)) * 1.0001, 0.01, 0.1}:
            if 0 < level < 1:
                assert alarms(law, m, epsilon, delta, level) <= level * (1 + 1e-9)
                refuted += alarms(law, m, epsilon, delta, level, corrected=False) > level
    assert refuted  # the mutant that leaves failures out


def canaries(m, sigma, label):
    """Bits, their noisy values, and guesses of the fifty highest and the fifty lowest."""
    coins = KeyedEntropy(key=bytes(32), label=label)
    bits = (coins.words(m, 64) % 2).astype(int)
    told = Gaussian(sigma=sigma).run([10 * int(bit) for bit in bits], entropy=coins)
    order = np.argsort(told, kind="stable")
    guess = [None] * m
    for at in order[:50]:
        guess[at] = 0
    for at in order[-50:]:
        guess[at] = 1
    return bits, guess


def test_one_run_of_a_gaussian_is_audited_without_false_alarms():
    """40 runs at level 1e-4: a false alarm in any of them has a chance of at most 0.004."""
    promise = GaussianDP(mu=1)  # canaries move by 10, noise has deviation 10
    for run in range(40):
        bits, guess = canaries(400, 10, f"run {run}")
        found = guessed(bits, guess, claim=promise, delta="1e-6", most=100, level="1e-4")
        assert not found.violates
    assert found.lower > 0.5
    assert found.claimed == promise.epsilon(1e-6)
    assert (found.n, found.delta, sum(found.hits)) == (100, 1e-6, 100)


def test_a_tenth_of_the_noise_is_caught_in_one_run():
    """The claim is the price of noise that is ten times as wide."""
    claim = account(Leaf(GaussianDP(mu="0.5")), relation="add_remove")
    bits, guess = canaries(2000, 2, "mutant")
    found = guessed(bits, guess, claim=claim, delta="1e-6", most=100, level="1e-3")
    assert found.violates


def test_without_delta_only_the_guesses_that_were_made_count():
    bits, guess = [0, 1] * 500, [0, 1] * 100 + [None, -1] * 400
    assert guessed(bits, guess) == guessed(bits[:200], guess[:200])
    assert guessed(bits, guess).lower == guessed(bits, np.array([0, 1] * 100 + [-1] * 800)).lower
    fewer = guessed(bits, guess, delta="1e-9", most=300, level="1e-3")
    assert fewer.hits == (200, 100)  # guesses that could have been made count as wrong
    assert fewer.lower < guessed(bits, guess, delta="1e-9", most=200, level="1e-3").lower


@pytest.mark.parametrize("right", [30, 80, 100])
def test_a_small_delta_costs_little_and_a_larger_one_more(right):
    bits, guess = [1] * 100, [1] * right + [0] * (100 - right)
    bounds = [
        guessed(bits, guess, delta=delta, level="0.01").lower for delta in ("0", "1e-9", "1e-4")
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] - bounds[1] < 1e-3
    for delta in ("1e-9", "1e-4"):
        least = _least(right, 100, 100 * Fraction(delta), "0.01")
        if least:
            assert tail(right, 100, least) + _failed(100, 100 * Fraction(delta), least) <= 0.01
            assert least <= at_least(right, 100, level="0.01")


def test_a_claim_may_be_a_loss_or_a_price():
    bits = [0, 1] * 100
    for claim in (
        Approximate(epsilon=1, delta="1e-6"),
        account(Leaf(Approximate(epsilon=1, delta="1e-6")), relation="add_remove"),
        1,
    ):
        assert guessed(bits, bits, claim=claim, delta="1e-6", level="0.01").claimed == 1.0


@pytest.mark.parametrize(
    ("bits", "guess", "how", "error"),
    [
        ([0, 1], [0], {}, WrongKind),
        ([], [], {}, WrongKind),
        ([0, 1], None, {}, WrongKind),
        ([-1, 1], [-1, 1], {}, WrongKind),
        ([0, 1], [0, 2], {}, WrongKind),
        ([0, 1], [None, None], {}, WrongKind),
        ([0, 1] * 50, [0, None] * 50, {"delta": "1e-9"}, WrongKind),
        ([0, 1] * 50, [0, 1] * 50, {"most": 50}, OutOfRange),
        ([0, 1] * 50, [0, 1] * 50, {"most": 101}, OutOfRange),
        ([0, 1] * 50, [0, 1] * 50, {"delta": 2}, OutOfRange),
        ([0, 1] * 50, [0, 1] * 50, {"level": 0}, OutOfRange),
        ([0, 1] * 50, [0, 1] * 50, {"delta": "1e-3"}, OutOfRange),  # nothing can be said
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused(bits, guess, how, error):
    with pytest.raises(error):
        guessed(bits, guess, **how)


# --- guesses of all bits -----------------------------------------------------------------------


@pytest.mark.theorem("guessed-bits")
@pytest.mark.parametrize("flip", [Fraction(1, 4), Fraction(2, 5)])
def test_right_guesses_are_at_most_those_of_coins(flip):
    """All bits, all answers of randomized response, all ways to guess three bits from them."""
    n, chance = 3, 1 - flip
    law = {
        (bits, told): math.prod(chance if b == t else flip for b, t in zip(bits, told, strict=True))
        / 2**n
        for bits in product((0, 1), repeat=n)
        for told in product((0, 1), repeat=n)
    }
    coins = [
        sum(math.comb(n, j) * chance**j * flip ** (n - j) for j in range(k, n + 1))
        for k in range(n + 1)
    ]

    def reached(strategy, k):
        return sum(
            mass
            for (bits, told), mass in law.items()
            if sum(b == g for b, g in zip(bits, strategy(told), strict=True)) >= k
        )

    ways = [
        lambda told: told,
        lambda told: tuple(1 - t for t in told),
        lambda told: (told[0],) * n,
        lambda told: (0,) * n,
        lambda told: told if sum(told) > 1 else (1, *told[1:]),
    ]
    for strategy, k in product(ways, range(n + 1)):
        assert reached(strategy, k) <= coins[k]
    assert reached(ways[0], n) == coins[n]


@pytest.mark.theorem("guessed-bits")
def test_guesses_refute_what_is_too_good_to_be_true():
    coins = KeyedEntropy(key=bytes(32), label="guesses")
    bits = coins.words(4000, 64) % 2
    wrong = coins.words(4000, 64) % 4 == 0  # guessed with chance 3/4: epsilon is ln 3
    found = guessed(bits, bits ^ wrong, claim="0.9")
    assert found.violates
    assert found.lower < math.log(3)
    assert not guessed(bits, bits ^ wrong, claim="1.0987").violates
    with pytest.raises(WrongKind):
        guessed([0, 1], [0])
