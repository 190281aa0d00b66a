"""The report as data: what the page and the document say, in types that JSON knows.

Trust: public.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from discreet_audit.report.provenance import Provenance
from discreet_audit.report.reading import WEAKNESSES, explanation
from discreet_audit.report.receipt import with_receipt
from discreet_audit.report.verdicts import blind, headline, sampled, shown, unseen
from discreet_audit.suite.report import Report

_FORMAT: Final = 1


def form(report: Report, made: Provenance, key: Path | None = None) -> dict[str, Any]:
    """Return the whole report, with its receipt."""
    lines = [{**line.to_json(), "shows": shown(line)} for line in report.lines]
    content = {
        "format": _FORMAT,
        "kind": "audit",
        "headline": headline(report),
        "explanation": explanation(report),
        "made": made.to_json(),
        **report.to_json(),
        "lines": lines,
        "sampled": len(sampled(report)),
        "no_evidence": [line.name for line in blind(report)],
        "not_covered": [unseen(report), *WEAKNESSES],
    }
    return with_receipt(content, key)
