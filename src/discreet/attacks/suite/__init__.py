"""The suite: every promise of ours, held against what can be measured.

Trust: public.
"""

from discreet.attacks.suite.report import Report
from discreet.attacks.suite.rows import Line, Row
from discreet.attacks.suite.running import LEVEL, Told, all_rows, run_rows, run_suite

__all__ = ["LEVEL", "Line", "Report", "Row", "Told", "all_rows", "run_rows", "run_suite"]
