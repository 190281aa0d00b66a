"""Rows of mechanisms: their exact laws where they can be listed, and what they draw.

Trust: public.

The laws show what is lost to the last digit, and choose the neighbors.  Draws show that it is those
laws that are drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.exact import exact_epsilon
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair
from discreet.continual import FactorizedCounter, RefinedTreeCounter
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    NumericSparse,
    OptimalKeys,
    RandomizedResponse,
    Sparse,
)
from discreet.teach.counting import Histogram
from discreet.teach.hierarchy import Hierarchy, NoisyThresholds
from discreet.teach.optimal import bayes_remap, geometric_on_counts, optimal_mechanism
from discreet.teach.permute_and_flip import PermuteAndFlip
from discreet.units import NeighborGraph
from discreet_audit.cases import CASES, Case
from discreet_audit.suite.rows import Row

_PART: Final = "mechanisms"
_FAST: Final = (Laplace, Gaussian, RandomizedResponse)
_MODERATE: Final = (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    Sparse,
)
_COUNTS: Final = tuple((count, count + 1) for count in range(4))


def _halved(answer: int) -> int:
    return answer // 2


def _distance(truth: Any, answer: Any) -> int:
    return abs(int(truth) - int(answer))


def _listed() -> tuple[Case, ...]:
    """Return more mechanisms whose outcomes can be listed."""
    return (
        Case(
            name="geometric_on_counts",
            mechanism=geometric_on_counts(largest=4, epsilon=1),
            pairs=_COUNTS,
        ),
        Case(
            name="bayes_remap",
            mechanism=bayes_remap(
                geometric_on_counts(largest=4, epsilon=1),
                prior=["1/9", "2/9", "3/9", "2/9", "1/9"],
                cost=_distance,
            ),
            pairs=_COUNTS,
        ),
        Case(
            name="optimal_mechanism",
            mechanism=optimal_mechanism(
                graph=NeighborGraph.line(5), epsilon=1, cost=_distance
            ).mechanism,
            pairs=_COUNTS,
        ),
        Case(
            name="OptimalKeys, two groups each",
            mechanism=OptimalKeys(epsilon="0.5", delta="0.01", groups=2, relation="add_remove"),
            pairs=[((value, value), (value + 1, value + 1)) for value in range(6)],
        ),
    )


def _drawn() -> tuple[Case, ...]:
    """Return those whose laws are too wide to be listed."""
    return (
        Case(
            name="Gaussian on vectors",
            mechanism=Gaussian(sigma=2),
            pairs=[((0, 0, 0, 0), (1, 1, 1, 1))],
            distance=2,
        ),
        Case(
            name="Laplace on vectors, all places",
            mechanism=Laplace(scale=4),
            pairs=[((0, 0, 0, 0), (1, -1, 1, -1))],
            distance=4,
        ),
        Case(
            name="Histogram, Gaussian, replaced",
            mechanism=Histogram(cells=3, noise=Gaussian(sigma=2), relation="replace"),
            pairs=[((1, 2, 1), (2, 1, 1))],
        ),
        Case(
            name="RefinedTreeCounter",
            mechanism=RefinedTreeCounter(length=4, noise=Laplace(scale=3)),
            pairs=[([0, 0, 0, 0], [1, 0, 0, 0])],
        ),
        Case(
            name="FactorizedCounter",
            mechanism=FactorizedCounter(length=4, noise=Gaussian(sigma=2)),
            pairs=[([0, 0, 0, 0], [1, 0, 0, 0])],
        ),
        Case(
            name="Hierarchy",
            mechanism=Hierarchy(cells=4, noise=Laplace(scale=3), relation="add_remove"),
            pairs=[((1, 1, 1, 1), (2, 1, 1, 1))],
        ),
        Case(
            name="NoisyThresholds",
            mechanism=NoisyThresholds(cells=4, noise=Laplace(scale=3), relation="add_remove"),
            pairs=[((1, 1, 1, 1), (2, 1, 1, 1))],
        ),
    )


def mechanism_rows() -> Iterator[Row]:
    """Return a row for every law, and one for every sampler."""
    listed, drawn = (*CASES, *_listed()), _drawn()
    for case in (*listed, *drawn):
        covers = (type(case.mechanism).__name__, case.name)
        if case in listed:
            yield Row(part=_PART, name=f"{case.name}, its law", covers=covers, judge=_Law(case))
        quick, long = _sizes(case.mechanism)
        yield Row(
            part=_PART,
            name=case.name,
            covers=covers,
            judge=_Draws(case),
            quick=quick,
            long=long,
        )


def _sizes(mechanism: Mechanism[Any, Any]) -> tuple[int, int]:
    """Return how many answers quick and long suites judge; noise on numbers is drawn at once."""
    if isinstance(mechanism, _FAST):
        return 20_000, 10**7
    return 500, 100_000 if isinstance(mechanism, _MODERATE) else 10_000


class _Law:
    """Judge the laws on all neighbors."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __call__(self, _n: int, _level: Fraction) -> Measured:
        case = self.case
        return exact_epsilon(
            case.mechanism, list(case.pairs), claim=case.claim, outcomes=case.outcomes
        )


class _Draws:
    """Judge draws on the neighbors whose laws are furthest apart."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __call__(self, n: int, level: Fraction) -> Measured:
        case = self.case
        return estimate_epsilon(case.mechanism, self._pair(), n, claim=case.claim, level=level)

    def _pair(self) -> Pair:
        case = self.case
        if len(case.pairs) == 1:
            return case.pairs[0]
        losses: Mapping[int, float] = {
            n: exact_epsilon(case.mechanism, pair, claim=case.claim, outcomes=case.outcomes).lower
            for n, pair in enumerate(case.pairs)
        }
        return case.pairs[max(losses, key=losses.__getitem__)]
