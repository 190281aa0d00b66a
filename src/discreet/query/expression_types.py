"""Types of expressions, and the columns of relations.

Trust: kernel.  What has a type here is computed alike by every engine; all else is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn, assert_never

from discreet.errors import UnknownName, UnsupportedSQL, WrongType
from discreet.exact import with_article
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Grouping,
    InnerQuery,
    Literal,
    Star,
    Window,
    walk,
)
from discreet.query.functions import (
    AGGREGATES,
    ANYWHERE,
    CASTS,
    FUNCTIONS,
    GROUP_WINDOWS,
    PARTS,
    PLAIN,
    TIME_PARTS,
    WINDOWS,
    Function,
)
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    descend,
    folded,
)
from discreet.query.source_text import Span, inner_query_refused, meant_as_text, pointed
from discreet.query.types import NUMBERS, Type

__all__ = [
    "AGGREGATES",
    "CASTS",
    "COMPARED",
    "FUNCTIONS",
    "PARTS",
    "PLAIN",
    "WINDOWS",
    "ColumnTypes",
    "Function",
    "check_condition",
    "typed",
]


class ColumnTypes(dict[str, Type]):
    """The types of columns, and of the keys of a group, over which expressions are typed.

    It never changes, so it remembers the type of every expression: an engine may ask for the types
    of all parts of a deep expression, and each part is typed once.

    >>> ColumnTypes({"age": Type.INTEGER}).type_of(Call("+", (Column("age"), Literal(1))))
    INTEGER
    """

    __slots__ = ("_known", "group_keys")

    def __init__(
        self,
        columns: Mapping[str, Type] | Iterable[tuple[str, Type]] = (),
        group_keys: Sequence[Type] = (),
    ) -> None:
        """Copy the types of columns, by name, and of keys, by place."""
        super().__init__(columns)
        self.group_keys = tuple(group_keys)
        self._known: dict[int, tuple[Expression, Type | None]] = {}  # nodes stay, and so their ids

    def type_of(self, expression: Expression) -> Type | None:
        """Return the type of an expression, or None for a NULL that fits every type."""
        if type(expression) is Literal:
            return expression.type
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = expression, _typed(expression, self)
        return known[1]


def typed(expression: Expression, columns: Mapping[str, Type], keys: Sequence[Type] = ()) -> Type:
    """Return the type of an expression over columns, and keys of a group, of these types.

    >>> typed(Call("+", (Column("age"), Literal(1))), {"age": Type.INTEGER})
    INTEGER
    """
    kind = _column_types(columns, keys).type_of(expression)
    if kind is None:
        _wrong(
            expression,
            what="this NULL has no type.",
            why="every column needs one type that all engines agree on.",
            do="write the type, such as CAST(NULL AS INTEGER).",
        )
    return kind


def _column_types(columns: Mapping[str, Type], keys: Sequence[Type]) -> ColumnTypes:
    if isinstance(columns, ColumnTypes) and not keys:
        return columns
    return ColumnTypes(columns, keys)


def _typed(  # noqa: C901, PLR0911, PLR0912 (one line for each kind of node)
    expression: Expression, types: ColumnTypes
) -> Type | None:
    """Return the type, or None for a NULL that fits every type."""
    match expression:
        case Column():
            return _column(expression, types)
        case Literal(type=kind):
            return kind
        case Call(function=name, arguments=arguments):
            return _called(ANYWHERE[name], arguments, types)
        case Window(function=name, arguments=arguments):
            for part in expression.children()[len(arguments) :]:
                types.type_of(part)
            known = GROUP_WINDOWS if types.group_keys else WINDOWS
            return _called(known[name], arguments, types)
        case Aggregate(function=name, argument=argument, where=where):
            if where is not None:
                check_condition(where, types)
            return _called(AGGREGATES[name], () if argument is None else (argument,), types)
        case Case():
            return _case(expression, types)
        case Cast():
            return _cast(expression, types)
        case Grouped(at=at):
            return types.group_keys[at]
        case Grouping():
            return Type.INTEGER
        case InnerQuery():
            raise inner_query_refused(expression.span)
        case Star():
            raise UnsupportedSQL(
                what=pointed("the star is used where one value is needed.", expression.span),
                why="it means all columns of a table.",
                do="name the column.",
            )
        case _:
            assert_never(expression)


def _column(column: Column, columns: Mapping[str, Type]) -> Type:
    if column.table is None and column.name in columns:
        return columns[column.name]
    name = column.name if column.table is None else f"{column.table}.{column.name}"
    raise UnknownName(
        what=pointed(f"there is no column {name} here.", column.span),
        why="only columns that the tables declare can be asked about.",
        do=meant_as_text(column.span)
        + f"use one of: {', '.join(sorted(columns)) or '(there are none)'}.",
    )


def _called(
    function: Function, arguments: tuple[Expression, ...], types: ColumnTypes
) -> Type | None:
    kinds = [types.type_of(argument) for argument in arguments]
    last = len(function.takes) - 1
    for place, kind in enumerate(kinds):
        at = min(place, last)
        takes = function.takes[at]
        if kind is not None and kind not in takes:
            given, wanted = arguments[place], _either(takes)
            shown = given.name if isinstance(given, Column) else "..."
            _wrong(
                given,
                what=f"{function.name} does not take {with_article(kind.value)} here.",
                why="engines convert one type into another in different ways.",
                do=f"give it {wanted}: CAST({shown} AS {wanted.partition(' ')[0]}).",
            )
        if at in function.written:
            _written(function, arguments[place], place)
    if function.name in PARTS:
        _parts(function, arguments, kinds)
    return _given(function, arguments, kinds)


def _written(function: Function, argument: Expression, place: int) -> None:
    """Check an argument that must be a literal, and perhaps not too small."""
    if not isinstance(argument, Literal) or argument.value is None:
        _wrong(
            argument,
            what=f"{function.name} needs a written value here.",
            why="engines agree on the result only if it is the same for all rows.",
            do="write a number or a text.",
        )
    lowest = dict(zip(function.written, function.lowest, strict=False)).get(place)
    if lowest is not None and isinstance(argument.value, int) and argument.value < lowest:
        _wrong(
            argument,
            what=f"{function.name} needs a larger number here.",
            why="engines count from other ends, or not at all.",
            do=f"write {lowest} or more.",
        )


def _parts(
    function: Function, arguments: tuple[Expression, ...], kinds: Sequence[Type | None]
) -> None:
    """Check the part of a date that a function is asked for."""
    parts = PARTS[function.name]
    part = arguments[function.written[0]]
    value = part.value if isinstance(part, Literal) else None
    if value not in parts:
        _wrong(
            part,
            what=f"{function.name} does not know this part of a date.",
            why="only parts that every engine counts alike are known.",
            do=f"use one of: {', '.join(parts)}.",
        )
    if value in TIME_PARTS and kinds[1] is Type.DATE:
        _wrong(
            arguments[1],
            what=f"a DATE has no {value}.",
            why="a day is not a moment.",
            do="use a TIMESTAMP, or another part.",
        )


def _given(
    function: Function, arguments: tuple[Expression, ...], kinds: Sequence[Type | None]
) -> Type | None:
    """Return the type of the result; what is compared must share a type."""
    gives = function.gives
    compared = gives == "same" or function.name in COMPARED
    shared = _shared(arguments, kinds) if compared else None
    if isinstance(gives, Type):
        return gives
    return shared if gives == "same" else kinds[0]


COMPARED: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN"})


def _shared(arguments: Sequence[Expression], kinds: Sequence[Type | None]) -> Type | None:
    """Return the type that all share: one type, or FLOAT for numbers of both types."""
    shared: Type | None = None
    for argument, kind in zip(arguments, kinds, strict=True):
        if shared is None or kind is None or shared is kind:
            shared = shared or kind
        elif shared in NUMBERS and kind in NUMBERS:
            shared = Type.FLOAT
        else:
            _wrong(
                argument,
                what=f"{with_article(shared.value)} and {with_article(kind.value)} do not compare.",
                why="engines convert one type into another in different ways.",
                do=_meeting(shared, kind, argument),
            )
    return shared


def _meeting(first: Type, second: Type, argument: Expression) -> str:
    kinds = {first, second}
    written = str(argument.value) if isinstance(argument, Literal) else ""
    if first in NUMBERS and written.removeprefix("-").replace(".", "", 1).isdecimal():
        return f"write {written} without quotes."
    if kinds == {Type.DATE, Type.TEXT}:
        return "write a day as DATE '2025-01-31'."
    if kinds == {Type.TIMESTAMP, Type.TEXT}:
        return "write a timestamp as TIMESTAMP '2025-01-31 12:00:00'."
    return f"convert one of them: CAST(... AS {first.value})."


def check_condition(
    expression: Expression, columns: Mapping[str, Type], keys: Sequence[Type] = ()
) -> None:
    """Refuse what is neither true nor false.

    >>> check_condition(Call(">", (Column("age"), Literal(1))), {"age": Type.INTEGER})
    """
    kind = _column_types(columns, keys).type_of(expression)
    if kind not in {Type.BOOLEAN, None}:
        given = with_article(kind.value) if kind else "a NULL"
        _wrong(
            expression,
            what=f"{given} is used where a condition is needed.",
            why="only true lets a row through, and engines disagree on what else is true.",
            do="compare it with something, such as x > 0.",
        )


def _case(case: Case, types: ColumnTypes) -> Type | None:
    for condition, _ in case.branches:
        check_condition(condition, types)
    values = [value for _, value in case.branches]
    if case.default is not None:
        values.append(case.default)
    return _shared(values, [types.type_of(value) for value in values])


def _cast(cast: Cast, types: ColumnTypes) -> Type:
    kind = types.type_of(cast.argument)
    if kind is not None and cast.to not in CASTS[kind]:
        _wrong(
            cast,
            what=f"{with_article(kind.value)} cannot be turned into {with_article(cast.to.value)}.",
            why="engines do it each in their own way.",
            do=f"{with_article(kind.value)} can become {_either(CASTS[kind] - {kind})}.",
        )
    return cast.to


def _either(kinds: frozenset[Type]) -> str:
    return " or ".join(kind.value for kind in Type if kind in kinds)


def _wrong(node: Expression, *, what: str, why: str, do: str) -> NoReturn:
    span: Span | None = node.span
    raise WrongType(what=pointed(what, span), why=why, do=do)


Columns = tuple[tuple[str, Type], ...]


def columns(relation: Relation) -> Columns:  # noqa: PLR0911 (one for each kind)
    """Return names and types of the columns of a bound relation, in order.

    >>> columns(Distinct(Scan("wards", (("ward", Type.TEXT),))))
    (('ward', TEXT),)
    """
    match relation:
        case Scan(columns=pairs):
            return pairs
        case Table() | Valued():
            shown = f"the table {relation.name}" if isinstance(relation, Table) else "a subquery"
            raise UnsupportedSQL(
                what=pointed(f"{shown} is not bound.", relation.span),
                why="the types of its columns are not known yet.",
                do="bind the question to a schema first.",
            )
        case Filter() | Named() | Distinct() | BoundedUnits():
            return columns(relation.child)
        case Project(child=child, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in outputs)
        case Join(left=left, right=right):
            return (*columns(left), *columns(right))
        case SemiJoin(left=left):
            return columns(left)
        case Aggregated(child=child, keys=keys, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in (*keys, *outputs))
        case UnionAll(parts=parts):
            return _union([columns(part) for part in parts], relation)
        case _:
            assert_never(relation)


def check_names(relation: Relation) -> tuple[str, ...]:
    """Return the names of the columns of a bound relation; below and in it none stands twice.

    An engine would take one of two columns of a name, and perhaps not the one that is meant.

    >>> check_names(Distinct(Scan("wards", (("ward", Type.TEXT), ("Ward", Type.TEXT)))))
    Traceback (most recent call last):
    discreet.errors.UnsupportedSQL: ...
    """
    below = [check_names(child) for child in relation.children()]
    match relation:
        case Scan(columns=pairs) | Project(outputs=pairs):
            names = tuple(name for name, _ in pairs)
        case Aggregated(keys=keys, outputs=outputs):
            names = tuple(name for name, _ in (*keys, *outputs))
        case Join() | SemiJoin():
            names = (*below[0], *below[1])
        case _:
            return below[0] if below else ()
    if len(set(map(folded, names))) != len(names):
        raise UnsupportedSQL(
            what=pointed("two columns have one name.", relation.span),
            why="it is not clear which of them is meant.",
            do="give them different names with AS.",
        )
    return below[0] if isinstance(relation, SemiJoin) else names


def check_bound(relation: Relation) -> None:
    """Refuse a relation that is not bound in all its parts.

    >>> check_bound(Distinct(Scan("wards", (("ward", Type.TEXT),))))
    """
    for node in descend(relation):
        unbound = type(node) in {Table, Named, Valued} or (type(node) is Join and bool(node.using))
        unbound = unbound or (type(node) is SemiJoin and node.compared is not None)
        for part in (part for each in node.expressions() for part in walk(each)):
            unbound = unbound or type(part) is Star
            unbound = unbound or (type(part) is Column and part.table is not None)
        if unbound:
            raise UnsupportedSQL(
                what=pointed("a part of this relation is not bound.", node.span),
                why="an engine would have to guess which table or column is meant.",
                do="bind the question to a schema first.",
            )


def _union(parts: list[Columns], relation: UnionAll) -> Columns:
    first = parts[0]
    for part in parts[1:]:
        if [kind for _, kind in part] != [kind for _, kind in first]:
            raise WrongType(
                what=pointed("the parts of a UNION ALL have different columns.", relation.span),
                why="rows are put below each other column by column.",
                do="select columns of the same number and types; CAST turns one into another.",
            )
    return first
