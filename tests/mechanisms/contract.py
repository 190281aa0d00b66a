"""The contract of every mechanism: law, loss and error agree with each other.

A ``Case`` is a mechanism with a small domain of inputs.  Each check compares two faces of it:

``check_sampler_exactly``  follows every word that ``run`` could draw, with narrow words, or every
                           noise vector in a window, where the noise room has proved the noise, and
                           compares rational probabilities with ``reference_pmf``;
``check_sampler``          chi-square of real draws against ``reference_pmf``;
``check_privacy``          the divergence of ``reference_pmf`` between all pairs of inputs is at
                           most ``loss``, and equal to it where the case says ``tight``;
``check_error``            ``error`` is the exact quantile of ``reference_pmf`` at the worst input.

All but the chi-square are exact: probabilities are enclosed between rationals, and what lies
outside the window of outcomes is counted against the claim.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

from discreet.certified import exp_neg
from discreet.mechanisms import Mechanism
from discreet.noise import (
    Bernoulli,
    DiscreteGaussian,
    DiscreteLaplace,
    selection,
)
from discreet.noise import categorical as finite
from discreet.noise.bernoulli import CoinWords
from discreet_course.permute_and_flip import permute_and_flip
from tests.noise.laws import ALPHA, TINY_COINS, TINY_TABLE, WrongLaw, check_law, stream
from tests.twins.mechanisms import Twin

LOOKS = (100, 300, 1000)  # draws of a sampler after which they are compared with its law
EPSILONS = (0.0, 0.1, 0.3, 0.7, 1.3, 2.5)
CONFIDENCES = (Fraction(1, 2), Fraction(4, 5), Fraction(19, 20), Fraction(999, 1000))
SLACK = 1e-9


class Broken(AssertionError):
    """Two faces of a mechanism contradict each other."""


@dataclass(frozen=True)
class Case:
    """A mechanism on a small domain."""

    name: str
    mechanism: Mechanism
    inputs: Sequence[Any]
    distance: Callable[[Any, Any], Any]  # of two inputs; None where none is defined
    outcomes: Callable[[Any], Sequence[Any]] | None = None  # window of an infinite law, at an input
    miss: Callable[[Any, Any], Any] | None = None  # how far an answer is from the truth
    worst: bool = True  # the worst input for the error is among these
    error_inputs: Sequence[Any] | None = None  # inputs for the error, if others than for the loss
    tight: bool = False  # loss is attained on this domain, at every epsilon
    tight_at_zero: bool = False  # the pure bound is attained on this domain
    slack: float = 1e-9  # how closely a tight loss is known and attained
    near: bool = False  # the loss is not attained here, but half of it is exceeded
    words: bool = True  # small enough to follow every word
    noises: int = 0  # or else: how many draws of additive noise a run makes
    radius: int = 20  # and how far to follow each of them
    sampled: Sequence[Any] | None = None  # inputs to draw at, if others than the first and last
    key: Callable[[Any], Any] = lambda answer: answer  # a hashable form of an answer
    twin: Mechanism | None = None  # the same mechanism with half the noise

    def __str__(self):
        return self.name

    @property
    def exactly(self):
        return self.words or self.noises > 0

    @property
    def sharp(self):
        return self.tight or self.tight_at_zero or self.near

    @property
    def drawn_at(self):
        return self.sampled or (self.inputs[0], self.inputs[-1])


def hashable(answer):
    return tuple(answer.tolist()) if isinstance(answer, np.ndarray) else answer


_known: dict[Any, Any] = {}
_whole: dict[int, Any] = {}


def owner(mechanism, face="reference_pmf"):
    """Return whose law or loss it is: a twin may have kept that of its original."""
    kept = isinstance(mechanism, Twin) and face not in mechanism.faces
    return mechanism.mechanism if kept else mechanism


def law_of(mechanism, case, value):
    """Return the enclosed chances of a window of outcomes; each law is computed once."""
    which = owner(mechanism), case.name, value
    if which not in _known:
        law = mechanism.reference_pmf(value)
        if not isinstance(law, Mapping):
            law = {outcome: law(outcome) for outcome in case.outcomes(value)}
        _known[which] = dict(law)
    return _known[which]


def laws_of(mechanism, case):
    return [law_of(mechanism, case, value) for value in case.inputs]


@dataclass(frozen=True)
class Whole:
    """The ends of all chances of a law, in whole parts of one denominator."""

    low: Mapping[Any, int]
    high: Mapping[Any, int]
    parts: int


def whole(law):
    """Return a law in whole numbers, which add up much faster; each law is written so once."""
    if id(law) not in _whole:
        ends = [end for chance in law.values() for end in (chance.low, chance.high)]
        parts = math.lcm(*(end.denominator for end in ends))
        low = {y: int(chance.low * parts) for y, chance in law.items()}
        high = {y: int(chance.high * parts) for y, chance in law.items()}
        _whole[id(law)] = law, Whole(low, high, parts)  # with the law, so that its id stays its own
    return _whole[id(law)][1]


def outside(law):
    """Bound the mass outside the window."""
    known = whole(law)
    return Fraction(max(0, known.parts - sum(known.low.values())), known.parts)


def check_enclosures(mechanism, case):
    """The chances of a window do not add up to more than one, nor to much less."""
    for law in laws_of(mechanism, case):
        known = whole(law)
        if sum(known.low.values()) > known.parts:
            raise Broken("the lower ends add up to more than one")
        if sum(known.high.values()) < known.parts * (1 - Fraction(1, 1000)):
            raise Broken("the window misses too much for the other checks to mean anything")


@contextlib.contextmanager
def narrow_words():
    """Let the samplers ask for words so narrow that all of them can be tried."""
    tiny = {"words": CoinWords(first_bits=3, word_bits=6, step_bits=4)}
    put = mock.patch.object
    with contextlib.ExitStack() as stack:
        stack.enter_context(put(finite, "TableSizes", lambda: TINY_TABLE))
        for choose in (selection.exponential_weights, permute_and_flip):
            sizes = {**choose.__kwdefaults__, "sizes": TINY_COINS}
            stack.enter_context(put(choose, "__kwdefaults__", sizes))
        stack.enter_context(put(Bernoulli.__init__, "__kwdefaults__", tiny))
        yield


class Script:
    """Entropy that hands out noise instead of words, and remembers of which laws."""

    def __init__(self, noise):
        self.noise = list(noise)
        self.laws = []

    def words(self, count, width):
        raise AssertionError("a word was asked for where noise was scripted")

    bits = words

    def take(self, out, parameters, make):
        out[:] = [self.noise.pop(0) for _ in range(len(out))]
        self.laws += [make(parameters.exact(at)) for at in range(len(out))]


@contextlib.contextmanager
def scripted_noise():
    """Let the samplers of additive noise follow a script."""

    def laplace_into(out, parameters, entropy, _sizes=None):
        entropy.take(out, parameters, lambda scale: DiscreteLaplace(scale=scale))

    def gaussian_into(out, parameters, entropy, _sizes=None):
        entropy.take(out, parameters, lambda variance: DiscreteGaussian(variance=variance))

    with (
        mock.patch.object(DiscreteLaplace, "draw_each_into", staticmethod(laplace_into)),
        mock.patch.object(DiscreteGaussian, "draw_each_into", staticmethod(gaussian_into)),
    ):
        yield


def check_sampler_exactly(mechanism, case):
    """Follow every word, or all noise in a window."""
    for value in case.drawn_at if case.noises else case.drawn_at[:1]:
        law = mechanism.reference_pmf(value)
        chance = law.__getitem__ if isinstance(law, Mapping) else law
        if case.noises:
            check_noise(mechanism, case, value, chance)
        else:
            with narrow_words():
                check_law(
                    lambda entropy, value=value: case.key(mechanism.run(value, entropy=entropy)),
                    chance,
                )


@functools.cache
def chance_of(law, z):
    """Enclose the chance of noise."""
    return law.pmf_bounds(z)


def check_noise(mechanism, case, value, chance):
    """Push the law of the noise through ``run``, and compare with the claim."""
    low, high = {}, {}
    with scripted_noise():
        for noise in itertools.product(range(-case.radius, case.radius + 1), repeat=case.noises):
            script = Script(noise)
            outcome = case.key(mechanism.run(value, entropy=script))
            parts = [chance_of(law, z) for law, z in zip(script.laws, noise, strict=True)]
            low[outcome] = low.get(outcome, 0) + math.prod(part.low for part in parts)
            high[outcome] = high.get(outcome, 0) + math.prod(part.high for part in parts)
    beyond = 1 - sum(low.values())
    for outcome, least in low.items():
        claim = chance(outcome)
        if least > claim.high or high[outcome] + beyond < claim.low:
            raise WrongLaw(f"outcome {outcome}: found {float(least)}, claimed {float(claim.low)}")


def check_sampler(mechanism, case):
    """Compare real draws with the claimed law; cells are fixed by the claim alone.

    It looks after each number of ``LOOKS``, and shares its false-alarm rate out among the looks: so
    what is badly wrong is seen early, and what is right is drawn from as often as ever.
    """
    source = stream(case.name)
    for value in case.drawn_at[:1]:
        law = law_of(mechanism, case, value)
        drawn = []
        for draws in LOOKS:
            drawn += [
                case.key(mechanism.run(value, entropy=source)) for _ in range(draws - len(drawn))
            ]
            if chance_of_draws(drawn, law) < ALPHA / len(LOOKS):
                raise Broken(f"{case.name}: the draws do not follow the claimed law")


def chance_of_draws(drawn, law):
    """Return the p-value of draws against a claimed law, in cells with five or more expected."""
    draws = len(drawn)
    likely = [outcome for outcome, chance in law.items() if chance.low * draws >= 5]
    place = {outcome: at for at, outcome in enumerate(likely)}
    counts = np.bincount([place.get(y, len(likely)) for y in drawn], minlength=len(likely) + 1)
    chances = np.array([float(law[outcome].low) for outcome in likely])
    expected = np.append(chances, max(1 - chances.sum(), 0.0)) * draws
    if expected[-1] < 5:  # merge the rest into the rarest cell
        rarest = int(expected[:-1].argmin()) if len(likely) > 1 else 0
        expected[rarest] += expected[-1]
        counts[rarest] += counts[-1]
        expected, counts = expected[:-1], counts[:-1]
    return stats.chisquare(counts, expected).pvalue if len(counts) > 1 else 1.0


@functools.cache
def growth(epsilon):
    """Enclose e**epsilon."""
    low, high = exp_neg(Fraction(epsilon), 128)
    return Fraction(1 << 128, high), Fraction(1 << 128, low)


def least_divergence(p, q, epsilon):
    """Bound the hockey-stick divergence of two laws from below."""
    n, d = growth(epsilon)[1].as_integer_ratio()
    here, there = whole(p), whole(q)
    left, right = d * there.parts, n * here.parts
    gains = (here.low[y] * left - right * there.high[y] for y in p if y in q)
    missing = sum(here.low[y] for y in p if y not in q) if isinstance(q, Total) else 0
    total = missing * left + sum(gain for gain in gains if gain > 0)
    return Fraction(total, here.parts * left)


class Total(dict):
    """A law that is zero outside its keys."""


def most_divergence(p, q, epsilon):
    """Bound the hockey-stick divergence of two laws from above."""
    n, d = growth(epsilon)[0].as_integer_ratio()
    here, there = whole(p), whole(q)
    left, right = d * there.parts, n * here.parts
    gains = (high * left - right * there.low.get(y, 0) for y, high in here.high.items())
    return outside(p) + Fraction(sum(gain for gain in gains if gain > 0), here.parts * left)


def window_laws(mechanism, case):
    """Return the laws of all inputs on one common window."""
    which = owner(mechanism), case.name
    if which not in _known:
        laws = [mechanism.reference_pmf(value) for value in case.inputs]
        if all(isinstance(law, Mapping) for law in laws):
            _known[which] = [Total(law) for law in laws]
        else:
            window = dict.fromkeys(y for value in case.inputs for y in case.outcomes(value))
            _known[which] = [{y: law(y) for y in window} for law in laws]
    return _known[which]


def claimed(mechanism, distance, epsilon):
    return _claimed(owner(mechanism, "loss"), distance, epsilon)


@functools.cache
def _claimed(mechanism, distance, epsilon):
    return mechanism.loss(distance=distance).delta_interval(epsilon=epsilon)


def claimed_pure(mechanism, distance):
    return _claimed_pure(owner(mechanism, "loss"), distance)


@functools.cache
def _claimed_pure(mechanism, distance):
    return mechanism.loss(distance=distance).epsilon(delta=0)


def check_privacy(mechanism, case):
    """Compare the divergence of every ordered pair of inputs with the loss at their distance."""
    laws = window_laws(mechanism, case)
    largest = {}
    for (x, p), (y, q) in itertools.permutations(zip(case.inputs, laws, strict=True), 2):
        distance = case.distance(x, y)
        if distance is None:
            continue
        for epsilon in EPSILONS:
            claim = claimed(mechanism, distance, epsilon)
            found = float(least_divergence(p, q, epsilon))
            if found > claim.high * (1 + 1e-12) + 1e-15:
                raise Broken(f"{case.name}: {x} against {y} at {epsilon}: {found} > {claim.high}")
            most = float(most_divergence(p, q, epsilon))
            largest[distance, epsilon] = max(largest.get((distance, epsilon), 0.0), most)
            if case.tight and claim.width > case.slack:
                raise Broken(f"{case.name}: the claim is not sharp")
        check_ratio(mechanism, case, p, q, distance)
    if case.tight:
        for (distance, epsilon), most in largest.items():
            claim = claimed(mechanism, distance, epsilon).high
            if most < claim - case.slack:
                raise Broken(f"{case.name}: at {distance}, {epsilon}: {most} < {claim}")
    if case.tight_at_zero:
        check_ratio_is_attained(mechanism, case, laws)


def check_ratio(mechanism, case, p, q, distance):
    """No outcome is likelier by more than the pure bound."""
    pure = claimed_pure(mechanism, distance)
    if math.isinf(pure):
        return
    n, d = growth(pure)[1].as_integer_ratio()
    here, there = whole(p), whole(q)
    left, right = d * there.parts, n * here.parts
    if any(here.low[y] * left > right * there.high[y] for y in p if y in q):
        raise Broken(f"{case.name}: an outcome is likelier by more than e**{pure}")


def check_ratio_is_attained(mechanism, case, laws):
    """At every distance, some outcome is likelier by as much as the pure bound."""
    best = {}
    for (x, p), (y, q) in itertools.permutations(zip(case.inputs, laws, strict=True), 2):
        here, there = whole(p), whole(q)
        ratio = max(Fraction(here.high[z], there.low[z]) for z in p if there.low.get(z, 0) > 0)
        ratio *= Fraction(there.parts, here.parts)
        distance = case.distance(x, y)
        if distance is None:
            continue
        best[distance] = max(best.get(distance, Fraction(0)), ratio)
    for distance, ratio in best.items():
        claim = claimed_pure(mechanism, distance)
        if math.log(ratio) < claim - case.slack:
            raise Broken(f"{case.name}: {math.log(ratio)} never reaches {claim}")


def check_error(mechanism, case):
    """The error holds at every input, and one unit less fails at some input."""
    inputs = case.error_inputs or case.inputs
    laws = [law_of(mechanism, case, value) for value in inputs]
    misses = [
        {y: case.miss(y, value) for y in law} for value, law in zip(inputs, laws, strict=True)
    ]
    for confidence in CONFIDENCES:
        reach = mechanism.error(confidence=confidence)
        least, below = [], []
        for missed, law in zip(misses, laws, strict=True):
            high, parts = whole(law).high, whole(law).parts
            far = Fraction(sum(high[y] for y in law if missed[y] > reach), parts) + outside(law)
            least.append(1 - far)
            below.append(Fraction(sum(high[y] for y in law if missed[y] < reach), parts))
        if min(least) < confidence - SLACK:
            raise Broken(f"{case.name}: within {reach} only {float(min(least))} of the time")
        if case.worst and reach > 0 and min(below) >= confidence + SLACK:
            raise Broken(f"{case.name}: less than {reach} would do for {confidence}")


def check_value(mechanism, case):
    """A mechanism is a frozen value: equal to itself, hashable, and loses nothing at distance 0."""
    assert mechanism == mechanism  # noqa: PLR0124
    assert hash(mechanism) == hash(mechanism)
    assert mechanism.loss(distance=0).epsilon(delta=0) == 0
    smaller = mechanism.loss(distance=1).delta(epsilon=0.1)
    assert mechanism.loss(distance=2).delta(epsilon=0.1) >= smaller - SLACK
    reaches = [mechanism.error(confidence=c) for c in CONFIDENCES] if case.miss else []
    assert reaches == sorted(reaches)
