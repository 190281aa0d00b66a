"""Every mechanism on a small domain: neighbors that tell it best, and outcomes to look at."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from discreet.attacks.neighbors import Pair, shifts
from discreet.continual import BinaryTreeCounter
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
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.counting import Histogram
from discreet_course.permute_and_flip import PermuteAndFlip


def _same(answer):
    return tuple(answer.tolist()) if isinstance(answer, np.ndarray) else answer


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism, neighbors at a distance, and outcomes where there are infinitely many.

    ``key`` turns an answer into an outcome of the law.
    """

    name: str
    mechanism: Mechanism[Any, Any]
    pairs: Sequence[Pair]
    distance: int = 1
    outcomes: Sequence[Any] | None = None
    key: Callable[[Any], Hashable] = _same

    @property
    def claim(self):
        """What is lost between the neighbors, at most."""
        return self.mechanism.loss(distance=self.distance)


def _shown_points(answer):
    points = iter(answer.coordinates.tolist())
    return tuple(tuple(next(points)) if shown else None for shown in answer.shown)


def _shown(answer):
    counts = iter(answer.counts.tolist())
    return tuple(next(counts) if shown else None for shown in answer.shown)


_LINE = tuple(range(-45, 47))
_SQUARE = tuple(product(range(-9, 11), repeat=2))
_HALVES = DyadicGrid(exponent=-1)
_SCORES = (
    ((0, 1, 1), (1, 0, 0)),
    ((1, 0, 0), (0, 1, 1)),
    ((0, 2, 2), (1, 1, 1)),  # a candidate that is rarely selected
    *shifts(3),
)

CASES = (
    Case(name="Laplace", mechanism=Laplace(scale=1), pairs=[(0, 1)], outcomes=_LINE),
    Case(
        name="Laplace at distance 3",
        mechanism=Laplace(scale="5/2"),
        pairs=[(0, 3)],
        distance=3,
        outcomes=_LINE,
    ),
    Case(
        name="Laplace on a grid",
        mechanism=Laplace(scale=1, grid=_HALVES),
        pairs=[(0.25, 1.25), (-0.3, 0.7), (0.0, 1.0)],
        outcomes=[cell / 2 + 0.25 for cell in range(-60, 64)],
    ),
    Case(
        name="Laplace on vectors",
        mechanism=Laplace(scale=1),
        pairs=[((0, 0), (1, 0))],
        outcomes=_SQUARE,
    ),
    Case(name="Gaussian", mechanism=Gaussian(sigma=1), pairs=[(0, 1)], outcomes=range(-12, 14)),
    Case(name="Exponential", mechanism=Exponential(candidates=3, scale=1), pairs=_SCORES),
    Case(name="PermuteAndFlip", mechanism=PermuteAndFlip(candidates=3, scale=1), pairs=_SCORES),
    Case(
        name="Histogram",
        mechanism=Histogram(cells=2, noise=Laplace(scale=1), relation="replace"),
        pairs=[((1, 1), (2, 0))],
        outcomes=_SQUARE,
    ),
    Case(
        name="Histogram, Gaussian",
        mechanism=Histogram(cells=2, noise=Gaussian(sigma=1), relation="add_remove"),
        pairs=[((1, 1), (2, 1))],
        outcomes=tuple(product(range(-5, 9), repeat=2)),
    ),
    Case(
        name="OptimalKeys",
        mechanism=OptimalKeys(epsilon=1, delta="1/10", groups=1, relation="add_remove"),
        pairs=[((count,), (count + 1,)) for count in range(5)],
    ),
    Case(
        name="NoisyKeys",
        mechanism=NoisyKeys(noise=Laplace(scale=1), threshold=3, groups=1, relation="add_remove"),
        pairs=[((count,), (count + 1,)) for count in range(4)],
        outcomes=[(None,), *((count,) for count in range(3, 36))],
        key=_shown,
    ),
    Case(
        name="SumKeys",
        mechanism=SumKeys(
            noise=Laplace(scale=1),
            threshold=4,
            coordinates=1,
            most=1,
            squared=1,
            groups=1,
            relation="add_remove",
        ),
        pairs=[(((count,),), ((count + 1,),)) for count in range(5)],
        outcomes=[(None,), *(((count,),) for count in range(4, 36))],
        key=_shown_points,
    ),
    Case(
        name="RandomizedResponse",
        mechanism=RandomizedResponse(epsilon=1, categories=range(3)),
        pairs=[(0, 1)],
    ),
    Case(
        name="FiniteMechanism",
        mechanism=FiniteMechanism(matrix=[["0.7", "0.2", "0.1"], ["0.2", "0.6", "0.2"]]),
        pairs=[(0, 1)],
    ),
    Case(
        name="AboveThreshold",
        mechanism=AboveThreshold(threshold=0, epsilon=1),
        pairs=[((0, 0, 0, 1), (1, 1, 1, 0)), ((1, 1, 1, 0), (0, 0, 0, 1))],
    ),
    Case(
        name="Sparse",
        mechanism=Sparse(threshold=0, answers=2, epsilon=1),
        pairs=[((0, 0, 1, 1), (1, 1, 0, 0)), ((1, 1, 0, 0), (0, 0, 1, 1))],
    ),
    Case(
        name="NumericSparse",
        mechanism=NumericSparse(threshold=0, answers=1, epsilon=3),
        pairs=[((0, 1), (1, 0)), ((1, 0), (0, 1))],
        outcomes=[
            (None, None),
            *((count,) for count in range(-14, 16)),
            *((None, count) for count in range(-14, 16)),
        ],
    ),
    Case(
        name="NoisyBits",
        mechanism=NoisyBits(length=2, noise=Laplace(scale=1)),
        pairs=[((0, 1), (1, 1)), ((1, 1), (1, 0))],
        outcomes=_SQUARE,
    ),
    Case(
        name="NoisyPrefixes",
        mechanism=NoisyPrefixes(length=2, noise=Laplace(scale=2)),
        pairs=[((0, 1), (1, 1)), ((1, 1), (1, 0))],
        outcomes=_SQUARE,
    ),
    Case(
        name="BinaryTreeCounter",
        mechanism=BinaryTreeCounter(length=2, noise=Laplace(scale=2)),
        pairs=[((0, 1), (1, 1)), ((1, 1), (1, 0))],
        outcomes=_SQUARE,
    ),
)
