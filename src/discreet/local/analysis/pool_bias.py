"""How far a shared pool of hash functions moves estimated shares, at most.

Trust: public.

Definition.  All people use one of m functions to g cells.  Two values may share more cells than
expected, which moves estimates by an amount that does not fall with the number of people (key
``pool-floor``).
Theorem (key ``pool-bias``).  If no value has a share above F, functions drawn independently move
the estimate of a value by more than sqrt(2 F L / ((g - 1) m)) + 2 L / (3 m), L = ln(2/a), with a
chance of at most a.
Proof.  Bernstein's inequality: each of m functions adds an independent term of mean 0, of size at
most 1, and of variance at most F / (g - 1), because squares of shares add up to at most the largest
share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

_ROUNDS: Final = 30


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBias:
    """The effect of ``functions`` shared hash functions to ``cells`` cells.

    >>> round(PoolBias(functions=1000, cells=4).reach(largest=0.1, miss=0.05), 4)
    0.0181
    """

    functions: int
    cells: int

    def reach(self, *, largest: float, miss: float) -> float:
        """Bound how far an estimate is moved, if no share is above ``largest``."""
        level = math.log(2 / miss)
        spread = largest / (self.cells - 1)
        return math.sqrt(2 * spread * level / self.functions) + 2 * level / (3 * self.functions)

    def largest_share(self, *, high: float, miss: float) -> float:
        """Bound all shares, if none would be above ``high`` but for the pool.

        The bound moves by what it bounds: it starts at 1 and falls.

        >>> PoolBias(functions=1000, cells=4).largest_share(high=0.1, miss=0.05) < 0.13
        True
        """
        largest = 1.0
        for _ in range(_ROUNDS):
            largest = min(high + self.reach(largest=largest, miss=miss), largest)
        return largest
