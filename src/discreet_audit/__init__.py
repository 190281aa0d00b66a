"""The audit of ``discreet``: a suite of attacks on its promises, and reports of what they found.

Trust: public.  Only ``discreet audit`` loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when first used: the children that A13 starts need none of it
    from discreet_audit.report import (
        check_key,
        check_receipt,
        document,
        form,
        headline,
        page,
        provenance,
        tables,
    )
    from discreet_audit.suite import ProgressCallback, Report, UnfinishedAudit, run_suite

__all__ = [
    "ProgressCallback",
    "Report",
    "UnfinishedAudit",
    "check_key",
    "check_receipt",
    "document",
    "form",
    "headline",
    "page",
    "provenance",
    "run_suite",
    "tables",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "report": (
                "check_key",
                "check_receipt",
                "document",
                "form",
                "headline",
                "page",
                "provenance",
                "tables",
            ),
            "suite": ("ProgressCallback", "Report", "UnfinishedAudit", "run_suite"),
        },
    )
