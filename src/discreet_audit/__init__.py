"""The audit of ``discreet``: a suite of attacks on its promises, and reports of what they found.

Trust: public.  Only ``discreet audit`` loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when first used: the children that A13 starts need none of it
    from discreet_audit.report import document, page, tables
    from discreet_audit.suite import ProgressCallback, Report, run_suite

__all__ = ["ProgressCallback", "Report", "document", "page", "run_suite", "tables"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "report": ("document", "page", "tables"),
            "suite": ("ProgressCallback", "Report", "run_suite"),
        },
    )
