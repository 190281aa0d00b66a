"""Which expressions are of one row, below an aggregation, and which of groups, above it.

Trust: kernel.  A window in a filter, or an aggregate in a key, would look at the rows of others.

A tree may hold one node in many places; it is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from discreet.errors import UnsupportedSQL
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    InnerQuery,
    Literal,
    Star,
    Window,
    check_expression,
    walk,
)
from discreet.query.functions import PLAIN, RELEASED
from discreet.query.node_checks import wrong
from discreet.query.source_text import CLAUSES, Span, inner_query_refused, unsupported

_ROW: Final = (Column, Literal, Call, Case, Cast)
_GROUP: Final = (Literal, Call, Case, Cast)


def check_row(expression: Expression, *, windows: bool = False, span: Span | None = None) -> None:
    """Refuse what is not computed from one row, or from windows where these are allowed.

    >>> check_row(Call("NOT", (Column("paid"),)))
    """
    check_expression(expression, span)
    waiting: list[tuple[Expression, bool]] = [(expression, windows)]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        node, allowed = waiting.pop()
        if (id(node), allowed) in seen:
            continue
        seen.add((id(node), allowed))
        if isinstance(node, Window) and allowed:
            allowed = False
        elif not isinstance(node, _ROW):
            raise wrong(f"{_shown(node)} stands where a value of one row is needed.", span)
        elif isinstance(node, Call) and node.function in RELEASED:
            raise _last_digits(node)
        waiting.extend((child, allowed) for child in node.children())


def check_totals(totals: Iterable[tuple[str, Aggregate]], span: Span | None = None) -> None:
    """Refuse aggregates of rows that need noise.

    >>> check_totals((("n", Aggregate("COUNT")),))
    """
    for _, value in totals:
        if not _is_plain(value):
            raise wrong("an aggregation without noise holds something else.", span)
        for part in value.children():
            check_row(part, span=span)


def _is_plain(total: Aggregate) -> bool:
    """Say whether an aggregate has nothing that only private ones have."""
    given = (total.parameter, total.bounds_per_group, total.bounds_per_row, total.epsilon)
    return total.function in PLAIN and all(part is None for part in given)


def check_group(
    expression: Expression,
    keys: int,
    span: Span | None = None,
    *,
    windows: bool = False,
    values: int = 0,
) -> None:
    """Refuse what is not computed from aggregates and the keys of a group, given their number.

    A window, where it is allowed, looks at such values of all groups.  ``values`` is the number of
    subqueries that stand for a value.

    >>> check_group(Call("NOT", (Grouped(0),)), 1)
    """
    check_expression(expression, span)
    waiting = [(expression, windows)]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        node, allowed = waiting.pop()
        if (id(node), allowed) in seen:
            continue
        seen.add((id(node), allowed))
        if isinstance(node, Aggregate):
            if node.distinct and node.function not in {"COUNT", "SUM"}:
                raise wrong(f"{node.function} of a group takes all values.", span)
            for part in node.children():
                check_row(part, span=span)
        elif isinstance(node, Grouped):
            if node.at >= keys:
                raise wrong("there is no key of this number.", span)
        elif isinstance(node, InnerQuery) and node.at < values:
            continue
        elif isinstance(node, _GROUP) or (isinstance(node, Window) and allowed):
            inside = allowed and not isinstance(node, Window)
            waiting.extend((child, inside) for child in node.children())
        else:
            raise wrong(f"{_shown(node)} stands where a value of a group is needed.", span)


def _last_digits(call: Call) -> UnsupportedSQL:
    shown = "POWER(AVG(x), 2)" if call.function == "POWER" else f"{call.function}(AVG(x))"
    do = f"apply it to the answer, as in {shown}, or compute it beforehand; x * x is a square."
    return unsupported(
        call.span,
        f"{call.function} stands where a value of one row is needed.",
        "its last digits differ between engines, and so would the answer.",
        do,
    )


def _shown(node: Expression) -> str:
    return f"a {type(node).__name__}"


def only_rows(expression: Expression, *, place: str, windows: bool = False) -> Expression:
    """Return the expression itself, unless it needs more than one row to be computed.

    >>> from discreet.query.expressions import Column
    >>> only_rows(Column("ward"), place="WHERE")
    Column(name='ward', table=None)
    """
    for node in walk(expression):
        if isinstance(node, Call) and node.function in RELEASED:
            raise _last_digits(node)
        if isinstance(node, Aggregate):
            raise unsupported(
                node.span,
                f"an aggregate stands in {place}.",
                "it is computed for a group, after the rows are chosen.",
                "filter groups with HAVING, or aggregate in a subquery first.",
            )
        if isinstance(node, Window):
            if not windows:
                raise unsupported(node.span, f"a window stands in {place}.", *CLAUSES["QUALIFY"])
            for inner in node.children():
                only_rows(inner, place="a window")
        if isinstance(node, InnerQuery):
            raise inner_query_refused(node.span)
        if isinstance(node, Star):
            raise unsupported(
                node.span,
                "the star stands where one value is needed.",
                "it means all columns of a table.",
                "name the column.",
            )
    return expression
