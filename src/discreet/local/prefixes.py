"""Heavy hitters by prefixes: find the most frequent words, from short prefixes to whole words.

Trust: public.  Proofs are in docs/proofs/local.md.  It sees reports that are private already; a bug
here costs accuracy, not privacy.

Definition (Wang, Li and Jha 2019, the prefix extending method).  The first group of people reports
prefixes of ceil(log2(top)) + step bits, every later group ``step`` bits more, up to whole words;
each device draws its group, and reports once (see ``prefix_response``).  The analyst estimates all
short prefixes, keeps the ``keep`` most frequent, estimates all their extensions from the next
group, and so on; of the whole words the ``top`` most frequent are the answer.

Theorem (key ``hitter-intervals``).  Intervals from the last group alone, for all of its candidates
at once, hold regardless of the earlier search.

A hitter is *certain* if its interval begins above 0: then at least one person has that word.  An
empty list of certain hitters is a valid answer too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import ClassVar, Final, NamedTuple, final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import float_down, freeze, whole
from discreet.local.estimates import PoolBias
from discreet.local.intervals import Coins, Integers, miss_chance, share_bounds
from discreet.local.prefix_response import (
    PrefixResponse,
    Words,
    text_of,
    text_words,
)
from discreet.local.share_table import ShareFrame
from discreet.mechanisms.mechanism import Number
from discreet.notebook import Shown

_LONGEST_STEP: Final = 20


class Hitter(NamedTuple):
    """A word, its estimated share of people, and a confidence interval for the true share."""

    word: int | str
    share: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether at least one person has this word, at the stated confidence."""
        return self.low > 0


@final
@dataclass(frozen=True, slots=True, init=False)
class Prefixes(Shown):
    """Find the ``top`` most frequent words of ``bits`` bits, or texts of as many bits.

    >>> plan = Prefixes(bits=48, epsilon=4, top=16, step=16)
    >>> plan.response.lengths, plan.response.report_bytes
    ((20, 36, 48), 3)
    >>> from discreet.noise import KeyedEntropy
    >>> fixed = KeyedEntropy(key=bytes(32), label="a page that repeats")
    >>> pages = Prefixes(bits=32, epsilon=4, top=2, step=8)
    >>> words = pages.words(["home"] * 6000 + ["news"] * 3000 + ["mail", "maps"] * 500)
    >>> reports = pages.response.run_each(words, entropy=fixed)
    >>> [hitter.word for hitter in pages.hitters(pages.response.tally(reports), texts=True)]
    ['home', 'news']
    """

    response: PrefixResponse
    top: int
    step: int
    keep: int

    def __init__(  # noqa: PLR0913  all are named
        self,
        *,
        bits: int,
        epsilon: Number,
        top: int = 16,
        step: int = 16,
        keep: int | None = None,
        pool: int | None = None,
    ) -> None:
        """Take the size of words, the loss of a report, and how the search goes.

        Args:
            bits: how many bits a word has.
            epsilon: the loss of one report.
            top: how many words to find.
            step: by how many bits prefixes grow; the longer, the fewer groups, the more work.
            keep: how many prefixes are extended, by default as many as words are to be found.
            pool: the number of hash functions.
        """
        wanted = whole(top, name="top", low=1, high=1 << 12)
        longer = whole(step, name="step", low=1, high=_LONGEST_STEP)
        width = whole(bits, name="bits", low=1)
        first = min((wanted - 1).bit_length() + longer, _LONGEST_STEP + 4, width)
        kept = wanted if keep is None else whole(keep, name="keep", low=wanted, high=1 << 14)
        response = PrefixResponse(epsilon=epsilon, width=width, first=first, step=longer, pool=pool)
        freeze(self, response=response, top=wanted, step=longer, keep=kept)

    def words(self, texts: Iterable[str]) -> Words:
        """Return the words of texts, for ``response.run_each``."""
        return text_words(texts, width=self.response.width)

    def hitters(
        self, tally: Integers, *, confidence: object = "0.95", hostile: int = 0, texts: bool = False
    ) -> Hitters:
        """Return the most frequent words, from the counters of all reports.

        Args:
            tally: what ``response.tally`` makes of reports, added up.
            confidence: the probability that all intervals hold the true shares in the population.
            hostile: how many reports of the last group may have been made by an attacker.
            texts: whether words are texts.
        """
        miss = float_down(miss_chance(confidence) / 3)
        groups = self._groups(tally)
        candidates, counts = self._search(groups)
        people = int(groups[-1].sum())
        best = np.argsort(-counts, kind="stable")[: self.top]
        coins = Coins.of(self.response.chances())
        attackers = whole(hostile, name="hostile", low=0, high=people)
        low, high = share_bounds(
            counts[best],
            people=people,
            coins=coins,
            miss=miss / len(counts),
            target="population",
            hostile=attackers,
        )
        largest = self._largest_share(groups[0], miss, attackers)
        bias = self._pool_bias.reach(largest=largest, miss=miss / len(counts))
        shares = coins.shares(counts[best], people)
        ends = zip(shares, np.maximum(low - bias, 0), np.minimum(high + bias, 1), strict=True)
        width = self.response.width
        names = [text_of(candidates[at], width=width) if texts else candidates[at] for at in best]
        return Hitters(
            found=tuple(Hitter(n, *map(float, row)) for n, row in zip(names, ends, strict=True)),
            people=tuple(int(group.sum()) for group in groups),
            candidates=len(counts),
            epsilon=self.response.epsilon,
            confidence=1 - miss_chance(confidence),
        )

    def _groups(self, tally: Integers) -> list[Integers]:
        response = self.response
        shape = (len(response.lengths), response.pool, response.cells)
        counters = np.asarray(tally)
        if counters.dtype.kind not in "iu" or counters.size != math.prod(shape):
            raise WrongKind(
                "the tally is not one of these reports; give the sum of what response.tally "
                "returns."
            )
        groups = list(counters.reshape(shape))
        if not all(int(group.sum()) for group in groups):
            raise OutOfRange(
                "there are no reports about prefixes of some length; collect more reports."
            )
        return groups

    def _search(self, groups: list[Integers]) -> tuple[_Candidates, Integers]:
        """Extend the best prefixes, group by group, and return all candidates of the last one."""
        hashes, lengths = self.response.hashes, self.response.lengths
        candidates, before = _Candidates((0,), 0), 0
        counts = np.zeros(1, np.int64)
        for length, group in zip(lengths, groups, strict=True):
            best = np.argsort(-counts, kind="stable")[: self.keep]
            prefixes = tuple(candidates[int(place)] for place in best)
            found = hashes.supports(group, prefixes=prefixes, before=before, length=length)
            candidates, counts, before = _Candidates(prefixes, length - before), found, length
        return candidates, counts

    def _largest_share(self, group: Integers, miss: float, hostile: int) -> float:
        """Bound the share of every word by that of the most frequent prefix of the first group."""
        length, people = self.response.lengths[0], int(group.sum())
        counts = self.response.hashes.supports(group, prefixes=(0,), before=0, length=length)
        _, high = share_bounds(
            np.array([counts.max()]),
            people=people,
            coins=Coins.of(self.response.chances()),
            miss=miss / 2 / len(counts),
            target="population",
            hostile=min(hostile, people),
        )
        return self._pool_bias.largest_share(high=float(high[0]), miss=miss / 2 / len(counts))

    @property
    def _pool_bias(self) -> PoolBias:
        return PoolBias(functions=self.response.pool, cells=self.response.cells)


@final
@dataclass(frozen=True, slots=True)
class _Candidates:
    """All extensions of some prefixes by some bits."""

    prefixes: tuple[int, ...]
    bits: int

    def __getitem__(self, place: int) -> int:
        prefix, extension = divmod(int(place), 1 << self.bits)
        return self.prefixes[prefix] << self.bits | extension


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hitters(ShareFrame, Shown):
    """What was found, the most frequent word first."""

    value_name: ClassVar[str] = "word"

    found: tuple[Hitter, ...]
    people: tuple[int, ...]
    candidates: int
    epsilon: Fraction
    confidence: Fraction

    def __iter__(self) -> Iterator[Hitter]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def certain(self) -> tuple[Hitter, ...]:
        """The hitters that at least one person has, at the stated confidence."""
        return tuple(hitter for hitter in self.found if hitter.certain)

    def about(self) -> str:
        """Say in words what the numbers are."""
        sure = f"{float(100 * self.confidence):g} %"
        words = (
            f"{sum(self.people):,} reports in {len(self.people)} groups at epsilon "
            f"{float(self.epsilon):g}. All intervals at once hold the shares in the population "
            f"with confidence {sure}, corrected for {self.candidates:,} candidates."
        )
        if not self.certain:
            return f"Nothing is certain at this epsilon. {words}"
        return f"{len(self.certain)} of {len(self.found)} are certain. {words}"

    def __str__(self) -> str:
        lines = [(str(h.word), f"{h.share:.5f}", f"{h.low:.5f} to {h.high:.5f}") for h in self]
        lines = [("word", "share", "interval"), *lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [f"{a:{widths[0]}}  {b:>{widths[1]}}  {c}".rstrip() for a, b, c in lines]
        return "\n".join([*text, self.about()])

    def _repr_html_(self) -> str:
        rows = ["".join(f"<th>{name}</th>" for name in ("word", "share", "interval"))]
        for hitter in self:
            ends = f"{hitter.low:.5f} to {hitter.high:.5f}"
            cells = (escape(str(hitter.word)), f"{hitter.share:.5f}", ends)
            rows.append("".join(f"<td>{cell}</td>" for cell in cells))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table>{body}</table><p>{escape(self.about())}</p>"
