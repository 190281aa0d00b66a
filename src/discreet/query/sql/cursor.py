"""A place in the tokens of a text.

Trust: kernel.
"""

from __future__ import annotations

from typing import final

from discreet.errors import QuestionError
from discreet.query.span import Span
from discreet.query.sql.limits import DEEPEST, LARGEST, too_much
from discreet.query.sql.refusals import CLAUSES, unreadable, unsupported
from discreet.query.sql.tokens import Kind, Token, tokens
from discreet.query.sql.words import RESERVED

__all__ = ["Cursor"]


@final
class Cursor:
    """Reads tokens from left to right, and points at what it cannot read.

    >>> cursor = Cursor("GROUP BY ward")
    >>> cursor.accept("GROUP", "BY"), cursor.name("a column")[0]
    (True, 'ward')
    """

    __slots__ = ("at", "depth", "found", "work")

    def __init__(self, text: object) -> None:
        """Stand before the first token."""
        self.found = tokens(text)
        self.at = 0
        self.depth = 0
        self.work = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.found[self.at]

    def ahead(self, steps: int) -> Token:
        """Return a later token, or the end."""
        return self.found[min(self.at + steps, len(self.found) - 1)]

    def sees(self, *words: str) -> bool:
        """Whether these words, or signs, come next."""
        return all(self.ahead(at).word == word for at, word in enumerate(words))

    def take(self) -> Token:
        """Return the next token and step over it; the end stays."""
        token = self.token
        self.at = min(self.at + 1, len(self.found) - 1)
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

    def name(self, what: str) -> tuple[str, Span]:
        """Step over a name, quoted or not a word of SQL, and return it."""
        token = self.token
        if token.kind is Kind.QUOTED or (token.kind is Kind.NAME and token.word not in RESERVED):
            self.take()
            return token.text, token.span
        missing = f"{what} is missing here."
        if token.kind is not Kind.NAME:
            raise self.stray(missing, f"write {what}.")
        quoting = f"A name that is a word of SQL is quoted: `{token.text}`."
        if token.word not in CLAUSES:
            raise unreadable(token.span, missing, f"write {what}. {quoting}")
        why, do = CLAUSES[token.word]
        named = self.ahead(1).kind is Kind.SIGN and self.ahead(1).word != "("
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
        return self.found[start].span.to(self.found[max(self.at - 1, start)].span)

    def deeper(self) -> None:
        """Count one level down; ``self.depth -= 1`` comes back up."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise too_much(f"this is nested more than {DEEPEST} deep.", self.token.span)

    def end(self) -> None:
        """Refuse everything but the end of the text."""
        if self.token.kind is not Kind.END:
            raise self.stray("the text goes on where it should end.", "leave the rest out.")

    def weigh(self, nodes: int) -> None:
        """Count the work of checking a tree; what is read again and again is checked again."""
        self.work += nodes
        if self.work > 10 * LARGEST:
            raise too_much("the tables of this question are too much.", self.token.span)

    def stray(self, what: str, do: str) -> QuestionError:
        """Return the refusal of the next token, for its own reason if it has one."""
        token = self.token
        reason = CLAUSES.get(token.word) if token.kind is Kind.NAME else None
        if reason is not None:
            return unsupported(token.span, f"{token.word} is not answered here.", reason)
        if token.word == ";" and self.ahead(1).kind is not Kind.END:
            return unsupported(
                token.span,
                "there is more than one statement.",
                ("each question is priced and recorded on its own.", "ask them one by one."),
            )
        return unreadable(token.span, what, do)
