"""Saving collectors and tables: never over what was read, and as a whole or not at all.

Trust: kernel.  Inputs may be the only copy of what people have reported, and half of a table looks
like a smaller one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import WrongKind


def refuse_repeats(files: Iterable[Path]) -> None:
    """Refuse a file that is named twice, under any spelling."""
    seen = set()
    for file in files:
        identity = _identity(file)
        if identity in seen:
            raise WrongKind(
                what=f"{file} is among the inputs twice.",
                why="its reports would be counted twice.",
                do="name every file once.",
            )
        seen.add(identity)


def refuse_overwriting(target: Path, inputs: Iterable[Path]) -> None:
    """Refuse to save over the form or an input."""
    if _identity(target) in set(map(_identity, inputs)):
        raise WrongKind(
            what=f"--save would replace {target}, which is an input.",
            why="what it holds would be lost, or counted again by the same command.",
            do="save to another file, outside the folder that the inputs are taken from.",
        )


def save_file(path: Path, data: bytes) -> None:
    """Write a file atomically: a crash leaves the old content or the whole new one."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be written: {error.strerror}.",
            why="the collector would be lost; what was there before is as it was.",
            do="make room, or name another file with --save.",
        ) from None


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.discreet-new")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(number, "wb") as file:
            with suppress(FileNotFoundError):  # the same readers as the old one
                os.fchmod(number, path.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Claim an unused path; the file written next to it appears there at the end.

    The path holds an empty file meanwhile, so of two runs one is refused.  An error takes
    everything away again.  A run that is killed leaves the empty file, and what it had written
    under the hidden name next to it.
    """
    beside = path.with_name(f".{path.stem}.discreet-new{path.suffix}")
    try:
        path.open("xb").close()
    except OSError as error:
        raise unwritable_error(_in_the_way(path, beside, error)) from None
    try:
        try:
            beside.unlink(missing_ok=True)  # of a run that was killed: the claim is ours alone
            beside.open("xb").close()
        except OSError as error:
            raise unwritable_error(_in_the_way(beside, beside, error)) from None
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        for each in (beside, path):
            with suppress(OSError):
                each.unlink()
        raise


def _in_the_way(path: Path, beside: Path, error: OSError) -> str:
    """Say what keeps a new file from a path."""
    with suppress(OSError):
        if path.is_file() and not path.stat().st_size:
            return (
                f"'{path}' is there already, and is empty: another run writes it now, or was "
                f"stopped; then remove it, and {beside.name} beside it if that is there."
            )
    if os.path.lexists(path):
        return f"'{path}' cannot be written: something is there already."
    return f"'{path}' cannot be written: {error.strerror}."


def unwritable_error(what: str) -> WrongKind:
    """Return the error for a new table whose path cannot be used."""
    return WrongKind(
        what=what,
        why="nothing that exists is overwritten, and nothing is charged for a table that has no "
        "place to go.",
        do="name a new file in a folder that exists: --out made-up.parquet, say.",
    )


def _identity(path: Path) -> object:
    """Return a key that is equal for all names of one file; - is stdin."""
    if str(path) == "-":
        return "-"
    try:
        status = path.stat()
    except OSError:  # it does not exist yet
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
