"""Refusals on a page: the three sentences, and the question with the refused part marked.

Trust: public.

An error quotes the question line by line, with carets below the part that it is about
(:mod:`discreet.query.sql`).  A page shows the same part inside the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from discreet.errors import DiscreetError

_QUOTED: Final = re.compile(r"^\s*\d+ \| ?(?P<line>.*)$")
_CARETS: Final = re.compile(r"^\s*\| ?(?P<before> *)(?P<marked>\^+)\s*$")


@final
@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of a question: before the refused part, the part itself, and after it."""

    before: str
    marked: str = ""
    after: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What happened, why, what to do, and where in the question.

    >>> from discreet.errors import UnknownName
    >>> where = chr(10).join(["no column wrd.", "1 | SELECT wrd", "  |        ^^^"])
    >>> Refusal.of(UnknownName(what=where, why="It is not declared.", do="Write ward.")).lines
    (MarkedLine(before='SELECT ', marked='wrd', after=''),)
    """

    code: str
    what: str
    why: str
    do: str
    lines: tuple[MarkedLine, ...] = ()

    @classmethod
    def of(cls, error: DiscreetError) -> Refusal:
        """Take an error apart."""
        said, lines = split_quotation(error.what)
        return cls(code=error.code or "", what=said, why=error.why, do=error.do, lines=lines)


def split_quotation(text: str) -> tuple[str, tuple[MarkedLine, ...]]:
    """Return the words of a message, and the quoted lines with their marks.

    >>> split_quotation("nothing is quoted")
    ('nothing is quoted', ())
    """
    words: list[str] = []
    lines: list[MarkedLine] = []
    for line in text.split("\n"):
        carets, quoted = _CARETS.match(line), _QUOTED.match(line)
        if carets and lines:
            whole = lines[-1].before
            start, end = carets.span("marked")
            start, end = start - carets.start("before"), end - carets.start("before")
            lines[-1] = MarkedLine(whole[:start], whole[start:end], whole[end:])
        elif quoted:
            lines.append(MarkedLine(quoted["line"]))
        else:
            words.append(line)
    return "\n".join(words).strip(), tuple(lines)
