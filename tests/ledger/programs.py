"""Processes that use a ledger, for tests that need more than one, or go past the ledger."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = """
import os, signal, sys, threading, time
from discreet.accounting import Box, Budget, equals
from discreet.errors import *
from discreet.ledger import Ledger
from discreet.ledger.sqlite import SQLiteStore
from discreet.loss import Pure
from discreet.units import row

def say(*words):
    print(*words, flush=True)

def hear():
    return sys.stdin.readline().strip()

"""


class Program:
    """A process that runs some lines; it prints, and reads what it is told."""

    def __init__(self, code, **names):
        given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        self.process = subprocess.Popen(
            [sys.executable, "-c", START + given + textwrap.dedent(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def hear(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.strip()

    def tell(self, line=""):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end(self, *, code=0):
        """Wait for the end, and return what was printed since."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == code, err
        return out.split("\n")[:-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def run(code, **names):
    """Run some lines to their end, and return what they printed."""
    with Program(code, **names) as program:
        return program.end()


def forked(work, *arguments):
    """Run something in a child process; return its number. Its status is 1 if it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of later Pythons, about threads
        child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work(*arguments)
            os._exit(0)
        os._exit(1)
    return child


def direct(path, *statements):
    """Run statements on the file of a ledger; return what the last one found."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    return rows
