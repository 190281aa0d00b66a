"""Where an answer is written: first out of sight, and at its place once it is on record.

Trust: kernel.  Nobody may read what is not on record: a draw that is thrown away would be a second
answer to what was paid for once.

Definition.  Beside the requested folder there are, in turn,

    .<name>.<digest>.<random>.writing    where tasks write, out of others' sight.  The digest is
                                         that of the question and the ledger: another digest is
                                         another answer
    .<name>.<digest>.<random>.written    the same folder, complete, with the list of files that are
                                         the answer: writing under the old name fails from now on
    <name>                               the answer, once it is on record

and ``.<name>.lock``, which one process holds at a time; the operating system releases it when that
process dies.  Whoever asks meanwhile waits, and finds the answer on record.
Every step is one renaming, so after a crash one of the three exists, or none.

Nobody else can rename what is ours in the parent folder: it belongs to this user or to the system,
and others cannot write to it, or it is sticky.  It is held by a descriptor, and so are the folders
in it; before anything is sealed, published or thrown away, their owner, mode and inode are compared
with what was made.  A sealed draw is never drawn again: whoever asks again gets the same bytes.  A
draw that cannot be sealed, and whose folder has changed, may have been seen; then the caller closes
the question.
Assumes: processes of the same user, who could read the data itself, do not attack it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, final

from discreet.engines.parquet_files import PrivateFolder, sync_folder
from discreet.errors import WrongKind
from discreet.noise import SYSTEM

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_INSIDE: Final = "answer"
_MANIFEST: Final = "manifest"
_WRITING: Final = ".writing"
_WRITTEN: Final = ".written"
_DIGITS: Final = 16
_RANDOM_BITS: Final = 128
_TRIES: Final = 3
_LONGEST_PATH: Final = 4096 - 256
"""What systems take for a path, and room for the names of files in the folder."""


@final
@dataclass(slots=True)
class _Held:
    """The folder that is being written to."""

    folder: PrivateFolder | None = None


@final
@dataclass(frozen=True, slots=True)
class AnswerFolder:
    """A folder that an answer is written to, and its temporary neighbors."""

    target: Path
    digest: str
    _held: _Held = field(default_factory=_Held, compare=False, repr=False)

    @classmethod
    def of(cls, folder: object, *answer: str) -> Self:
        """Check where to write an answer; ``answer`` is what distinguishes it from others.

        It has to be a folder of this machine, or shared with it.
        """
        if not isinstance(folder, str | os.PathLike) or "://" in (text := os.fsdecode(folder)):
            raise WrongKind(
                what="an answer can be written to a folder only.",
                why="it is renamed at once when it is complete, which only file systems can do.",
                do="give a path, such as 'answers/by_ward', that driver and tasks share.",
            )
        if "\0" in text:
            raise _too_long()
        target = Path(text).absolute()
        try:
            there = target.parent.is_dir()
        except OSError:  # a name that is too long is not there
            there = False
        if not there or target.name in {"", ".", ".."}:
            raise _not_there(target.parent)
        place = cls(target, hashlib.sha256(" ".join(answer).encode()).hexdigest())
        place._check_length()
        return place

    def _check_length(self) -> None:
        """Refuse names that could not be written later, after paying."""
        longest = os.fsencode(self._named(_WRITING))
        try:
            most = os.pathconf(self.target.parent, "PC_NAME_MAX")
        except OSError:  # gone meanwhile
            raise _not_there(self.target.parent) from None
        if len(longest.rpartition(b"/")[2]) > most or len(longest) > _LONGEST_PATH:
            raise _too_long()

    def check_parent(self) -> None:
        """Refuse a folder from which somebody else could take what is not on record yet."""
        try:
            status = self.target.parent.stat()
        except OSError:  # gone meanwhile
            raise _not_there(self.target.parent) from None
        ours = status.st_uid in {os.geteuid(), 0}
        shared = bool(status.st_mode & 0o022) and not status.st_mode & stat.S_ISVTX
        if shared or not ours:
            raise WrongKind(
                what=f"others may write to {self.target.parent}, or it is somebody else's.",
                why="they could take an answer away before it is on record, and ask for another.",
                do="name a folder in one that belongs to this user, and that nobody else may write "
                "to (chmod go-w).",
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until nobody else writes here."""
        path = self.target.with_name(f".{self.target.name}.lock")
        try:
            number = _taken(path)
        except OSError:
            raise WrongKind(
                what="nothing can be written beside the requested folder.",
                why="an answer is written there first, by one process at a time.",
                do=f"see to it that this user may write to {path.parent}, or name another folder.",
            ) from None
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
            os.close(number)

    def check_free(self) -> None:
        """Refuse to write over anything."""
        if os.path.lexists(self.target):
            raise WrongKind(
                what=f"{self.target} is there already, and is not this answer.",
                why="what was handed out is never written over.",
                do="name a folder that is not there yet.",
            )

    def begin(self) -> PrivateFolder:
        """Remove what an interrupted attempt left, and return the folder to write to."""
        self.remove_leftovers()
        outer = self._named(_WRITING)
        outer.mkdir(mode=0o700)
        inside = outer / _INSIDE
        inside.mkdir()
        self._held.folder = PrivateFolder.of(inside)
        return self._held.folder

    def seal(self, names: Collection[str], manifest: bytes) -> Path:
        """End all writing; return the folder, which has these files and no others.

        ``manifest`` says which files are the answer, and is kept beside them.
        """
        folder = self.private_folder
        with folder.opened() as inside:
            outer = folder.path.parent
            (outer / _MANIFEST).write_bytes(manifest)
            sealed = outer.with_suffix(_WRITTEN)
            outer.rename(sealed)
            for name in os.listdir(inside):  # noqa: PTH208  by a descriptor
                if name not in names:
                    os.unlink(name, dir_fd=inside)
            os.fsync(inside)
        with self._moved(sealed).opened():  # the same folder, under its new name
            pass
        for place in (sealed, self.target.parent):
            sync_folder(place)
        return sealed / _INSIDE

    def unpublished_draw(self) -> tuple[Path, bytes] | None:
        """Return a complete draw that is not published, and its manifest.

        Folders that are not this user's own, or that others may look into, do not count.
        """
        for folder in self.sealed_folders():
            with suppress(FileNotFoundError):
                return folder, (folder.parent / _MANIFEST).read_bytes()
        return None

    def sealed_folders(self) -> Iterator[Path]:
        """Yield the folders that wait to be published."""
        for outer in self._beside(_WRITTEN):
            with suppress(FileNotFoundError, NotADirectoryError, RuntimeError):
                folder = PrivateFolder.of(outer / _INSIDE)
                yield folder.path

    def publish(self, sealed: Path) -> None:
        """Move an answer to its place; it has to be on record."""
        self.check_free()
        sealed.rename(self.target)
        sync_folder(self.target.parent)
        self.remove_leftovers()

    def remove_leftovers(self, *suffixes: str) -> None:
        """Remove the temporary neighbors, as far as possible."""
        for suffix in suffixes or (_WRITING, _WRITTEN):
            for folder in self._beside(suffix):
                for _ in range(_TRIES):  # a task that is being stopped may put another file there
                    with suppress(OSError):
                        shutil.rmtree(folder)

    def remove_unused(self) -> None:
        """Remove a folder in which nothing was drawn, if there is one; a complete draw stays."""
        with suppress(OSError):
            self.remove_leftovers(_WRITING)

    def discard_unseen(self) -> None:
        """Throw away a draw that nobody has seen; fail if somebody may have.

        Nobody has if its folder is where and what it was when it was made.
        """
        folder = self.private_folder
        with folder.opened():
            pass
        self.remove_leftovers()
        if os.path.lexists(folder.path.parent):
            message = "a draw could not be removed"
            raise RuntimeError(message)

    @property
    def private_folder(self) -> PrivateFolder:
        """The folder that was made to write to."""
        if self._held.folder is None:
            message = "nothing is being written"
            raise RuntimeError(message)
        return self._held.folder

    def _moved(self, outer: Path) -> PrivateFolder:
        folder = self.private_folder
        self._held.folder = PrivateFolder(
            path=outer / _INSIDE, inode=folder.inode, outer=folder.outer, owner=folder.owner
        )
        return self._held.folder

    def _named(self, suffix: str) -> Path:
        """Return an unguessable name."""
        random = f"{SYSTEM.bits(_RANDOM_BITS):0{_RANDOM_BITS // 4}x}"
        return self.target.with_name(f"{self._prefix}.{random}{suffix}")

    @property
    def _prefix(self) -> str:
        return f".{self.target.name}.{self.digest[:_DIGITS]}"

    def _beside(self, suffix: str) -> list[Path]:
        """Return the temporary folders of this answer."""
        parent = self.target.parent
        first = f"{self._prefix}."
        paths = [path for path in parent.iterdir() if path.name.startswith(first)]
        return [path for path in sorted(paths) if path.name.endswith(suffix)]


def _not_there(parent: Path) -> WrongKind:
    return WrongKind(
        what="the parent of the folder for the answer does not exist.",
        why="an answer is written beside its place first.",
        do=f"make {parent} first.",
    )


def _too_long() -> WrongKind:
    return WrongKind(
        what="the name of the folder cannot be written, or is too long.",
        why="an answer is written beside its place first, under a longer name, and after it is "
        "paid for that must not fail.",
        do="give a shorter name: 150 characters always do.",
    )


def _taken(path: Path) -> int:
    """Lock a file that still has its name: its last holder may have removed it."""
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
