"""Tokens of a text, as sqlglot cuts them in a dialect; refused if dialects would differ.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Text stands between single quotes, where a doubled quote is a quote.  Backslashes and tripled quotes
are read differently by different dialects, and refused.

The value of a parameter becomes one literal, whatever characters it holds; it is never read as SQL.
The literals are part of the question, and so of its digest: the same text with other values is
another question, and a text with the values written out is the same one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from typing import Final, final

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as RawToken
from sqlglot.tokenizer_core import TokenType

from discreet.errors import InputError, QuestionError, UnreadableSQL, WrongKind
from discreet.exact import rational
from discreet.query.nodes import LONGEST_QUESTION, too_much
from discreet.query.source_text import CLAUSES, FUNCTIONS, Span, unreadable, unsupported
from discreet.query.sql.dialects import dialect_of
from discreet.query.types import Scalar

_READ: Final = """
    ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END FALSE FROM FULL GROUP HAVING
    IN INNER IS JOIN LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER OVER PARTITION RIGHT SELECT THEN
    OFFSET TRUE UNION USING WHEN WHERE WITH CUBE GROUPING ROLLUP
"""

_REFUSED: Final = """
    ANTI ANY ARRAY ASOF COLLATE CREATE DELETE DROP ESCAPE EXCEPT EXCLUDE EXISTS FETCH FOR GLOB
    ILIKE INSERT INTERSECT INTERVAL INTO LATERAL MERGE NATURAL PIVOT POSITIONAL
    QUALIFY RECURSIVE SEMI SIMILAR SOME STRUCT TABLESAMPLE UNNEST UNPIVOT UPDATE VALUES
    WINDOW WITHIN
"""

RESERVED: Final = frozenset(f"{_READ} {_REFUSED}".split())
"""Words that are read, and words that begin what is not answered."""

_SIGNS: Final = {
    "&&": "write AND.",
    "&": "write AND.",
    "!": "write NOT, or <> for unequal.",
    "==": "write = once.",
    "[": "leave the brackets out; a name with spaces is quoted: `name`.",
}
"""Signs of other languages, and what to write here."""
_NAME_ENDS: Final = '_`")]'
_SIGNS_READ: Final = "( ) [ ] , . = <> != < <= > >= + - * / % || :: => ;"
_KNOWN_SIGNS: Final = frozenset(_SIGNS_READ.split())
_NUMBER: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)

_QUOTED: Final = re.compile(r"""--[^\n]*|/\*.*?\*/|'[^']*'|"[^"]*"|`[^`]*`""", re.DOTALL)


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

    >>> tokens("'it''s'")[0].text
    "it's"
    """

    kind: TokenKind
    text: str
    span: Span
    word: str = ""
    """The word in capitals, or the sign; empty for everything that is quoted."""
    raw: RawToken | None = None


# --- parameters -----------------------------------------------------------------------------------

_MARK: Final = re.compile(r"\?|[:$@]\w+")
"""How a parameter is written: ``?``, or a sign and a name or a number."""

_Literals = tuple[tuple[TokenType, str], ...]
"""The kinds and texts of the tokens of one literal."""
Parameters = tuple[tuple[str, _Literals], ...]
"""The literal of each parameter by its name; numbers, from 1, for those in a list."""

ParameterValues = Sequence[Scalar | float | Decimal] | Mapping[str, Scalar | float | Decimal]
"""The values of ``?``, ``:name``, ``$1`` and ``@name``."""


def parameters_of(params: ParameterValues | None) -> Parameters:
    """Turn values into literals.

    >>> [name for name, _ in parameters_of(["A", 5])]
    ['1', '2']
    """
    if params is None:
        return ()
    if isinstance(params, Mapping):
        pairs = list(params.items())
        if all(isinstance(name, str) for name, _ in pairs):
            return tuple((name, _literal(name, value)) for name, value in pairs)
    elif isinstance(params, Sequence) and not isinstance(params, str | bytes):
        return tuple((str(at), _literal(str(at), each)) for at, each in enumerate(params, 1))
    raise WrongKind(
        what=f"params is a {type(params).__name__}.",
        why="a parameter is found by its place or by its name.",
        do='give a list for ? and $1, such as params=["A", 5], or a dict for :name and @name.',
    )


def _literal(name: str, value: object) -> _Literals:  # noqa: PLR0911 (cases)
    match value:
        case None:
            return ((TokenType.NULL, "NULL"),)
        case bool():
            return ((TokenType.TRUE, "TRUE") if value else (TokenType.FALSE, "FALSE"),)
        case str():
            return ((TokenType.STRING, value),)
        case datetime() if value.tzinfo is None:
            return ((TokenType.TIMESTAMP, "TIMESTAMP"), (TokenType.STRING, value.isoformat(" ")))
        case date() if not isinstance(value, datetime):
            return ((TokenType.DATE, "DATE"), (TokenType.STRING, value.isoformat()))
        case Integral():
            return _signed(str(abs(int(value))), negative=value < 0)
        case Decimal() if value.is_finite():
            return _signed(str(abs(value)), negative=value < 0)
        case Real() if not isinstance(value, Fraction) and math.isfinite(value):
            return _signed(repr(abs(float(value))), negative=value < 0)
    raise WrongKind(
        what=f"the value of parameter {name} is a {type(value).__name__} that has no literal.",
        why="a parameter stands for one value.",
        do="give a str, int, float, Decimal, bool, date, datetime without a time zone, or None.",
    )


def _signed(digits: str, *, negative: bool) -> _Literals:
    number = (TokenType.NUMBER, digits)
    return ((TokenType.DASH, "-"), number) if negative else (number,)


@final
class _Filling:
    """The parameters of a text, as they are met; each of them has to be met once at least."""

    def __init__(self, known: Parameters) -> None:
        """Take the literals by name."""
        self._known = dict(known)
        self._left = dict.fromkeys(self._known)
        self._places: Iterator[int] = iter(range(1, len(self._known) + 1))

    def literal(self, span: Span, mark: str) -> _Literals:
        """Return the tokens for a mark, or refuse it."""
        name = str(next(self._places, "?")) if mark == "?" else mark[1:]
        if name not in self._known:
            raise unsupported(
                span,
                f"the parameter {mark} has no value.",
                "the question has to say all that is asked.",
                "give it in params, or write it.",
            )
        self._left.pop(name, None)
        return self._known[name]

    def check_met(self) -> None:
        """Refuse values that no parameter of the text takes."""
        for name in self._left:
            raise WrongKind(
                what=f"the value of parameter {name} has no place in the text.",
                why="a value that changes nothing was meant for something else.",
                do="leave it out, or write ?, :name, $1 or @name where it belongs.",
            )


# --- tokens ---------------------------------------------------------------------------------------


def tokens(
    text: object, dialect: str | None = None, parameters: Parameters = ()
) -> tuple[Token, ...]:
    """Cut a text into tokens, with literals in place of parameters; the last one marks the end.

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
    _check_characters(text)
    try:
        raw = dialect_of(dialect).tokenize(text)
    except TokenError:
        raise _untokenized(text) from None
    filling = _Filling(parameters)
    found: list[Token] = []
    for each in _with_points(text, raw):
        mark = _MARK.match(text, each.start)
        if mark is None or text.startswith("::", each.start):
            if not found or each.start >= found[-1].span.end:  # else it belongs to a mark
                found.append(_token(text, each))
        else:
            span = Span(text, *mark.span())
            found += [_filled(span, *part) for part in filling.literal(span, mark[0])]
    filling.check_met()
    _mark_top(found)
    stop = len(text.rstrip())
    return (*found, Token(TokenKind.END, "", Span(text, stop, stop + 1)))


def _mark_top(found: Sequence[Token]) -> None:
    """Read TOP before a number as the limit that it is in some dialects; elsewhere it is a name."""
    for before, token, after, second in zip(found, found[1:], found[2:], found[3:], strict=False):
        counted = TokenKind.NUMBER in {after.kind, second.kind if after.word == "(" else None}
        if token.word == "TOP" and counted and before.word in {"SELECT", "DISTINCT", "ALL"}:
            start, end = token.span.start, token.span.end - 1
            token.raw = RawToken(TokenType.TOP, token.text, start=start, end=end)


def _filled(span: Span, kind: TokenType, text: str) -> Token:
    """Return a token of a literal, at the place of the parameter that it fills."""
    raw = RawToken(kind, text, start=span.start, end=span.end - 1)
    if kind == TokenType.NUMBER:
        return Token(TokenKind.NUMBER, text, span, raw=raw)
    if kind == TokenType.STRING:
        _check_characters(text)
        return Token(TokenKind.TEXT, text, span, raw=raw)
    return Token(TokenKind.SIGN if text == "-" else TokenKind.NAME, text, span, text, raw)


def _with_points(text: str, raw: Sequence[RawToken]) -> Iterator[RawToken]:
    """Join a point and the digits behind it, if no name precedes them."""
    before = -1
    waiting: RawToken | None = None
    for token in raw:
        if waiting is not None:
            if token.token_type == TokenType.NUMBER and token.start == waiting.end + 1:
                start, end = waiting.start, token.end
                written = text[start : end + 1]
                yield RawToken(TokenType.NUMBER, written, token.line, token.col, start, end)
                waiting, before = None, end
                continue
            yield waiting
            waiting = None
        behind_name = before >= 0 and before + 1 == token.start and text[before] in _NAME_ENDS
        behind_name = behind_name or (before >= 0 and text[before].isalnum())
        if token.token_type == TokenType.DOT and not behind_name:
            waiting = token
        else:
            yield token
        before = token.end
    if waiting is not None:
        yield waiting


def _check_characters(text: str) -> None:
    for place, letter in enumerate(text) if not text.isascii() or "\0" in text else ():
        if letter == "\0" or "\ud800" <= letter <= "\udfff":
            raise unreadable(
                Span(text, place, place + 1),
                "this text holds something that is not a character.",
                "write text of Unicode characters, without zero bytes.",
                why="engines store it each in their own way.",
            )


def _token(text: str, raw: RawToken) -> Token:
    start, end = raw.start, raw.end + 1
    span, written = Span(text, start, end), text[start:end]
    kind = raw.token_type
    if kind == TokenType.NUMBER:
        _check_number(text, start, end)
        return Token(TokenKind.NUMBER, written, span, raw=raw)
    if kind == TokenType.STRING:
        if "\\" in written:
            raise unreadable(
                span,
                "there is a backslash in quotes.",
                "write a quote inside text as '', and compare text without backslashes.",
                why="some dialects read it as an escape, others as a character.",
            )
        if written.startswith(("'''", '"""')) and len(written) > 2:
            raise unreadable(
                Span(text, start, start + 3),
                "three quotes stand together.",
                "begin the text with another character.",
                why="some dialects read them as a long quote, others as a quote inside the text.",
            )
        return Token(TokenKind.TEXT, raw.text, span, raw=raw)
    if kind == TokenType.IDENTIFIER:
        if not raw.text:
            raise unreadable(span, "this name is empty.", "write a name.")
        if not {"`", "\n", "\\"}.isdisjoint(raw.text):
            what = "this name holds a backtick, a backslash or the end of a line."
            raise unreadable(span, what, "write a name without them.")
        return Token(TokenKind.QUOTED, raw.text, span, raw=raw)
    if written[0].isalpha() or written[0] == "_":
        word = " ".join(written.split()).upper() if written.isascii() else written
        return Token(TokenKind.NAME, raw.text, span, word, raw)
    if written in _KNOWN_SIGNS:
        return Token(TokenKind.SIGN, written, span, written, raw)
    raise _sign_refused(text, start, end)


def _check_number(text: str, start: int, end: int) -> None:
    """Refuse digits that are not a number alone: 1_000, 0xff, 3a."""
    behind = re.compile(r"[\w.]*").match(text, end)
    stop = end if behind is None else behind.end()
    if _NUMBER.fullmatch(text, start, end) is None or stop > end:
        raise unreadable(
            Span(text, start, stop),
            "this is not a number.",
            "write digits, perhaps with a point and an exponent: 1000, 0.5, 1e-6.",
        )


def _sign_refused(text: str, start: int, end: int) -> QuestionError:
    written = text[start:end]
    if written.startswith("/*"):
        return unsupported(
            Span(text, start, start + 3),
            "hints are not read.",
            "how a question is computed is decided by the plan.",
            "leave it out.",
        )
    if written[0].isdigit():
        _check_number(text, start, start)
    do = next((do for sign, do in _SIGNS.items() if written.startswith(sign)), "leave it out.")
    return unreadable(Span(text, start, end), "this sign is not part of SQL here.", do)


def _untokenized(text: str) -> QuestionError:
    """Point at a quote, or a comment, that has no end."""
    found = _QUOTED.sub(lambda match: "x" * len(match[0]), text)
    for mark in ("/*", "'", '"', "`"):
        place = found.find(mark)
        if place < 0:
            continue
        span = Span(text, place, place + len(mark))
        if mark == "/*":
            return unreadable(span, "this comment has no end.", "write */.")
        return unreadable(span, "this quote is not closed.", f"close it with {mark}.")
    return unreadable(Span(text, 0, 1), "this text cannot be read.", "check its quotes.")


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


_CLAUSE_WORDS: Final = frozenset(word for word in CLAUSES if word in RESERVED)


def check_words(found: tuple[Token, ...]) -> None:
    """Refuse words that begin what is not answered, and signs and words that sqlglot would drop."""
    opened: list[str] = []
    for at, token in enumerate(found[:-1]):
        before = found[at - 1] if at else Token(TokenKind.END, "", token.span)
        after = found[at + 1]
        if token.word in {"(", "["}:
            opened.append(before.word if token.word == "(" else "[")
        elif token.word in {")", "]"} and opened:
            opened.pop()
        _check_neighbors(token, before, after)
        if token.kind is TokenKind.NAME:
            for word in token.word.split(" "):
                _check_word(word, before.word, found, at, opened)


_OPERANDS: Final = frozenset({TokenKind.NUMBER, TokenKind.TEXT, TokenKind.QUOTED})
_VALUES: Final = frozenset({"TRUE", "FALSE", "NULL", "END", "ALL", "ASC", "DESC"})
_LISTS: Final = "write a column, value or function, or leave out the comma."


def _ends(token: Token) -> bool:
    """Say whether an operand may end with a token."""
    plain = token.kind is TokenKind.NAME and (
        token.word.split(" ")[0] not in RESERVED or token.word in _VALUES
    )
    return plain or token.kind in _OPERANDS or token.word in {")", "]", "*"}


def _begins(token: Token) -> bool:
    """Say whether an operand may begin with a token."""
    words = {"CASE", "CAST", "NOT", "EXISTS", "INTERVAL", "LEFT", *_VALUES, *_CLAUSE_WORDS}
    words |= {"ANY", "SOME", "SELECT", "CUBE", "GROUPING", "ROLLUP"}
    plain = token.kind is TokenKind.NAME and (
        token.word.split(" ")[0] not in RESERVED or token.word in words
    )
    return plain or token.kind in _OPERANDS or token.word in {"(", "[", "-", "+", "*", "."}


def _check_neighbors(token: Token, before: Token, after: Token) -> None:
    """Refuse a comma, a point or AS without what belongs to it."""
    names = {TokenKind.NAME, TokenKind.QUOTED}
    wrong: tuple[Token, str] | None = None
    if token.word == ",":
        ended = _begins(after) or after.word == "FROM"
        wrong = (after, _LISTS) if not ended else wrong
        wrong = (token, _LISTS) if not _ends(before) else wrong
    elif token.word == "." and not (
        before.kind in names
        and before.word not in RESERVED
        and (after.kind in names or after.word == "*")
    ):
        wrong = token, "write table.column."
    elif (
        token.word == "AS"
        and after.word != "("
        and not (after.kind in names and after.word not in RESERVED - {"STRUCT", "SELECT"})
    ):
        wrong = token, "write a name behind AS, or leave it out."
    elif token.word == "*" and _ends(before) and before.word != "ALL" and not _begins(after):
        wrong = token, "leave it out."
    elif token.word == "FROM" and after.word in {"FOR", ")"}:
        wrong = after, "write what is behind FROM."
    elif token.word == "FROM" and before.word in {"(", "ALL", "UNION"}:
        wrong = token, "write SELECT before FROM."
    if wrong is not None:
        do = wrong[1]
        if before.word in RESERVED and before.kind is TokenKind.NAME:
            do += f" A column whose name is a word of SQL is quoted: `{before.text}`."
        raise unreadable(wrong[0].span, "a part of the question is missing here.", do)


def _check_word(
    word: str, before: str, found: tuple[Token, ...], at: int, opened: list[str]
) -> None:
    token = found[at]
    after, second = (found[min(at + steps, len(found) - 1)] for steps in (1, 2))
    if _is_answered(word, before, after, second, opened):
        return
    if word in {"IGNORE", "RESPECT"} and after.word == "NULLS":
        raise _clause_refused(token, word, after)
    called = after.word == "(" and token.word == word
    if word in FUNCTIONS and (called or word.startswith("CURRENT_")):
        raise unsupported(token.span, f"{word} is not answered here.", *FUNCTIONS[word])
    if word in _CLAUSE_WORDS:
        raise _clause_refused(token, word, after)


def _is_answered(word: str, before: str, after: Token, second: Token, opened: list[str]) -> bool:
    """Say whether a word that is refused elsewhere is a name, or part of what is answered."""
    named = before == "." or (before == "AS" and (word not in RESERVED or word == "STRUCT"))
    inside = opened[-1] if opened else ""
    counted = after.kind in {TokenKind.NUMBER, TokenKind.TEXT} or after.word in {"-", "+"}
    return (
        named
        or (word == "EXCEPT" and before == "*")
        or (word == "EXISTS" and after.word == "(" and second.word in {"SELECT", "WITH"})
        or (word == "INTERVAL" and counted)
        or (word == "FOR" and inside in {"SUBSTRING", "SUBSTR"})
        or (word == "WEEK" and after.word == "(" and second.word == "MONDAY")
    )


def _clause_refused(token: Token, word: str, after: Token) -> QuestionError:
    why, do = CLAUSES[word]
    named = after.kind is TokenKind.SIGN and after.word != "("
    quoting = f"A name that is a word of SQL is quoted: `{token.text}`."
    start = token.span.start + max(token.span.words.upper().find(word), 0)
    span = Span(token.span.text, start, start + len(word))
    return unsupported(
        span, f"{word} is not answered here.", why, f"{do} {quoting}" if named else do
    )
