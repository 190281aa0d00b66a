"""Process groups: who is left of one, for tests of programs that must leave nobody behind."""

import time
from pathlib import Path


def alive(group):
    """Return the processes of a group that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _parent, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state not in "ZX":
            found.append(int(folder.name))
    return found


def left_after(group, *, seconds=15.0):
    """Return who is left of a group, as soon as nobody is, or after a while."""
    until = time.monotonic() + seconds
    while alive(group) and time.monotonic() < until:
        time.sleep(0.05)
    return alive(group)
