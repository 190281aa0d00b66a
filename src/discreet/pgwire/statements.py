"""What a client sends: statements, settings of its session, and questions with their price.

Trust: public.  Any other statement goes to the service as a question, which refuses what it
does not answer before anything is spent.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.documents import QuestionDocument
from discreet.errors import OutOfRange, UnsupportedSQL

VERSION: Final = "15.0"
_OWN: Final = "discreet."
_WORD: Final = re.compile("[A-Za-z]+")
_SET: Final = re.compile(
    r"SET\s+(?:SESSION\s+|LOCAL\s+)?([\w.]+)(?:\s*=\s*|\s+TO\s+|\s+)(.+)", re.IGNORECASE | re.DOTALL
)
_QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_NOTHING: Final = {
    **dict.fromkeys(("BEGIN", "START"), "BEGIN"),
    **dict.fromkeys(("COMMIT", "END"), "COMMIT"),
    **dict.fromkeys(("ROLLBACK", "ABORT"), "ROLLBACK"),
    "SAVEPOINT": "SAVEPOINT",
    "RELEASE": "RELEASE",
    "CLOSE": "CLOSE CURSOR",
    "UNLISTEN": "UNLISTEN",
}
"""Statements that do nothing here, and the words by which they are confirmed."""
_FIELDS: Final = frozenset(QuestionDocument.model_fields) - {
    *("question", "params", "dialect", "format"),
}
_PRICES: Final = frozenset({"epsilon", "rho", "delta", "error", "share"})
_TRUE: Final = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_USUAL: Final = {
    "server_version": VERSION,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "datestyle": "ISO, MDY",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "default_transaction_read_only": "off",
    "application_name": "",
    "search_path": '"$user", public',
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "lc_collate": "C",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "statement_timeout": "0",
    "client_min_messages": "notice",
}
_MOST_SETTINGS: Final = 100
_LONGEST: Final = 10_000
_LETTERS: Final = 100_000
_MOST_STATEMENTS: Final = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement: its first word, its text, and what its tokens say of it.

    ``question`` is the text without the schema before names: public.visits is visits.  ``priced``
    says whether a clause of the text names a price.
    """

    word: str
    text: str
    question: str
    parameters: int = 0
    priced: bool = False

    @property
    def is_query(self) -> bool:
        """Whether it may be a question."""
        return self.word in _QUERIES


class _Tokenizer(Postgres.Tokenizer):
    """In which $1,$2 are two parameters, and not the start of a quoted text."""

    HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
    SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
        **Postgres.Tokenizer.SINGLE_TOKENS,
        "$": TokenType.PARAMETER,
    }


_TOKENIZER: Final = _Tokenizer(dialect=Postgres())


def tokens_of(text: str) -> list[Token]:
    """Cut a text; what cannot be cut is one of no words."""
    try:
        return list(_TOKENIZER.tokenize(text))
    except SqlglotError:
        return []


def refused_catalog(what: str) -> UnsupportedSQL:
    """Return the refusal of a question about tables."""
    return UnsupportedSQL(
        what=what,
        why="what is public about tables is in information_schema and pg_catalog.",
        do="SELECT table_name, column_name, data_type FROM information_schema.columns.",
    )


def statements(text: str, database: str) -> list[Statement]:
    """Cut a text at its semicolons, in a time that grows with its length alone (T1).

    Comments before a statement are left out: tools sign with them.

    >>> [each.word for each in statements("/* dbt */ BEGIN; ((SELECT ';' -- ;", "clinic")]
    ['BEGIN', 'SELECT']
    """
    if len(text) > _LETTERS:
        raise _refused_length(f"a text has more than {_LETTERS:,} characters")
    found: list[Statement] = []
    part: list[Token] = []
    try:
        tokens = [*_TOKENIZER.tokenize(text), None]
    except SqlglotError:
        return [Statement(word="SELECT", text=text.strip(), question=text.strip())]
    for token in tokens:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            part.append(token)
            continue
        if part:
            found.append(_statement(part, text[: None if token is None else token.start], database))
        part = []
    if len(found) > _MOST_STATEMENTS:
        raise _refused_length(f"a message has more than {_MOST_STATEMENTS} statements")
    return found


def _statement(tokens: list[Token], text: str, database: str) -> Statement:
    """Return the statement of some tokens, which are the last ones of a text.

    >>> asked = 'SELECT "public"."t"."a" FROM clinic.public.t WHERE a IN ($1,$2)'
    >>> statements(asked, "clinic")[0].question, statements(asked, "clinic")[0].parameters
    ('SELECT "t"."a" FROM t WHERE a IN ($1,$2)', 2)
    """
    first = next((each for each in tokens if each.token_type != TokenType.L_PAREN), tokens[0])
    word = _WORD.match(text, first.start)
    kept, at, path, numbers = [], tokens[0].start, list[Token](), [0]
    for token, after in itertools.pairwise(tokens):
        if token.text == "$" and after.start == token.end + 1:
            numbers += [int(after.text)] if re.fullmatch("[0-9]{1,5}", after.text) else []
        if token.token_type == TokenType.DOT:
            continue
        path.append(token)
        if after.token_type != TokenType.DOT:
            path = []
        elif [each.text.lower() for each in path[:3]] in (["public"], [database, "public"]):
            kept.append(text[at : path[0].start])
            at = after.end + 1
    return Statement(
        word=word[0].upper() if word else "SELECT",
        text=text[tokens[0].start :].strip(),
        question="".join([*kept, text[at:]]).strip(),
        parameters=max(numbers),
        priced=any(each.text.upper() == "DIFFERENTIAL_PRIVACY" for each in tokens),
    )


def _refused_length(what: str) -> OutOfRange:
    return OutOfRange(
        what=f"{what}.",
        why="whoever sends much at once would keep others waiting.",
        do="send less at a time.",
    )


@final
class Settings:
    """The settings of a session; those of discreet are checked when they are set.

    >>> settings = Settings()
    >>> settings.put("discreet.epsilon", "0.1")
    >>> (asked,) = statements("SELECT COUNT(*) AS n FROM visits", "clinic")
    >>> settings.form(asked, []).epsilon
    '0.1'
    """

    __slots__ = ("_given",)

    def __init__(self) -> None:
        """Begin with those that all have."""
        self._given: dict[str, str] = {}

    def value(self, name: str) -> str | None:
        """Return a setting, or None if there is none of this name."""
        name = name.lower()
        if name in self._given or name in _USUAL:
            return self._given.get(name, _USUAL.get(name))
        known = name.removeprefix(_OWN) in _FIELDS | {"intervals"}
        return "" if name.startswith(_OWN) and known else None

    def all(self) -> dict[str, str]:
        """Return all settings."""
        own = {f"{_OWN}{name}": "" for name in sorted(_FIELDS | {"intervals"})}
        return {**_USUAL, **own, **self._given}

    @property
    def intervals(self) -> bool:
        """Whether the ends of intervals are wanted as columns."""
        return _TRUE.get(self._given.get("discreet.intervals", "off"), False)

    def statement(self, text: str) -> None:
        """Carry out SET name = value."""
        words = text.split()
        if len(words) > 1 and words[1].upper() in {"TRANSACTION", "ROLE", "CONSTRAINTS"}:
            return
        if re.match(r"SET\s+SESSION\s+(CHARACTERISTICS|AUTHORIZATION)", text, re.IGNORECASE):
            return
        found = _SET.fullmatch(re.sub(r"(?i)^SET\s+TIME\s+ZONE\s", "SET timezone ", text))
        if found is None:
            raise _refused(f"this is not SET name = value: {text[:60]}")
        name = "client_encoding" if found[1].lower() == "names" else found[1]
        self.put(name, ", ".join(_unquoted(part) for part in found[2].split(",")))

    def put(self, name: str, value: str) -> None:
        """Set one setting; one that is empty or ``default`` is as if it were not set."""
        name = name.lower()
        if len(name) + len(value) > _LONGEST or len(self._given) >= _MOST_SETTINGS:
            raise _refused("there are too many settings, or one is too long")
        if value.lower() in {"", "default"}:
            self._given.pop(name, None)
        elif name == "client_encoding" and value.upper().replace("-", "") not in _ENCODINGS:
            raise _refused("only the encoding UTF8 is spoken here")
        elif name == "datestyle" and not value.upper().startswith("ISO"):
            raise _refused("dates are written in the style ISO here")
        elif name.startswith(_OWN):
            self._own(name.removeprefix(_OWN), value)
            self._given[name] = value
        elif name not in {"client_encoding", "server_version", "server_encoding", "datestyle"}:
            self._given[name] = value

    def reset(self, name: str = "ALL") -> None:
        """Forget a setting, or all."""
        if name.upper() == "ALL":
            self._given.clear()
        self._given.pop(name.lower(), None)

    def _own(self, name: str, value: str) -> object:
        """Return the value of a setting of a question."""
        if name in {"intervals", "confirm", "other"}:
            if value.lower() not in _TRUE:
                raise _refused(f"discreet.{name} is neither on nor off")
            return _TRUE[value.lower()]
        if name not in _FIELDS:
            known = ", ".join(sorted(f"{_OWN}{each}" for each in _FIELDS | {"intervals"}))
            raise _refused(f"there is no setting {_OWN}{name[:60]}; there are {known}")
        if name == "error":
            pairs = [each.partition("=") for each in value.split(",")]
            if not all(given for _, _, given in pairs):
                raise _refused("discreet.error is not like 'n=20, cost=5'")
            return {output.strip(): width.strip() for output, _, width in pairs}
        if name in {"size", "max_rows", "max_groups"}:
            if not re.fullmatch(r"[0-9]{1,18}", value):
                raise _refused(f"{_OWN}{name} is not a whole number")
            return int(value)
        if not re.fullmatch(r"[0-9.eE/+-]{1,100}%?", value):
            raise _refused(f"{_OWN}{name} is not a number")
        return value

    @property
    def priced(self) -> bool:
        """Whether a price is set for all questions."""
        return any(f"{_OWN}{name}" in self._given for name in ("epsilon", "rho", "error", "share"))

    def form(self, asked: Statement, params: Sequence[Any]) -> QuestionDocument:
        """Return a question with the price that the session has set, or with that of its clause."""
        given = {
            name.removeprefix(_OWN): self._own(name.removeprefix(_OWN), value)
            for name, value in self._given.items()
            if name.startswith(_OWN)
        }
        given.pop("intervals", None)
        if asked.priced:
            given = {name: value for name, value in given.items() if name not in _PRICES}
        return QuestionDocument.read(
            {
                "question": asked.question,
                "dialect": "postgres",
                "params": list(params) or None,
                **given,
            }
        )


_ENCODINGS: Final = frozenset({"UTF8", "UNICODE", "SQL_ASCII", "AUTO"})


def _unquoted(text: str) -> str:
    text = text.strip().removesuffix(";").strip()
    quoted = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1].replace("''", "'") if quoted else text.strip('"')


def _refused(what: str) -> OutOfRange:
    return OutOfRange(
        what=f"{what}.",
        why="settings decide on the price of questions, so none is guessed.",
        do="SET discreet.epsilon = '0.1', say; SHOW ALL lists the settings.",
    )


def refused_statement(word: str) -> UnsupportedSQL:
    """Return the refusal of a statement that is not a question."""
    cursors = word in {"DECLARE", "FETCH", "MOVE"}
    return UnsupportedSQL(
        what=f"{word} is not answered here.",
        why="an answer is a small table, and comes at once."
        if cursors
        else "this server answers questions about tables, and changes nothing.",
        do="read the answer without a server-side cursor."
        if cursors
        else "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward, say.",
    )


def confirmation(statement: Statement) -> str | None:
    """Return how a statement that does nothing here is confirmed; None for all others."""
    return _NOTHING.get(statement.word)


def pairs_of_options(options: str) -> Iterator[tuple[str, str]]:
    """Read the settings that a client names when it connects.

    >>> dict(pairs_of_options("-c discreet.epsilon=0.1 --discreet.intervals=on"))
    {'discreet.epsilon': '0.1', 'discreet.intervals': 'on'}
    """
    words = re.sub(r"(^|\s)-c\s*", r"\1--", options)
    for word in shlex.split(words):
        name, _, value = word.removeprefix("--").partition("=")
        yield name.replace("-", "_"), value
