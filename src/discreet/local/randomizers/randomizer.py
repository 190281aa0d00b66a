"""The role of a randomizer: one value of a public domain in, one private report out.

Trust: kernel.

Definition.  A randomizer is a mechanism on the codes 0, 1, ..., ``values`` - 1 of a public domain.
Any two codes are neighbors (``Relation.LOCAL``), so its loss bounds what a report tells whoever
receives it, without trust in anybody.
    ``run_each(codes)``   one independent report for each person, as rows of an array;
    ``tally(reports)``    a fixed number of counters, which add up: the tally of two batches
                          together is the sum of their tallies;
    ``pack``, ``unpack``  reports as ``report_bytes`` bytes each, and back: any bytes are either the
                          one spelling of a report, or refused;
    ``describe()``        name and exact parameters, from which ``randomizer_of`` makes it again.

The same words are drawn whatever the value is, and what is done to them takes the same steps, so
that time tells nothing.
Assumes: all coins from ``entropy``; a device that runs this code on its true value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.local.randomizers.bit_rows import narrow_bits, widen_bits
from discreet.mechanisms.mechanism import Mechanism
from discreet.noise import SYSTEM, Entropy

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
        """Return one report: an integer, or bytes where a report is a row of bytes."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        return hashable(self.run_each(np.array([code], np.int64), entropy=entropy)[0])

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON; epsilon is exact text."""
        return {"name": self.name, "epsilon": str(self.epsilon), "values": self.values}

    def pack_batch(self, reports: Reports) -> Bytes:
        """Write many reports without gaps, ``bits`` bits each; the last byte is filled with 0."""
        return narrow_bits(self.pack(reports), self.bits)

    def unpack_batch(self, data: Bytes, *, count: int) -> tuple[Reports, NDArray[np.bool_]]:
        """Read ``count`` reports that were written without gaps.

        What has another length, or anything but 0 behind its last report, holds none.
        """
        rows = widen_bits(data, self.bits, count)
        return self.unpack(np.empty((0, self.report_bytes), np.uint8) if rows is None else rows)


def hashable(report: Any) -> Hashable:
    """Return a report as an integer, or as bytes where it is a row.

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
        raise OutOfRange(
            what="epsilon is not between 0.000001 and 100.",
            why="a report of less loss says nothing, and one of more hides nothing.",
            do="give an epsilon such as 1.",
        )
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
            what="the codes of people are not a one-dimensional array of integers.",
            why="each person has one code of the domain.",
            do="give a NumPy array of integers, such as domain.codes(values).",
        )
    if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= values):
        raise OutOfRange(
            what="a code is outside the domain.",
            why="a report about it would stand out.",
            do="code every value by the domain, with a category for all others if needed.",
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
            what=f"packed reports are not an array of uint8 in rows of {size} bytes.",
            why="each row is one report.",
            do=f"give an array of shape (people, {size}).",
        )
    return rows
