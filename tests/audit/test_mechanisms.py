"""Every mechanism: its exact law where outcomes can be listed, and what it draws.

The laws show what is lost to the last digit, and choose the neighbors.  Draws show that it is those
laws that are drawn from.
"""

import pytest

from discreet import continual, mechanisms
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.exact import exact_epsilon
from discreet.continual import FactorizedCounter
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    NumericSparse,
    OptimalKeys,
    RandomizedResponse,
    Sparse,
)
from discreet.units import NeighborGraph
from discreet_course.counting import Histogram
from discreet_course.hierarchy import Hierarchy, NoisyThresholds
from discreet_course.optimal import bayes_remap, geometric_on_counts, optimal_mechanism
from discreet_course.permute_and_flip import PermuteAndFlip
from discreet_course.refined_tree import RefinedTreeCounter
from tests.audit.cases import CASES, Case
from tests.audit.clinic import SHARE

_FAST = (Laplace, Gaussian, RandomizedResponse)
_MODERATE = (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    Sparse,
)
_COUNTS = tuple((count, count + 1) for count in range(4))


def _distance(truth, answer):
    return abs(int(truth) - int(answer))


def _listed():
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


def _drawn():
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


LISTED = (*CASES, *_listed())
EVERY = (*LISTED, *_drawn())
NOT_MECHANISMS = {
    *("Mechanism", "ScoreChange", "ShownKeys", "ShownSums", "discrete_gaussian_sigma"),
    *("Counter", "CounterRun", "monotone"),
}


@pytest.mark.parametrize("room", [mechanisms, continual])
def test_every_public_mechanism_is_audited(room):
    """A new name is either a case, or listed above as something else."""
    covered = {word for case in EVERY for word in (type(case.mechanism).__name__, case.name)}
    assert set(room.__all__) - NOT_MECHANISMS - covered == set()


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_a_law_keeps_its_promise(found, case):
    measured = exact(case, list(case.pairs))
    assert measured.lower > 0.4
    found.promise("mechanisms", f"{case.name}, its law", measured)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_draws_keep_their_promise(found, quick, case):
    n = 20_000 if isinstance(case.mechanism, _FAST) else 100
    if not quick:
        n = 500 * n if isinstance(case.mechanism, (*_FAST, *_MODERATE)) else 10_000
    losses = {at: exact(case, pair).lower for at, pair in enumerate(case.pairs) if case in LISTED}
    pair = case.pairs[max(losses, key=losses.__getitem__) if losses else 0]
    measured = estimate_epsilon(case.mechanism, pair, n, claim=case.claim, level=SHARE)
    found.promise("mechanisms", case.name, measured)


def exact(case, pairs):
    """Return what the laws lose on neighbors."""
    return exact_epsilon(case.mechanism, pairs, claim=case.claim, outcomes=case.outcomes)
