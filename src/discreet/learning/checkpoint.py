"""Checkpoints: a state that was paid for, written aside and renamed, or not there at all.

Trust: kernel.

A checkpoint holds the weights, the optimizer and the step; never a random generator, since noise
that is drawn twice would tell of data.  It is written under another name, synced and renamed: a
process that dies leaves the one before.  It names the run that it belongs to.
Whoever writes one locks the folder meanwhile: what lies aside then was left by a process that died,
and is removed.  Whether somebody else has gone on is asked under that lock, right before the file
is renamed.  A folder that cannot be locked, or that somebody else keeps locked, keeps what lies
aside, and a checkpoint of somebody else, which may be a later one.
A file begins with the SHA-256 digest of everything after it, of the run and the step as of the
state: whatever is torn or flipped is found before it is used, and whoever has seen the digest knows
the file again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
    ...     seal = Checkpoint(run="a" * 64, step=7, state=b"weights").write(Path(folder))
    ...     Checkpoint.read(Path(folder), run="a" * 64).step
    7
    """

    run: str
    step: int
    state: bytes
    seal: bytes | None = field(default=None, compare=False)

    def write(
        self,
        folder: Path,
        *,
        over: bytes | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> bytes:
        """Write it whole, or leave what was there; return the seal of the file.

        Args:
            folder: where.
            over: the seal of the file that may be replaced in any case.
            check: refuses whoever was overtaken, right before anything is replaced.
        """
        try:
            with _alone(folder) as locked, self._aside(folder) as aside:
                seal = _seal(aside)
                check()
                if not locked and _seal(folder / _FILE) not in {None, over}:
                    raise _of_another(folder)
                aside.replace(folder / _FILE)
                _sync_folder(folder)
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        assert seal is not None  # noqa: S101  it was written here
        return seal

    def try_out(self, folder: Path) -> None:
        """Find out whether it could be written, and leave nothing."""
        try:
            with _alone(folder), self._aside(folder):
                pass
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure

    @contextmanager
    def _aside(self, folder: Path) -> Iterator[Path]:
        """Write it under another name, and remove it there if it still has that name."""
        aside = self._write_aside(folder)
        try:
            yield aside
        finally:
            aside.unlink(missing_ok=True)

    def _write_aside(self, folder: Path) -> Path:
        """Write it under another name."""
        head = json.dumps({"run": self.run, "step": self.step}).encode("ascii")
        body = len(head).to_bytes(_LENGTH, "little") + head + self.state
        aside = folder / f"{_FILE}.{os.getpid()}.{threading.get_ident()}.new"
        aside.unlink(missing_ok=True)  # nobody else has this name, and it may be no file
        try:
            with aside.open("xb") as file:
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
            text = _read(folder / _FILE)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        digest, body = text[:_DIGEST], text[_DIGEST:]
        if digest != hashlib.sha256(body).digest():
            raise torn("it is torn")
        try:
            size = int.from_bytes(body[:_LENGTH], "little")
            head = json.loads(body[_LENGTH : _LENGTH + size])
            found = cls(head["run"], head["step"], body[_LENGTH + size :], digest)
        except (ValueError, KeyError, TypeError, RecursionError) as failure:
            raise torn("it cannot be read") from failure
        if type(found.step) is not int or found.step < 0:
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
def _alone(folder: Path) -> Iterator[bool]:
    """Make a folder, and write there while nobody else does; remove what is left of the dead.

    Tell whether it could be locked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        locked = _locked(number)
        if locked:
            with suppress(OSError):
                for file in folder.iterdir():
                    if _ASIDE.fullmatch(file.name):
                        file.unlink()
        yield locked
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


def _read(path: Path, size: int = -1) -> bytes:
    """Read a file from its beginning; nothing that is none is waited for."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise torn("it is no file")
        return file.read(size)


def _seal(path: Path) -> bytes | None:
    """Return what a file is known by, if there is one."""
    try:
        return _read(path, _DIGEST)
    except FileNotFoundError:
        return None


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


def _of_another(folder: Path) -> BadCheckpoint:
    return BadCheckpoint(
        what=f"somebody else has written a checkpoint to {folder}, which cannot be locked.",
        why="it may be of a later attempt, whose steps would be lost and paid for a second time.",
        do="let one process at a time train in a folder, and resume: what is newer goes on.",
    )


def _unusable(folder: Path, failure: OSError | ValueError) -> BadCheckpoint:
    reason = getattr(failure, "strerror", None) or failure
    return BadCheckpoint(
        what=f"no checkpoint can be kept in {folder}: {reason}.",
        why="steps whose weights are lost must be paid for a second time.",
        do="mend the folder or name another one, and resume; weights in memory are still there.",
    )
