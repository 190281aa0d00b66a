"""Checkpoints: one file, written aside and renamed, or not there at all (T3).

Trust: kernel.

A checkpoint holds the weights, the optimizer and the step; never a random generator, since noise
that is drawn twice would tell of data.  It begins with the SHA-256 digest of everything after it,
and names the run that it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from discreet.errors import BadCheckpoint, OtherRun

_FILE: Final = "checkpoint"
_LENGTH: Final = 8
_DIGEST: Final = 32


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

    def write(self, folder: Path, *, check: Callable[[], None] = lambda: None) -> None:
        """Write it whole, or leave what was there.

        Args:
            folder: where.
            check: refuses an attempt that was overtaken, right before anything is replaced.
        """
        aside = folder / f"{_FILE}.{os.getpid()}.new"
        try:
            self._write_aside(aside)
            check()
            aside.replace(folder / _FILE)
            _sync_folder(folder)
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        finally:
            _remove(aside)

    def try_out(self, folder: Path) -> None:
        """Find out whether it could be written, and leave nothing."""
        aside = folder / f"{_FILE}.{os.getpid()}.new"
        try:
            self._write_aside(aside)
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        finally:
            _remove(aside)

    def _write_aside(self, aside: Path) -> None:
        """Write it under another name."""
        head = json.dumps({"run": self.run, "step": self.step}).encode("ascii")
        body = len(head).to_bytes(_LENGTH, "little") + head + self.state
        aside.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def owner(cls, folder: Path) -> str | None:
        """Return the run whose checkpoint lies in a folder, if one can be read there."""
        try:
            with (folder / _FILE).open("rb") as file:
                head = file.read(_DIGEST + _LENGTH)
                size = int.from_bytes(head[_DIGEST:], "little")
                return str(json.loads(file.read(min(size, 1 << 16)))["run"])
        except (OSError, ValueError, KeyError):
            return None

    @classmethod
    def read(cls, folder: Path, *, run: str) -> Checkpoint | None:
        """Return the checkpoint of a run; nothing if there is none."""
        try:
            text = (folder / _FILE).read_bytes()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as failure:
            raise _unusable(folder, failure) from failure
        digest, body = text[:_DIGEST], text[_DIGEST:]
        if digest != hashlib.sha256(body).digest():
            raise torn("it is torn")
        size = int.from_bytes(body[:_LENGTH], "little")
        head = json.loads(body[_LENGTH : _LENGTH + size])
        found = cls(head["run"], head["step"], body[_LENGTH + size :])
        if found.run != run:
            raise OtherRun(
                what="the checkpoint in the folder is of no use: it belongs to another run.",
                why="weights of another model, plan or data would be trained on as if they were "
                "these.",
                do="give each run a folder of its own, and resume it with the same arguments.",
            )
        return found


def _remove(aside: Path) -> None:
    try:
        aside.unlink(missing_ok=True)
    except OSError:  # the folder itself is no folder; the failure before says so
        return


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


def _unusable(folder: Path, failure: OSError | ValueError) -> BadCheckpoint:
    reason = getattr(failure, "strerror", None) or failure
    return BadCheckpoint(
        what=f"no checkpoint can be kept in {folder}: {reason}.",
        why="steps whose weights are lost must be paid for a second time.",
        do="mend the folder or name another one, and resume; weights in memory are still there.",
    )
