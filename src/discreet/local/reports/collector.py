"""Collectors: many reports become a few counters, in any order and on many machines.

Trust: public.  Reports are private before they arrive; a bug here costs accuracy.

Definition.  A collector holds the randomizer's counters, how many reports they count, and how many
pieces of input it refused, by reason.
Theorem (key ``collector-monoid``).  Collectors of one form are a commutative monoid under ``merge``
with the empty collector as its neutral element, and adding reports is a homomorphism: however
reports are divided among collectors, and in whatever order they arrive, all collectors merged are
the collector that was given all reports.
Proof.  The tally of two batches is the sum of their tallies, and every other field is a sum too.

Memory is that of the counters, whatever the number of reports.  Nothing that is refused is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.local.analysis.estimates import Estimates
from discreet.local.analysis.intervals import Target
from discreet.local.analysis.means import MeanEstimate
from discreet.local.domain import Domain
from discreet.local.numbers.number_randomizer import NumberRandomizer
from discreet.local.numbers.number_range import NumberRange
from discreet.local.randomizers.bit_rows import Bytes
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.reports.hostile import plausible
from discreet.local.reports.wire import DIGEST_BYTES, FORMAT, Refusals
from discreet.mechanisms.mechanism import Number
from discreet.notebook import Shown

if TYPE_CHECKING:  # handed in; a form makes its own collectors
    from discreet.local.reports.form import Form

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

        Where bytes are no report, reading goes on with the next one, and the stretch between is
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
                what="what is to be merged is not a collector of the same form.",
                why="reports of different forms follow different laws, and their counters differ.",
                do="merge collectors that one form made, and estimate from each form by itself.",
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
                what="these bytes are not a serialized collector, or not all of one.",
                why="counters that were cut short or changed would give wrong estimates.",
                do="give the bytes that Collector.serialize returned.",
            )
        body = given[digest_end:-_CHECK_BYTES]
        ours = given[len(cls.magic) : digest_end] == form.layout.digest
        if not ours or len(body) != 8 * (_COUNTS + len(made._tally)):
            raise WrongKind(
                what="the serialized collector belongs to another form.",
                why="its counters mean something else.",
                do="read it with the form that it was made by.",
            )
        numbers = np.frombuffer(body, "<i8").astype(np.int64)
        if not _possible(numbers[:_COUNTS], numbers[_COUNTS:], form.randomizer.raised):
            raise WrongKind(
                what="the serialized collector has counts that no reports can have.",
                why="a report adds at most 1 to a counter, takes nothing away, and adds to as many "
                "counters as every other one, or to any number of them, by its randomizer.",
                do="give the bytes that Collector.serialize returned.",
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
    """Return whether so many reports can have this tally, as far as sums tell."""
    reports = int(counts[0])
    if min(counts.min(), tally.min()) < 0 or counts.max() > _MOST or tally.max() > reports:
        return False
    total = (int((tally >> 32).sum()) << 32) + int((tally & 0xFFFFFFFF).sum())  # none overflows
    return raised is None or total == raised * reports


def _other_question(wanted: str, method: str) -> WrongKind:
    return WrongKind(
        what=f"the reports of this form do not tell {wanted}.",
        why="categories have shares, and numbers have a mean.",
        do=f"call {method}() instead.",
    )


def _no_reports(form: Form) -> NDArray[np.unsignedinteger]:
    return form.randomizer.unpack(np.empty((0, form.layout.payload_bytes), np.uint8))[0]


def _checked_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise WrongKind(
        what=f"a report is a {type(value).__name__}, not bytes.",
        why="reports travel as bytes, and nothing else is read.",
        do="give the bytes that a client made.",
    )
