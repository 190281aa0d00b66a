"""What the commands of ``discreet local`` read: forms, domains, values, and files of reports.

Trust: kernel.  Values are private until a client has made a report of them; no error quotes one.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from discreet import local
from discreet.errors import WrongKind

if TYPE_CHECKING:  # which the door loads when a command first needs them
    from discreet.local import Collector, Domain, Form, NumberRange

_LINES: Final = 4096
_DIGITS: Final = 4000  # Python reads 4300


def domain_of(
    categories: list[str] | None,
    file: Path | None,
    other: str | None,
    bins: str | None,
    number: str | None,
) -> Domain | NumberRange:
    """Return the domain that one of the options of a form describes."""
    given = [option for option in (categories, file, bins, number) if option is not None]
    if len(given) != 1 or (other is not None and (bins is not None or number is not None)):
        raise WrongKind(
            what="not exactly one of --categories, --categories-from, --bins and --number is "
            "given, or --other comes with numbers.",
            why="each of them says which values there are; no number is outside its bounds.",
            do="give one of them, such as --categories flu,cold,none, and clamp numbers.",
        )
    if number is not None:
        low, high = _parts(number, "--number", "LOW:HIGH")
        return local.NumberRange(low=low, high=high)
    if bins is not None:
        low, high, count = _parts(bins, "--bins", "LOW:HIGH:COUNT")
        if not (count.isascii() and count.isdigit()):
            _parts("", "--bins", "LOW:HIGH:COUNT")
        return local.Domain.bins(low=low, high=high, count=int(count))
    if file is not None:
        names = _text(read_file(file)).splitlines()
    else:
        names = [name.strip() for part in categories or () for name in part.split(",")]
    return local.Domain(names, other=other)


def _parts(text: str, option: str, shape: str) -> list[str]:
    parts = text.split(":")
    if len(parts) != shape.count(":") + 1:
        raise WrongKind(
            what=f"{option} is not {shape}.",
            why="numbers need public bounds.",
            do=f"write it like {option} {'0:100:10' if 'COUNT' in shape else '0:100'}.",
        )
    return parts


def values_of(value: str, form: Form) -> Iterator[list[object]]:
    """Yield the values to report, many at a time."""
    names = getattr(form.domain, "categories", ())
    texts = frozenset(name for name in names if isinstance(name, str))
    if value != "-":
        yield [_named(texts, value)]
        return
    lines = (line.rstrip("\r\n") for line in sys.stdin)
    try:
        while part := list(itertools.islice(lines, _LINES)):
            yield [_named(texts, line) for line in part]
    except UnicodeDecodeError:
        raise _not_text() from None


def _named(texts: frozenset[str], text: str) -> object:
    """Return the value of a text: an integer, unless the form spells it as text.

    A number with more digits than Python reads is not a value of any form.
    """
    whole = text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= _DIGITS
    return int(text) if whole and text not in texts else text


def read_form(path: Path) -> Form:
    """Read a form from a file."""
    return local.Form.deserialize(_text(read_file(path)))


def add_input(collector: Collector, data: bytes) -> Literal["collector", "reports"]:
    """Count a stream of reports, or merge a saved collector; return which of them it was."""
    if not data:
        raise WrongKind(
            what="an input is empty.",
            why="whatever was to be in it is lost, and nothing would say so.",
            do="write it anew, or leave it out.",
        )
    if data.startswith(local.Collector.magic):
        collector.merge(local.Collector.deserialize(data, form=collector.form))
        return "collector"
    collector.add_many(data)
    return "reports"


def read_file(path: Path) -> bytes:
    """Return the content of a file, or of stdin."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be read: {error.strerror}.",
            why="the command needs what is in it.",
            do="check the name and the rights of the file.",
        ) from None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _not_text() from None


def _not_text() -> WrongKind:
    return WrongKind(
        what="an input is not UTF-8 text.",
        why="forms and values are text, and both sides must read them alike.",
        do="write it in UTF-8; nothing was reported.",
    )
