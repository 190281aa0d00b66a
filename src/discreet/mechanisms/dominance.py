"""Which pairs of finite laws are the worst: an exact comparison at every epsilon at once.

Trust: kernel.

Definition.  A pair (p, q) dominates (p', q') if its hockey stick is at least as large at every
factor a >= 0.  Outputs with the same ratio p/q can be merged without changing the hockey stick.
Theorem (key ``finite-dominance``).  The hockey stick is linear between the ratios p[o]/q[o], equals
one at a = 0, and is constant beyond the largest ratio.  So one pair dominates another if and only
if it does so at the finitely many ratios of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.mechanisms.matrix import Row, hockey_stick

__all__ = ["dominates", "extreme_pairs", "merged"]


def dominates(large: tuple[Row, Row], small: tuple[Row, Row]) -> bool:
    """Say whether one pair of laws has the larger hockey stick at every factor, exactly.

    >>> p, q = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    >>> dominates((p, q), (p, p)), dominates((p, p), (p, q))
    (True, False)
    """
    ratios = {
        one / other for p, q in (large, small) for one, other in zip(p, q, strict=True) if other
    }
    return all(hockey_stick(*large, ratio) >= hockey_stick(*small, ratio) for ratio in ratios)


def merged(p: Row, q: Row) -> tuple[Row, Row]:
    """Merge outputs of equal ratio, and sort by it: equal profiles become equal pairs.

    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> merged((quarter, half, quarter), (quarter, half, quarter))
    ((Fraction(1, 1),), (Fraction(1, 1),))
    """
    groups: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for one, other in zip(p, q, strict=True):
        if one or other:
            share = one / (one + other)
            before = groups.get(share, (Fraction(0), Fraction(0)))
            groups[share] = (before[0] + one, before[1] + other)
    shares = sorted(groups)
    return tuple(groups[share][0] for share in shares), tuple(groups[share][1] for share in shares)


def extreme_pairs(pairs: Iterable[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Keep the pairs that no other dominates, merged.

    >>> p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    >>> len(extreme_pairs([(p, q), (q, p), (p, p)]))  # both orders have one profile
    1
    """
    kept: list[tuple[Row, Row]] = []
    for pair in dict.fromkeys(merged(p, q) for p, q in pairs):
        if not any(dominates(large, pair) for large in kept):
            kept = [*(small for small in kept if not dominates(pair, small)), pair]
    return kept
