"""Options of the engine on Spark that cannot change an answer.

Trust: public.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from discreet.errors import WrongKind
from discreet.exact import whole

__all__ = ["Progress", "SparkPerformance"]

Progress = Callable[[float], None]
"""Receives the share of a job that is done, from 0 to 1; a question may take several jobs."""

_MOST_TASKS: Final = 2**16
_MEMORY: Final = re.compile(r"[1-9][0-9]{0,9}(KB|MB|GB|TB)")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPerformance:
    """What changes how fast an answer comes, and never the answer.

    ``tasks`` is how many tasks share the units; Spark decides unless it is given.  ``memory`` is
    what DuckDB may use in one task before it goes to disk.  ``rows`` is how many rows a task looks
    at together, where each is a unit.  ``progress`` receives the progress of a job.

    >>> SparkPerformance(tasks=16).memory
    '2GB'
    """

    tasks: int | None = None
    memory: str = "2GB"
    rows: int = 2**20
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        if self.tasks is not None:
            whole(self.tasks, name="tasks", low=1, high=_MOST_TASKS)
        whole(self.rows, name="rows", low=1)
        if not _MEMORY.fullmatch(self.memory):
            raise WrongKind(
                what="memory is not an amount of bytes.",
                why="tasks would fail once data is read.",
                do="give memory='2GB', say.",
            )
