"""What a record costs that is routed, sampled with others, or replaced in a sample.

Trust: kernel.

All compositions are ordered: they bound the profile of one law against another, at every ratio.
Proofs are beside the shapes of the three pairs.
Theorem keys: ``routing``, ``sampled-groups``, ``amplification``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.errors import WrongKind
from discreet.loss.composition import Composition
from discreet.loss.envelope import joined
from discreet.loss.limits import checked_rate
from discreet.loss.pairs.curved import single
from discreet.loss.pairs.replaced import Replaced
from discreet.loss.pairs.routed import Routed
from discreet.loss.pairs.sampled_group import SampledGroup

__all__ = ["poisson_replaced", "routed", "sampled_group"]

_NEARLY_ALL: Final = 1 - Fraction(1, 10**9)


def routed(compositions: Sequence[Composition]) -> Composition:
    """Return a composition above a record that is sent to one of several mechanisms as they go.

    >>> from discreet.loss.pairs.response import ResponsePair
    >>> leaky = Composition(((ResponsePair(Fraction(0), Fraction(1, 1000)), 1),))
    >>> round(routed([leaky] * 10).delta(1.0).high, 9)
    0.01
    """
    parts = Counter(c for c in compositions if c.pairs or c.renyi is not None)
    if parts.total() <= 1:
        return next(iter(parts), Composition())
    return single(Routed(tuple(sorted(parts.items(), key=repr))))


def sampled_group(towards: Sequence[Composition], rate: object) -> Composition:
    """Return a composition above k records that each enter a Poisson sample, against none of them.

    ``towards[j - 1]`` is the ordered composition (P_j, Q): j of them in the sample, against none.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> far = [Composition(((GaussianPair(Fraction(j * j)), 1),)) for j in (1, 2)]
    >>> round(sampled_group(far, "0.1").delta(0.5).high, 6)
    0.014529
    """
    chance = checked_rate(rate)
    if not towards:
        raise WrongKind(
            what="no record enters the sample.",
            why="a group has at least one record.",
            do="give the composition for one record, then for two, and so on.",
        )
    if chance == 1:
        return towards[-1]
    if chance > _NEARLY_ALL:  # h(a) is at most the mean of the h_j(a)
        return joined(towards)
    return single(SampledGroup(tuple(towards), chance))


def poisson_replaced(
    removed: Composition, inserted: Composition, replaced: Composition, rate: object
) -> Composition:
    """Return a composition above ((1-q)R + qP, (1-q)R + qP'), a record replaced before sampling.

    ``removed`` is the ordered composition (P, R), ``inserted`` is (R, P'), ``replaced`` (P, P').

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> one, two = (Composition(((GaussianPair(Fraction(m * m)), 1),)) for m in (1, 2))
    >>> round(poisson_replaced(one, one, two, "0.1").delta(0.3).high, 6)
    0.009697
    """
    chance = checked_rate(rate)
    if chance > _NEARLY_ALL:  # a common part of two laws hides, in both directions
        return replaced
    return single(Replaced(removed, inserted, replaced, chance))
