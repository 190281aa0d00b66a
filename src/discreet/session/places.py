"""Where an answer is written: first out of sight, and at its place once it is on record.

Trust: kernel.  Nobody may read what is not on record: a draw that is thrown away would be a second
answer to what was paid for once.

Definition.  Beside the folder that is asked for there are, by turns,

    .<name>.<digest>.writing    where tasks write; others cannot look into it.  The digest is that
                                of the question and of the ledger: another one's is another answer
    .<name>.<digest>.written    the same folder, once all is written: whoever still writes under the
                                old name fails
    <name>                      the answer, once it is on record

and ``.<name>.lock``, which one process holds at a time; the operating system takes it away from one
that dies.  Who asks meanwhile waits, and finds the answer on record.
Every step is one renaming, so after a crash one of the three is there, or none.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, final

from discreet.engines.parquet_files import sync_folder
from discreet.errors import WrongKind

__all__ = ["Place"]

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_INSIDE: Final = "answer"
_DIGITS: Final = 16
_TRIES: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A folder that an answer is written to, and what stands beside it for a while.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     place = Place.of(Path(name, "wards"), "ledger", "question")
    ...     with place.locked():
    ...         _ = (place.begin() / "a.parquet").write_text("a")
    ...         _ = place.seal({"a.parquet"})
    ...         place.publish()
    ...     sorted(path.name for path in Path(name).rglob("*"))
    ['a.parquet', 'wards']
    """

    target: Path
    digest: str

    @classmethod
    def of(cls, folder: object, *answer: str) -> Self:
        """Read where to write an answer, of which it is told what sets it apart from others.

        It has to be a folder of this machine, or shared with it.
        """
        if not isinstance(folder, str | os.PathLike) or "://" in (text := os.fsdecode(folder)):
            raise WrongKind(
                what="an answer can be written to a folder only.",
                why="it is renamed at once when it is complete, which only file systems can do.",
                do="give a path, such as 'answers/by_ward', that driver and tasks share.",
            )
        target = Path(text).absolute()
        if not target.parent.is_dir() or target.name in {"", ".", ".."}:
            raise WrongKind(
                what="the folder that is to hold the folder of the answer is not there.",
                why="an answer is written beside its place first.",
                do=f"make {target.parent} first.",
            )
        return cls(target, hashlib.sha256(" ".join(answer).encode()).hexdigest())

    @property
    def sealed(self) -> Path:
        """Where a complete answer waits to be recorded."""
        return self._written / _INSIDE

    @property
    def _writing(self) -> Path:
        return self.target.with_name(f".{self.target.name}.{self.digest[:_DIGITS]}.writing")

    @property
    def _written(self) -> Path:
        return self._writing.with_suffix(".written")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until nobody else writes here."""
        path = self.target.with_name(f".{self.target.name}.lock")
        try:
            number = _taken(path)
        except OSError:
            raise WrongKind(
                what="nothing can be written beside the folder that is asked for.",
                why="an answer is written there first, by one process at a time.",
                do=f"see to it that this user may write to {path.parent}, or name another folder.",
            ) from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(number)

    def check_free(self) -> None:
        """Refuse to write over anything."""
        if os.path.lexists(self.target):
            raise WrongKind(
                what=f"{self.target} is there already, and is not this answer.",
                why="what was handed out is never written over.",
                do="name a folder that is not there yet.",
            )

    def begin(self) -> Path:
        """Remove what an attempt left that broke off, and return the folder to write to."""
        self.clear()
        self._writing.mkdir(mode=0o700)
        inside = self._writing / _INSIDE
        inside.mkdir()
        return inside

    def seal(self, names: Collection[str]) -> Path:
        """End all writing; return the folder, which has these files and no others."""
        self._writing.rename(self._written)
        for path in self.sealed.iterdir():
            if path.name not in names:
                path.unlink()
        for folder in (self.sealed, self._written, self.target.parent):
            sync_folder(folder)
        return self.sealed

    def publish(self) -> None:
        """Bring the answer to its place; it has to be on record."""
        self.check_free()
        self.sealed.rename(self.target)
        sync_folder(self.target.parent)
        self.clear()

    def clear(self) -> None:
        """Remove what stands beside the place, as far as that can be done."""
        for folder in (self._writing, self._written):
            for _ in range(_TRIES):  # a task that is being stopped may put another file there
                with suppress(OSError):
                    shutil.rmtree(folder)


def _taken(path: Path) -> int:
    """Lock a file that has its name still: who had it before may have removed it."""
    while True:
        number = os.open(path, _FLAGS, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(number), path.stat()):
                    return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)
