"""Spark for other tests: what does not start says why, and nothing ever stays behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house.pages import ROOT
from tests.servers.spark import NoSpark, Servers, _group

SLEEPERS = """
import sys, time
from tests.servers.spark import Servers, local_session

class Sleepers(Servers):
    def _program(self):
        return "/bin/sh"

    def _start_all(self):
        for name in ("one", "two"):
            self._start(name, "-c", "echo begun; sleep 600 & wait")
            self._awaited(name, "(begun)")
"""
ABANDONED = f"""{SLEEPERS}
servers = Sleepers()
print(servers.folder, servers._programs["one"].pid, flush=True)
time.sleep(600)
"""
ABANDONED_SESSION = """
import time
from tests.servers.spark import StandaloneCluster, cluster_session
cluster = StandaloneCluster()
session = cluster_session(cluster.address)
session.range(10).repartition(2).count()
print(cluster.folder, cluster._programs["master"].pid, flush=True)
time.sleep(600)
"""


class Silent(Servers):
    """A program that ends before it says anything useful."""

    def _program(self):
        return "/bin/sh"

    def _start_all(self):
        self._start("silent", "-c", "echo no such class")
        self._awaited("silent", "(ready)")


def test_what_does_not_start_says_why_and_leaves_nothing(monkeypatch):
    made = []
    start = Silent._start_all
    monkeypatch.setattr(Silent, "_start_all", lambda self: made.append(self) or start(self))
    with pytest.raises(NoSpark, match="silent of Spark did not start:\nno such class"):
        Silent()
    assert not made[0].folder.exists()
    made[0].close()


def abandon(program, end):
    """Run a program until it has started servers, end it, and see what is left."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        folder, group = tests.stdout.readline().split()
        assert Path(folder).exists()
        assert len(list(_group(int(group)))) >= 2
        tests.send_signal(end)
    deadline = time.monotonic() + 20
    while (Path(folder).exists() or any(_group(int(group)))) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(folder).exists()
    assert list(_group(int(group))) == []


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_outlives_its_tests(end):
    abandon(ABANDONED, end)


@pytest.mark.slow
def test_no_cluster_outlives_its_tests():
    abandon(ABANDONED_SESSION, signal.SIGKILL)
