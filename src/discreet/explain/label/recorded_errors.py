"""The errors of an answer on record: how far its numbers may be off, read off its own intervals.

Trust: public.  It is a function of what was released, and needs neither the plan nor the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import median_high
from typing import Any, Final, final

from discreet.errors import DiscreetError
from discreet.exact import decimal
from discreet.release.serialization import read_columns

_QUARTER: Final = 0.25


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedError:
    """How far off one column of an answer may be: in half of its groups, and at most.

    An error is the distance from a number to the farther end of its interval.
    """

    column: str
    groups: int
    half_width: float
    widest: float
    """Both are infinite if intervals have no end."""
    over_quarter: int
    """In how many groups the error is more than a quarter of the number."""
    confidence: Fraction | None
    """With which probability each interval holds; unknown if an answer does not say."""


def recorded_errors(answer: bytes) -> tuple[RecordedError, ...]:
    """Return the errors of a stored answer; none if it is not one of a session, or is in files.

    >>> recorded_errors(b"12")
    ()
    """
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return ()
    if isinstance(document, dict) and isinstance(document.get("answer"), dict):
        document = document["answer"]  # bounds were found first
    if not isinstance(document, dict) or "noisy" not in document:
        return ()
    return tuple(_errors(document))


def _errors(document: Mapping[str, Any]) -> Iterator[RecordedError]:
    try:
        columns = read_columns(document)
        stated = document.get("confidence")
        confidence = None if stated is None else decimal(stated, name="confidence")
    except DiscreetError:
        return
    for column in columns:
        if column.low is None or column.high is None or column.listed or not column.type.is_number:
            continue
        ends = (column.low.to_pylist(), column.values.to_pylist(), column.high.to_pylist())
        known = [row for row in zip(*ends, strict=True) if None not in row]
        errors = [float(max(high - value, value - low)) for low, value, high in known]
        if errors:
            yield RecordedError(
                column=column.name,
                groups=len(errors),
                half_width=median_high(errors),
                widest=max(errors),
                over_quarter=sum(
                    error > _QUARTER * abs(value)
                    for error, (_, value, _) in zip(errors, known, strict=True)
                ),
                confidence=confidence,
            )
