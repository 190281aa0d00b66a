"""Tools that connect as SQL clients, in an environment of their own: Superset and dbt.

It is made by the script that makes those of the benchmarks, of requirements/clients.txt.  Where it
cannot be installed, the tests that need it are skipped; where all tests must run, they fail.
"""

from __future__ import annotations

import fcntl
import os
from functools import cache
from pathlib import Path

import pytest

from benchmarks.peers.environment import ENVIRONMENTS, PeersUnavailable, make_environment


@cache
def clients() -> Path:
    """Return the folder with the programs of the environment; one process at a time makes it."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    with (ENVIRONMENTS / "clients.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return make_environment("clients", prefix="").parent
        except PeersUnavailable as failure:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(failure))
