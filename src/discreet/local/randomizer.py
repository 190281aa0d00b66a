"""The role of a randomizer: one value of a public domain in, one private report out.

Trust: kernel.

Definition.  A randomizer is a mechanism on the codes 0, 1, ..., ``values`` - 1 of a public domain.
Any two codes are neighbors (``Relation.LOCAL``), so its loss bounds what any recipient learns from
a report, without a trusted party.
    ``run_each(codes)``   one independent report for each person, as rows of an array;
    ``tally(reports)``    a fixed number of counters, which add up: the tally of two batches
                          together is the sum of their tallies;
    ``pack``, ``unpack``  reports as ``report_bytes`` bytes each, and back: any bytes are either the
                          one spelling of a report, or refused;
    ``describe()``        name and exact parameters, from which ``randomizer_of`` makes it again.

The same random words are drawn for every value, and processing them takes the same steps, so that
timing reveals nothing.
Assumes: all coins from ``entropy``; a device that runs this code on its true value.

Frequency oracles: randomizers from whose reports the share of every value is estimated.

Definition (Wang, Blocki, Li and Jha 2017).  A report supports a set of values: that of its sender
with probability p, and any other one with probability q < p.
Theorem (key ``frequency-oracle``).  If C of n independent reports support a value that a share f of
the n senders have, then (C/n - q)/(p - q) estimates f without bias, and n times its variance is
(f p (1 - p) + (1 - f) q (1 - q)) / (p - q)**2.
Proof.  C is a sum of independent coins, fn of chance p and (1 - f)n of chance q.
Theorem (key ``oracle-loss``).  Let the probability of a report under one value, divided by that
under another, be 1 if it supports both or neither, and one number, or its inverse, if it supports
only the first, or only the second.  Then the two values lose as much as the pair ((a, b, c), (b, a,
c)): a is the probability that a report supports its sender's value and not the other one, b that it
supports only the other one, and c the rest.
Proof.  Reports of equal ratio may be merged.

Rounding.  A rational above e^-epsilon (``inward_decay``) replaces it, so that p and q are rational,
and the distribution and all statements about it are exact.

Integers and bits as rows of bytes, least significant first; and rows without their gaps.

Bytes come from strangers: any bytes are read, and each report has one spelling.

Eight rows of b bits fill b bytes, so that each of the eight starts at a fixed bit of a fixed byte,
and short rows are shifted into place for all eights at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, probability, whole
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Mechanism, Number, at_confidence, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.noise.entropy import word_type

MOST_VALUES: Final = 1 << 48
_SMALLEST_EPSILON: Final = Fraction(1, 10**6)
_LARGEST_EPSILON: Final = 100

Reports = NDArray[np.unsignedinteger[Any]]
"""Reports of many people: the first axis is people; type and shape of a row belong to the class."""

Bytes = NDArray[np.uint8]


class Randomizer(Mechanism[int, Hashable], ABC):
    """A mechanism that runs on each person's device, on a code of a public domain."""

    __slots__ = ()

    name: ClassVar[str]
    """What forms call it."""

    parameters: ClassVar[tuple[str, ...]] = ("values",)
    """What else forms say of it."""

    epsilon: Fraction
    values: int

    @property
    @abstractmethod
    def bits(self) -> int:
        """Return how many bits one report has on the wire."""

    @abstractmethod
    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one report for each person, independently."""

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count reports: the tally of two batches together is the sum of their tallies."""

    @abstractmethod
    def pack(self, reports: Reports) -> Bytes:
        """Write each report as a row of ``report_bytes`` bytes."""

    @abstractmethod
    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read rows of bytes: the reports of the valid rows, and which rows are valid."""

    @property
    def raised(self) -> int | None:
        """Return how many counters every report raises by 1; None if that differs."""
        return None

    @property
    def report_bytes(self) -> int:
        """Return how many bytes one report has by itself."""
        return (self.bits + 7) // 8

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> Hashable:
        """Return one report: an integer, or bytes if a report is a row of bytes."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        return hashable(self.run_each(np.array([code], np.int64), entropy=entropy)[0])

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON; epsilon is exact text."""
        parameters = {name: getattr(self, name) for name in self.parameters}
        return {"name": self.name, "epsilon": str(self.epsilon), **parameters}

    def pack_batch(self, reports: Reports) -> Bytes:
        """Write many reports without gaps, ``bits`` bits each; the last byte is filled with 0."""
        return narrow_bits(self.pack(reports), self.bits)

    def unpack_batch(self, data: Bytes, *, count: int) -> tuple[Reports, NDArray[np.bool_]]:
        """Read ``count`` reports that were written without gaps.

        Bytes of another length, or with anything but 0 after the last report, hold none.
        """
        rows = widen_bits(data, self.bits, count)
        return self.unpack(np.empty((0, self.report_bytes), np.uint8) if rows is None else rows)


class IntegerReports(Randomizer):
    """A randomizer whose reports are the integers below ``outcomes``."""

    __slots__ = ()

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Return how many different reports there are."""

    @property
    def bits(self) -> int:
        """Return how many bits name a report."""
        return (self.outcomes - 1).bit_length()

    @property
    def raised(self) -> int | None:
        """Return 1: each report is counted."""
        return 1

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count each report."""
        return np.bincount(reports, minlength=self.outcomes).astype(np.int64, copy=False)

    def pack(self, reports: Reports) -> Bytes:
        """Write each report in bytes, the lowest first."""
        return integer_rows(reports, self.report_bytes)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read reports; integers beyond the last one are not valid."""
        reports = row_integers(checked_rows(rows, self.report_bytes), word_type(self.bits))
        valid = reports < self.outcomes
        return reports[valid], valid


def hashable(report: Any) -> Hashable:
    """Return a report as an integer, or as bytes if it is a row.

    >>> hashable(np.uint8(3)), hashable(np.array([51, 52], np.uint8))
    (3, b'34')
    """
    return report.tobytes() if isinstance(report, np.ndarray) else int(report)


def local_epsilon(value: object) -> Fraction:
    """Read the loss of one report.

    >>> local_epsilon("0.5")
    Fraction(1, 2)
    """
    epsilon = decimal(value, name="epsilon")
    if not _SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON:
        raise OutOfRange("epsilon is not between 0.000001 and 100; give an epsilon such as 1.")
    return epsilon


def value_count(value: object, *, high: int = MOST_VALUES) -> int:
    """Read how many values a domain has.

    >>> value_count(128)
    128
    """
    return whole(value, name="values", low=2, high=high)


def checked_codes(codes: object, values: int) -> NDArray[np.integer[Any]]:
    """Read the codes of many people, before any bit is drawn; no message quotes one.

    >>> checked_codes(np.array([0, 2, 1]), 3).tolist()
    [0, 2, 1]
    """
    if not isinstance(codes, np.ndarray) or codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise WrongKind(
            "the codes of people are not a one-dimensional array of integers; give a NumPy array "
            "of integers, such as domain.codes(values)."
        )
    if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= values):
        raise OutOfRange(
            "a code is outside the domain; code every value by the domain, with a category for all "
            "others if needed."
        )
    return codes


def checked_rows(rows: object, size: int) -> Bytes:
    """Read rows of bytes.

    >>> checked_rows(np.zeros((2, 3), np.uint8), 3).shape
    (2, 3)
    """
    if (
        not isinstance(rows, np.ndarray)
        or rows.dtype != np.uint8
        or rows.ndim != 2
        or rows.shape[1] != size
    ):
        raise WrongKind(
            f"packed reports are not an array of uint8 in rows of {size} bytes; give an array of "
            f"shape (people, {size})."
        )
    return rows


class FrequencyOracle(Randomizer, ABC):
    """A randomizer whose reports support values."""

    __slots__ = ()

    @abstractmethod
    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return p and q: how often a report supports its sender's value, and any other one."""

    @abstractmethod
    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often only one of two values is supported: the sender's, and the other."""

    @abstractmethod
    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each value."""

    def chances(self) -> tuple[Interval, Interval]:
        """Return p and q as intervals, which here are points."""
        p, q = self.exact_chances()
        return Interval(p, p), Interval(q, q)

    def variance(self, share: Number = 0) -> Interval:
        """Return n times the variance of the estimated share of a value with this true share."""
        f = probability(decimal(share, name="share"), name="share")
        p, q = self.exact_chances()
        spread = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        return Interval(spread, spread)

    def amplification(self) -> Fraction:
        """Return how far one hostile report moves an estimated count, at most: (1 - q)/(p - q)."""
        p, q = self.exact_chances()
        return (1 - q) / (p - q)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two values: they are all neighbors.  It is tight."""
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        telling, misleading = self.telling_chances()
        rest = 1 - telling - misleading
        if rest == 0:
            return Pure(epsilon=self.epsilon)
        return Profile.of(FinitePair((telling, misleading, rest), (misleading, telling, rest)))

    def error(self, *, confidence: Number) -> int:
        """Return 0 if a report supports its sender's value with this probability, else 1."""
        return int(self.exact_chances()[0] < at_confidence(confidence))


_SHORT: Final = 24  # bits: shifted by up to seven, they fit into 32


def integer_rows(numbers: NDArray[np.unsignedinteger[Any]], size: int) -> Bytes:
    """Write integers as rows of ``size`` bytes.

    >>> integer_rows(np.array([1, 258], np.uint16), 2).tolist()
    [[1, 0], [2, 1]]
    """
    little = numbers.astype(f"<u{numbers.dtype.itemsize}", copy=False)
    return little.view(np.uint8).reshape(len(numbers), numbers.dtype.itemsize)[:, :size]


def row_integers(rows: Bytes, dtype: np.dtype[Any]) -> NDArray[np.unsignedinteger[Any]]:
    """Read rows of bytes as integers.

    >>> row_integers(np.array([[1, 0], [2, 1]], np.uint8), np.dtype("uint16")).tolist()
    [1, 258]
    """
    if rows.shape[1] == dtype.itemsize == 1:
        return rows.reshape(-1)
    wide = np.zeros((len(rows), dtype.itemsize), np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide.view(dtype.newbyteorder("<")).reshape(-1).astype(dtype, copy=False)


def narrow_bits(rows: Bytes, bits: int) -> Bytes:
    """Join rows of ``bits`` bits each without gaps.

    >>> narrow_bits(np.array([[5], [3]], np.uint8), 3).tolist()  # 101 and 011, from the right
    [29]
    """
    if bits == 8 * rows.shape[1]:
        return rows.reshape(-1)
    if bits > _SHORT:
        single = np.unpackbits(rows, axis=1, count=bits, bitorder="little")
        return np.packbits(single, bitorder="little")
    eights = np.zeros((-(-len(rows) // 8), 8), np.uint32)
    eights.reshape(-1)[: len(rows)] = row_integers(rows, eights.dtype)
    out = np.zeros((len(eights), bits), np.uint8)
    for place in range(8):
        first, shift = divmod(place * bits, 8)
        shifted = eights[:, place] << np.uint32(shift)
        for step in range((shift + bits + 7) // 8):
            out[:, first + step] |= shifted.astype(np.uint8)  # its lowest byte
            shifted >>= np.uint32(8)
    return out.reshape(-1)[: (len(rows) * bits + 7) // 8]


def widen_bits(data: Bytes, bits: int, count: int) -> Bytes | None:
    """Read ``count`` rows of ``bits`` bits each, or nothing if the bytes hold anything else.

    >>> widen_bits(np.array([29], np.uint8), 3, 2).tolist()
    [[5], [3]]
    >>> widen_bits(np.array([29 + 64], np.uint8), 3, 2) is None
    True
    """
    size = (count * bits + 7) // 8
    if data.dtype != np.uint8 or data.ndim != 1 or len(data) != size:
        return None
    if bits % 8 == 0:
        return data.reshape(count, bits // 8)
    if count * bits % 8 and int(data[-1]) >> count * bits % 8:
        return None
    if bits > _SHORT:
        single = np.unpackbits(data, count=count * bits, bitorder="little")
        return np.packbits(single.reshape(count, bits), axis=1, bitorder="little")
    eights = np.zeros((-(-count // 8), bits), np.uint8)
    eights.reshape(-1)[:size] = data
    numbers = np.empty((len(eights), 8), np.uint32)
    for place in range(8):
        first, shift = divmod(place * bits, 8)
        joined = eights[:, first].astype(np.uint32)
        for step in range(1, (shift + bits + 7) // 8):
            joined |= eights[:, first + step].astype(np.uint32) << np.uint32(8 * step)
        joined >>= np.uint32(shift)
        np.bitwise_and(joined, np.uint32((1 << bits) - 1), out=numbers[:, place])
    return integer_rows(numbers.reshape(-1)[:count], (bits + 7) // 8)
