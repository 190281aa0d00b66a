"""What reports say about the share of every value: estimates, and tables with intervals.

Trust: public.  It sees reports that are private already; a bug here costs accuracy, not privacy.

The intervals of a table are for each value by itself, or for all at once: then each one misses with
a k-th of the probability, and the probability that any of k does is at most the stated one (union
bound).

How far a shared pool of hash functions moves estimated shares, at most.

Definition.  All people use one of m functions to g cells.  Two values may share more cells than
expected, which moves estimates by an amount that does not fall with the number of people (key
``pool-floor``).
Theorem (key ``pool-bias``).  If no value has a share above F, functions drawn independently move
the estimate of a value by more than sqrt(2 F L / ((g - 1) m)) + 2 L / (3 m), L = ln(2/a), with a
probability of at most a.
Proof.  Bernstein's inequality: each of m functions adds an independent term of mean 0, of size at
most 1, and of variance at most F / (g - 1), because squares of shares add up to at most the largest
share.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, float_down, freeze, whole
from discreet.local.consistency import Consistent, consistent_shares
from discreet.local.hashing import Hashing
from discreet.local.intervals import Coins, Floats, Integers, Target, miss_chance, share_bounds
from discreet.local.randomizer import FrequencyOracle
from discreet.local.share_table import Bars, ShareTable
from discreet.notebook import Shown


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates(Shown):
    """The supports of all values, with the public distribution of reports.

    >>> chances = (Interval("3/4", "3/4"), Interval("1/4", "1/4"))
    >>> answers = Estimates(values=("yes", "no"), supports=[560, 440], people=1000, chances=chances)
    >>> answers.shares.round(3).tolist()
    [0.62, 0.38]
    >>> print(answers.table(confidence="0.95"))
    value     share  interval
    yes       0.620  0.557 to 0.682
    no        0.380  0.318 to 0.443
    1,000 reports. Each interval holds the share in the population with confidence 95 %.
    """

    values: tuple[Hashable, ...]
    supports: Integers
    people: int
    chances: tuple[Interval, Interval]
    pool: PoolBias | None = None

    def __post_init__(self) -> None:
        """Refuse counts that no reports can have."""
        people = whole(self.people, name="people", low=0)
        if people == 0:
            raise OutOfRange("nobody has reported yet; add reports first.")
        counts, names = np.asarray(self.supports), tuple(listed(self.values, name="values"))
        if counts.dtype.kind not in "iu" or counts.shape != (len(names),) or not names:
            raise WrongKind(
                "the supports are not one whole number for each value; give the supports that a "
                "randomizer makes of its tally."
            )
        if int(counts.min()) < 0 or int(counts.max()) > people:
            raise OutOfRange(
                "a value is supported by fewer than no reports, or by more than there are; give "
                "the supports and the number of reports of the same tally."
            )
        Coins.of(self.chances)
        freeze(self, values=names, supports=counts.astype(np.int64))

    @classmethod
    def of(
        cls, oracle: FrequencyOracle, tally: Integers, *, people: int, values: Sequence[Hashable]
    ) -> Estimates:
        """Read the tally of a frequency oracle; ``values`` names the codes.

        >>> from discreet.local import Direct
        >>> oracle = Direct(epsilon=1, values=2)
        >>> Estimates.of(oracle, np.array([600, 400]), people=1000, values="ny").shares.round(6)
        array([0.716395, 0.283605])
        """
        return cls(
            values=tuple(values),
            supports=oracle.supports(tally),
            people=people,
            chances=oracle.chances(),
            pool=PoolBias(functions=oracle.pool, cells=oracle.cells)
            if isinstance(oracle, Hashing) and oracle.pool
            else None,
        )

    @property
    def coins(self) -> Coins:
        """The probabilities of support."""
        return Coins.of(self.chances)

    @property
    def shares(self) -> Floats:
        """The raw estimates: unbiased, perhaps negative."""
        return self.coins.shares(self.supports, self.people)

    def table(
        self,
        *,
        confidence: object = "0.95",
        consistent: Consistent = "raw",
        hostile: int = 0,
        target: Target = "population",
        bars: Bars = "each",
    ) -> ShareTable:
        """Return shares with intervals.

        Args:
            confidence: the probability that an interval holds the truth, or, with bars="all", that
                all of them do.
            consistent: raw, simplex, likelihood or posterior; intervals are those of raw estimates.
            hostile: how many reports may have been made by an attacker.
            target: the share in the population that people were drawn from, or among those who
                reported.
            bars: intervals for each value by itself, or for all values at once.
        """
        miss = miss_chance(confidence)
        if bars not in {"each", "all"}:
            raise WrongKind(
                "bars are neither for 'each' value nor for 'all'; give bars='each' or bars='all'."
            )
        attackers = whole(hostile, name="hostile", low=0, high=self.people)
        alone = float_down(miss / len(self.values) if bars == "all" else miss)
        low, high = self._bounds(alone, target, attackers)
        return ShareTable(
            values=self.values,
            shares=consistent_shares(
                self.supports, people=self.people, coins=self.coins, method=consistent
            ),
            low=low,
            high=high,
            people=self.people,
            confidence=1 - miss,
            consistent=consistent,
            hostile=attackers,
            target=target,
            bars=bars,
        )

    def _bounds(self, miss: float, target: Target, hostile: int) -> tuple[Floats, Floats]:
        """Return ends; with a pool, each of its two bounds gets a third of the miss probability."""

        def ends(chance: float) -> tuple[Floats, Floats]:
            return share_bounds(
                self.supports,
                people=self.people,
                coins=self.coins,
                miss=chance,
                target=target,
                hostile=hostile,
            )

        if self.pool is None:
            return ends(miss)
        third, (low, high) = miss / 3, ends(miss / 3)
        every = third / 2 / len(self.values)
        top = float(ends(every)[1].max())
        largest = self.pool.largest_share(high=top, miss=every)
        moved = self.pool.reach(largest=largest, miss=third)
        return np.maximum(low - moved, 0), np.minimum(high + moved, 1)

    def __str__(self) -> str:
        return str(self.table())


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
