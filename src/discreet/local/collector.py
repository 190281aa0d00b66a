"""Collectors: many reports become a few counters, in any order and on many machines.

Trust: public.  Reports are private before they arrive; a bug here costs accuracy.

Definition.  A collector holds the randomizer's counters, how many reports they count, and how many
pieces of input it refused, by reason.
Theorem (key ``collector-monoid``).  Collectors of one form are a commutative monoid under ``merge``
with the empty collector as its neutral element, and adding reports is a homomorphism: for any
partition of the reports among collectors and any order of arrival, merging all collectors gives the
collector of all reports.
Proof.  The tally of two batches is the sum of their tallies, and every other field is a sum too.

Memory is that of the counters, for any number of reports.  Refused input is not kept.

Reports that no honest device would send: what gives them away, and what the others can do.

A hostile sender harms the estimates, never the privacy of others.

A report of most randomizers supports a fixed number of values, and a dishonest sender moves a count
by at most ``FrequencyOracle.amplification()``.  A unary report can name all values at once (Cao,
Jia and Gong 2021; Cheu, Smith and Ullman 2021), but honest ones rarely do.
Theorem (key ``plausible-ones``).  The number of ones in an honest unary report is the sum of one
coin of probability p and k - 1 coins of probability q, for every value.  So there are bounds that
an honest report exceeds with probability at most 1e-9 on either side, and refusing reports outside
them reveals nothing about any person's value.
``estimates.table(hostile=m)`` accounts for the remaining influence of hostile senders.  Repeated
reports of one person cannot be detected from the reports: give each person one token, and check it
where reports arrive.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import astuple, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from discreet.errors import WrongKind
from discreet.exact import float_down, float_up
from discreet.local.domain import Domain
from discreet.local.estimates import Estimates
from discreet.local.intervals import Target
from discreet.local.means import MeanEstimate
from discreet.local.numbers import NumberRandomizer, NumberRange
from discreet.local.randomizer import Bytes, FrequencyOracle, Randomizer
from discreet.local.unary import Unary
from discreet.local.wire import DIGEST_BYTES, FORMAT, Refusals
from discreet.mechanisms.mechanism import Number
from discreet.notebook import Shown

if TYPE_CHECKING:  # handed in; a form makes its own collectors
    from discreet.local.form import Form

_CHECK_BYTES: Final = 8
_PENDING: Final = 1 << 16  # bytes
_MOST: Final = 1 << 48  # reports; so that thousands of collectors add up in 64 bits
_COUNTS: Final = 1 + len(fields(Refusals))


@final
class Collector(Shown):
    """What has arrived so far: counters, and what was refused.

    >>> from discreet.local import Domain, Form
    >>> form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    >>> collector = form.collector()
    >>> collector.add(form.client().report("flu"))
    >>> collector.add(b"something else")
    >>> print(collector)
    1 report, 1 refused (1 unreadable)
    """

    magic: ClassVar[bytes] = b"dc" + bytes([FORMAT])
    """How a serialized collector begins."""

    __slots__ = ("_pending", "_refused", "_reports", "_tally", "form")

    def __init__(self, form: Form) -> None:
        """Start with no report."""
        self.form = form
        self._tally = form.randomizer.tally(_no_reports(form))
        self._reports = 0
        self._refused = Refusals()
        self._pending = bytearray()

    @property
    def reports(self) -> int:
        """How many reports are counted."""
        self._count_pending()
        return self._reports

    @property
    def refused(self) -> Refusals:
        """How many pieces of input were refused, by reason."""
        self._count_pending()
        return self._refused

    @property
    def tally(self) -> NDArray[np.int64]:
        """A copy of the counters."""
        self._count_pending()
        return self._tally.copy()

    def add(self, report: bytes) -> None:
        """Count one report, or refuse it."""
        layout = self.form.layout
        payload = layout.decode_one(_checked_bytes(report))
        if isinstance(payload, Refusals):
            self._refused += payload
            return
        self._pending += payload
        if len(self._pending) >= _PENDING:
            self._count_pending()

    def add_many(self, reports: bytes | Iterable[bytes]) -> None:
        """Count all reports and batches of a stream of bytes, or of many such streams.

        If bytes are not a report, reading goes on with the next one, and the stretch between is
        refused.
        """
        one = isinstance(reports, bytes | bytearray | memoryview)
        many = not one and isinstance(reports, Iterable)
        for stream in reports if many else (reports,):
            for piece in self.form.layout.decode(_checked_bytes(stream)):
                if isinstance(piece, Refusals):
                    self._refused += piece
                else:
                    self._count(piece)

    def merge(self, other: Collector) -> None:
        """Add what another collector of the same form has counted and refused."""
        if not isinstance(other, Collector) or other.form.digest != self.form.digest:
            raise WrongKind(
                "what is to be merged is not a collector of the same form; merge collectors that "
                "one form made, and estimate from each form by itself."
            )
        self._tally += other.tally
        self._reports += other.reports
        self._refused += other.refused

    def serialize(self) -> bytes:
        """Return the collector as bytes: to keep it, or to merge it elsewhere."""
        counts = np.array([self.reports, *astuple(self.refused)], "<i8")
        body = self.form.layout.digest + counts.tobytes() + self._tally.astype("<i8").tobytes()
        return self.magic + body + hashlib.sha256(self.magic + body).digest()[:_CHECK_BYTES]

    @classmethod
    def deserialize(cls, data: bytes, *, form: Form) -> Collector:
        """Return the collector that ``serialize`` wrote."""
        made, given = cls(form), _checked_bytes(data)
        digest_end = len(cls.magic) + DIGEST_BYTES
        check = hashlib.sha256(given[:-_CHECK_BYTES]).digest()[:_CHECK_BYTES]
        if not given.startswith(cls.magic) or given[-_CHECK_BYTES:] != check:
            raise WrongKind(
                "these bytes are not a serialized collector, or not all of one; give the bytes "
                "that Collector.serialize returned."
            )
        body = given[digest_end:-_CHECK_BYTES]
        ours = given[len(cls.magic) : digest_end] == form.layout.digest
        if not ours or len(body) != 8 * (_COUNTS + len(made._tally)):
            raise WrongKind(
                "the serialized collector belongs to another form; read it with the form that it "
                "was made by."
            )
        numbers = np.frombuffer(body, "<i8").astype(np.int64)
        if not _possible(numbers[:_COUNTS], numbers[_COUNTS:], form.randomizer.raised):
            raise WrongKind(
                "the serialized collector has counts that no reports can have; give the bytes that "
                "Collector.serialize returned."
            )
        made._reports = int(numbers[0])
        made._refused = Refusals(*(int(count) for count in numbers[1:_COUNTS]))
        made._tally[:] = numbers[_COUNTS:]
        return made

    def estimates(self) -> Estimates:
        """Return what the reports say about the share of every value."""
        form = self.form
        if not isinstance(form.domain, Domain) or not isinstance(form.randomizer, FrequencyOracle):
            raise _other_question("shares", "mean")
        return Estimates.of(
            form.randomizer, self.tally, people=self.reports, values=form.domain.categories
        )

    def mean(
        self, *, confidence: Number = "0.95", target: Target = "population", hostile: int = 0
    ) -> MeanEstimate:
        """Return what the reports say about the mean of a number.

        >>> from discreet.local import Form, NumberRange, TwoPoint
        >>> form = Form(NumberRange(low=0, high=120), TwoPoint(epsilon=1))
        >>> ages = form.collector()
        >>> ages.add_many(form.client().batch([20, 30, 70] * 3000))
        >>> bool(25 < ages.mean().mean < 55)
        True
        """
        form = self.form
        if not isinstance(form.domain, NumberRange) or not isinstance(
            form.randomizer, NumberRandomizer
        ):
            raise _other_question("a mean", "estimates")
        return MeanEstimate.of(
            form.randomizer,
            self.tally,
            low=form.domain.low,
            high=form.domain.high,
            confidence=confidence,
            target=target,
            hostile=hostile,
        )

    def __str__(self) -> str:
        """Say how many reports there are, and how many were refused and why."""
        refused = self.refused
        reasons = ", ".join(
            f"{getattr(refused, field.name)} {field.name.replace('_', ' ')}"
            for field in fields(refused)
            if getattr(refused, field.name)
        )
        text = f"{self.reports} report{'' if self.reports == 1 else 's'}, {refused.total} refused"
        return f"{text} ({reasons})" if reasons else text

    def _count_pending(self) -> None:
        """Count reports that came one by one; together they take far less time."""
        if self._pending:
            rows = np.frombuffer(bytes(self._pending), np.uint8)
            self._pending.clear()
            self._count(rows.reshape(-1, self.form.layout.payload_bytes))

    def _count(self, rows: Bytes) -> None:
        randomizer = self.form.randomizer
        reports, valid = randomizer.unpack(rows)
        likely = plausible(randomizer, rows if len(reports) == len(rows) else rows[valid])
        kept = int(likely.sum())
        self._tally += randomizer.tally(reports if kept == len(reports) else reports[likely])
        self._reports += kept
        self._refused += Refusals(invalid=len(rows) - len(reports), implausible=len(reports) - kept)


def _possible(counts: NDArray[np.int64], tally: NDArray[np.int64], raised: int | None) -> bool:
    """Return whether this number of reports can have this tally, judging by sums."""
    reports = int(counts[0])
    if min(counts.min(), tally.min()) < 0 or counts.max() > _MOST or tally.max() > reports:
        return False
    total = (int((tally >> 32).sum()) << 32) + int((tally & 0xFFFFFFFF).sum())  # none overflows
    return raised is None or total == raised * reports


def _other_question(wanted: str, method: str) -> WrongKind:
    return WrongKind(f"the reports of this form do not tell {wanted}; call {method}() instead.")


def _no_reports(form: Form) -> NDArray[np.unsignedinteger]:
    return form.randomizer.unpack(np.empty((0, form.layout.payload_bytes), np.uint8))[0]


def _checked_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise WrongKind(
        f"a report is a {type(value).__name__}, not bytes; give the bytes that a client made."
    )


TAIL: Final = 1e-9
_MARGIN: Final = 1 - 1e-6  # more than a library's binomial tail is wrong by


def plausible(randomizer: Randomizer, rows: Bytes) -> NDArray[np.bool_]:
    """Say which packed reports an honest device would send, but for a probability of 2e-9.

    >>> from discreet.local import Unary
    >>> bold = np.full((1, 16), 255, np.uint8)
    >>> plausible(Unary(epsilon=1, values=128), bold).tolist()
    [False]
    """
    if not isinstance(randomizer, Unary):
        return np.ones(len(rows), np.bool_)
    p, q = randomizer.exact_chances()
    least, most = plausible_ones(randomizer.values, p, q)
    ones = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return np.asarray((least <= ones) & (ones <= most))


@functools.lru_cache(maxsize=64)
def plausible_ones(values: int, p: Fraction, q: Fraction) -> tuple[int, int]:
    """Return the fewest and the most ones that honest unary reports have, but for 1e-9 each.

    >>> from discreet.local import Unary
    >>> plausible_ones(128, *Unary(epsilon=1, values=128).exact_chances())
    (8, 67)
    """
    ones = np.arange(values + 1)
    level, own = TAIL * _MARGIN, float(p)
    fewer = own * _at_most(ones - 2, values - 1, float_down(q)) + (1 - own) * _at_most(
        ones - 1, values - 1, float_down(q)
    )
    more = own * _above(ones - 1, values - 1, float_up(q)) + (1 - own) * _above(
        ones, values - 1, float_up(q)
    )
    return int(ones[fewer <= level].max()), int(ones[more <= level].min())


def _at_most(count: NDArray[np.int64], coins: int, chance: float) -> NDArray[np.float64]:
    """Return the probability that at most this number of coins show heads."""
    inside = special.bdtr(np.clip(count, 0, coins), coins, chance)
    return np.where(count < 0, 0.0, np.where(count >= coins, 1.0, inside))


def _above(count: NDArray[np.int64], coins: int, chance: float) -> NDArray[np.float64]:
    """Return the probability that more than this number of coins show heads."""
    inside = special.bdtrc(np.clip(count, 0, coins), coins, chance)
    return np.where(count < 0, 1.0, np.where(count >= coins, 0.0, inside))
