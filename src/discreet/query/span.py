"""A stretch of the text that a person wrote, and how to point at it.

Trust: public.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

__all__ = ["Span", "pointed", "underlined"]

_WIDEST: Final = 100


@final
@dataclass(frozen=True, slots=True)
class Span:
    """The characters from ``start`` up to, not including, ``end`` of a text.

    >>> Span("SELECT ward", 7, 11).words
    'ward'
    """

    text: str = field(repr=False)
    start: int
    end: int

    @property
    def words(self) -> str:
        """What is written there."""
        return self.text[self.start : self.end]

    @property
    def line(self) -> int:
        """The number of the line in which it begins, from 1."""
        return self.text.count("\n", 0, self.start) + 1

    def to(self, other: Span) -> Span:
        """Return the stretch from here to the end of another one.

        >>> Span("a + b", 0, 1).to(Span("a + b", 4, 5)).words
        'a + b'
        """
        return Span(self.text, min(self.start, other.start), max(self.end, other.end))


def underlined(span: Span) -> str:
    r"""Show the first line of a stretch, with carets below it.

    >>> print(underlined(Span("SELECT *\nFROM visits", 14, 20)))
    2 | FROM visits
      |      ^^^^^^
    """
    begin = span.text.rfind("\n", 0, span.start) + 1
    stop = span.text.find("\n", span.start)
    stop = len(span.text) if stop < 0 else stop
    last = max(min(span.end, stop), span.start + 1)
    shift = max(begin, last - _WIDEST + 20, 0) if last - begin > _WIDEST else begin
    shift = min(shift, span.start)
    shown = _plain(span.text[shift : min(stop, shift + _WIDEST)])
    width = min(last - span.start, max(len(shown) - (span.start - shift), 1))
    number = str(span.line)
    carets = " " * (span.start - shift) + "^" * width
    return f"{number} | {shown}\n{' ' * len(number)} | {carets}"


def pointed(what: str, span: Span | None) -> str:
    """Put the underlined text below a sentence, if there is a text.

    >>> print(pointed("there is no such column.", Span("SELECT wrad", 7, 11)))
    there is no such column.
    1 | SELECT wrad
      |        ^^^^
    """
    return what if span is None else f"{what}\n{underlined(span)}"


def _plain(text: str) -> str:
    """Replace what a terminal would not show as one plain character."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
