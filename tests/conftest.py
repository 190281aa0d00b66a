"""Settings of all tests: the same examples on every machine, however slow it is; and servers."""

import contextlib
import ctypes
import gc
import os
import re
import sys

import pytest
from hypothesis import settings

from tests.order import by_room, in_order
from tests.servers.postgres import PostgresServer, in_memory

# The examples of a law are the same in each run, so that many of them find nothing new tomorrow:
# half of hypothesis' hundred are tried, and eight times as many with --hypothesis-profile=thorough.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("thorough", settings.get_profile("fixed"), max_examples=400)
settings.load_profile("fixed")

if (memory := in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))  # where no sync waits

# Tests start hundreds of processes, and one that finds our files compiled takes half a second less.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
with contextlib.suppress(AttributeError, OSError, TypeError):  # other C libraries have no such call
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(M_TRIM_THRESHOLD, 2**30)  # keep what arrays give back: to clear new pages for the next
    mallopt(M_MMAP_THRESHOLD, 2**25)  # array takes as long as to compute it


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage, and leave what was collected out of later searches."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # tests make many small values, and few rings of them
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the tests in order."""
    items[:] = [items[at] for at in in_order([item.nodeid for item in items])]


def pytest_terminal_summary(terminalreporter, config):
    """Tell where the time went, if that was asked for."""
    if config.option.durations is not None:
        told = [each for kind in terminalreporter.stats.values() for each in kind]
        terminalreporter.section("seconds by room")
        for line in by_room(each for each in told if hasattr(each, "duration")):
            terminalreporter.write_line(line)


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def steady_text(name):
    """Leave addresses out of the name of a parameter, which differ between processes."""
    return _ADDRESS.sub("", name)


def steady(value):
    """Name a parameter alike in all processes that share the tests out: for ``ids=``."""
    return steady_text(repr(value))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started when the first test asks for it."""
    with PostgresServer() as server:
        yield server
