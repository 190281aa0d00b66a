"""What two published ways of reporting again cost: RAPPOR and LOLOHA.

Trust: public.  For comparison; no device runs them.

``Rappor`` (Erlingsson, Pihur and Korolova 2014) sets h bits of a Bloom filter, randomizes every bit
for good (each is replaced by a fair coin with chance f), and reports each bit as 1 with chance q if
the kept bit is 1, and p if it is 0.
Theorem (key ``rappor-price``).  All reports of a value that stays lose less than
2h ln((1 - f/2)/(f/2)), and one report loses h ln(q'(1 - p')/(p'(1 - q'))), where
p' = f(p + q)/2 + (1 - f)p and q' = f(p + q)/2 + (1 - f)q.
``loloha_price`` (Arcolezi, Pinzón, Palamidessi and Gambs 2023) keeps answers for the g cells of a
hash in place of all values, and quotes g times the permanent loss.
Both prices hold between histories with the same pattern of repeats alone: see ``memo_price.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.exact import Interval, probability, whole
from discreet.local.randomizers.randomizer import local_epsilon
from discreet.loss.elementary import log
from discreet.mechanisms.mechanism import Number
from discreet.notebook import Shown


@final
@dataclass(frozen=True, slots=True, init=False)
class Rappor(Shown):
    """The parameters of RAPPOR.

    >>> usual = Rappor(hashes=2, permanent="1/2", zero="1/2", one="3/4")
    >>> round(usual.lifetime().nearest(), 4), round(usual.one_report().nearest(), 4)
    (4.3944, 1.0743)
    """

    hashes: int
    permanent: Fraction
    zero: Fraction
    one: Fraction

    def __init__(self, *, hashes: int, permanent: object, zero: object, one: object) -> None:
        """Take h, f, p and q of the paper."""
        object.__setattr__(self, "hashes", whole(hashes, name="hashes", low=1))
        object.__setattr__(self, "permanent", probability(permanent, name="permanent"))
        object.__setattr__(self, "zero", probability(zero, name="zero"))
        object.__setattr__(self, "one", probability(one, name="one"))

    def lifetime(self) -> Interval:
        """Enclose what all reports of a value that stays lose, at most."""
        ratio = log((1 - self.permanent / 2) / (self.permanent / 2))
        return Interval(2 * self.hashes * ratio.low, 2 * self.hashes * ratio.high)

    def one_report(self) -> Interval:
        """Enclose what one report loses."""
        zero, one = (
            self.permanent * (self.zero + self.one) / 2 + (1 - self.permanent) * chance
            for chance in (self.zero, self.one)
        )
        ratio = log(one * (1 - zero) / (zero * (1 - one)))
        return Interval(self.hashes * ratio.low, self.hashes * ratio.high)


def loloha_price(*, cells: int, permanent: Number) -> Fraction:
    """Return the quoted price of a lifetime: that of every cell once.

    >>> loloha_price(cells=4, permanent=1)
    Fraction(4, 1)
    """
    return whole(cells, name="cells", low=2) * local_epsilon(permanent)
