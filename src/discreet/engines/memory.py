"""The memory that a question may need at once, from its plan alone.

Trust: kernel.  A question that might not fit is refused before anything is charged: whether it does
must not depend on a row.

Definition.  DuckDB computes with vectors of ``ROWS`` rows, one after the other in every thread.  So
at any moment a thread holds at most ``ROWS`` texts of ``LONGEST`` bytes for every text that the
question makes of a row (:mod:`discreet.plan.text_work`), if all rows at hand have texts as long as
can be.  These may take half of the memory.  What has to be held longer, in joins, sums, windows and
sorts, goes to disk where it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from discreet.errors import UnsupportedSQL
from discreet.plan.lowered import Lowered
from discreet.plan.text_work import text_work
from discreet.query.texts import LONGEST

__all__ = ["ROWS", "check_memory"]

ROWS: Final = 2048


def check_memory(lowered: Lowered, memory: Callable[[], tuple[int, int]]) -> None:
    """Refuse a question whose texts may take more than half of the memory.

    Args:
        lowered: what is to be computed.
        memory: says how many bytes the engine may use, and how many threads share them.
    """
    work = text_work(lowered)
    if not work:
        return
    most, threads = memory()
    if work * ROWS * LONGEST * threads > most // 2:
        raise UnsupportedSQL(
            what="the texts that the question makes might not fit into the memory of the engine.",
            why="an engine that runs out of memory tells whose rows were too long.",
            do="use fewer functions of texts, or have the owner open the tables with more memory "
            "or fewer threads (discreet.engines.Performance).",
        )
