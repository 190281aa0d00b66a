"""An audit under way: what it has found so far is on disk, so that a killed one is taken up again.

Trust: public.  What was found stays found: a row that refuted its promise is not drawn again.

A file of lines of JSON.  The first one names the audit: its length and the code that runs.  One of
other code begins anew, and says so; one of another length is refused.  A line is on disk before
the next audit is looked at.  The last one may be torn, and is cut off; a file that is damaged
elsewhere is refused, since nobody knows what it held.  One process at a time holds the file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, final

from discreet.attacks.measured import Measured
from discreet.errors import WrongKind
from discreet_audit.findings import Finding
from discreet_audit.suite.rows import Line

_PACKAGES: Final = Path(__file__).resolve().parents[2]
_LENGTHS: Final = ("quick", "long")


@final
class UnfinishedAudit:
    """What one audit has found so far.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "unfinished.jsonl"
    >>> with UnfinishedAudit(path, long=False) as audit:
    ...     audit.add("A6", Finding(
    ...         code="A6", claimed="refused", measured="3 of 3", passed=True, not_covered=""), 1.5)
    >>> with UnfinishedAudit(path, long=False) as audit:
    ...     audit.found["A6"][0].measured
    '3 of 3'
    """

    __slots__ = ("_file", "_path", "begun_anew", "found")

    def __init__(self, path: Path, *, long: bool) -> None:
        """Hold the file, and read what an audit of the same length and the same code has left."""
        self._path = path
        self.found: dict[str, tuple[Line | Finding, float]] = {}
        self.begun_anew = False
        """Whether other code had left results, which are gone."""
        self._file = _held_alone(path)
        try:
            self._take_up({"audit": _LENGTHS[long], "code": code_digest()})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Go on with it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the file go; it stays for the next audit."""
        self._file.close()

    def add(self, name: str, result: Line | Finding, seconds: float) -> None:
        """Keep what was found: it is on disk when this returns."""
        self.found[name] = (result, seconds)
        self._write({"name": name, "seconds": seconds, "result": result.to_json()})

    def remove(self) -> None:
        """Remove the file, whose report is written, while nobody else can hold it."""
        self._path.unlink(missing_ok=True)

    def _take_up(self, name: Mapping[str, str]) -> None:
        """Read whole lines, and cut off a torn one."""
        *lines, torn = self._file.read().split(b"\n")
        if not lines:
            self._begin(name)
            return
        first = self._read(lines[0], 1)
        if first.keys() != name.keys() or first["audit"] not in _LENGTHS:
            raise self._damaged(1)
        if first["code"] != name["code"] or (first != name and len(lines) == 1):
            self.begun_anew = len(lines) > 1
            self._begin(name)
            return
        if first != name:
            raise self._other_length(first["audit"], len(lines) - 1)
        for number, text in enumerate(lines[1:], 2):
            line = self._read(text, number)
            row = line.get("name")
            if not isinstance(row, str) or row in self.found:
                raise self._damaged(number)
            try:
                self.found[row] = (_result(line["result"]), float(line["seconds"]))
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                raise self._damaged(number) from None
        self._file.truncate(self._file.tell() - len(torn))
        self._file.seek(0, os.SEEK_END)

    def _begin(self, name: Mapping[str, str]) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._write(name)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, text: bytes, number: int) -> dict[str, Any]:
        try:
            line = json.loads(text.decode())
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict):
            raise self._damaged(number)
        return line

    def _damaged(self, number: int) -> WrongKind:
        return WrongKind(
            what=f"{self._path} is damaged: line {number} is not one that an audit has written.",
            why="it may have said that a promise is refuted, and what was found stays found.",
            do="delete the file to begin the audit anew, or name another folder.",
        )

    def _other_length(self, length: str, rows: int) -> WrongKind:
        return WrongKind(
            what=f"an unfinished audit of another length, --{length}, is in {self._path}.",
            why=f"the {rows} results that it has so far would be lost.",
            do=f"finish it with --{length}, delete the file, or name another folder.",
        )


def _held_alone(path: Path) -> BinaryIO:
    """Open a file, new or old, that no other process holds until this one closes it, or ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            file = os.fdopen(number, "r+b")
            _lock(file, path)
            if _is_at(file, path):
                return file
            file.close()
    except OSError as error:
        known = {errno.EEXIST: "its folder is a file", errno.EISDIR: "it is a folder"}
        reason = known.get(error.errno or 0, (error.strerror or "unknown").lower())
        raise WrongKind(
            what=f"{path} cannot be written: {reason}.",
            why="an audit keeps what it has found so far in that file, next to its report.",
            do="name a folder that can be written, or that can be made.",
        ) from None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise WrongKind(
            what=f"another audit is running in {path.parent}.",
            why="two would write into one file, and each would leave out what the other found.",
            do="wait until it has ended, stop it, or name another folder.",
        ) from None


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Say whether it is still there: another audit may have ended, and removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def code_digest() -> str:
    """Tell the code of both packages apart.

    >>> len(code_digest())
    64
    """
    digest = hashlib.sha256()
    for package in ("discreet", "discreet_audit"):
        for path in sorted((_PACKAGES / package).rglob("*.py")):
            digest.update(f"{path.relative_to(_PACKAGES)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _result(document: Mapping[str, Any]) -> Line | Finding:
    if "code" in document:
        rows = tuple(map(_measured, document["rows"]))
        return Finding(**{**document, "rows": rows})
    names = ("part", "name", "broken")
    return Line(**{name: document[name] for name in names}, measured=_measured(document))


def _measured(document: Mapping[str, Any]) -> Measured:
    """Return what ``Measured.to_json`` has written."""
    given = {name: document[name] for name in Measured.__dataclass_fields__}
    for name in ("lower", "estimate", "claimed", "delta", "level"):
        given[name] = _number(given[name])
    given["hits"] = tuple(given["hits"])
    given["curve"] = tuple(
        (_number(point["delta"]), _number(point["lower"]), _number(point["claimed"]))
        for point in given["curve"]
    )
    return Measured(**given)


def _number(value: Any) -> Any:
    return None if value is None else float(value)
