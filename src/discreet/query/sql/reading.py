"""One text while it is read: sqlglot's tree, where each node stands, and which words were used.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

sqlglot reads more than is answered here, and drops a few words without a sound.  So lowering takes
known nodes with known parts alone, and afterwards every name, number and text has to be in what was
lowered (``check_used``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final, final

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError

from discreet.errors import QuestionError
from discreet.query.expressions import Expression, check_size
from discreet.query.nodes import DEEPEST_NESTING, LARGEST_TREE, too_much
from discreet.query.relations import Relation
from discreet.query.source_text import CLAUSES, Span, unreadable, unsupported
from discreet.query.sql.dialects import dialect_of
from discreet.query.sql.select import Select
from discreet.query.sql.tokens import (
    RESERVED,
    Parameters,
    Token,
    TokenKind,
    check_words,
    number,
    tokens,
)

_MOST_TYPES: Final = 5
_SILENT_WORDS: Final = """
    ALL AS ASC DESC DISTINCT FILTER FIRST FROM LAST NULLS OPTIONS OUTER OVER PARTITION TOP WHERE
    WITH
"""
_SILENT: Final = frozenset(_SILENT_WORDS.split())
"""Words without a node of their own; whether they may be left out or added is tested."""

Lowering = Callable[["Reading", Any], Expression]
_LOWERING: Final[dict[type, Lowering]] = {}


def lowers(*kinds: type) -> Callable[[Lowering], Lowering]:
    """Register how expressions of these kinds of sqlglot's are lowered."""

    def register(lower: Lowering) -> Lowering:
        _LOWERING.update(dict.fromkeys(kinds, lower))
        return lower

    return register


@final
class Reading:
    """A text, its tokens and its tree.

    >>> reading = Reading("SELECT ward FROM visits")
    >>> reading.query().key
    'select'
    """

    def __init__(
        self, text: object, dialect: str | None = None, parameters: Parameters = ()
    ) -> None:
        """Cut the text."""
        self.tokens = tokens(text, dialect, parameters)
        check_words(self.tokens)
        self.text = str(text)
        self.dialect = dialect
        self._index = {token.span.start: at for at, token in enumerate(self.tokens)}
        self._used: set[int] = set()
        self._tree: Any = None
        self._depth = self._work = 0
        self.inner: list[Any] = []
        """The conditions that are being lowered, and whose subqueries are collected."""
        self.released: dict[str, Select] = {}
        """What WITH has named that has a clause of its own."""
        self.selects: dict[int, tuple[Relation, Select]] = {}
        """The SELECT of each relation that is one."""
        self.top: tuple[int, Span] | None = None
        """How many most frequent values are asked for, if it is more than one, and where."""
        self._check_nesting()

    # --- before parsing ---------------------------------------------------------------------------

    def _check_nesting(self) -> None:
        """Refuse what is nested deep, so that parsing ends soon.

        A word that names a type and a function, as TIMESTAMP, is tried as both, and so is all that
        stands in its parentheses: each of them doubles the work.
        """
        opened: list[bool] = []
        run = cases = 0
        for at, token in enumerate(self.tokens):
            if token.word in {"(", "["}:
                opened.append(self._names_type(at - 1))
            elif token.word in {")", "]"} and opened:
                opened.pop()
            cases += (token.word == "CASE") - (token.word == "END")
            run = run + 1 if token.word in {"NOT", "-", "+"} else 0
            if len(opened) + max(cases, 0) > DEEPEST_NESTING or run > DEEPEST_NESTING:
                raise too_much(f"this is nested more than {DEEPEST_NESTING} deep.", token.span)
            if sum(opened) > _MOST_TYPES:
                what = f"functions that are named after types are nested {_MOST_TYPES} deep."
                raise too_much(what, token.span)
        if opened:
            end = self.tokens[-1].span
            raise unreadable(end, "a parenthesis is not closed.", "close it with ).")

    def _names_type(self, at: int) -> bool:
        raw = self.tokens[at].raw if at >= 0 else None
        types = dialect_of(self.dialect).parser_class.TYPE_TOKENS
        return raw is not None and raw.token_type in types

    # --- parsing ----------------------------------------------------------------------------------

    def parse(self, method: str) -> Any:
        """Return the tree of the whole text."""
        dialect = dialect_of(self.dialect)
        parser = dialect.parser(error_level=ErrorLevel.IMMEDIATE)
        raw = [token.raw for token in self.tokens if token.raw is not None]
        try:
            if method == "query":
                trees = parser.parse(raw, self.text)
            elif method == "_parse_orders":
                trees = parser._parse(_orders, raw, self.text)  # noqa: SLF001 (no other way)
            else:
                trees = parser._parse(getattr(type(parser), method), raw, self.text)  # noqa: SLF001
        except ParseError as error:
            raise self._unparsed(error) from None
        except RecursionError:
            raise too_much("this is nested too deep.", self.tokens[0].span) from None
        whole = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
        if len(whole) != 1:
            raise self._several()
        self._tree = whole[0]
        return self._tree

    def forget(self) -> None:
        """Drop the tree, of which every node knows the one above: no collector has to find it."""
        waiting = [] if self._tree is None else [self._tree]
        while waiting:
            node = waiting.pop()
            node.parent = None
            waiting += [each for each in node.iter_expressions() if each.parent is node]
        self._tree = None

    def query(self) -> Any:
        """Return the tree of a question."""
        first = next((t for t in self.tokens if t.word != "("), self.tokens[-1])
        if first.word not in {"SELECT", "WITH"}:
            if first.kind is TokenKind.NAME and first.word != "FROM":
                raise unsupported(
                    first.span,
                    "a question begins with SELECT or WITH.",
                    "a question only reads.",
                    "write SELECT ... FROM ... GROUP BY ...",
                )
            raise unreadable(first.span, "a question begins with SELECT or WITH.", "write SELECT.")
        return self.parse("query")

    def _several(self) -> QuestionError:
        for token in self.tokens:
            if token.word == ";":
                return unsupported(
                    token.span,
                    "there are several questions in one text.",
                    "each question is priced and recorded on its own.",
                    "ask them one by one.",
                )
        return unreadable(
            self.tokens[0].span, "this is not SQL.", "write SELECT ... FROM ... GROUP BY ..."
        )

    def _unparsed(self, error: ParseError) -> QuestionError:
        first = error.errors[0] if error.errors else {}
        line, column = first.get("line"), first.get("col")
        here = self.tokens[-1]
        for token in self.tokens:
            raw = token.raw
            if raw is not None and (raw.line, raw.col) == (line, column):
                here = token
        if here.kind is TokenKind.NAME and here.word in CLAUSES and here.word in RESERVED:
            return unsupported(here.span, f"{here.word} is not answered here.", *CLAUSES[here.word])
        at = self.tokens.index(here)
        around = [self.tokens[max(at - steps, 0)] for steps in (1, 2)]
        numbers = here.kind is around[1].kind is TokenKind.NUMBER
        if numbers and around[0].word == ",":
            do = "write 3.5 with a point, if a number is meant."
            return unreadable(around[0].span, "a comma stands between two numbers.", do)
        do = "look for a missing comma, parenthesis or word of SQL before it"
        if here.word in RESERVED:
            do += f"; a column whose name is a word of SQL is quoted: `{here.text}`"
        return unreadable(here.span, "the text cannot be read from here on.", f"{do}.")

    # --- lowering ---------------------------------------------------------------------------------

    def lower(self, node: Any) -> Expression:
        """Lower an expression."""
        lower = _LOWERING.get(type(node))
        if lower is None:
            raise self.refused(node)
        return lower(self, node)

    def expression(self, node: Any) -> Expression:
        """Lower an expression, and check that it is not too large."""
        return check_size(self.lower(node))

    # --- places -----------------------------------------------------------------------------------

    def at(self, node: Any) -> tuple[int, int]:
        """Return the first and the last token of a node."""
        known = node.meta.get("at")
        if known is not None:
            return int(known[0]), int(known[1])
        start = node.meta.get("start")
        places = [] if start is None else [self._index.get(start, 0)]
        if places and isinstance(node, exp.Func):
            places.append(self._closing(places[0] + 1))
        for child in node.iter_expressions():
            places += self._at_or_nothing(child)
        found = (min(places), max(places)) if places else (0, 0)
        node.meta["at"] = found
        return found

    def _closing(self, opening: int) -> int:
        """Return the parenthesis that closes the one at a token."""
        depth = 0
        for at in range(opening, len(self.tokens)):
            depth += (self.tokens[at].word == "(") - (self.tokens[at].word == ")")
            if depth == 0:
                return at
        return opening

    def _at_or_nothing(self, node: Any) -> list[int]:
        if "at" in node.meta or "start" in node.meta or any(True for _ in node.iter_expressions()):
            first, last = self.at(node)
            return [first, last] if (first, last) != (0, 0) else []
        return []

    def span(self, node: Any) -> Span:
        """Return where a node stands."""
        first, last = self.at(node)
        return self.tokens[first].span.to(self.tokens[last].span)

    def between(self, first: int, last: int) -> Span:
        """Return the stretch from one token to another."""
        return self.tokens[first].span.to(self.tokens[max(first, last)].span)

    def token(self, node: Any) -> Token:
        """Return the token of a name, a number or a text."""
        return self.tokens[self._index.get(node.meta.get("start"), 0)]

    def behind(self, at: int) -> Token:
        """Return the token behind another one."""
        return self.tokens[min(at + 1, len(self.tokens) - 1)]

    def find(self, node: Any, word: str) -> Span:
        """Return where a word stands in a node, or the node."""
        first, last = self.at(node)
        for token in self.tokens[first : last + 1]:
            if token.word == word:
                return token.span
        return self.span(node)

    # --- what was used ----------------------------------------------------------------------------

    def use(self, node: Any) -> None:
        """Note that the token of a node is in what is lowered."""
        self._used.add(self._index.get(node.meta.get("start"), -1))

    def use_all(self, node: Any) -> None:
        """Note that all tokens of a node are."""
        first, last = self.at(node)
        self._used.update(range(first, last + 1))

    def use_word(self, at: int) -> None:
        """Note that a token is."""
        self._used.add(at)

    def check_used(self) -> None:
        """Refuse a text of which a name, a number or a text was dropped."""
        if self.top is not None:
            raise unsupported(
                self.top[1],
                "APPROX_TOP_COUNT with several values is not alone.",
                "it is answered by a table of values and counts, and a cell holds one of them.",
                "ask for it alone, as SELECT APPROX_TOP_COUNT(x, 3) FROM t; or write "
                "APPROX_TOP_COUNT(x, 1); or GROUP BY the value, ORDER BY COUNT(*) DESC, LIMIT.",
            )
        for at, token in enumerate(self.tokens):
            if (
                at in self._used
                or token.raw is None
                or token.kind in {TokenKind.SIGN, TokenKind.END}
            ):
                continue
            plain = token.kind is not TokenKind.NAME or token.word.split(" ")[0] not in (
                RESERVED | _SILENT
            )
            if plain:
                raise unreadable(
                    token.span,
                    "this word has no place here.",
                    "leave it out, or write it as the list of what is answered does.",
                )

    def only(self, node: Any, *names: str) -> None:
        """Refuse a node that has other parts than these."""
        for name, value in node.args.items():
            if name in names or value is None or value is False or value == []:
                continue
            inner = value[0] if isinstance(value, list) else value
            place = inner if isinstance(inner, exp.Expr) else node
            raise self.refused(place if self.at(place) != (0, 0) else node)

    def preceded(self, node: Any, word: str, do: str) -> None:
        """Refuse a node before which a word is missing, which sqlglot does without."""
        first, _ = self.at(node)
        if self.tokens[max(first - 1, 0)].word != word:
            raise unreadable(self.tokens[first].span, f"{word} is missing here.", do)

    def refused(self, node: Any) -> QuestionError:
        """Return the refusal of what is not part of the dialect."""
        return unsupported(
            self.tokens[-1].span if node is None else self.span(node),
            "this is not answered here.",
            "only what the list of SQL names is answered; nothing is left out in silence.",
            "see the list of SQL that is answered, and write it with what is there.",
        )

    @property
    def outermost(self) -> bool:
        """Whether no subquery is being lowered."""
        return self._depth == 0

    @contextmanager
    def inside(self, node: Any) -> Iterator[None]:
        """Go one level down into a subquery, and come back up."""
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise too_much(f"this is nested more than {DEEPEST_NESTING} deep.", self.span(node))
        yield
        self._depth -= 1

    def weigh(self, nodes: int, node: Any) -> None:
        """Count the work of checking a tree; what is read again and again is checked again."""
        self._work += nodes
        if self._work > 10 * LARGEST_TREE:
            raise too_much("the tables of this question are too much.", self.span(node))

    def name(self, identifier: Any, what: str) -> str:
        """Return a name, which is quoted if it is a word of SQL."""
        if not isinstance(identifier, exp.Identifier):
            raise self.refused(identifier)
        self.use(identifier)
        token = self.token(identifier)
        if token.kind is TokenKind.NAME and token.word in RESERVED:
            raise unreadable(
                token.span,
                f"{what} is missing here.",
                f"write {what}. A name that is a word of SQL is quoted: `{token.text}`.",
            )
        if token.kind is TokenKind.TEXT:
            raise unreadable(token.span, "a text is used where a name is needed.", "write `name`.")
        return str(identifier.this)

    def dotted(self, node: Any) -> list[Any]:
        """Return the names of a path with many dots, from the first one."""
        if not isinstance(node, exp.Dot):
            return [node]
        return [*self.dotted(node.this), *self.dotted(node.expression)]

    def signed(self, node: Any, what: str) -> tuple[Fraction, Span]:
        """Read a number with or without a sign, exactly."""
        inner, sign = node, 1
        while isinstance(inner, exp.Neg):
            inner, sign = inner.this, -sign
        if not isinstance(inner, exp.Literal) or inner.is_string:
            raise unreadable(
                self.span(node),
                f"{what} is a written number.",
                "write a number, such as 0.5 or 1e-6.",
            )
        self.use(inner)
        return sign * number(self.token(inner)), self.span(node)


def _orders(parser: Any) -> Any:
    return exp.Order(expressions=parser._parse_csv(parser._parse_ordered))  # noqa: SLF001 (no other way)
