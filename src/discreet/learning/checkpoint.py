"""Checkpoints: a state that was paid for, written aside and renamed, or not there at all.

Trust: kernel.

A checkpoint holds the weights, the optimizer and the step; never a random generator, since noise
that is drawn twice would tell of data.  It is written under another name, synced and renamed: a
process that dies leaves the one before.  It names the run that it belongs to.
Whoever writes one locks the folder meanwhile: what lies aside then was left by a process that died,
and is removed.  A folder that cannot be locked, or that somebody else keeps locked, keeps it.
A file begins with the SHA-256 digest of everything after it, of the run and the step as of the
state: whatever is torn or flipped is found before it is used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from discreet.errors import BadCheckpoint, OtherRun

_FILE: Final = "checkpoint"
_ASIDE: Final = re.compile(rf"{_FILE}\.[0-9.]+\.new")
_LENGTH: Final = 8
_DIGEST: Final = 32
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.01


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A step of a run, and the state of model and optimizer after it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(run="a" * 64, step=7, state=b"weights").write(Path(folder))
    ...     Checkpoint.read(Path(folder), run="a" * 64).step
    7
    """

    run: str
    step: int
    state: bytes

    def write(self, folder: Path) -> None:
        """Write it whole, or leave what was there."""
        try:
            with _alone(folder):
                self._write_aside(folder).replace(folder / _FILE)
                _sync_folder(folder)
        except OSError as failure:
            raise _unusable(folder, failure) from failure

    def try_out(self, folder: Path) -> None:
        """Find out whether it could be written, and leave nothing."""
        try:
            with _alone(folder):
                self._write_aside(folder).unlink()
        except OSError as failure:
            raise _unusable(folder, failure) from failure

    def _write_aside(self, folder: Path) -> Path:
        """Write it under another name."""
        head = json.dumps({"run": self.run, "step": self.step}).encode("ascii")
        body = len(head).to_bytes(_LENGTH, "little") + head + self.state
        aside = folder / f"{_FILE}.{os.getpid()}.{threading.get_ident()}.new"
        try:
            with aside.open("wb") as file:
                file.write(hashlib.sha256(body).digest() + body)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        return aside

    @classmethod
    def read(cls, folder: Path, *, run: str) -> Checkpoint | None:
        """Return the checkpoint of a run; nothing where there is none."""
        try:
            text = (folder / _FILE).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise _unusable(folder, failure) from failure
        digest, body = text[:_DIGEST], text[_DIGEST:]
        if digest != hashlib.sha256(body).digest():
            raise torn("it is torn")
        try:
            size = int.from_bytes(body[:_LENGTH], "little")
            head = json.loads(body[_LENGTH : _LENGTH + size])
            found = cls(str(head["run"]), int(head["step"]), body[_LENGTH + size :])
        except (ValueError, KeyError, TypeError, OverflowError) as failure:
            raise torn("it cannot be read") from failure
        if found.step < 0:
            raise torn("no run has such a step")
        if found.run != run:
            raise OtherRun(
                what="the checkpoint in the folder is of no use: it belongs to another run.",
                why="weights of another model, plan or data would be trained on as if they were "
                "these.",
                do="give each run a folder of its own, and resume it with the same arguments.",
            )
        return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make a folder, and write there while nobody else does; remove what is left of the dead."""
    folder.mkdir(parents=True, exist_ok=True)
    number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _locked(number):
            with suppress(OSError):
                for file in folder.iterdir():
                    if _ASIDE.fullmatch(file.name):
                        file.unlink()
        yield
    finally:
        with suppress(OSError):  # a child that was forked meanwhile has the folder open as well
            fcntl.flock(number, fcntl.LOCK_UN)
        os.close(number)


def _locked(number: int) -> bool:
    """Lock an open folder, unless that is not possible or somebody else keeps it for too long."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return False
        else:
            return True


def _sync_folder(folder: Path) -> None:
    """Make a renamed file last."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def torn(why: str) -> BadCheckpoint:
    """Say what to do about a checkpoint that cannot be used."""
    return BadCheckpoint(
        what=f"the checkpoint in the folder is of no use: {why}.",
        why="training on from a part of a state would be another run.",
        do="put a good copy back, or delete the file and resume: an object that still holds the "
        "weights goes on from them, and otherwise steps that were drawn are charged again.",
    )


def _unusable(folder: Path, failure: OSError) -> BadCheckpoint:
    return BadCheckpoint(
        what=f"no checkpoint can be kept in {folder}: {failure.strerror or failure}.",
        why="steps whose weights are lost must be paid for a second time.",
        do="mend the folder or name another one, and resume; weights in memory are still there.",
    )
