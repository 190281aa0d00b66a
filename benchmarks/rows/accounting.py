"""What ``benchmarks/accounting.py`` races: certified epsilons against other accountants."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from benchmarks.measure import Contender, Race, started, timed
from benchmarks.peers.environment import Peers
from benchmarks.report import OURS
from benchmarks.truth import Truth, sampled_cumulant
from discreet.accounting import Leaf, Parallel, Repeat, Sampled, Sequential, account
from discreet.accounting.statement import Statement
from discreet.loss import GaussianDP, PrivacyLoss
from discreet.loss.calibration import least_scale
from discreet.loss.composition import Composition
from discreet.loss.gaussian import GaussianPair
from discreet.loss.pair import Pair
from discreet.loss.poisson_sampling import Direction, SampledGaussianCumulants, SampledPair
from discreet.loss.profile import Profile
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from discreet.loss.rounding import Bracket
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse

GOOGLE, PRV = "dp_accounting", "prv"
DELTAS = (1e-6, 1e-9, 1e-12)
QUICK = (1e-12,)
STEPS = 10**4
MIXED = 500
NEW, REPEATED = 7777, 43
"""Scales of a Laplace mechanism that the 500 different ones lack, and hold."""

Event = tuple[str, Fraction, int]
"""(kind, parameter, count): sigma of a Gaussian, scale of a Laplace, epsilon of a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One composition, for every accountant."""

    name: str
    events: tuple[Event, ...]
    rate: Fraction = Fraction(1)
    slow: bool = False
    """Whether others take seconds, so that fewer rounds must do."""
    prv: bool = True
    """Whether the PRV accountant takes part."""
    target: float
    """In milliseconds."""

    def compositions(self) -> list[Composition]:
        """Build the composition, in both directions where they differ."""
        if self.rate == 1:
            return [Composition(tuple((pair(kind, x), n) for kind, x, n in self.events))]
        ((kind, x, n),) = self.events
        inner = Composition(((pair(kind, x), 1),))
        return [Composition(((SampledPair(inner, self.rate, way), n),)) for way in Direction]

    def answer(self, delta: float) -> Bracket:
        """Build the composition anew and ask it."""
        first, *others = (c.epsilon(delta) for c in self.compositions())
        return first.join(others[0]) if others else first

    def profile(self) -> Profile:
        """Build a running account."""
        first, *others = self.compositions()
        return Profile(remove=(first,), add=tuple(others)) if others else Profile.symmetric(first)

    def truth(self) -> Truth:
        """Return the profile to forty digits."""
        return Truth(tuple((kind, str(x), n) for kind, x, n in self.events), str(self.rate))

    def request(self) -> dict[str, object]:
        """Describe the composition to another library."""
        events = [(kind, float(x), n) for kind, x, n in self.events]
        return {"events": events, "rate": float(self.rate)}


def pair(kind: str, x: Fraction) -> Pair:
    """Make the dominating pair of one mechanism."""
    if kind == "gaussian":
        return GaussianPair(1 / x**2)
    return LaplacePair(1 / x) if kind == "laplace" else ResponsePair(x)


def mixture() -> tuple[Event, ...]:
    """Return 500 different mechanisms."""
    events = []
    for i in range(MIXED):
        kind, size = ("laplace", "gaussian", "response")[i % 3], Fraction(40 + i)
        events.append((kind, 1 / size if kind == "response" else size, 1))
    return tuple(events)


def _same(kind: str, x: Fraction | int, count: int) -> tuple[Event, ...]:
    return ((kind, Fraction(x), count),)


RATE = Fraction(1, 100)
SGD = Case(name=f"DP-SGD, {STEPS:,} steps", events=_same("gaussian", 1, STEPS), rate=RATE, target=5)
MIX = Case(name=f"{MIXED} different mechanisms", events=mixture(), slow=True, prv=False, target=10)
CASES = (
    Case(name="1,000 Gaussian, sigma 30", events=_same("gaussian", 30, 1000), target=1),
    Case(name="10,000 Laplace, scale 100", events=_same("laplace", 100, 10**4), target=1),
    Case(name="10,000 Laplace, scale 10", events=_same("laplace", 10, 10**4), slow=True, target=1),
    Case(
        name="1,000 randomized response, 0.1",
        events=_same("response", Fraction(1, 10), 1000),
        target=1,
    ),
    MIX,
    SGD,
    Case(
        name=f"DP-SGD, {10 * STEPS:,} steps",
        events=_same("gaussian", 1, 10 * STEPS),
        rate=RATE,
        slow=True,
        target=5,
    ),
)


SAMPLES = tuple(
    (Fraction(rate), Fraction(sigma), Fraction(order))
    for rate, sigma in (("4096/50000", "9.12"), ("1/100", "1"), ("1/1000000", "2"), ("1/2", "1"))
    for order in ("3/2", "2", "13/2", "32")
)
"""Rates, sigmas and orders at which Rényi divergences are held against quadrature."""


def sampled_excess() -> list[float]:
    """Return how far divergences of samples are above quadrature, both ways, relatively."""
    found = []
    for rate, deviation, order in SAMPLES:
        loss, t = GaussianDP(mu=1 / deviation).sampled(rate=rate), order - 1
        for sign, side in ((1, loss.remove), (-1, loss.add)):
            exact = sampled_cumulant(str(rate), str(deviation), sign, str(t))
            found.append(float(side[0].log_moment(float(t)) / exact - 1))
    return found


@dataclass(frozen=True, slots=True)
class Field:
    """Makes races, with or without peers, and keeps what the peers answered."""

    peers: Peers | None
    deltas: tuple[float, ...]
    answers: dict[tuple[str, str], float] = field(default_factory=dict)
    """What a library answered in a row, by the row's name and its own."""

    def races(self) -> Iterator[Race]:
        """Yield all races."""
        for case, delta in itertools.product(CASES, self.deltas):
            yield self.epsilon(case, delta)
        yield self.lengths()
        yield self.first()
        yield from self.add()
        yield self.add_and_ask()
        yield self.calibrate()
        yield from small()
        yield self.renyi()

    def epsilon(self, case: Case, delta: float) -> Race:
        """Build a composition and find its epsilon, where the code is warm."""
        name, asked = row(case, delta), {**case.request(), "delta": delta}
        contenders = {
            OURS: timed(lambda: case.answer(delta), units=1, calls=10),
            **self._peer(name, f"{GOOGLE} epsilon", **asked),
        }
        if case.prv:
            contenders |= self._peer(name, f"{PRV} epsilon", **asked)
        return Race(
            kind="epsilon",
            name=name,
            contenders=contenders,
            unit="ms",
            size=case.target,
            rounds=2 if case.slow else None,
        )

    def lengths(self) -> Race:
        """Ask about a length of DP-SGD that was never asked about before."""
        count = itertools.count(STEPS)

        def ours() -> Bracket:
            steps = next(count)
            case = Case(name="", events=_same("gaussian", 1, steps), rate=RATE, target=5)
            return case.answer(1e-6)

        name = "DP-SGD, another length each time, delta 1e-06"
        asked = {**SGD.request(), "delta": 1e-6}
        contenders = {
            OURS: timed(ours, units=1, calls=10),
            **self._peer(name, f"{GOOGLE} epsilon", **asked),
        }
        return Race(kind="epsilon", name=name, contenders=contenders, unit="ms", size=5)

    def first(self) -> Race:
        """Evaluate DP-SGD with nothing kept from before."""

        def ours() -> Bracket:
            forget()
            return SGD.answer(1e-6)

        name = f"{SGD.name}, first time, delta 1e-06"
        asked = {**SGD.request(), "delta": 1e-6}
        contenders = {
            OURS: timed(ours, units=1),
            **self._peer(name, f"{GOOGLE} epsilon", **asked),
        }
        return Race(kind="first", name=name, contenders=contenders, unit="ms")

    def add(self) -> Iterator[Race]:
        """Add a mechanism to a running account, and ask nothing."""
        for case, scale in itertools.product((SGD, MIX), (NEW, REPEATED)):
            more = Profile.symmetric(Composition(((LaplacePair(Fraction(1, scale)), 1),)))
            account = case.profile()
            if scale == REPEATED:
                account = account.compose(more)
            name = f"add a {'new' if scale == NEW else 'repeated'} mechanism to {case.name}"

            def ours(account: Profile = account, more: Profile = more) -> Profile:
                return account.compose(more)

            contenders: dict[str, Contender] = {
                OURS: timed(ours, units=1, calls=50),
                **self._peer(name, f"{GOOGLE} add", account=_account(case), scale=scale),
            }
            yield Race(kind="add", name=name, contenders=contenders, unit="µs")

    def add_and_ask(self) -> Race:
        """Add a mechanism to a running account and ask for epsilon."""
        more = Profile.symmetric(Composition(((LaplacePair(Fraction(1, NEW)), 1),)))
        account, name = MIX.profile(), f"the same with {MIX.name}, then ask"
        asked = {"account": _account(MIX), "scale": NEW, "delta": 1e-6}
        contenders = {
            OURS: timed(lambda: account.compose(more).interval(delta=1e-6), units=1, calls=5),
            **self._peer(name, f"{GOOGLE} add and ask", **asked),
        }
        return Race(kind="add and ask", name=name, contenders=contenders, unit="ms")

    def calibrate(self) -> Race:
        """Find the noise of DP-SGD for a target, with nothing kept from before."""
        name = f"sigma of {SGD.name} for (3, 1e-06)"
        asked = {"rate": float(RATE), "steps": STEPS, "epsilon": 3.0, "delta": 1e-6}
        contenders = {
            OURS: timed(sigma, units=1),
            **self._peer(name, f"{GOOGLE} calibrate", **asked),
        }
        return Race(kind="calibrate", name=name, contenders=contenders, unit="ms")

    def renyi(self) -> Race:
        """Find a Rényi divergence of DP-SGD, with nothing kept from before."""

        def ours() -> float:
            forget()
            return SGD.profile().renyi(order=Fraction(13, 2))

        name = f"{SGD.name}, Rényi divergence of order 6.5"
        return Race(kind="renyi", name=name, contenders={OURS: timed(ours, units=1)}, unit="ms")

    def _peer(self, name: str, work: str, **parameters: object) -> dict[str, Contender]:
        """Let a library take part unless it declines to answer."""
        if self.peers is None:
            return {}
        library = work.partition(" ")[0]
        value = self.peers.ask(work=work, **parameters)["value"]
        if value is None and not work.endswith(" add"):
            return {}
        if value is not None:
            self.answers[name, library] = float(value)
        return {library: self.peers.contender(work=work, **parameters)}


def row(case: Case, delta: float) -> str:
    """Name a row of epsilons."""
    return f"{case.name}, delta {delta:g}"


def forget() -> None:
    """Drop all that was worked out for samples of Gaussians."""
    for kept in ("above", "real", "line", "decay"):
        getattr(SampledGaussianCumulants, kept).cache_clear()


def sigma() -> Fraction:
    """Calibrate DP-SGD, with nothing kept from before."""
    forget()

    def loss(scale: Fraction) -> Profile:
        return GaussianDP(mu=1 / scale).profile().sampled(rate=RATE).power(STEPS)

    return least_scale(loss, epsilon=3, delta=1e-6)


def _account(case: Case) -> str:
    """Describe a running account as a string, by which the other process keeps it."""
    asked = case.request()
    return json.dumps([asked["events"], asked["rate"]])


FEW = "two answers off one lattice"
README = "the README's tree"
PRINTED = "the README's tree, printed"
CORPUS = "the slowest of sixty random trees of at most five leaves"
COLD = "the first price of a process"
WORK = "fixed work"
"""What prices that nobody else asks for are held against."""

_FIRST_PRICE = """
import time
from discreet.mechanisms import Laplace
start = time.process_time()
Laplace(scale=2).loss().compose(Laplace(scale=3).loss()).epsilon(delta="1e-6")
print(time.process_time() - start)
"""

_RANDOM_TREES = """
import random, time
from discreet.accounting import (
    Choice, Group, Leaf, Parallel, Post, Repeat, Sampled, Sequential, account
)
from discreet.errors import DiscreetError
from discreet.loss import Approximate, GaussianDP, Pure
from discreet.mechanisms import Exponential, Gaussian, Laplace, RandomizedResponse

rng = random.Random(2026)
number = lambda: rng.randint(1, 100) / 20

def leaf():
    kinds = (
        lambda: Laplace(scale=number()), lambda: Gaussian(sigma=number()),
        lambda: Exponential(candidates=3, scale=number()), lambda: Pure(epsilon=number()),
        lambda: RandomizedResponse(epsilon=number()), lambda: GaussianDP(mu=number()),
        lambda: Approximate(epsilon=number(), delta="1e-7"),
    )
    return Leaf(rng.choice(kinds)())

def tree(leaves):
    if leaves == 1:
        inner = leaf()
        wrap = rng.randrange(6)
        return (inner, Repeat(inner, rng.randint(1, 20)), Sampled(inner, rate="0.1"),
                Group(inner, distance=2), Post(inner), inner)[wrap]
    first = rng.randint(1, leaves - 1)
    parts = tree(first), tree(leaves - first)
    together = (lambda: Sequential(*parts), lambda: Choice(*parts),
                lambda: Parallel("ward", {"A": parts[0], "B": parts[1]}))
    return rng.choice(together)()

def seconds(tree):
    start = time.process_time()
    try:
        account(tree, relation="add_remove").epsilon(delta="1e-6")
    except DiscreetError:
        pass
    return time.process_time() - start

seconds(Leaf(Gaussian(sigma=10**6)))  # loads what is loaded once
print(max(seconds(tree(rng.randint(1, 5))) for _ in range(60)))
"""


def reference() -> float:
    """Do a fixed piece of work, half of it in NumPy and half in Python: some 10 ms in 2026."""
    signal = np.cos(np.arange(1 << 16))
    total = sum(float(np.abs(np.fft.rfft(signal)).sum()) for _ in range(8))
    for step in range(1, 60_000):
        total = total * 0.999 + 1 / step
    return total


def small() -> Iterator[Race]:
    """Ask for prices of few losses, never asked for before, beside a piece of fixed work."""
    beside = {WORK: timed(reference, units=1)}
    count = itertools.count(1)
    work = {
        FEW: lambda: two_answers(next(count)).epsilon(delta=1e-6),
        README: lambda: readme(next(count)).epsilon(delta=1e-6),
        PRINTED: lambda: str(readme(next(count))),
    }
    for name, ours in work.items():
        contenders = {OURS: timed(ours, units=1), **beside}
        yield Race(kind="few", name=name, contenders=contenders, unit="ms")
    for name, program in ((CORPUS, _RANDOM_TREES), (COLD, _FIRST_PRICE)):
        contenders = {OURS: started(program), **beside}
        yield Race(kind="few", name=name, contenders=contenders, unit="ms")


def two_answers(change: int) -> PrivacyLoss:
    """Compose two answers whose losses have no common divisor worth the name."""
    scale = Fraction(3, 2) + Fraction(change, 10**6)
    answer = RandomizedResponse(epsilon="0.3", categories=["a", "b", "c"]).loss()
    return answer.compose(Laplace(scale=scale).loss())


def readme(change: int) -> Statement:
    """Price the README's tree, with other noise each time."""
    scale = 2 + Fraction(change, 10**6)
    wards = {"A": Repeat(Leaf(Gaussian(sigma=scale)), 4), "B": Leaf(Laplace(scale=scale / 2))}
    sample = Sampled(Leaf(Gaussian(sigma=scale / 2)), rate=RATE)
    tree = Sequential(Leaf(Laplace(scale=scale)), Parallel("ward", wards), sample)
    return account(tree, relation="add_remove")
