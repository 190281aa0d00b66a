"""Records: several attributes of one person; one of them is reported at the full epsilon.

Trust: kernel.

Definition.  The device draws one of d attributes uniformly, and reports its name, and its value by
its own randomizer.  The draw does not look at the values.
Theorem (key ``sampled-attribute``).  The record loses the even mixture of what its parts lose, with
the drawn attribute known: epsilon if all parts have it, in place of d epsilon for reporting all.
An attribute is estimated from about n/d reports, so variances are d times those of all n; splitting
epsilon into d parts would multiply them by about d**2.
Proof.  The distribution of the draw does not depend on the values, and given it, one part is run.
The code of a record is its place in the list of all combinations, the first attribute slowest.

Randomizers by name: what a form says of one, read back.

Both sides of a form must mean the same distribution by it.

A description has a name, an exact epsilon as text, and integers; nothing in it is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, freeze, whole
from discreet.local.direct import Direct
from discreet.local.hadamard import Hadamard, SignedHadamard
from discreet.local.hashing import Hashing
from discreet.local.numbers import NumberRandomizer, TwoPoint, WindowResponse
from discreet.local.prefix_response import PrefixResponse
from discreet.local.randomizer import (
    Bytes,
    FrequencyOracle,
    Randomizer,
    Reports,
    checked_codes,
    checked_rows,
)
from discreet.local.subset import Subset
from discreet.local.unary import Unary
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Number, at_confidence, steps_at
from discreet.noise import SYSTEM, Entropy, Uniform

Part = FrequencyOracle | NumberRandomizer

_MOST: Final = 256
_MOST_CODES: Final = 1 << 62


@final
@dataclass(frozen=True, slots=True, init=False)
class Record(Randomizer):
    """Report one attribute, drawn evenly.

    >>> from discreet.local.direct import Direct
    >>> smoker, ward = Direct(epsilon=1, values=2), Direct(epsilon=1, values=3)
    >>> record = Record(parts=[smoker, ward])
    >>> record.codes([np.array([1, 0]), np.array([2, 2])]).tolist(), record.epsilon
    ([5, 2], Fraction(1, 1))
    >>> tally = record.tally(record.run_each(np.array([5, 2])))
    >>> int(tally[:2].sum())  # the first counters say how many reports each attribute has
    2
    """

    name: ClassVar[str] = "record"

    epsilon: Fraction
    values: int
    parts: tuple[Part, ...]

    def __init__(self, *, parts: Iterable[Randomizer]) -> None:
        """Take the randomizer of each attribute."""
        kinds = tuple(listed(parts, name="parts"))
        if not 1 <= len(kinds) <= _MOST or not all(isinstance(part, Part) for part in kinds):
            raise WrongKind(
                f"the parts are not 1 to {_MOST} randomizers of values or numbers; give a list "
                "such as [Direct(epsilon=1, values=2), TwoPoint(epsilon=1)]."
            )
        values = math.prod(part.values for part in kinds)
        if values > _MOST_CODES:
            raise OutOfRange(
                "the attributes have more than 2**62 combinations; ask for fewer attributes, or in "
                "two groups of people."
            )
        freeze(self, epsilon=max(part.epsilon for part in kinds), values=values, parts=kinds)

    @property
    def bits(self) -> int:
        """Return one byte for the attribute, and room for its longest report."""
        return 8 + 8 * max(part.report_bytes for part in self.parts)

    def codes(self, columns: Iterable[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
        """Join the codes of all attributes."""
        given = listed(columns, name="columns")
        if len(given) != len(self.parts):
            raise WrongKind(
                "there are not as many columns as attributes; give one array of codes for each "
                "part."
            )
        joined = np.zeros(len(given[0]), np.int64)
        for part, column in zip(self.parts, given, strict=True):
            joined = joined * part.values + checked_codes(column, part.values)
        return joined

    def split(self, codes: NDArray[np.integer[Any]]) -> list[NDArray[np.int64]]:
        """Return the codes of each attribute."""
        rest, columns = codes.astype(np.int64, copy=True), []
        for part in reversed(self.parts):
            rest, column = np.divmod(rest, part.values)
            columns.append(column)
        return columns[::-1]

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two records.  It is tight: all attributes differ."""
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        one, other = [], []
        for part in self.parts:
            telling, misleading = part.telling_chances()
            rest = 1 - telling - misleading
            one += [telling, misleading, rest]
            other += [misleading, telling, rest]
        share = Fraction(1, len(self.parts))
        laws = [tuple(share * chance for chance in law) for law in (one, other)]
        return Profile.of(FinitePair(laws[0], laws[1]))

    def error(self, *, confidence: Number) -> int:
        """Return 1: a report is about one attribute alone."""
        at_confidence(confidence)
        return 1

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return a row of bytes for each person: the attribute, and its report.

        Which attribute is drawn is public, so only its randomizer is run.
        """
        columns = self.split(checked_codes(codes, self.values))
        drawn = Uniform(below=len(self.parts)).sample(codes.size, entropy)
        rows = np.zeros((codes.size, self.report_bytes), np.uint8)
        rows[:, 0] = drawn
        for number, part in enumerate(self.parts):
            chosen = np.flatnonzero(drawn == number)
            reports = part.run_each(columns[number][chosen], entropy=entropy)
            rows[chosen, 1 : 1 + part.report_bytes] = part.pack(reports)
        return rows

    def reference_pmf(self, value: int) -> dict[bytes, Interval]:
        """Return the probability of every report."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        law, share = {}, len(self.parts)
        for number, part in enumerate(self.parts):
            own = int(self.split(np.array([code]))[number][0])
            for report, chance in _listed_law(part, own).items():
                packed = _packed(part, report)
                row = bytes([number]) + packed.ljust(self.report_bytes - 1, b"\0")
                law[row] = Interval(chance.low / share, chance.high / share)
        return law

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the reports of each attribute, then those of each attribute's own tally."""
        counts = np.bincount(reports[:, 0], minlength=len(self.parts)).astype(np.int64)
        tallies = [
            part.tally(part.unpack(reports[reports[:, 0] == number, 1 : 1 + part.report_bytes])[0])
            for number, part in enumerate(self.parts)
        ]
        return np.concatenate([counts, *tallies])

    def of_part(self, tally: NDArray[np.int64], number: int) -> tuple[int, NDArray[np.int64]]:
        """Return how many reports are about an attribute, and its own tally."""
        index = whole(number, name="number", low=0, high=len(self.parts) - 1)
        start = len(self.parts)
        for place, part in enumerate(self.parts):
            size = part.tally(part.run_each(np.empty(0, np.int64))).size
            if place == index:
                return int(tally[index]), tally[start : start + size]
            start += size
        raise AssertionError  # pragma: no cover  (the index was checked)

    def pack(self, reports: Reports) -> Bytes:
        """Return the rows."""
        return reports.astype(np.uint8, copy=False)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read rows; those of no attribute, or of no report of theirs, are not valid."""
        checked = checked_rows(rows, self.report_bytes)
        valid = np.zeros(len(checked), np.bool_)
        for number, part in enumerate(self.parts):
            own = np.flatnonzero(checked[:, 0] == number)
            sound = part.unpack(checked[own, 1 : 1 + part.report_bytes])[1]
            sound = sound & ~checked[own, 1 + part.report_bytes :].any(axis=1)
            valid[own] = sound
        return checked[valid], valid

    def describe(self) -> dict[str, Any]:
        """Return name and parameters, ready for JSON."""
        return {"name": self.name, "parts": [part.describe() for part in self.parts]}


def _packed(part: Part, report: Any) -> bytes:
    kind = part.run_each(np.empty(0, np.int64)).dtype
    row = np.frombuffer(report, np.uint8) if isinstance(report, bytes) else np.array(report, kind)
    return bytes(part.pack(row[None])[0])


def _listed_law(part: Part, code: int) -> Mapping[Any, Interval]:
    law = part.reference_pmf(code)
    if not isinstance(law, Mapping):
        raise OutOfRange(
            "an attribute has too many reports to list their chances; look at the law of each part "
            "by itself."
        )
    return law


RANDOMIZERS: Final[Mapping[str, type[Randomizer]]] = {
    kind.name: kind
    for kind in (
        Direct,
        Unary,
        Subset,
        Hadamard,
        SignedHadamard,
        Hashing,
        PrefixResponse,
        TwoPoint,
        WindowResponse,
    )
}


def randomizer_of(description: object) -> Randomizer:
    """Make the randomizer that describes itself so.

    >>> randomizer_of({"name": "hadamard", "epsilon": "1/2", "values": 128})
    Hadamard(epsilon=Fraction(1, 2), values=128)
    """
    if not isinstance(description, Mapping) or description.get("name") != Record.name:
        return _single(description)
    parts = description.get("parts")
    if set(description) != {"name", "parts"} or not isinstance(parts, list):
        raise _unreadable("a record is a list of parts")
    return Record(parts=[_single(part) for part in parts])


def _single(description: object) -> Randomizer:
    """Make a randomizer of one attribute."""
    if not isinstance(description, Mapping):
        raise _unreadable("it is not a list of names and values")
    rest: dict[str, Any] = {str(name): value for name, value in description.items()}
    kind = RANDOMIZERS.get(str(rest.pop("name", "")))
    if kind is None:
        raise _unreadable("its name is none of " + ", ".join(RANDOMIZERS))
    if not isinstance(rest.get("epsilon"), str):
        raise _unreadable("its epsilon is not exact text")
    try:
        randomizer = kind(**rest)
    except TypeError:
        raise _unreadable("its parameters are not those of this randomizer") from None
    if randomizer.describe() != dict(description):
        raise _unreadable("its parameters are not written the one way that they are written")
    return randomizer


def _unreadable(reason: str) -> WrongKind:
    return WrongKind(
        f"a randomizer cannot be read: {reason}; use a description as describe() writes it."
    )
