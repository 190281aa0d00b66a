"""A7: claimed against measured, for every mechanism, every question and every release of the suite.

Trust: public.  The audits are the rows of :mod:`discreet_audit.suite`, which makes this attack of
the lines that it has anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet_audit.findings import Finding

if TYPE_CHECKING:  # the suite makes all attacks, so it cannot be loaded before them
    from discreet_audit.suite import Row


def attack(*, quick: bool, rows: Iterable[Row] | None = None) -> Finding:
    """Make all audits of promises, or those that are given."""
    from discreet_audit.suite.running import all_rows, claimed, run_rows  # noqa: PLC0415

    chosen = [row for row in all_rows() if not row.broken] if rows is None else rows
    return claimed(run_rows(chosen, long=not quick))
