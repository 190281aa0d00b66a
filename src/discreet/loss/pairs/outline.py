"""Nodes of upper polygons, and how the nodes of several are matched.

Trust: kernel.  Which nodes are matched affects how tight a bound is, never whether it holds.

Definition.  The outline of a pair is its upper polygon at all ratios.  A cell between two nodes
belongs to one test, which is passed with chance ``first`` under the first law and ``second`` under
the second: the polygon has height h, slope -second and intercept first on it.
Bounds that add up profiles of several pairs, each at a ratio of its own, are least where the tests
behind the ratios agree.  ``matched`` walks along all outlines, from the surest test to the rarest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.pairs.pair import Floats
from discreet.loss.pairs.side import Side
from discreet.loss.pairs.table import Table

__all__ = ["Outline", "drawn", "matched"]

_SURE: Final = 1e-13


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Nodes (x, value), rising in x, and the chances of the tests of the cells between them."""

    x: Floats
    value: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, table: Table) -> Outline:
        """Put both sides of a table on one axis."""
        ahead, behind = table.ahead, table.behind
        falls, rises = ahead.slopes(), behind.slopes()
        under = 1 - behind.value[:-1] - np.exp(behind.x[:-1]) * rises  # 1 - Q of the reversed test
        return cls(
            np.concatenate([-behind.x[:0:-1], ahead.x]),
            np.concatenate([table.upper(-behind.x[:0:-1]), ahead.value]),
            _falling(
                np.concatenate([1 - rises[::-1], ahead.value[:-1] + np.exp(ahead.x[:-1]) * falls])
            ),
            _falling(np.concatenate([under[::-1], falls])),
        )


def _falling(chances: Floats) -> Floats:
    return np.minimum.accumulate(np.clip(chances, 0.0, 1.0)) if len(chances) else chances


def matched(*chances: Floats) -> list[NDArray[np.intp]]:
    """Return, for each outline, the nodes to use together; ``chances`` are those of its cells.

    >>> [list(nodes) for nodes in matched(np.array([0.9, 0.2]), np.array([0.5]))]
    [[np.int64(0), np.int64(1), np.int64(1), np.int64(2)],
     [np.int64(0), np.int64(0), np.int64(1), np.int64(1)]]
    """
    levels = np.sort(np.concatenate([np.array([2.0]), *chances]))[::-1]
    return [np.searchsorted(-own, -levels, side="right") for own in chances]


def drawn(x: Floats, value: Floats) -> Side:
    """Return the side of upper bounds at some x, of which one is at most 0, or nearly so.

    A profile falls, by at most 1 per unit of the ratio, and is convex.
    """
    order = np.lexsort((value, x))
    x, value = x[order], np.minimum.accumulate(np.minimum(value[order], 1.0))
    rising = np.append(np.diff(x) > 0, True)
    x, value = x[rising], value[rising]
    ahead = int(np.searchsorted(x, 0.0, side="right"))
    if ahead == 0:
        start = float(value[0]) + math.expm1(float(x[0]))
    elif ahead == len(x):
        start = float(value[-1])
    else:
        left, right = float(x[ahead - 1]), float(x[ahead])
        share = -math.expm1(left) / (math.exp(right) - math.exp(left))
        start = float(value[ahead - 1]) * (1 - share) + float(value[ahead]) * share
    places, values = np.append(0.0, x[ahead:]), np.append(start, value[ahead:]) * (1 + _SURE)
    kept = _apart(places, 1e-8 * float(places[-1]))
    return Side.of_nodes(places[kept], np.minimum(values[kept], 1.0))


def _apart(x: Floats, gap: float) -> list[int]:
    """Leave out nodes so close to the last one that their slopes would be all rounding."""
    kept = [0]
    for place, here in enumerate(x.tolist()):
        if here - x[kept[-1]] > gap:
            kept.append(place)
    return kept
