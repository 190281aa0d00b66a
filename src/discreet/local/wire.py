"""Reports as bytes: a header of eleven bytes, a payload of fixed length, and nothing else.

Trust: kernel (T1).

Any other field in a report, such as a time or a name, would undo the protection of the noise.

Definition.  A report is ``dl``, the format (one byte, 1), the digest of its form (eight bytes) and
the payload, whose length depends on the form alone.  A batch is ``db``, the format, the digest, how
many reports follow (four bytes, little-endian) and their payloads, one after another and ``bits``
bits each, the lowest bit of the first byte first; bits that are left over in the last byte are 0.
A stream is any number of reports and batches in a row.

Theorem (key ``total-decoding``).  Every string of bytes yields payloads and a number of refused
stretches, and never an exception.  A stretch is the bytes between two headers of the form: after
lost or added bytes, reading goes on at the next header.  The randomizer decides whether payloads
are valid.  The work per byte does not depend on the payload.

Clients: what runs on a person's device, from a value to the bytes of a report.

The value is an argument, and is kept nowhere; all that leaves is the report.

Every call draws afresh, so every call costs the loss of the form again: two reports of one person
lose twice as much.  A device that is asked again sends nothing, or keeps its first answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from discreet.errors import TooLarge
from discreet.local.randomizer import Bytes, narrow_bits, widen_bits
from discreet.noise import SYSTEM, Entropy

FORMAT: Final = 1
DIGEST_BYTES: Final = 8
REPORT: Final = b"dl" + bytes([FORMAT])
BATCH: Final = b"db" + bytes([FORMAT])
HEADER_BYTES: Final = len(REPORT) + DIGEST_BYTES
_COUNT_BYTES: Final = 4
_MOST: Final = (1 << 32) - 1
_CHUNK_BITS: Final = 1 << 21  # of payloads that are handled at a time


@final
@dataclass(slots=True)
class Refusals:
    """How many pieces of input were refused, by reason.

    >>> Refusals(other_form=2) + Refusals(invalid=1)
    Refusals(unreadable=0, other_form=2, invalid=1, implausible=0)
    """

    unreadable: int = 0
    """No report at all: another beginning, too short or too long."""
    other_form: int = 0
    """A report of another form."""
    invalid: int = 0
    """A payload that no client makes."""
    implausible: int = 0
    """A payload that an honest client makes with probability at most 2e-9."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.unreadable + self.other_form + self.invalid + self.implausible

    def to_json(self) -> dict[str, int]:
        """Return the number for each reason."""
        return asdict(self)

    def __add__(self, other: Refusals) -> Refusals:
        """Add up the refusals of two collectors."""
        return Refusals(
            self.unreadable + other.unreadable,
            self.other_form + other.other_form,
            self.invalid + other.invalid,
            self.implausible + other.implausible,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the reports of one form look like.

    >>> layout = Layout(digest=bytes(8), bits=9)
    >>> layout.report_bytes, len(layout.encode(np.zeros((3, 2), np.uint8)))
    (13, 39)
    """

    digest: bytes
    bits: int

    @property
    def payload_bytes(self) -> int:
        """How long one payload is."""
        return (self.bits + 7) // 8

    @property
    def report_bytes(self) -> int:
        """How long one report is, header included."""
        return HEADER_BYTES + self.payload_bytes

    @property
    def chunk(self) -> int:
        """How many reports are handled at a time: a multiple of 8, so that each starts a byte."""
        return max(8, _CHUNK_BITS // self.bits // 8 * 8)

    def encode(self, rows: Bytes) -> bytes:
        """Return one report for each payload, one after another."""
        reports = np.empty((len(rows), self.report_bytes), np.uint8)
        reports[:, :HEADER_BYTES] = np.frombuffer(REPORT + self.digest, np.uint8)
        reports[:, HEADER_BYTES:] = rows
        return reports.tobytes()

    def encode_batch(self, rows: Bytes) -> bytes:
        """Return one batch of all payloads, without gaps.

        >>> len(Layout(digest=bytes(8), bits=9).encode_batch(np.zeros((800, 2), np.uint8)))
        915
        """
        if len(rows) > _MOST:
            raise TooLarge(
                "a batch of more than 4294967295 reports was asked for; write several batches."
            )
        parts = [BATCH, self.digest, len(rows).to_bytes(_COUNT_BYTES, "little")]
        parts += (
            narrow_bits(rows[start : start + self.chunk], self.bits).tobytes()
            for start in range(0, len(rows), self.chunk)
        )
        return b"".join(parts)

    def batch_bytes(self, count: int) -> int:
        """Return the length of a batch of this number of reports."""
        return HEADER_BYTES + _COUNT_BYTES + (count * self.bits + 7) // 8

    def decode_one(self, report: bytes) -> bytes | Refusals:
        """Return the payload of one report, or the reason why it is invalid."""
        if len(report) != self.report_bytes or not report.startswith(REPORT):
            return Refusals(unreadable=1)
        if report[len(REPORT) : HEADER_BYTES] != self.digest:
            return Refusals(other_form=1)
        return report[HEADER_BYTES:]

    def decode(self, stream: bytes) -> Iterator[Bytes | Refusals]:
        """Yield the payloads of a stream, many rows at a time, and every refused stretch."""
        header = re.compile(b"d[lb]" + re.escape(bytes([FORMAT]) + self.digest), re.DOTALL)
        position, ahead = 0, min(64, self.chunk)
        while position < len(stream):
            if stream.startswith(REPORT + self.digest, position):
                rows = self._reports(stream, position, ahead)
                ahead = min(2 * ahead, self.chunk) if len(rows) == ahead else max(ahead // 2, 1)
                position += len(rows) * self.report_bytes
                if len(rows):
                    yield rows
                    continue
            elif stream.startswith(BATCH + self.digest, position):
                end = self._batch_end(stream, position)
                if end is not None:
                    yield from self._batch(stream, position)
                    position = end
                    continue
            yield self._refused(stream, position)
            following = header.search(stream, position + 1)
            position = len(stream) if following is None else following.start()

    def _reports(self, stream: bytes, position: int, most: int) -> Bytes:
        """Return the payloads of reports that follow each other from a position on."""
        whole = min((len(stream) - position) // self.report_bytes, most)
        places = np.frombuffer(stream, np.uint8, whole * self.report_bytes, position)
        places = places.reshape(whole, self.report_bytes)
        header = np.frombuffer(REPORT + self.digest, np.uint8)
        ours = (places[:, :HEADER_BYTES] == header).all(axis=1)
        length = whole if ours.all() else int(np.argmin(ours))
        return places[:length, HEADER_BYTES:]

    def _batch_end(self, stream: bytes, position: int) -> int | None:
        """Return where a batch ends, or nothing if it is cut short or goes on in its last byte."""
        start = position + HEADER_BYTES
        body = start + _COUNT_BYTES
        if body > len(stream):
            return None
        bits = int.from_bytes(stream[start:body], "little") * self.bits
        end = body + (bits + 7) // 8
        spare = -bits % 8
        if end > len(stream) or (spare and stream[end - 1] >> (8 - spare)):
            return None
        return end

    def _batch(self, stream: bytes, position: int) -> Iterator[Bytes]:
        body = position + HEADER_BYTES + _COUNT_BYTES
        left = int.from_bytes(stream[body - _COUNT_BYTES : body], "little")
        while left:
            count = min(left, self.chunk)
            size = (count * self.bits + 7) // 8
            rows = widen_bits(np.frombuffer(stream, np.uint8, size, body), self.bits, count)
            if rows is not None:  # always: the end was looked at
                yield rows
            left, body = left - count, body + size

    def _refused(self, stream: bytes, position: int) -> Refusals:
        """Say why a stretch was refused."""
        ours = stream.startswith(self.digest, position + len(REPORT))
        if stream.startswith((REPORT, BATCH), position) and not ours:
            return Refusals(other_form=1)
        return Refusals(unreadable=1)


if TYPE_CHECKING:  # handed in; a form makes its own clients
    from discreet.local.form import Form


@final
@dataclass(frozen=True, slots=True)
class Client:
    """Makes reports of one form.

    >>> from discreet.local import Domain, Form
    >>> form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    >>> len(form.client().report("flu")) == form.layout.report_bytes
    True
    """

    form: Form

    def report(self, value: object, *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one report about one person's value."""
        return self.form.layout.encode(self._rows([value], entropy))

    def report_each(self, values: Iterable[object], *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one report for each of many people, one after another: a stream.

        >>> from discreet.local import Domain, Form
        >>> form = Form.of(Domain(["yes", "no"]), epsilon=1)
        >>> len(form.client().report_each(["yes", "no", "no"])) == 3 * form.layout.report_bytes
        True
        """
        return self.form.layout.encode(self._rows(values, entropy))

    def batch(self, values: Iterable[object], *, entropy: Entropy = SYSTEM) -> bytes:
        """Return one batch with a report for each of many people: the same without headers.

        For an institution that gathers the answers of many people, such as a hospital, and for
        simulations.

        >>> from discreet.local import Domain, Form
        >>> form = Form.of(Domain(["yes", "no"]), epsilon=1)
        >>> len(form.client().batch(["yes", "no", "no"]))  # a header, four bytes, and three bits
        16
        """
        return self.form.layout.encode_batch(self._rows(values, entropy))

    def _rows(self, values: Iterable[object], entropy: Entropy) -> Bytes:
        form = self.form
        codes = form.codes(values, entropy)
        return form.randomizer.pack(form.randomizer.run_each(codes, entropy=entropy))
