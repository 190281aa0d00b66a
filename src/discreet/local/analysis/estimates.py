"""What reports say about the share of every value: estimates, and tables with intervals.

Trust: public.  It sees reports that are private already; a bug here costs accuracy, not privacy.

The intervals of a table are for each value by itself, or for all at once: then each one misses with
a k-th of the chance, and the chance that any of k does is no larger than stated (union bound).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, float_down, whole
from discreet.local.analysis.consistency import Consistent, consistent_shares
from discreet.local.analysis.intervals import Coins, Floats, Integers, Target, share_bounds
from discreet.local.analysis.pool_bias import PoolBias
from discreet.local.analysis.share_table import Bars, ShareTable
from discreet.local.randomizers.hashing import Hashing
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.notebook import Shown


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates(Shown):
    """The supports of all values, with what is known about how reports are made.

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
            raise OutOfRange(
                what="nobody has reported yet.",
                why="there is nothing to estimate from.",
                do="add reports first.",
            )
        counts, names = np.asarray(self.supports), tuple(listed(self.values, name="values"))
        if counts.dtype.kind not in "iu" or counts.shape != (len(names),) or not names:
            raise WrongKind(
                what="the supports are not one whole number for each value.",
                why="they count reports.",
                do="give the supports that a randomizer makes of its tally.",
            )
        if int(counts.min()) < 0 or int(counts.max()) > people:
            raise OutOfRange(
                what="a value is supported by fewer than no reports, or by more than there are.",
                why="a report supports a value once or not at all.",
                do="give the supports and the number of reports of the same tally.",
            )
        Coins.of(self.chances)
        object.__setattr__(self, "values", names)
        object.__setattr__(self, "supports", counts.astype(np.int64))

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
        """The chances of support."""
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
            confidence: the chance that an interval holds the truth, or, with bars="all", that all
                of them do.
            consistent: raw, simplex, likelihood or posterior; intervals are those of raw estimates.
            hostile: how many reports may have been made by an attacker.
            target: the share in the population that people were drawn from, or among those who
                reported.
            bars: intervals for each value by itself, or for all values at once.
        """
        miss = miss_chance(confidence)
        if bars not in {"each", "all"}:
            raise WrongKind(
                what="bars are neither for 'each' value nor for 'all'.",
                why="many intervals miss more often than one.",
                do="give bars='each' or bars='all'.",
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
        """Return ends; with a pool, a third of the chance to miss is for each of its two bounds."""

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


def miss_chance(confidence: object) -> Fraction:
    """Read a confidence, and return the chance that an interval may miss.

    >>> miss_chance("0.95")
    Fraction(1, 20)
    """
    chance = decimal(confidence, name="confidence")
    if not Fraction(1, 2) <= chance < 1:
        raise OutOfRange(
            what="confidence is not at least 0.5 and below 1.",
            why="it is the chance that an interval holds the truth.",
            do="give a confidence such as '0.95'.",
        )
    return 1 - chance
