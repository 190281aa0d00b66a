"""The empty ones among very many groups whose noise alone reaches a threshold.

Trust: kernel.  Whoever could tell a sampled group from a computed one would know that it is empty.

Definition.  There are N groups.  Some are *touched*: an engine has computed their counts.
All others count 0.  Every group gets noise Z of its own, and those with n + Z >= t are shown.
Theorem (key ``zero-groups``; the idea is that of Cormode, Procopiuc, Srivastava and Tran 2012,
Differentially Private Summaries for Sparse Data).  Let p = P[Z >= t].  Flip a coin of chance p for
each of the N groups (key ``rare-coins``), leave out touched groups, and give each other one whose
coin shows heads noise that is drawn beyond t (key ``noise-beyond``).  Together with the touched
groups whose own noisy count reaches t, that has the law of all N noisy counts, of which those
below t are left out.  So it loses what the noise loses, and nothing more (key
``post-processing``).  Whatever else is drawn for a group, independently of its Z, may be drawn
after.
Proof.  Noise is independent across groups.  A group that counts 0 is shown with chance p,
and its count then has the law of Z given Z >= t.  Coins of touched groups are independent of all
others, so that leaving them out changes no other group. Assumes: t >= 1; all coins come from
``entropy``.

The number of coins that are looked at, and of draws beyond t, depends on N and p alone, and not on
which groups are touched.  Touched groups take time each, here as in an engine: that tells about
how many there are to whoever can measure it, as it does where groups are private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.exact import Interval, whole
from discreet.mechanisms.additive import checked_integer_noise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise import SYSTEM, Entropy
from discreet.noise.rare_events import rare_heads
from discreet.noise.tablefree import SIZES, FreeSizes
from discreet.noise.two_sided import TwoSidedLaw

_MOST: Final = 1 << 62  # numbers of groups are integers of 64 bits
_BITS: Final = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShownEmptyGroups:
    """The numbers of empty groups that are shown, from the lowest on, and their noisy counts."""

    places: NDArray[np.int64]
    counts: NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, init=False)
class EmptyGroups:
    """Show empty groups whose noise reaches a threshold.

    >>> zeros = EmptyGroups(noise=Laplace(scale=2), threshold=40, groups=10**9)
    >>> round(float(zeros.expected().high), 3), zeros.least(10)
    (1.283, 36)
    >>> shown = zeros.run(np.array([5, 10**9 - 1]))
    >>> bool((shown.counts >= 40).all()), shown.places.shape == shown.counts.shape
    (True, True)
    """

    noise: Laplace | Gaussian
    threshold: int
    groups: int

    def __init__(self, *, noise: Laplace | Gaussian, threshold: int, groups: int) -> None:
        """Take the noise of every group, what it has to reach, and how many groups there are."""
        least = whole(threshold, name="threshold", low=1, high=INT64_MAX)
        count = whole(groups, name="groups", low=1, high=_MOST)
        object.__setattr__(self, "noise", checked_integer_noise(noise))
        object.__setattr__(self, "threshold", least)
        object.__setattr__(self, "groups", count)

    def chance(self, bits: int = _BITS) -> Interval:
        """Enclose the chance that one empty group is shown."""
        return self._law().survival_bounds(self.threshold - 1, bits)

    def expected(self) -> Interval:
        """Enclose how many groups are shown on average, if all of them are empty."""
        chance = self.chance()
        return Interval(self.groups * chance.low, self.groups * chance.high)

    def least(self, most: int) -> int:
        """Return the exact least threshold at which at most ``most`` are shown on average."""
        if most >= self.groups:
            return 1
        return max(1, self._law().quantile(1 - Fraction(most, self.groups)) + 1)

    def run(
        self,
        touched: NDArray[np.int64],
        *,
        entropy: Entropy = SYSTEM,
        sizes: FreeSizes = SIZES,
    ) -> ShownEmptyGroups:
        """Return the groups that are shown though they are empty: none of those touched."""
        places = rare_heads(coins=self.groups, chance=self.chance, entropy=entropy, sizes=sizes)
        counts = self._law().beyond(self.threshold, places.size, entropy, sizes=sizes)
        empty = ~np.isin(places, touched)
        return ShownEmptyGroups(places[empty], counts[empty])

    def _law(self) -> TwoSidedLaw:
        return self.noise.law
