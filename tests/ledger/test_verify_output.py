"""A report that cannot be written is told in words, and changes no verdict but a good one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledger.chains import LAST, honest
from tests.ledger.test_verify_files import stored

FULL = Path("/dev/full")
ON_FULL = pytest.param("> /dev/full", marks=pytest.mark.skipif(not FULL.exists(), reason="Linux"))


def run(redirect, *arguments, **environment):
    """Run the command in a shell that redirects its streams."""
    program = [sys.executable, "-m", "discreet.ledger.verify", *map(str, arguments)]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *program],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("ledger") / "study.ledger", honest().rows())


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("redirect", [">&-", ON_FULL])
def test_a_report_that_is_lost_is_told(ledger, redirect, buffered):
    wrong = ("--receipt", LAST.replace(":13:", ":14:"))
    for arguments, status in (((ledger,), 1), ((ledger, *wrong), 5)):
        done = run(redirect, *arguments, PYTHONUNBUFFERED=buffered)
        assert done.returncode == status
        assert b"Error" not in done.stderr


def test_whoever_has_left_hears_no_word(ledger):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "discreet.ledger.verify", ledger],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
