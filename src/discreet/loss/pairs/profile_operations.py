"""What few questions ask of a profile: alternatives joined, groups, samples, shuffled reports.

Trust: kernel.

These operations need tables and engines that a first answer does not, so ``profile`` loads this
file when one of them is called.  All work on the compositions of one direction, or of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_only
from discreet.loss.pairs.curved_pair import CurvedPair
from discreet.loss.pairs.envelope import grouped, repeated, upper_envelope
from discreet.loss.renyi.least_rho import (
    approximately_concentrated,
    least_rho,
    truncated_rho,
)
from discreet.loss.sampling.poisson_sampling import Direction, SampledPair
from discreet.loss.sampling.replaced_record import FixedSizeShape
from discreet.loss.sampling.shuffle import Shuffle, ShuffledShape

__all__ = [
    "approximately_concentrated",
    "grouped",
    "least_rho",
    "poisson_sample",
    "repeated",
    "sample_of_fixed_size",
    "shuffled_reports",
    "truncated_rho",
    "upper_envelope",
]


def poisson_sample(
    compositions: Iterable[Composition], rate: Fraction, *, removed: bool
) -> tuple[Composition, ...]:
    """Mix each pair with its second law; a unit is removed, or added.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> once = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> len(poisson_sample([once, once], Fraction(1, 10), removed=True))
    1
    """
    pairs = (
        SampledPair(composition, rate, Direction.REMOVE)
        if removed
        else SampledPair(composition.reverse(), rate, Direction.ADD)
        for composition in compositions
    )
    return tuple(dict.fromkeys(Composition(((pair, 1),)) for pair in pairs))


def sample_of_fixed_size(compositions: Sequence[Composition], rate: Fraction) -> CurvedPair:
    """Map every ratio a >= 1 to 1 + (a - 1) / rate, in both directions."""
    return CurvedPair(FixedSizeShape(largest_only(compositions), rate))


def shuffled_reports(local: Fraction, population: int) -> CurvedPair:
    """Return the pair of the shuffled reports of a local randomizer."""
    return CurvedPair(ShuffledShape(Shuffle(epsilon=local, population=population)))
