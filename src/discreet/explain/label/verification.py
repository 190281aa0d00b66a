"""Is a label true?  Compute it again from the ledger, and compare.

Trust: public.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from discreet.errors import DiscreetError, Tampered, WrongKind
from discreet.explain.figures import Figures
from discreet.explain.label.label import (
    FORMAT,
    computed_blocks,
    labeled_disclosure,
)
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.plan.policy.policy import ABOUT_KEYS, About, read_about

_SOFTWARE: Final = re.compile(r"discreet [0-9]+(\.[0-9a-z]+)*", re.ASCII)


def verify_label(label: str | Path, ledger: LedgerView) -> Receipt:
    """Check every number of a label against the chain of a ledger; return where it stood.

    The owner's statements are not numbers, and are not checked.

    Args:
        label: the JSON text of a label, or the file of it.
        ledger: the ledger that it is about, which may have grown since.
    """
    content = _read(label)
    evidence = content["evidence"]
    try:
        receipt = Receipt(
            ledger=str(evidence["ledger"]),
            seq=int(evidence["entries"]),
            head=str(evidence["head"]),
        )
        entry = None if evidence.get("release") is None else int(evidence["release"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _not_a_label() from None
    disclosure = labeled_disclosure(ledger, _said(content["said"]), receipt, entry)
    blocks = computed_blocks(ledger, disclosure, Figures.of(disclosure), receipt, entry)
    again = {"format": FORMAT, "said": content["said"], **json.loads(json.dumps(blocks))}
    if _SOFTWARE.fullmatch(str(evidence.get("software"))):  # whichever wrote it
        again["evidence"]["software"] = evidence["software"]
    wrong = sorted(
        name for name in again.keys() | content.keys() if again.get(name) != content.get(name)
    )
    if wrong:
        raise Tampered(
            what=f"the label does not follow from the ledger: {', '.join(wrong)}.",
            why="its numbers were changed, or computed from other entries.",
            do="make the label anew: `discreet label`.",
        )
    return receipt


def _said(data: Mapping[str, Any]) -> About:
    try:
        return read_about({name: data[name] for name in data if name in ABOUT_KEYS})
    except DiscreetError:
        raise _not_a_label() from None


def _read(label: str | Path) -> Mapping[str, Any]:
    try:
        text = label.read_text(encoding="utf-8") if isinstance(label, Path) else label
        content = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        raise _not_a_label() from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_a_label()
    if not isinstance(content.get("evidence"), dict) or not isinstance(content.get("said"), dict):
        raise _not_a_label()
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a duplicate name: readers disagree about which one counts."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError
    return content


def _refuse(_constant: str) -> float:
    """Refuse anything but numbers."""
    raise ValueError


def _not_a_label() -> DiscreetError:
    return WrongKind(
        what="this is not a privacy label.",
        why=f"a label is JSON with the format {FORMAT} and names the ledger that proves it.",
        do="give the file that `discreet label --format json` wrote.",
    )
