"""The tokens of a text: names, reserved words, numbers, quoted text and signs.

Trust: kernel.  No character is skipped but space and comments, and none is read in two ways.

Definition.  A name is a letter or underscore, then letters, digits and underscores, or anything
between backticks.  Text stands between single quotes, where a doubled quote is a quote.  Dialects
read double quotes, backslashes and tripled quotes each in their own way, so these are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Final, final

from discreet.errors import InputError, QuestionError, UnreadableSQL
from discreet.exact import rational
from discreet.query.node_checks import LONGEST_QUESTION, too_much
from discreet.query.source_text import Span, unreadable, unsupported

_READ: Final = """
    ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END FALSE FROM FULL GROUP HAVING
    IN INNER IS JOIN LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER OVER PARTITION RIGHT SELECT THEN
    TRUE UNION USING WHEN WHERE WITH
"""

_REFUSED: Final = """
    ANTI ANY ARRAY ASOF COLLATE CREATE CUBE DELETE DROP ESCAPE EXCEPT EXCLUDE EXISTS FETCH FOR GLOB
    GROUPING ILIKE INSERT INTERSECT INTERVAL INTO LATERAL MERGE NATURAL OFFSET PIVOT POSITIONAL
    QUALIFY RECURSIVE ROLLUP SEMI SIMILAR SOME STRUCT TABLESAMPLE UNNEST UNPIVOT UPDATE VALUES
    WINDOW WITHIN
"""

RESERVED: Final = frozenset(f"{_READ} {_REFUSED}".split())
"""Words that are read, and words that begin what is not answered."""


_SIGNS: Final = {
    "&&": "write AND.",
    "!": "write NOT, or <> for unequal.",
    "[": "leave the brackets out; a name with spaces is quoted: `name`.",
}
"""Signs of other languages, and what to write here."""


@final
class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    QUOTED = "quoted name"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


@final
@dataclass(slots=True)
class Token:
    """A word, or a sign: ``text`` is what it stands for, without quotes.

    Tokens are made by the thousand and live as long as a text is read; a frozen class takes three
    times as long to make.

    >>> tokens("'it''s'")[0].text
    "it's"
    """

    kind: TokenKind
    text: str
    span: Span
    word: str = ""
    """The word in capitals, or the sign; empty for everything that is quoted."""


_KINDS: Final = dict(TokenKind.__members__)
_SKIPPED: Final = re.compile(r"(?:\s|--[^\n]*+|\#[^\n]*+|/\*(?!\+)(?s:.*?)\*/)++")
_TOKEN: Final = re.compile(
    r"""(?P<NUMBER>(?>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?>[eE][+-]?[0-9]+)?(?![\w.]))
      | (?P<NAME>[^\W\d]\w*+)
      | `(?P<QUOTED>[^`\n\\]++)`
      | '(?!'')(?P<TEXT>(?:[^'\\]|'')*+)'
      | (?P<SIGN>=>|<>|!=|<=|>=|\|\||::|[()\[\],.=<>+\-*%;]|/(?!\*))""",
    re.VERBOSE,
)


def tokens(text: object) -> tuple[Token, ...]:
    """Cut a text into tokens; the last one marks the end.

    >>> [token.text for token in tokens("SELECT 1.5 -- a comment")]
    ['SELECT', '1.5', '']
    """
    if not isinstance(text, str):
        raise UnreadableSQL(
            what=f"the question is a {type(text).__name__}, not a text.",
            why="only text is read as SQL.",
            do="give the question as a str.",
        )
    if len(text) > LONGEST_QUESTION:
        raise too_much(f"the text is longer than {LONGEST_QUESTION:,} characters.", None)
    read: list[Token] = []
    space = _SKIPPED.match(text)
    place = 0 if space is None else space.end()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise _refused(text, place)
        kind, end = _KINDS[match.lastgroup], match.end()
        content = _text(match) if kind is TokenKind.TEXT else match[match.lastgroup]
        word = content if kind is TokenKind.NAME or kind is TokenKind.SIGN else ""
        if kind is TokenKind.NAME and word.isascii():
            word = word.upper()
        read.append(Token(kind, content, Span(text, place, end), word))
        space = _SKIPPED.match(text, end)
        place = end if space is None else space.end()
    behind = Span(text, len(text.rstrip()), len(text.rstrip()) + 1)
    return (*read, Token(TokenKind.END, "", behind))


def number(token: Token) -> Fraction:
    """Return the exact number that a token stands for.

    >>> number(tokens("1e-5")[0])
    Fraction(1, 100000)
    """
    try:
        value = rational(token.text, name="a number")
        float(value)
    except (InputError, OverflowError):
        raise unreadable(
            token.span,
            "this number is too large, or has too many digits.",
            "write a number that fits into 64 bits.",
            why="engines would round it, or fail.",
        ) from None
    return value


def _text(match: re.Match[str]) -> str:
    content = match["TEXT"]
    try:
        content.encode()
    except UnicodeEncodeError:
        raise _broken(match.string, match.start(), match.end()) from None
    if "\0" in content:
        raise _broken(match.string, match.start(), match.end())
    return content.replace("''", "'")


def _broken(text: str, start: int, end: int) -> QuestionError:
    return unreadable(
        Span(text, start, end),
        "this text holds something that is no character.",
        "write text of Unicode characters, without zero bytes.",
        why="engines store it each in their own way.",
    )


def _refused(text: str, place: int) -> QuestionError:  # noqa: PLR0911 (one for each sign)
    """Say why no token begins here."""
    letter = text[place]
    here = Span(text, place, place + 1)
    if letter in "'`":
        return _bad_quote(text, place)
    if letter == '"':
        end = text.find('"', place + 1)
        return unreadable(
            Span(text, place, len(text) if end < 0 else end + 1),
            "double quotes are not used here.",
            "write 'text' for text, and `name` for a name.",
            why="some dialects read them as text, others as a name.",
        )
    if letter in "@?$:{":
        name = re.compile(r".\w*+").match(text, place)
        return unsupported(
            Span(text, place, name.end() if name else place + 1),
            "parameters are not filled in.",
            ("the text must say all that is asked.", "write the value itself."),
        )
    if text.startswith("/*+", place):
        return unsupported(
            Span(text, place, place + 3),
            "hints are not read.",
            ("how a question is computed is decided by the plan.", "leave it out."),
        )
    if text.startswith("/*", place):
        return unreadable(Span(text, place, place + 2), "this comment has no end.", "write */.")
    digits = re.compile(r"[\w.]++").match(text, place)
    if digits is not None:
        return unreadable(
            Span(text, place, digits.end()),
            "this is not a number.",
            "write digits, perhaps with a point and an exponent: 1000, 0.5, 1e-6.",
        )
    do = next((do for sign, do in _SIGNS.items() if text.startswith(sign, place)), "leave it out.")
    return unreadable(here, "this sign is not part of SQL here.", do)


def _bad_quote(text: str, place: int) -> QuestionError:
    mark = text[place]
    end = text.find(mark, place + 1)
    if end < 0:
        return unreadable(
            Span(text, place, place + 1), "this quote is not closed.", f"close it with {mark}."
        )
    if text.startswith("'''", place):
        return unreadable(
            Span(text, place, place + 3),
            "three quotes stand together.",
            "begin the text with another character.",
            why="some dialects read them as a long quote, others as a quote inside the text.",
        )
    if "\\" in text[place:end]:
        return unreadable(
            Span(text, place, end + 1),
            "there is a backslash in quotes.",
            "write a quote inside text as '', and compare text without backslashes.",
            why="some dialects read it as an escape, others as a character.",
        )
    return unreadable(Span(text, place, end + 1), "this name is empty.", "write a name.")
