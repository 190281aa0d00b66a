"""Rows that take their time, in tasks that leave a mark when they begin."""

import os
import time
from pathlib import Path


def slowly(batches, *, folder, seconds):
    """Leave a mark, wait, and hand out rows as they are."""
    Path(folder, f"begun-{os.getpid()}-{time.time_ns()}").touch()
    time.sleep(seconds)
    yield from batches


def begun(folder):
    """Return how many tasks have begun so far."""
    return len(list(Path(folder).glob("begun-*")))


def await_tasks(program, folder, count, patience=120):
    """Wait until so many tasks of a program have begun."""
    deadline = time.monotonic() + patience
    while begun(folder) < count:
        if program.ready(0):
            message = f"there is an answer already: {program.result()}"
            raise RuntimeError(message)
        if time.monotonic() > deadline:
            message = f"{begun(folder)} of {count} tasks have begun after {patience} s"
            raise TimeoutError(message)
        time.sleep(0.02)
