"""Which neighbors to look at: candidates, and a search for the worst of them.

Trust: public.

The search draws a few answers about every candidate, keeps those that promise the highest bounds,
and goes on with more answers about fewer, until one is left.  Its answers are thrown away: the pair
that it names is judged by new ones (key ``held-out-event``), so searching costs no certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from discreet.errors import WrongKind

Pair = tuple[Any, Any]
"""Two data sets that differ in one unit."""

_FEWEST: Final = 2000
_GROWTH: Final = 3


def pairs_of(neighbors: object) -> list[Pair]:
    """Return one pair as a list of one, and a list of pairs unchanged.

    >>> pairs_of((0, 1)), pairs_of([(0, 1), (1, 0)])
    ([(0, 1)], [(0, 1), (1, 0)])
    """
    if isinstance(neighbors, tuple) and len(neighbors) == 2:
        return [neighbors]
    pairs = list(neighbors) if isinstance(neighbors, Iterable) else []
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise WrongKind(
            what="the neighbors are not a pair, or a list of pairs.",
            why="what is lost is measured between two data sets that differ in one unit.",
            do="give a tuple of two data sets, or a list of such tuples.",
        )
    return pairs


def worst_pair(pairs: Sequence[Pair], promised: Callable[[Pair, int], float], most: int) -> int:
    """Return which pair has the highest promise, looking closer at fewer and fewer.

    >>> worst_pair([(0, 1), (0, 3), (0, 2)], lambda pair, n: pair[1] - pair[0], 1000)
    1
    """
    left, size = list(range(len(pairs))), min(_FEWEST, most)
    while len(left) > 1:
        promises = {place: promised(pairs[place], size) for place in left}
        best = sorted(left, key=lambda place: -promises[place])
        left = best[: 1 if size >= most else -(-len(left) // _GROWTH)]
        size = min(_GROWTH * size, most)
    return left[0]


def removals(data: Sequence[Any]) -> Iterator[Pair]:
    """Yield a list with and without each of its members.

    >>> [without for _, without in removals("ab")]
    [['b'], ['a']]
    """
    for place in range(len(data)):
        yield list(data), [*data[:place], *data[place + 1 :]]


def without_units(table: Any, column: str) -> Iterator[Pair]:
    """Yield an Arrow table with and without the rows of each unit.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 1, 2]})
    >>> [without.num_rows for _, without in without_units(visits, "patient")]
    [1, 2]
    """
    units = table.column(column).to_pylist()
    for unit in dict.fromkeys(units):
        yield table, table.filter([other != unit for other in units])


def shifts(length: int, *, by: int = 1) -> Iterator[Pair]:
    """Yield vectors of answers that one unit moves by at most ``by`` in each place.

    They are those that distinguish most mechanisms: one or all answers move, half of them up and
    half of them down, one against all others; from zero, and from crossing levels.

    >>> list(shifts(1))
    [((0,), (1,)), ((1,), (0,))]
    """
    half = length // 2
    patterns = (
        (by,) * length,
        (by,) + (0,) * (length - 1),
        (0,) * (length - 1) + (by,),
        (by,) + (-by,) * (length - 1),
        (-by,) * (length - 1) + (by,),
        (-by,) * half + (by,) * (length - half),
    )
    pairs: dict[Pair, None] = {}
    for moves in patterns:
        start = tuple(max(-move, 0) for move in moves)
        moved = tuple(value + move for value, move in zip(start, moves, strict=True))
        pairs |= {(start, moved): None, (moved, start): None}
    yield from pairs
