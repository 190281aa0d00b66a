"""The text that a person wrote: how to point at it, and how to refuse it with a reason.

Trust: public.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from discreet.errors import UnknownName, UnreadableSQL, UnsupportedSQL

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
    letters = span.text[shift : min(stop, shift + _WIDEST)]
    shown = "".join(letter if letter.isprintable() else " " for letter in letters)
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


def meant_as_text(span: Span | None) -> str:
    """Say how text is written, if a name that is not there stands in double quotes.

    >>> meant_as_text(Span('vote = "Y"', 7, 10)), meant_as_text(Span("vote = Y", 7, 8))
    ("text goes in single quotes: 'Y'; ", '')
    """
    words = "" if span is None else span.words
    if len(words) < 3 or not words[0] == words[-1] == '"':
        return ""
    text = words[1:-1].replace("'", "''").replace('""', '"')
    return f"text goes in single quotes: '{text}'; "


_TWO_WAYS: Final = "a text that can be read in two ways, or in none, is not answered."

Reason = tuple[str, str]
"""Why something is not answered, and what to do instead."""

_BITS: Final = "its last digits differ between engines, and so would the answer."
_PRIVATE_ROWS: Final = "it picks rows by comparing people with each other."
_CHANCE: Final = "an answer must depend on the data and on our noise alone."
_KIND: Final = "only inner, left, right, full and cross joins are checked to keep people apart."

CLAUSES: Final[dict[str, Reason]] = {
    "QUALIFY": (
        "windows are computed in the select list alone.",
        "put the window into a subquery, and filter with WHERE around it.",
    ),
    "WINDOW": ("a window is read where it is used.", "write the window out after OVER."),
    "TABLESAMPLE": (_CHANCE, "leave it out; a sample is declared by the owner of the table."),
    "PIVOT": (
        "it turns values into columns.",
        "write COUNTIF or FILTER (WHERE ...) for each column.",
    ),
    "UNPIVOT": ("it turns columns into values.", "write a UNION ALL of several SELECTs."),
    "LATERAL": ("a subquery for each row cannot be checked.", "write a join with a condition."),
    "NATURAL": (
        "which columns it joins on changes with the tables.",
        "write JOIN ... USING (column).",
    ),
    "ASOF": (_KIND, "write a JOIN with ON."),
    "SEMI": (_KIND, "write WHERE EXISTS (SELECT ...), or IN."),
    "ANTI": (_KIND, "write WHERE NOT EXISTS (SELECT ...)."),
    "POSITIONAL": (_KIND, "write a JOIN with ON."),
    "EXCEPT": (
        "it compares the rows of different people.",
        "filter with WHERE, or LEFT JOIN and IS NULL.",
    ),
    "INTERSECT": ("it compares the rows of different people.", "write a JOIN."),
    "FETCH": ("there is one way to say it here.", "write LIMIT 5."),
    "FOR": ("a question only reads, and reads what is there now.", "leave it out."),
    "INTO": ("a question only reads.", "leave it out, and store the answer yourself."),
    "RECURSIVE": (
        "how often it runs would depend on the data.",
        "write out the steps, or prepare the table beforehand.",
    ),
    "EXISTS": (
        "a subquery chooses rows, and rows are chosen by conditions that all hold.",
        "write it as a condition of WHERE by itself, with AND between it and the others.",
    ),
    "INTERVAL": (
        "adding an interval means different things on different engines.",
        "write DATE_ADD(day, INTERVAL 7 DAY) or DATE_SUB.",
    ),
    "ARRAY": ("values are numbers, text, dates and truth values.", "leave it out."),
    "STRUCT": ("values are numbers, text, dates and truth values.", "select the columns."),
    "UNNEST": (
        "lists inside a table are not read.",
        "prepare a table with one row for each entry.",
    ),
    "VALUES": (
        "every table is declared by the owner, who says which are public.",
        "declare a public table, or list the categories in the policy.",
    ),
    "EXCLUDE": ("columns are named, not left out.", "name the columns that you need."),
    "COLLATE": ("text is compared by its code points.", "leave it out."),
    "SIMILAR": ("patterns differ between engines.", "write LIKE."),
    "GLOB": ("patterns differ between engines.", "write LIKE."),
    "ESCAPE": ("patterns have no escapes here.", "write LIKE without % and _ as letters."),
    "ROWS": (
        "frames are those of SQL: the whole partition, or all rows up to the current one.",
        "leave the frame out.",
    ),
    "RANGE": ("frames are those of SQL.", "leave the frame out."),
    "GROUPS": ("frames are those of SQL.", "leave the frame out."),
    "IGNORE": ("values are taken as they come.", "filter the rows first."),
    "RESPECT": ("values are taken as they come.", "leave it out."),
    "WITHIN": ("there is one way to say it here.", "write PERCENTILE_CONT(x, 0.5) or MEDIAN(x)."),
}
"""Words that begin something which is not answered."""

FUNCTIONS: Final[dict[str, Reason]] = {
    **dict.fromkeys(("RAND", "RANDOM", "UUID", "GENERATE_UUID"), (_CHANCE, "leave it out.")),
    **dict.fromkeys(
        (
            "NOW",
            "TODAY",
            "GETDATE",
            "SYSDATE",
            "CURRENT_DATE",
            "CURRENT_TIMESTAMP",
            "CURRENT_DATETIME",
            "CURRENT_TIME",
        ),
        ("the same question must be the same tomorrow.", "write the day, as DATE '2025-01-31'."),
    ),
    **dict.fromkeys(
        ("ANY", "SOME"),
        (
            "there is one way to say it here.",
            "write x IN (SELECT ...), or x > (SELECT MIN(y) FROM ...) for x > ANY (...).",
        ),
    ),
    **dict.fromkeys(
        ("SIN", "COS", "TAN", "CBRT"),
        (_BITS, "compute it beforehand, or from the answer."),
    ),
    **dict.fromkeys(
        ("DATE_FORMAT", "FORMAT_DATE", "STRFTIME", "TO_CHAR"),
        (
            "formats differ between engines.",
            "write DATE_TRUNC(day, MONTH) or EXTRACT(YEAR FROM day).",
        ),
    ),
    **dict.fromkeys(
        ("DAYOFWEEK", "WEEKDAY"),
        (
            "engines begin to count on different days.",
            "write EXTRACT(DAYOFWEEK FROM day), 1 on Sunday.",
        ),
    ),
    **dict.fromkeys(
        ("WEEK", "WEEKOFYEAR", "ISOWEEK"),
        (
            "a week begins on Sunday for some engines, on Monday for others.",
            "write DATE_TRUNC(day, ISOWEEK), the Monday of the week.",
        ),
    ),
    **dict.fromkeys(
        ("BOOL_AND", "BOOL_OR", "LOGICAL_AND", "LOGICAL_OR"),
        ("whether one person is there decides it.", "write COUNTIF(x), or COUNTIF(x) > 0."),
    ),
    **dict.fromkeys(
        ("KURTOSIS", "SKEWNESS"),
        ("it has no bounds that could be declared.", "use AVG(x * x * x) and the like."),
    ),
    "LOG": ("it has base e in some dialects and base 10 in others.", "write LN(x) or LOG10(x)."),
    **dict.fromkeys(
        ("REGEXP_CONTAINS", "REGEXP_EXTRACT", "REGEXP_MATCHES", "REGEXP_REPLACE"),
        ("patterns differ between engines.", "write LIKE, STARTS_WITH or ENDS_WITH."),
    ),
    **dict.fromkeys(
        (
            *("ARRAY_AGG", "STRING_AGG", "GROUP_CONCAT", "LIST", "ANY_VALUE", "FIRST", "LAST"),
            *("ARG_MAX", "ARG_MIN", "MAX_BY", "MIN_BY"),
        ),
        ("it hands out values of single people.", "count them: GROUP BY the value."),
    ),
    "APPROX_TOP_SUM": (
        "there is one way to say it here.",
        "GROUP BY the value, ORDER BY SUM(x), LIMIT.",
    ),
    **dict.fromkeys(
        ("NTILE", "PERCENT_RANK", "CUME_DIST", "LAST_VALUE", "NTH_VALUE"),
        (_PRIVATE_ROWS, "use ROW_NUMBER, RANK, FIRST_VALUE, LAG or LEAD."),
    ),
    **dict.fromkeys(
        ("DATEDIFF", "AGE"),
        ("its arguments come in different orders on different engines.", "write DATE_DIFF."),
    ),
    "UNNEST": CLAUSES["UNNEST"],
}
"""Functions that are known and not answered."""


def unreadable(span: Span, what: str, do: str, why: str = _TWO_WAYS) -> UnreadableSQL:
    """Return the refusal of a text that is not SQL.

    >>> unreadable(Span("SELEC", 0, 5), "a question begins with SELECT.", "write SELECT.").code
    'E501'
    """
    return UnreadableSQL(what=pointed(what, span), why=why, do=do)


def unsupported(span: Span | None, what: str, why: str, do: str) -> UnsupportedSQL:
    """Return the refusal of SQL that is not answered here.

    >>> unsupported(Span("QUALIFY", 0, 7), "QUALIFY.", *CLAUSES["QUALIFY"]).code
    'E502'
    """
    return UnsupportedSQL(what=pointed(what, span), why=why, do=do)


def inner_query_refused(span: Span | None) -> UnsupportedSQL:
    """Return the refusal of a subquery that is not a condition of WHERE by itself.

    >>> inner_query_refused(None).code
    'E502'
    """
    return unsupported(span, "a subquery is used inside an expression.", *CLAUSES["EXISTS"])


def unknown(span: Span, what: str, do: str) -> UnknownName:
    """Return the refusal of a name that is not there.

    >>> unknown(Span("SQUARE(x)", 0, 6), "no such function.", "see the list.").code
    'E503'
    """
    return UnknownName(
        what=pointed(what, span),
        why="only functions that mean the same on every engine can be used.",
        do=do,
    )


def rows_refused(span: Span | None) -> UnsupportedSQL:
    """Return the refusal of single rows.

    >>> rows_refused(None).code
    'E502'
    """
    return unsupported(
        span,
        "this asks for single rows.",
        "a row belongs to a person; answers are noisy aggregates over groups.",
        (
            "write an aggregate such as COUNT(*) or AVG(x), or GROUP BY; rows of public "
            "tables alone can be had by naming their columns."
        ),
    )
