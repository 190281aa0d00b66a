"""What a program did to the files of a folder, in order, as strace saw it.

Only what decides the content of files after a loss of power is kept: names that come and go,
writes, changes of length, and syncs.  A write counts from the moment it is asked for; a sync covers
just the writes that were finished before it was asked for, and only from its end on.  Writes to one
file of the folder, the diary, are marks: they say what somebody had been told by then.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

_FIRST: Final = frozenset({"write", "pwrite64", "ftruncate", "fsync", "fdatasync"})
"""Calls that count from the moment they are asked for; of others the result is awaited."""
_CALLS: Final = (
    *sorted(_FIRST),
    *("openat", "open", "creat", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("writev", "pwritev", "pwritev2", "truncate", "link", "linkat", "symlink", "symlinkat"),
    *("fallocate", "copy_file_range", "sendfile", "msync", "sync_file_range"),
)
_WHOLE: Final = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN: Final = re.compile(r"(\d+) +(\w+)\((.*?),? ?<unfinished \.\.\.>$")
_ENDED: Final = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>,? ?(.*)\) += (-?\d+)")
_OPENED: Final = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>(\(deleted\))?$")

_LET_ANYBODY_TRACE: Final = 0x59616D61  # of prctl: PR_SET_PTRACER, where Yama restricts tracing

Finish = Callable[[], None]


class NoTrace(Exception):
    """Nothing can be recorded here."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes go to a place in a file."""

    file: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A file gets a length."""

    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name means a file from now on; ``old`` is the name that the file loses by it."""

    path: str
    file: int
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A name means nothing any more."""

    path: str


@dataclass(frozen=True, slots=True)
class Sync:
    """Operations with these numbers are on the disk."""

    covers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Somebody was told something."""

    text: str


Operation = Write | Cut | Name | Gone | Sync | Mark


def strace() -> str:
    """Return the tracer, installing Debian's where it is missing and that is allowed."""
    found, apt = shutil.which("strace"), shutil.which("apt-get")
    if found is None and apt is not None and os.geteuid() == 0:
        for words in (["update", "-qq"], ["install", "-y", "-qq", "strace"]):
            subprocess.run([apt, *words], check=False, capture_output=True)
        found = shutil.which("strace")
    if found is None:
        raise NoTrace("writes are recorded with strace, which is missing: apt-get install strace")
    return found


@dataclass(frozen=True, slots=True)
class Session:
    """What a process does; killed when one of its threads begins its n-th sync, if it does."""

    work: Callable[[], None]
    killed_at: int | None = None


def record(sessions: Iterable[Session], folder: Path, *, diary: str) -> list[Operation]:
    """Run sessions one after another, and return what they did to the files of a new folder."""
    log = folder.with_suffix(".strace")
    reader = Reader(str(folder.resolve()), diary)
    for session in sessions:
        _trace(session, log)
        with log.open(encoding="ascii") as lines:
            reader.read(lines)
    log.unlink()
    return reader.operations


def _trace(session: Session, log: Path) -> None:
    """Fork a process, let strace attach to it, and only then let it work."""
    waiting, go = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go)
        _work(session, waiting)
    os.close(waiting)
    command = [strace(), "-f", "-y", "-xx", "-s", "9999999", "-e", "trace=" + ",".join(_CALLS)]
    if session.killed_at is not None:
        command += ["-e", f"inject=fsync,fdatasync:signal=KILL:when={session.killed_at}"]
    command += ["-o", str(log), "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        said = tracer.stderr.readline() if tracer.stderr else ""
        if "attached" in said:
            os.write(go, b".")
        os.close(go)
        status = os.waitpid(pid, 0)[1]
        tracer.communicate()
    if "attached" not in said:
        raise NoTrace(f"strace may not look at processes here: {said.strip()}")
    killed = os.WIFSIGNALED(status) and session.killed_at is not None
    if status and not killed:
        raise NoTrace(f"a recorded session ended with status {status}")


def _work(session: Session, waiting: int) -> NoReturn:
    """Wait until somebody watches, work, and end."""
    try:
        ctypes.CDLL(None).prctl(_LET_ANYBODY_TRACE, ctypes.c_ulong(-1), 0, 0, 0)
        if os.read(waiting, 1):
            session.work()
            os._exit(0)
    except BaseException:  # noqa: BLE001  (it is reported, and nothing may run after it)
        traceback.print_exc()
    finally:
        os._exit(1)


@dataclass(slots=True)
class Reader:
    """Turns lines of strace into operations on the files of one folder."""

    folder: str
    diary: str
    operations: list[Operation] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    files: int = 0
    loose: dict[int, list[int]] = field(default_factory=dict)
    """What no sync covers yet: numbers of operations for each file, and as file 0 the names."""

    def read(self, lines: Iterable[str]) -> None:
        """Read the trace of one session."""
        waiting: dict[str, tuple[str, Finish | None]] = {}
        for line in lines:
            if whole := _WHOLE.match(line):
                _, call, text, result = whole.groups()
                _finish(self._begin(call, text) if int(result) >= 0 else None)
            elif half := _BEGUN.match(line):
                pid, call, text = half.groups()
                waiting[pid] = text, self._begin(call, text) if call in _FIRST else None
            elif rest := _ENDED.match(line):
                pid, call, text, result = rest.groups()
                first, finish = waiting.pop(pid)
                if call in _FIRST:
                    _refuse_failure(finish, int(result))
                elif int(result) >= 0:
                    finish = self._begin(call, ", ".join(part for part in (first, text) if part))
                _finish(finish)

    def _begin(self, call: str, text: str) -> Finish | None:  # noqa: C901, PLR0911  one call a line
        """Note what is asked for; what is returned is called when it is finished."""
        words = text.split(", ")
        match call:
            case "openat":
                return self._open(_at(words[0], words[1]), words[2])
            case "open" | "creat":
                return self._open(
                    _text(words[0]), words[1] if call == "open" else "O_CREAT|O_TRUNC"
                )
            case "write" | "pwrite64":
                return self._write(_opened(words[0]), _bytes(words[1]), words[3:])
            case "ftruncate":
                file = self.names.get(_opened(words[0]))
                return None if file is None else self._do(file, Cut(file, int(words[1])))
            case "fsync" | "fdatasync":
                return self._sync(_opened(words[0]))
            case "rename":
                return self._move(_text(words[0]), _text(words[1]))
            case "renameat" | "renameat2":
                return self._move(_at(words[0], words[1]), _at(words[2], words[3]))
            case "unlink":
                return self._remove(_text(words[0]))
            case "unlinkat":
                return self._remove(_at(words[0], words[1]))
            case _ if self.folder.encode().hex() in text.replace("\\x", ""):
                raise NoTrace(f"the recorded run calls {call}, of which no model is made here")
        return None

    def _do(self, file: int, operation: Operation) -> Finish:
        """Note an operation; the syncs that begin after it is finished cover it."""
        number = len(self.operations)
        self.operations.append(operation)
        return lambda: self.loose.setdefault(file, []).append(number)

    def _open(self, path: str, flags: str) -> Finish | None:
        if not path.startswith(self.folder + "/") or path == self.diary:
            return None
        if path in self.names:
            file = self.names[path]
            return self._do(file, Cut(file, 0)) if "O_TRUNC" in flags else None
        if "O_CREAT" not in flags:
            raise NoTrace("the recorded run reads a file that it has not made")
        self.files += 1
        self.names[path] = self.files
        return self._do(0, Name(path, self.files))

    def _write(self, path: str, data: bytes, place: list[str]) -> Finish | None:
        if path == self.diary:
            self.operations.append(Mark(data.decode()))
        elif path in self.names:
            if not place:
                raise NoTrace("the recorded run writes at no given place in a file")
            return self._do(self.names[path], Write(self.names[path], int(place[0]), data))
        return None

    def _sync(self, path: str) -> Finish | None:
        file = 0 if path == self.folder else self.names.get(path)
        if file is None:
            return None
        covered = tuple(self.loose.get(file, ()))

        def finish() -> None:
            self.loose[file] = [n for n in self.loose.get(file, ()) if n not in covered]
            self.operations.append(Sync(covered))

        return finish

    def _move(self, old: str, new: str) -> Finish | None:
        if old not in self.names:
            return None
        self.names[new] = self.names.pop(old)
        return self._do(0, Name(new, self.names[new], old))

    def _remove(self, path: str) -> Finish | None:
        return None if self.names.pop(path, None) is None else self._do(0, Gone(path))


def _finish(finish: Finish | None) -> None:
    if finish is not None:
        finish()


def _refuse_failure(finish: Finish | None, result: int) -> None:
    if finish is not None and result < 0:
        raise NoTrace("a write to a recorded file failed")


def _bytes(word: str) -> bytes:
    return bytes.fromhex(word.strip('"').replace("\\x", ""))


def _text(word: str) -> str:
    return os.fsdecode(_bytes(word))


def _opened(word: str) -> str:
    """Return the path of an open file; nothing for one whose name is gone."""
    found = _OPENED.match(word)
    return "" if found is None or found[2] else _text(found[1])


def _at(folder: str, word: str) -> str:
    return str(Path(_opened(folder), _text(word)))
