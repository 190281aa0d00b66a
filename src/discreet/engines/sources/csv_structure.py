"""The structure of a CSV file: where records end, and whether its first line holds names.

Trust: kernel.

Where a record ends follows from all quotes before it: one that is never closed takes the rows of
other people into a field.  So a file is checked once from the first byte to the last, and read only
if its quotes leave no doubt (RFC 4180).

Definition.  Quotes alternate between *opening* and *closing*, from the first one on.  A file is
well formed if every opening quote follows a separator, the end of a line or a closing quote, if
every closing quote is followed by one of these, an opening quote or the end of the file, and if
the last quote is a closing one.  A quote right after a closing one is the second half of ``""``, a
quote inside a field.  Lines end with LF or CR LF outside of quotes; a CR alone stands only inside.
Then a line end is one of a record if and only if an even number of quotes precedes it, whatever the
fields contain.
The bytes are UTF-8, or Latin-1 if that is declared, in which 0x80 to 0x9F stand for no letter;
no record is longer than the reader takes.  Records that are too short or
too long are left to the reader, since they concern no other record.

A first row that passes for names would be shown to everybody, and left out of every answer.
Definition.  A name looks like data if it is empty or blank, a number, a date, or a time.  Files
whose first line has such a name are refused: a row of data nearly always has one, and a column that
is meant to be called so can be given a letter more.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.engines.sources.source import check_names, unreadable
from discreet.errors import UnreadableSource

CHUNK: Final = 2**20
LONGEST_RECORD: Final = 2**21
"""The longest record that is read, in bytes; not less than a chunk."""

_QUOTE, _LF, _CR = b'"\n\r'
_MEND: Final = (
    "write the file again with a library (RFC 4180, UTF-8): fields with quotes, separators or line "
    'ends in quotes, quotes in them doubled (""); or give a Parquet file.'
)

_CONTROLS: Final = re.compile("[\x80-\x9f]")
Places = NDArray[np.intp]


@final
class CsvStructure:
    """The state of the check after some bytes of a file.

    >>> check = CsvStructure(",")
    >>> check.feed(b'1,"x')
    >>> check.finish()
    Traceback (most recent call last):
    discreet.errors.UnreadableSource: ...
    """

    __slots__ = ("_before", "_decoder", "_delimiter", "_encoding", "_inside", "_length")

    def __init__(self, delimiter: str, encoding: str = "utf-8") -> None:
        """Stand before the first byte."""
        self._delimiter = ord(delimiter)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._before = _LF
        self._inside = False
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        """Check the next bytes, at most ``CHUNK`` of them."""
        self._decode(chunk, final=False)
        if not chunk:
            return
        if b'"' in chunk:
            self._take_quotes(chunk)
        else:
            self._take_plain(chunk)
        if self._length > LONGEST_RECORD:
            raise _refused("has a record of more than two mebibytes")
        self._before = chunk[-1]

    def finish(self) -> None:
        """Check that the file may end here."""
        self._decode(b"", final=True)
        if self._inside:
            raise _refused("has a quote that is never closed")
        if self._before == _CR:
            raise _lone()

    def _decode(self, chunk: bytes, *, final: bool) -> None:
        whole = not self._decoder.getstate()[0]
        if whole and chunk.isascii():
            return
        valid = False
        with suppress(UnicodeDecodeError):
            letters = self._decoder.decode(chunk, final)
            valid = self._encoding == "utf-8" or not _CONTROLS.search(letters)
        if not valid:  # raised here, where an error that quotes the data is out of sight
            raise not_encoded(self._encoding)

    def _take_plain(self, chunk: bytes) -> None:
        """Check bytes without a quote in them: all inside of one, or all outside."""
        self._follow(chunk[0])
        if self._inside:
            self._length += len(chunk)
            return
        if b"\r" in chunk or self._before == _CR:
            window = np.frombuffer(bytes([self._before]) + chunk, np.uint8)
            _check_returns(window, np.flatnonzero(window == _CR))
        self._measure(len(chunk), chunk.find(b"\n"), chunk.rfind(b"\n"))

    def _take_quotes(self, chunk: bytes) -> None:
        self._follow(chunk[0])
        window = np.frombuffer(bytes([self._before]) + chunk, np.uint8)
        quotes = np.flatnonzero(window[1:] == _QUOTE) + 1
        opening = quotes[int(self._inside) :: 2]
        closing = quotes[int(not self._inside) :: 2]
        after = closing[closing + 1 < window.size] + 1
        if not self._parts(window[opening - 1]) or not self._parts(window[after], _CR):
            raise _misplaced()
        _check_returns(window, self._outside(np.flatnonzero(window == _CR), quotes))
        ends = self._outside(np.flatnonzero(window[1:] == _LF) + 1, quotes) - 1
        first, last = (int(ends[0]), int(ends[-1])) if ends.size else (-1, -1)
        self._measure(len(chunk), first, last)
        self._inside ^= bool(quotes.size % 2)

    def _follow(self, byte: int) -> None:
        """Check the byte after a closing quote that was the last one of a chunk."""
        closed = self._before == _QUOTE and not self._inside
        if closed and byte not in {self._delimiter, _LF, _CR, _QUOTE}:
            raise _misplaced()

    def _parts(self, signs: NDArray[np.uint8], *others: int) -> bool:
        """Whether all of some bytes may stand beside a quote."""
        good = (signs == self._delimiter) | (signs == _LF) | (signs == _QUOTE)
        for other in others:
            good |= signs == other
        return bool(good.all())

    def _outside(self, places: Places, quotes: Places) -> Places:
        """Return those of some places that are outside of quotes."""
        outside: Places = places[(np.searchsorted(quotes, places) + self._inside) % 2 == 0]
        return outside

    def _measure(self, size: int, first: int, last: int) -> None:
        """Count the bytes of the record that goes on, if records end at some places or none."""
        if first < 0:
            self._length += size
        elif self._length + first > LONGEST_RECORD:
            self._length += first
        else:
            self._length = size - last - 1


def _check_returns(window: NDArray[np.uint8], returns: Places) -> None:
    """Refuse a carriage return outside of quotes, unless a line feed or the chunk's end follows."""
    if (window[returns[returns + 1 < window.size] + 1] != _LF).any():
        raise _lone()


def _refused(what: str) -> UnreadableSource:
    return unreadable(f"a CSV file {what}.", do=_MEND)


def not_encoded(encoding: str) -> UnreadableSource:
    """Return the error for bytes that are not letters of an encoding.

    >>> print(not_encoded("utf-8").what)
    a CSV file is not UTF-8.
    """
    if encoding == "utf-8":
        return unreadable(
            "a CSV file is not UTF-8.",
            do="write it again in UTF-8; or, if it is Latin-1 (ISO 8859-1), declare it in the "
            'policy: encoding = "latin-1" below [tables.NAME.csv]; or for discreet init, by '
            "--csv encoding=latin-1.",
        )
    return unreadable(
        "a CSV file that is declared as Latin-1 has bytes that stand for no letter there.",
        do="write it again in UTF-8, and remove the encoding from the policy; it is probably "
        "Windows-1252: iconv -f WINDOWS-1252 -t UTF-8.",
    )


def _misplaced() -> UnreadableSource:
    return _refused("has a quote inside a field that is not doubled, or text beside a quoted field")


def _lone() -> UnreadableSource:
    return _refused("has a carriage return that is not the end of a line")


_NUMBER: Final = r"[-+]?[$€£]?(\d[\d_ ,.']*|[.,]\d+)([eE][-+]?\d+)?%?"
_DATE: Final = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_TIME: Final = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[-+]\d{2}:?\d{2}|[AaPp][Mm])?"
_DATA: Final = re.compile(rf"\s*({_NUMBER}|{_DATE}|{_TIME}|{_DATE}[T ]{_TIME})?\s*")


def check_header(names: Sequence[str]) -> None:
    """Refuse a first line that looks like a row of data; the message quotes none of it.

    >>> check_header(["patient", "ward", "cost_2024"])
    >>> check_header(["17", "A", "2024-02-29"])
    Traceback (most recent call last):
    discreet.errors.UnreadableSource: ...
    """
    if any(_DATA.fullmatch(name) for name in names):
        raise unreadable(
            "the first line of the file looks like data: a name is empty, a number or a date.",
            do="begin the file with a line of names, and rename columns such as 2024 to year_2024; "
            "only the first column may be nameless, as R and pandas write it.",
        )
    check_names(names, what="columns")
