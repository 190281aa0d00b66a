"""A process with a Spark session of its own, which does what the tests tell it.

``Program("cluster", address)`` starts it; ``call`` runs a function in it, with the session as its
first argument; ``start`` and ``result`` do so in two steps, so that something can happen between.
All that Spark and Python write goes to a log.  The process ends with the pipe that it reads from.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from tests.servers.spark import PATIENCE, ROOT, cluster_session, connect_session

SESSIONS = {"cluster": cluster_session, "connect": connect_session, "here": lambda _: None}


class Failed(Exception):
    """A function failed in the other process; holds what could be read there."""

    def __init__(self, kind, text, told, *, alone):
        super().__init__(f"{kind}: {text}\n{told}")
        self.kind, self.text, self.told, self.alone = kind, text, told, alone


class Program:
    """The process, as the tests see it."""

    def __init__(self, kind, address):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, kind, address],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # an interrupt from the keyboard is for the tests alone
        )

    def start(self, function, *arguments):
        """Have a function of a module run, and do not wait."""
        pickle.dump((function, arguments), self._process.stdin)
        self._process.stdin.flush()

    def ready(self, timeout):
        """Say whether there is an answer, or one comes in time."""
        return bool(select.select([self._process.stdout], [], [], timeout)[0])

    def result(self, timeout=2 * PATIENCE):
        """Wait for what was started, and return what it returns."""
        if not self.ready(timeout):
            message = f"no answer within {timeout} s:\n{self.log()[-4000:]}"
            raise TimeoutError(message)
        done, found = pickle.load(self._process.stdout)  # noqa: S301 (our own process)
        if done:
            return found
        kind, text, told, alone = found
        raise Failed(kind, text, told, alone=alone)

    def call(self, function, *arguments):
        """Run a function there, and return what it returns."""
        self.start(function, *arguments)
        return self.result()

    def interrupt(self):
        """Interrupt what runs there, as from the keyboard."""
        self._process.send_signal(signal.SIGINT)

    def log(self):
        """Return everything that was written there."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def serve(kind, address):
    """Do what is asked for on one pipe, answer on another, until there is nothing to read."""
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed belongs into the log
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    session = SESSIONS[kind](address)
    with contextlib.suppress(EOFError):
        while True:
            function, arguments = pickle.load(requests)  # noqa: S301 (our own process)
            pickle.dump(_done(function, session, arguments), answers)
            answers.flush()


def _done(function, session, arguments):
    try:
        return True, function(session, *arguments)
    except BaseException as error:  # noqa: BLE001 (whatever happens is told)
        told = "".join(traceback.format_exception(error))
        alone = error.__cause__ is None and error.__context__ is None
        return False, (type(error).__name__, str(error), told, alone)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from tests.engines.contract import program

    program.serve(*sys.argv[1:])
