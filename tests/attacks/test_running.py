"""Processes of an audit end with it, however it ends."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import pytest

from discreet_audit.suite.running import run_in_processes
from tests.attacks.groups import alive, left_after

PROGRAM = """
import signal, sys, time
from functools import partial
from discreet_audit.suite.running import run_in_processes
signal.signal(signal.SIGTERM, signal.default_int_handler)
work = [partial(int, "1"), *[partial(time.sleep, 600)] * 4]
for each in run_in_processes(work, jobs=2):
    print(each, flush=True)
"""


@pytest.fixture
def begun():
    """Begin a program in a group of its own, of which nobody is left after the test."""
    processes = []

    def begin(*words):
        process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield begin
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_first_process_ends_them_all(sent, begun):
    """Though each of the others has ten minutes of work before it."""
    process = begun("-c", PROGRAM)
    assert process.stdout.readline() == "1\n"
    assert len(alive(process.pid)) > 2
    process.send_signal(sent)
    process.wait(15)
    assert left_after(process.pid) == []


def test_sigterm_ends_an_audit_and_all_its_processes(begun, tmp_path):
    """The real one; what it had found stays."""
    process = begun("-m", "discreet.cli", "audit", "--quick", "--jobs=2", f"--out={tmp_path}")
    file = tmp_path / "unfinished.jsonl"
    until = time.monotonic() + 60
    while not file.exists() or file.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < until
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) != 0
    assert left_after(process.pid) == []
    assert file.read_bytes().count(b"\n") >= 2
    assert "Traceback" not in process.stderr.read()


def test_work_that_nobody_waits_for_is_not_finished():
    begun = time.monotonic()
    results = run_in_processes([partial(int, "1"), *[partial(time.sleep, 600)] * 4], jobs=2)
    assert next(results) == 1
    results.close()
    assert time.monotonic() - begun < 60
