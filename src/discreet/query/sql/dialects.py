"""Dialects: how sqlglot cuts and parses a text, with functions left as they are written.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

A dialect decides quotes, comments, operators and the order of NULL.  What a function means is
decided by its name alone (:mod:`discreet.query.functions`), in every dialect; functions whose
meaning differs between dialects are refused.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from discreet.errors import UnknownName

DIALECTS: Final = (
    *("bigquery", "clickhouse", "databricks", "duckdb", "oracle", "postgres", "redshift"),
    *("snowflake", "spark", "trino", "tsql"),
)
"""The dialects that can be named; without one, names are quoted with "..." or backticks.

MySQL and SQLite are not among them: their LIKE ignores case, and MySQL runs some comments.
"""

_KEPT: Final = ("CAST", "TRY_CAST", "SAFE_CAST", "EXTRACT", "SUBSTRING")
_LOCATED: Final = (
    *("_parse_unary", "_parse_types", "_parse_join", "_parse_select_query", "_parse_hint"),
)
_NAMES: Final = ("DIV", "MOD")
CLAUSES: Final = frozenset({"DIFFERENTIAL_PRIVACY", "ANONYMIZATION", "AGGREGATION_THRESHOLD"})
"""Words behind SELECT WITH, in every dialect."""


def dialect_of(name: str | None) -> Any:
    """Return a dialect by its name, ready to parse.

    >>> dialect_of("duckdb").tokenize("a")[0].text
    'a'
    """
    if name is not None and (not isinstance(name, str) or name.lower() not in DIALECTS):
        raise UnknownName(
            what=f"there is no dialect {str(name)[:40]!r} here.",
            why="a text is read by the rules of its dialect.",
            do=f"use one of: {', '.join(DIALECTS)}; or leave it out.",
        )
    return _made(None if name is None else name.lower())


@cache
def _made(name: str | None) -> Any:
    base: Any = Dialect if name is None else type(Dialect.get_or_raise(name))
    words = {
        word: kind for word, kind in base.tokenizer_class.KEYWORDS.items() if word not in _NAMES
    }
    settings: dict[str, Any] = {"KEYWORDS": words, "HEREDOC_STRINGS": []}  # $1,$2 quotes nothing
    if name is None:
        settings |= {
            "IDENTIFIERS": ['"', "`"],
            "QUOTES": ["'"],
            "STRING_ESCAPES": ["'"],
            "COMMENTS": ["--", "#", ("/*", "*/")],
            "NESTED_COMMENTS": False,
        }
    tokenizer = type("Tokenizer", (base.tokenizer_class,), settings)
    return type(f"Question{name}", (base,), {"Tokenizer": tokenizer, "Parser": _parser(base)})()


def _parser(base: Any) -> type:
    """Return a parser that leaves functions alone, and notes which tokens a node was read from."""
    parser = base.parser_class
    constants = {
        TokenType.NULL: exp.Null,
        TokenType.TRUE: lambda: exp.Boolean(this=True),
        TokenType.FALSE: lambda: exp.Boolean(this=False),
        TokenType.STAR: exp.Star,
    }
    primary = {
        **parser.PRIMARY_PARSERS,
        **{kind: _constant(make) for kind, make in constants.items()},
    }
    body: dict[str, Any] = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": {
            name: read for name, read in parser.FUNCTION_PARSERS.items() if name in _KEPT
        },
        "NO_PAREN_FUNCTION_PARSERS": {"CASE": parser.NO_PAREN_FUNCTION_PARSERS["CASE"]},
        "NO_PAREN_FUNCTIONS": {},
        "PRIMARY_PARSERS": primary,
    }
    body["FUNCTION_PARSERS"] |= {"EXTRACT": _extract}
    body["_parse_lambda"] = _argument(parser)
    body["_parse_hint"] = _privacy_clause(parser)
    body |= {name: _located(body.get(name) or getattr(parser, name)) for name in _LOCATED}
    return type("Parser", (parser,), body)


def _extract(parser: Any) -> Any:
    """Parse (YEAR FROM any expression); sqlglot takes fewer expressions, and a comma, too."""
    part = parser._parse_var_or_string(upper=True)  # noqa: SLF001 (as its own methods do)
    if not parser._match(TokenType.FROM):  # noqa: SLF001
        parser.raise_error("Expected FROM")
    return parser.expression(exp.Extract(this=part, expression=parser._parse_disjunction()))  # noqa: SLF001


def _privacy_clause(base: Any) -> Any:
    """Parse WITH word OPTIONS(name = value, ...) behind SELECT, as a hint."""

    def parse(parser: Any) -> Any:
        word = parser._next.text.upper() if parser._next else ""  # noqa: SLF001
        if word not in CLAUSES or not parser._match(TokenType.WITH):  # noqa: SLF001
            return base._parse_hint(parser)  # noqa: SLF001
        parser._advance()  # noqa: SLF001
        options: list[Any] = []
        if parser._match_text_seq("OPTIONS"):  # noqa: SLF001
            options = parser._parse_wrapped_csv(parser._parse_disjunction, optional=False)  # noqa: SLF001
        return parser.expression(exp.Anonymous(this=word, expressions=options))

    return parse


def _argument(base: Any) -> Any:
    """Parse an argument; DISTINCT is about one value, behind which named ones may stand."""

    def parse(parser: Any, *arguments: Any, **named: Any) -> Any:
        if parser._match(TokenType.DISTINCT):  # noqa: SLF001
            value = parser._parse_disjunction()  # noqa: SLF001
            return parser.expression(exp.Distinct(expressions=[value]))
        return base._parse_lambda(parser, *arguments, **named)  # noqa: SLF001

    return parse


def _constant(make: Any) -> Any:
    def read(_: Any, token: Any) -> Any:
        return make().update_positions(token)

    return read


def _located(parse: Any) -> Any:
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        first = self._index
        node = parse(self, *arguments, **named)
        if isinstance(node, exp.Expr) and "at" not in node.meta and self._index > first:
            node.meta["at"] = first, self._index - 1
        return node

    return method
