"""Stdin, stdout and stderr of a command, in whatever state it finds them.

Trust: public.

A caller may close a stream, give it an encoding that lacks half of the letters, or send it to a
full disk.  None of this may change what is charged, or show a traceback.  So a closed stdout stays
one that takes nothing, letters that an encoding lacks are written as escapes, and a command whose
output is lost ends with a code that says so.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Final, TextIO

__all__ = ["flush_output", "prepare_streams", "tell"]

_STREAMS: Final = 3
_FAILING: Final = frozenset({"strict", "surrogateescape"})


def prepare_streams() -> None:
    """Stand in for closed streams, and make every text one that stdout can write.

    A closed stream is None, and the next file that is opened would take its number.  So all three
    numbers are taken first, by something that cannot be written.
    """
    number = 0
    while number < _STREAMS:
        number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:  # what is written to it fails, as it should
        unwritable = os.open(os.devnull, os.O_RDONLY)
        sys.stdout = open(unwritable, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _FAILING:
        sys.stdout.reconfigure(errors="backslashreplace")


def tell(text: str) -> None:
    """Write to stderr; if that is lost too, the exit code has to say it."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def flush_output() -> bool:
    """Write what waits for stdout and stderr, and return whether all of stdout arrived.

    What cannot be written is thrown away: the interpreter would try again, and end with 120.
    """
    _flush(sys.stderr)
    return _flush(sys.stdout)


def _flush(stream: TextIO) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return False
    return True
