"""How accurate the answers of a ledger are, as far as they are on record.

Trust: public.  Errors are read off the intervals that were released; no data is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from discreet.explain.label.recorded_errors import RecordedError, recorded_errors
from discreet.explain.words import rounded_up
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt

LISTED: Final = 6
"""The latest answers of a ledger that a label lists; it is one page."""
_COLUMNS: Final = 6
_LONGEST: Final = 40


def accuracy_block(
    ledger: LedgerView, entries: Iterable[Mapping[str, Any]], at: Receipt, entry: int | None
) -> dict[str, Any]:
    """Return the known error bounds of answers up to a receipt, or of one answer.

    Args:
        ledger: the ledger.
        entries: its entries.
        at: the head of the ledger.
        entry: the entry that records the answer; the latest answers unless given.
    """
    released = {
        str(each["key"]): int(str(each["seq"]))
        for each in entries
        if each["kind"] == "release" and each["seq"] <= at.seq and entry in {None, each["seq"]}
    }
    latest = sorted(released, key=released.__getitem__)[-LISTED:]
    return {
        "statistics": [
            _written(error, answer.receipt.seq)
            for answer in ledger.answers_of(latest)
            for error in recorded_errors(answer.answer)[:_COLUMNS]
        ],
        "answers_before": len(released) - len(latest),
    }


def _written(error: RecordedError, seq: int) -> dict[str, Any]:
    return {
        "answer": seq,
        "name": _name(error.column),
        "groups": error.groups,
        "half_width": _finite(error.half_width),
        "widest": _finite(error.widest),
        "confidence": None if error.confidence is None else float(error.confidence),
        "groups_with_error_over_25_percent": error.over_quarter,
    }


def _name(column: str) -> str:
    """Return the name of a column, if it cannot break the lines of a label."""
    shown = column if column.isprintable() and column.strip() else "(a column)"
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _widths(item: Mapping[str, Any]) -> str:
    half, widest = (
        "without end" if width is None else f"± {rounded_up(width, 4)}"
        for width in (item["half_width"], item["widest"])
    )
    if item["groups"] == 1:
        return half
    if half == widest:
        return f"{half} on each of {item['groups']} groups"
    return f"{half} on half of {item['groups']} groups, {widest} at most"


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) else None


def accuracy_lines(block: Mapping[str, Any]) -> Iterator[str]:
    """Say it in words, a line for each number that was asked for."""
    for item in block["statistics"]:
        percent = "" if item["confidence"] is None else f" ({100 * item['confidence']:g} %)"
        weak = item["groups_with_error_over_25_percent"]
        weakly = (
            f"; more than a quarter of the number in {weak} of {item['groups']}" if weak else ""
        )
        yield f"{item['name']} in R-{item['answer']:04d}: {_widths(item)}{percent}{weakly}"
    if block["answers_before"]:
        yield f"{block['answers_before']} earlier answers are not listed"
