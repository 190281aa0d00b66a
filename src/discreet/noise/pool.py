"""Single draws, served from small blocks drawn ahead.

Trust: kernel.

A block of values is drawn at once by the vectorized sampler, and handed out one by one.  So a
single draw costs well below a microsecond, its value is one of an independent sample, and the time
that it takes does not depend on the value: all work on values was done earlier, for a whole block.

Blocks belong to one thread and one process.  A fork drops them in the child, a value leaves its
block when it is served, and no copy of a law takes values along: pools are not part of any law.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from discreet.noise.entropy import SYSTEM, process_stamp

if TYPE_CHECKING:  # a law draws from its pool, and a pool from its law
    from discreet.noise.distribution import Distribution

__all__ = ["serve"]

BLOCK: Final = 256
MOST_LAWS: Final = 64


class _Pools(threading.local):
    """The blocks of one thread, by the identity of their law, which each keeps alive."""

    def __init__(self) -> None:
        self.stamp = (-1, -1)
        self.blocks: dict[int, tuple[Distribution, list[int]]] = {}


_pools: Final = _Pools()


def serve(law: Distribution) -> int:
    """Return the next value of a law's block, drawing a new block where it is used up."""
    pools, stamp = _pools, process_stamp()
    if pools.stamp != stamp:
        pools.blocks, pools.stamp = {}, stamp
    held = pools.blocks.get(id(law))
    if held is None or not held[1]:
        held = _refill(law)
    try:
        return held[1].pop()
    except IndexError:  # a signal handler took the last value in between
        return serve(law)


def _refill(law: Distribution) -> tuple[Distribution, list[int]]:
    held = law, law.sample(BLOCK, SYSTEM).tolist()
    blocks = _pools.blocks
    blocks.pop(id(law), None)
    while len(blocks) >= MOST_LAWS:  # the law that was refilled longest ago
        del blocks[next(iter(blocks))]
    blocks[id(law)] = held
    return held
