"""The differential privacy clause: WITH DIFFERENTIAL_PRIVACY OPTIONS(name = value, ...).

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

No library parses it, so it is read from the tokens, and taken out before the rest is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, final

from discreet.exact import decimal
from discreet.query.expression_text import said_number
from discreet.query.expressions import Column
from discreet.query.question import NOISES, STRATEGIES, Clause
from discreet.query.source_text import Span, unreadable, unsupported
from discreet.query.sql.tokens import Token, TokenKind, number, tokens

MARKED: Final = frozenset({"DIFFERENTIAL_PRIVACY", "ANONYMIZATION", "AGGREGATION_THRESHOLD"})
"""Words behind SELECT WITH."""
_NAMES: Final = frozenset({TokenKind.NAME, TokenKind.QUOTED})
_OTHERS: Final = {
    "ANONYMIZATION": "its name in GoogleSQL is DIFFERENTIAL_PRIVACY now.",
    "AGGREGATION_THRESHOLD": "a threshold without noise protects nobody.",
}


def read_clause(found: Sequence[Token], at: int) -> tuple[Clause, int]:
    """Read the clause that begins at a token; return it, and the token behind it.

    >>> from discreet.query.sql.tokens import tokens
    >>> read_clause(tokens("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1)"), 0)[0].epsilon
    Fraction(1, 10)
    """
    cursor = Cursor(found, at)
    cursor.take()
    word = cursor.token.word
    if word in _OTHERS:
        raise unsupported(
            cursor.token.span,
            f"{word} is not answered here.",
            (_OTHERS[word], "write WITH DIFFERENTIAL_PRIVACY."),
        )
    cursor.take()
    given: dict[str, Any] = {}
    if cursor.accept("OPTIONS"):
        cursor.expect("(")
        while cursor.token.word != ")":
            if given:
                cursor.expect(",", "write each value as it is, and commas between options.")
            _option(cursor, given)
        cursor.expect(")")
    return _checked(Clause(**given, span=cursor.since(at))), cursor.at


def clause_of(given: Mapping[str, object]) -> Clause:
    """Return the clause of options given in Python: numbers, or text as in SQL.

    >>> clause_of({"epsilon": 0.1, "noise": "gaussian"}).epsilon
    Fraction(1, 10)
    """
    options: dict[str, Any] = {}
    for name, value in given.items():
        text = value if isinstance(value, str) else said_number(decimal(value, name=name))
        cursor = Cursor(tokens(f"{name} = {text}"), 0)
        _option(cursor, options)
        cursor.end()
    return _checked(Clause(**options))


@final
class Cursor:
    """A place in tokens."""

    __slots__ = ("at", "tokens")

    def __init__(self, found: Sequence[Token], at: int) -> None:
        """Stand before a token."""
        self.tokens, self.at = found, at

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Return the next token and step over it; the end stays."""
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, word: str) -> bool:
        """Step over this word, if it comes next."""
        seen = self.token.word == word
        self.at += seen
        return seen

    def expect(self, word: str, do: str | None = None) -> None:
        """Step over this word, or refuse what stands there instead."""
        if not self.accept(word):
            raise unreadable(self.token.span, f"{word} is missing here.", do or f"write {word}.")

    def since(self, start: int) -> Span:
        """Return the stretch from a token up to the last one stepped over."""
        return self.tokens[start].span.to(self.tokens[max(self.at - 1, start)].span)

    def end(self) -> None:
        """Refuse everything but the end of the text."""
        if self.token.kind is not TokenKind.END:
            raise unreadable(self.token.span, "the text goes on.", "leave the rest out.")

    def signed(self, what: str) -> tuple[Fraction, Span]:
        """Read a number with or without a sign, exactly."""
        start = self.at
        minus = self.accept("-")
        if not minus:
            self.accept("+")
        if self.token.kind is not TokenKind.NUMBER:
            do = "write a number, such as 0.5 or 1e-6."
            raise unreadable(self.token.span, f"{what} is a written number.", do)
        value = number(self.take())
        return (-value if minus else value), self.since(start)


def _checked(clause: Clause) -> Clause:
    """Refuse two currencies."""
    if clause.rho is not None and clause.epsilon is not None:
        raise unsupported(
            clause.span,
            "both epsilon and rho are given.",
            ("a question has one price.", "give epsilon, or rho."),
        )
    return clause


def _option(cursor: Cursor, given: dict[str, Any]) -> None:
    start = cursor.at
    name = cursor.take().text.lower()
    if name == "max_rows_contributed":
        raise unsupported(
            cursor.since(start),
            "max_rows_contributed is not an option here.",
            (
                "in GoogleSQL it limits the rows of a person in all groups together.",
                "write max_rows_per_group = 5, the rows of a person in each group, and "  # noqa: ISC004
                "max_groups_contributed = 3 for the groups.",
            ),
        )
    if name not in OPTIONS:
        raise unsupported(
            cursor.since(start),
            f"there is no option {name}.",
            (
                "what is not understood may change the promise.",
                f"use one of: {', '.join(OPTIONS)}.",
            ),
        )
    cursor.expect("=", f"write {name} = value.")
    value = OPTIONS[name](cursor, name)
    if name in given:
        raise unreadable(cursor.since(start), f"{name} is given twice.", "give it once.")
    given[name] = value


def _above_zero(cursor: Cursor, name: str) -> Fraction:
    value, span = cursor.signed(name)
    if value <= 0:
        raise unsupported(
            span,
            f"{name} is not above zero.",
            ("nothing can be told at no price.", f"give {name} above zero."),
        )
    return value


def _chance(cursor: Cursor, name: str) -> Fraction:
    value, span = cursor.signed(name)
    if not 0 <= value < 1:
        raise unsupported(
            span,
            f"{name} is not from 0 up to 1.",
            (
                "it is a chance, and at 1 nothing is promised.",
                f"give a {name} far below one over the number of people.",
            ),
        )
    return value


def _count(cursor: Cursor, name: str) -> int:
    start = cursor.at
    if cursor.accept("NULL"):
        raise unsupported(
            cursor.since(start),
            f"{name} is NULL.",
            ("without a limit one person could change every group.", "give a whole number."),
        )
    value, span = cursor.signed(name)
    if value.denominator != 1 or not 1 <= value < 2**31:
        raise unsupported(
            span,
            f"{name} is not a whole number above zero.",
            ("it counts groups, rows or people.", "give 1 or more."),
        )
    return int(value)


def _unit(cursor: Cursor, name: str) -> Column:
    start = cursor.at
    parts = [cursor.take()]
    while cursor.token.word not in {",", ")"} and cursor.token.kind is not TokenKind.END:
        parts.append(cursor.take())
    dots = [part.word == "." for part in parts]
    plain = len(parts) % 2 == 1 and dots == [place % 2 == 1 for place in range(len(parts))]
    if not plain or not all(part.kind in _NAMES for part in parts[::2]):
        raise unsupported(
            cursor.since(start),
            f"{name} is not a column.",
            ("who is protected is told by one column.", f"write {name} = column."),
        )
    *tables, name = (part.text for part in parts[::2])
    return Column(name, ".".join(tables) or None, span=cursor.since(start))


def _word(choices: tuple[str, ...]) -> Callable[[Cursor, str], str]:
    def read(cursor: Cursor, name: str) -> str:
        token = cursor.take()
        value = token.text.upper()
        if token.kind not in {TokenKind.NAME, TokenKind.TEXT} or value not in choices:
            raise unsupported(
                token.span,
                f"this is no {name}.",
                ("what is not understood may change the promise.", f"use {' or '.join(choices)}."),
            )
        return value

    return read


OPTIONS: Final[dict[str, Callable[[Cursor, str], Any]]] = {
    "epsilon": _above_zero,
    "delta": _chance,
    "rho": _above_zero,
    "max_groups_contributed": _count,
    "max_rows_per_group": _count,
    "privacy_unit_column": _unit,
    "group_selection_strategy": _word(STRATEGIES),
    "group_selection_epsilon": _above_zero,
    "min_privacy_units_per_group": _count,
    "noise": _word(NOISES),
}
"""The options of the clause, and how each is read."""
