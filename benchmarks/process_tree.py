"""CPU time of a process and of everything that it started, from ``/proc``.

Spark works in a Java process, and tasks in Python processes below that.  What a process has used,
and what its ended children had used when it took note of their end, stand in a line of ``/proc``.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from pathlib import Path

PROCESSES = Path("/proc")


def tree_seconds(root: int | None = None, *, without: Container[int] = ()) -> float:
    """Return the CPU seconds of a process and all its descendants, the ended ones included.

    Args:
        root: the number of the process; this one, if none is named.
        without: numbers of processes that are left out, with all below them.
    """
    spent: dict[int, float] = {}
    below: defaultdict[int, list[int]] = defaultdict(list)
    for process, parent, seconds in _processes():
        if process not in without:
            spent[process] = seconds
            below[parent].append(process)
    waiting, total = [os.getpid() if root is None else root], 0.0
    while waiting:
        process = waiting.pop()
        total += spent.get(process, 0.0)
        waiting += below[process]
    return total


def spent_in_tree(work: Callable[[], object], *, without: Container[int] = ()) -> float:
    """Return the CPU seconds that this process and those below it need for some work."""
    before = tree_seconds(without=without)
    work()
    return tree_seconds(without=without) - before


def _processes() -> Iterator[tuple[int, int, float]]:
    """Yield the number of each process, its parent's, and its seconds with its ended children's."""
    ticks = os.sysconf("SC_CLK_TCK")
    for entry in PROCESSES.iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:  # it has ended meanwhile
                continue
            fields = line.rpartition(")")[2].split()  # the name before that may hold anything
            yield int(entry.name), int(fields[1]), sum(map(int, fields[11:15])) / ticks
