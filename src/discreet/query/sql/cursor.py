"""A place in the tokens of a text, and the literals that are read there.

Trust: kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeVar, final

from discreet.errors import QuestionError
from discreet.query.expressions import Call, Cast, Expression, Literal
from discreet.query.node_checks import DEEPEST_NESTING, LARGEST_TREE, too_much
from discreet.query.source_text import CLAUSES, Span, unreadable, unsupported
from discreet.query.sql.tokens import RESERVED, Token, TokenKind, number, tokens
from discreet.query.types import TYPES_BY_NAME, Type

if TYPE_CHECKING:  # a cursor keeps what others read
    from discreet.query.relations import Relation
    from discreet.query.sql.select_syntax import Select

__all__ = ["Cursor", "Reader", "dated", "moment", "negated", "read_cast", "signed"]

Entry = TypeVar("Entry")


@final
class Cursor:
    """Reads tokens from left to right, and points at what it cannot read.

    >>> cursor = Cursor("GROUP BY ward")
    >>> cursor.accept("GROUP", "BY"), cursor.name("a column")[0]
    (True, 'ward')
    """

    __slots__ = (
        "at",
        "depth",
        "inner_query",
        "inner_value",
        "released",
        "selects",
        "tokens",
        "work",
    )

    def __init__(self, text: object) -> None:
        """Stand before the first token."""
        self.tokens = tokens(text)
        self.at = 0
        self.depth = 0
        self.work = 0
        self.inner_query: Callable[[Expression | None, int], Expression] | None = None
        self.inner_value: Callable[[int], Expression] | None = None
        self.released: dict[str, Select] = {}
        self.selects: dict[int, tuple[Relation, Select]] = {}
        """Reads a subquery and its parenthesis, given what IN compares and the token where the
        condition began; None where there can be no subquery."""

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def ahead(self, steps: int) -> Token:
        """Return a later token, or the end."""
        return self.tokens[min(self.at + steps, len(self.tokens) - 1)]

    @property
    def before(self) -> str:
        """The word, or sign, that was stepped over last."""
        return self.tokens[self.at - 1].word if self.at else ""

    def without_comma(self, do: str) -> str:
        """Say what to do where something is missing; behind a comma, it may be too much itself."""
        return f"{do.removesuffix('.')}, or leave out the comma." if self.before == "," else do

    def sees(self, *words: str) -> bool:
        """Whether these words, or signs, come next."""
        last, at = len(self.tokens) - 1, self.at
        for word in words:
            if self.tokens[min(at, last)].word != word:
                return False
            at += 1
        return True

    def take(self) -> Token:
        """Return the next token and step over it; the end stays."""
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, *words: str) -> bool:
        """Step over these words, if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, word: str, do: str | None = None) -> Token:
        """Step over this word, or refuse what stands there instead."""
        if not self.sees(word):
            raise self.stray(f"{word} is missing here.", do or f"write {word}.")
        return self.take()

    def sees_name(self) -> bool:
        """Whether a name comes next, quoted or not a word of SQL."""
        token = self.token
        bare = token.kind is TokenKind.NAME and token.word not in RESERVED
        return bare or token.kind is TokenKind.QUOTED

    def dotted(self, what: str) -> list[str]:
        """Step over names with dots between them, and return them."""
        names = [self.name(what)[0]]
        while self.accept("."):
            names.append(self.name(what)[0])
        return names

    def listed(
        self, read: Callable[[Cursor], Entry], *, most: int | None = None, what: str = ""
    ) -> tuple[Entry, ...]:
        """Read entries with commas between them; more than ``most`` are refused."""
        entries = [read(self)]
        while self.accept(","):
            entries.append(read(self))
            if most is not None and len(entries) > most:
                raise too_much(f"{what} more than {most} entries.", self.token.span)
        return tuple(entries)

    def name(self, what: str) -> tuple[str, Span]:
        """Step over a name, quoted or not a word of SQL, and return it."""
        token = self.token
        if self.sees_name():
            self.take()
            return token.text, token.span
        missing = f"{what} is missing here."
        if token.kind is not TokenKind.NAME:
            raise self.stray(missing, self.without_comma(f"write {what}."))
        quoting = f"A name that is a word of SQL is quoted: `{token.text}`."
        if token.word not in CLAUSES:
            do = self.without_comma(f"write {what}.")
            raise unreadable(token.span, missing, f"{do} {quoting}")
        why, do = CLAUSES[token.word]
        named = self.ahead(1).kind is TokenKind.SIGN and self.ahead(1).word != "("
        reason = (why, f"{do} {quoting}" if named else do)
        raise unsupported(token.span, f"{token.word} is not answered here.", reason)

    def plain_name(self, what: str) -> tuple[str, Span]:
        """Step over a name without dots, and return it."""
        name, span = self.name(what)
        if "." in name:
            raise unreadable(span, "this name has a dot.", "use a name without dots.")
        return name, span

    def since(self, start: int) -> Span:
        """Return the stretch from a token up to the last one stepped over."""
        return self.tokens[start].span.to(self.tokens[max(self.at - 1, start)].span)

    def deeper(self) -> None:
        """Count one level down; ``self.depth -= 1`` comes back up."""
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise too_much(f"this is nested more than {DEEPEST_NESTING} deep.", self.token.span)

    def end(self) -> None:
        """Refuse everything but the end of the text."""
        if self.token.kind is not TokenKind.END:
            around = [self.tokens[max(self.at - 1, 0)].kind, self.ahead(1).kind]
            comma = self.token.word == "," and around == [TokenKind.NUMBER, TokenKind.NUMBER]
            do = "write 3.5 with a point, if a number is meant." if comma else "leave the rest out."
            if comma and self.tokens[max(self.at - 2, 0)].word == "LIMIT":
                do = f"write LIMIT {self.ahead(1).text}; the first groups cannot be skipped."
            raise self.stray("the text goes on where it should end.", do)

    def weigh(self, nodes: int) -> None:
        """Count the work of checking a tree; what is read again and again is checked again."""
        self.work += nodes
        if self.work > 10 * LARGEST_TREE:
            raise too_much("the tables of this question are too much.", self.token.span)

    def stray(self, what: str, do: str) -> QuestionError:
        """Return the refusal of the next token, for its own reason if it has one."""
        token = self.token
        reason = CLAUSES.get(token.word) if token.kind is TokenKind.NAME else None
        if reason is not None:
            return unsupported(token.span, f"{token.word} is not answered here.", reason)
        if token.word == ";" and self.ahead(1).kind is not TokenKind.END:
            return unsupported(
                token.span,
                "there is more than one statement.",
                ("each question is priced and recorded on its own.", "ask them one by one."),
            )
        return unreadable(token.span, what, do)


_TEXTS: Final = frozenset({"CHAR", "CHARACTER", "STRING", "VARCHAR"})
_MOST_LETTERS: Final = 10**6
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII)


Reader = Callable[[Cursor], Expression]
"""What reads an expression at a cursor."""


def moment(text: str, kind: Type) -> date | None:
    """Read a day, or a moment, from text; None if it is not one.

    >>> moment("2025-01-31", Type.DATE), moment("2025-02-30", Type.DATE)
    (datetime.date(2025, 1, 31), None)
    """
    try:
        if kind is Type.DATE:
            return date.fromisoformat(text) if _DAY.fullmatch(text) else None
        if _DAY.fullmatch(text):
            return datetime.fromisoformat(f"{text} 00:00:00")
        return _exact_moment(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def _exact_moment(text: str) -> datetime:
    whole, _, fraction = text.partition(".")
    return datetime.fromisoformat(whole).replace(microsecond=int(fraction.ljust(6, "0") or 0))


def dated(cursor: Cursor) -> Literal:
    """Read DATE '2025-01-31' or TIMESTAMP '2025-01-31 12:00:00'.

    >>> dated(Cursor("DATE '2025-01-31'")).value
    datetime.date(2025, 1, 31)
    """
    start = cursor.at
    kind = TYPES_BY_NAME[cursor.take().word]
    value = moment(cursor.take().text, kind)
    span = cursor.since(start)
    if value is None:
        form = "2025-01-31" if kind is Type.DATE else "2025-01-31 12:00:00"
        raise unreadable(
            span,
            f"this is no {kind.value} of the calendar.",
            f"write it as {kind.value} '{form}'.",
            why="engines would fail on it, or read another day.",
        )
    return Literal(value, span=span)


def negated(inner: Expression, span: Span) -> Expression:
    """Return the number with the other sign, or the expression turned.

    >>> negated(Literal(2), Span("-2", 0, 2))
    Literal(value=-2)
    """
    if isinstance(inner, Literal) and inner.type is not None and inner.type.is_number:
        return Literal(-Fraction(inner.value), span=span)  # type: ignore[arg-type]
    return Call("NEGATE", (inner,), span=span)


def signed(cursor: Cursor, what: str) -> tuple[Fraction, Span]:
    """Read a number with or without a sign, exactly.

    >>> signed(Cursor("-0.5"), "a bound")[0]
    Fraction(-1, 2)
    """
    start = cursor.at
    minus = cursor.accept("-")
    if not minus:
        cursor.accept("+")
    if cursor.token.kind is not TokenKind.NUMBER:
        raise cursor.stray(f"{what} is a written number.", "write a number, such as 0.5 or 1e-6.")
    value = number(cursor.take())
    return (-value if minus else value), cursor.since(start)


def read_cast(cursor: Cursor, inner: Expression, start: int) -> Expression:
    """Read the type that an expression is cast to; texts of n letters are cut after the n-th.

    >>> read_cast(Cursor("INT64"), Literal("7"), 0)
    Cast(argument=Literal(value='7'), to=INTEGER)
    """
    kind, letters = _type(cursor)
    cast = Cast(inner, kind, span=cursor.since(start))
    if letters is None:
        return cast
    return Call("SUBSTR", (cast, Literal(1), Literal(letters)), span=cast.span)


def _type(cursor: Cursor) -> tuple[Type, int | None]:
    """Read the name of a type, and how many letters a text may have."""
    token = cursor.take()
    if token.word == "DOUBLE":
        cursor.accept("PRECISION")
    if token.word in _TEXTS and cursor.sees("(") and cursor.ahead(1).kind is TokenKind.NUMBER:
        cursor.take()
        letters, span = signed(cursor, "a number of letters")
        if letters.denominator != 1 or not 1 <= letters <= _MOST_LETTERS:
            raise unreadable(span, "this is no number of letters.", "write VARCHAR(10), or TEXT.")
        cursor.expect(")")
        return Type.TEXT, int(letters)
    kind = TYPES_BY_NAME.get(token.word)
    if kind is None or cursor.token.word in {"WITH", "WITHOUT", "(", "["}:
        raise unsupported(
            token.span if kind is None else token.span.to(cursor.token.span),
            "this type is not known here.",
            (
                "only types that hold the same values on every engine are used.",
                "use INTEGER, FLOAT, TEXT, BOOLEAN, DATE or TIMESTAMP.",
            ),
        )
    return kind, None
