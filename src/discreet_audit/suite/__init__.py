"""The suite: every promise of ours, held against what can be measured.

Trust: public.
"""

from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import Line, Row
from discreet_audit.suite.running import LEVEL, ProgressCallback, all_rows, run_rows, run_suite
from discreet_audit.suite.unfinished import UnfinishedAudit

__all__ = [
    "LEVEL",
    "Line",
    "ProgressCallback",
    "Report",
    "Row",
    "UnfinishedAudit",
    "all_rows",
    "run_rows",
    "run_suite",
]
