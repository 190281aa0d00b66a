"""SELECT, WITH, FROM and UNION ALL: sqlglot's nodes lowered into relations and a Select.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from sqlglot import exp

from discreet.query.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    InnerQuery,
    Literal,
    Star,
    walk,
)
from discreet.query.nodes import MOST_ENTRIES, size_of, too_much
from discreet.query.question import MOST_SETS
from discreet.query.relations import (
    NO_TABLE,
    Distinct,
    Join,
    Named,
    Project,
    Relation,
    Table,
    UnionAll,
    folded,
)
from discreet.query.source_text import CLAUSES, Span, unreadable, unsupported
from discreet.query.sql.aggregates import orders
from discreet.query.sql.privacy_clause import privacy_clause
from discreet.query.sql.reading import Reading
from discreet.query.sql.select import (
    Item,
    Select,
    WrittenQuery,
    no_order,
    subquery_relation,
    written_query,
    written_value,
)
from discreet.query.sql.tokens import TokenKind

Tables = Mapping[str, Relation]
"""What WITH has named so far, by folded name."""

_LARGEST_LIMIT: Final = 2**31
_SIDES: Final = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}


def bare(reading: Reading, node: Any) -> Any:
    """Return a query without the parentheses around it."""
    while isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Table):
        reading.only(node, "this")
        node = node.this
    return node


def with_tables(reading: Reading, node: Any, known: Tables, *, outermost: bool = False) -> Tables:
    """Lower WITH name AS (query), ..., if a query has it."""
    clause = node.args.get("with_")
    if clause is None:
        return known
    reading.only(clause, "expressions")
    tables = dict(known)
    here: set[str] = set()
    for entry in clause.expressions:
        reading.only(entry, "this", "alias")
        alias = entry.args["alias"]
        name = _plain_name(reading, alias.this, "a name for a subquery")
        span = reading.token(alias.this).span
        if folded(name) in here:
            raise unreadable(span, f"{name} is named twice.", "use different names.")
        here.add(folded(name))
        names = column_names(reading, alias)
        inner = bare(reading, entry.this)
        if outermost and names is None and isinstance(inner, exp.Select) and inner.args.get("hint"):
            reading.released[name] = select(reading, inner, with_tables(reading, inner, tables))
            tables[folded(name)] = Table(name, span=span)
        else:
            tables[folded(name)] = renamed(subquery(reading, inner, tables), names)
    return tables


def _plain_name(reading: Reading, node: Any, what: str) -> str:
    name = reading.name(node, what)
    if "." in name:
        span = reading.token(node).span
        raise unreadable(span, "this name has a dot.", "use a name without dots.")
    return name


def subquery(reading: Reading, node: Any, known: Tables) -> Relation:
    """Lower a query that is a relation: everything below the private aggregate."""
    with reading.inside(node):
        node = bare(reading, node)
        tables = with_tables(reading, node, known)
        if isinstance(node, exp.SetOperation):
            parts = _parts(reading, node, tables)
            relation: Relation = UnionAll(tuple(parts), span=reading.span(node))
        elif isinstance(node, exp.Select):
            written = select(reading, node, tables)
            relation = subquery_relation(written)
            reading.selects[id(relation)] = relation, written
        else:
            raise reading.refused(node)
    reading.weigh(size_of(relation), node)
    return relation


def _parts(reading: Reading, node: Any, tables: Tables) -> list[Relation]:
    """Return the parts of a union; other set operations are refused."""
    sides: list[Any] = []
    inner = node
    while isinstance(inner, exp.SetOperation):
        check_union(reading, inner)
        sides.append(inner.expression)
        inner = inner.this
        inner = inner if isinstance(inner, exp.SetOperation) else bare(reading, inner)
    queries = [inner, *reversed(sides)]
    return [part for each in queries for part in flat(subquery(reading, each, tables))]


def check_union(reading: Reading, node: Any) -> None:
    """Refuse a set operation that is not UNION ALL."""
    last = reading.at(node.this)[1]
    if not isinstance(node, exp.Union) or node.args.get("distinct") is not False:
        place = next(
            (token for token in reading.tokens[last + 1 :] if token.kind is TokenKind.NAME),
            reading.tokens[-1],
        )
        raise unsupported(
            place.span,
            "UNION without ALL is not answered here.",
            "it compares the rows of different people.",
            "write UNION ALL, and SELECT DISTINCT with the column of the unit around it.",
        )
    for name in ("order", "limit", "offset"):
        if node.args.get(name) is not None:
            end = reading.at(node.expression)[1]
            words = {"ORDER", "LIMIT", "OFFSET"}
            place = next(
                (t for t in reading.tokens[end:] if t.word.partition(" ")[0] in words),
                reading.tokens[-1],
            )
            raise no_order(place.span)
    reading.only(node, "this", "expression", "distinct", "with_")


@final
@dataclass(slots=True)
class _Conditions:
    """The subqueries of WHERE or HAVING, as far as they are lowered."""

    tables: Tables
    chooses: bool
    found: list[WrittenQuery] = field(default_factory=list)

    def query(self, reading: Reading, node: Any, query: Any, left: Expression | None) -> Expression:
        """Lower a subquery that chooses rows."""
        span = reading.span(node)
        return self._added(written_query(self._read(reading, query), left, span))

    def value(self, reading: Reading, node: Any) -> Expression:
        """Lower a subquery that stands for one value."""
        return self._added(written_value(self._read(reading, node.this), reading.span(node)))

    def _read(self, reading: Reading, query: Any) -> Select | Relation:
        outside, reading.inner = reading.inner, []
        query = bare(reading, query)
        if isinstance(query, exp.Select):
            with reading.inside(query):
                tables = with_tables(reading, query, self.tables)
                inner: Select | Relation = select(reading, query, tables)
        else:
            inner = subquery(reading, query, self.tables)
        reading.inner = outside
        return inner

    def _added(self, query: WrittenQuery) -> Expression:
        self.found.append(query)
        return InnerQuery(len(self.found) - 1, span=query.span)


_SELECT: Final = (
    *("expressions", "from_", "joins", "where", "group", "having", "order", "limit"),
    *("offset", "distinct", "with_", "hint", "kind"),
)


def select(reading: Reading, node: Any, tables: Tables) -> Select:
    """Lower one SELECT with all its clauses."""
    reading.only(node, *_SELECT)
    if node.args.get("kind"):
        place = reading.find(node, "AS")
        why = CLAUSES["STRUCT"][0]
        what = "rows are tables of columns, not structures."
        raise unsupported(place, what, why, "leave AS STRUCT or VALUE out.")
    hint, nodes = node.args.get("hint"), node.expressions
    if hint is not None and not isinstance(hint, exp.Anonymous):
        raise reading.refused(node)
    clause = None if hint is None else privacy_clause(reading, hint)
    distinct = node.args.get("distinct")
    if distinct is not None:
        reading.only(distinct)
    if not nodes:
        raise unreadable(
            reading.span(node), "nothing is selected.", "write a column, value or function."
        )
    items = tuple(_item(reading, each) for each in nodes)
    single = node.args.get("from_") is None
    rows = _no_table(reading, node, items) if single else source(reading, node, tables)
    reading.weigh(size_of(rows), node)
    found: list[WrittenQuery] = []
    where = _condition(reading, node.args.get("where"), tables, found, chooses=True)
    group, every, sets = _group(reading, node.args.get("group"))
    having = _condition(reading, node.args.get("having"), tables, found, chooses=False)
    order = node.args.get("order")
    if order is not None:
        reading.only(order, "expressions")
    limit, limit_span = _limit(reading, node.args.get("limit"), "LIMIT")
    offset, offset_span = _limit(reading, node.args.get("offset"), "OFFSET")
    return Select(
        items=items,
        source=rows,
        where=where,
        inner_queries=tuple(found),
        group=() if single else group,
        every=every,
        sets=sets,
        having=having,
        order=() if order is None else orders(reading, order.expressions),
        limit=limit,
        offset=offset or 0,
        distinct=distinct is not None,
        clause=clause,
        span=_select_span(reading, node),
        limit_span=limit_span or offset_span,
    )


def _no_table(reading: Reading, node: Any, items: tuple[Item, ...]) -> Relation:
    """Return the one row that SELECT 1 is about; only the outermost SELECT can do without FROM."""
    parts = {type(part) for item in items for part in walk(item.expression)}
    others = [name for name in ("joins", "where", "group", "having") if node.args.get(name)]
    if not parts <= {Literal, Call, Case, Cast} or others or not reading.outermost:
        what, do = "FROM is missing here.", "write FROM and a table; put commas between columns."
        raise unreadable(reading.behind(reading.at(node)[1]).span, what, do)
    return Table(NO_TABLE, span=reading.span(node))


def _select_span(reading: Reading, node: Any) -> Span:
    first, last = reading.at(node)
    while first < last and reading.tokens[first].word != "SELECT":
        first += 1
    return reading.between(first, last)


def _item(reading: Reading, node: Any) -> Item:
    if not isinstance(node, exp.Alias):
        return Item(reading.expression(node))
    reading.only(node, "this", "alias")
    inner = reading.expression(node.this)
    if isinstance(inner, Star):
        raise reading.refused(node)
    return Item(inner, reading.name(node.args["alias"], "a name"))


def _condition(
    reading: Reading, node: Any, tables: Tables, found: list[WrittenQuery], *, chooses: bool
) -> Expression | None:
    """Lower WHERE or HAVING, and add the subqueries in it to those found."""
    if node is None:
        return None
    reading.only(node, "this")
    reading.inner.append(_Conditions(tables, chooses, found))
    condition = reading.expression(node.this)
    reading.inner.pop()
    return condition


_Sets = tuple[tuple[int, ...], ...]


def _group(reading: Reading, node: Any) -> tuple[tuple[Item, ...] | None, bool, _Sets]:
    """Lower GROUP BY: its keys, whether ALL stands there, and the grouping sets if there are any.

    Definition.  An entry has the sets that it lists, a plain one the set of itself.  ROLLUP(a, b)
    has (a, b), (a) and (); CUBE all subsets; GROUPING SETS those of its entries, one after the
    other.  The grouping sets of GROUP BY join one set of each entry, in all ways.
    """
    if node is None:
        return None, False, ()
    if node.args.get("all") is False:  # GROUP BY DISTINCT
        raise reading.refused(node)
    reading.only(node, "expressions", "all")
    if node.args.get("all"):
        if node.expressions:
            raise reading.refused(node)
        return (), True, ()
    items: list[Item] = []
    sets: list[tuple[int, ...]] = [()]
    for entry in node.expressions:
        listed = _sets(reading, entry, items)
        _check_entries(reading, entry, len(items), len(sets) * len(listed))
        sets = [(*first, *second) for first in sets for second in listed]
    plain = not any(isinstance(entry, _SEVERAL_SETS) for entry in node.expressions)
    return tuple(items), False, () if plain else tuple(dict.fromkeys(sets))


_SEVERAL_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _sets(reading: Reading, node: Any, items: list[Item]) -> list[tuple[int, ...]]:
    """Return the sets of an entry, by the places of its keys, which are added to others."""
    if not isinstance(node, _SEVERAL_SETS):
        items.append(Item(reading.expression(node)))
        return [(len(items) - 1,)]
    reading.only(node, "expressions")
    found: list[tuple[int, ...]] = []
    parts: list[tuple[int, ...]] = []
    for each in node.expressions:
        if isinstance(each, _SEVERAL_SETS):
            if not isinstance(node, exp.GroupingSets):
                raise reading.refused(each)
            found += _sets(reading, each, items)
            continue
        inside = each.expressions if isinstance(each, exp.Tuple) else [each]
        parts.append(tuple(range(len(items), len(items) + len(inside))))
        items += [Item(reading.expression(_bare(part))) for part in inside]
        _check_entries(reading, each, len(items), 1)
    match node:
        case exp.GroupingSets():
            return [*found, *parts]
        case exp.Rollup():
            return [sum(parts[:end], ()) for end in range(len(parts), -1, -1)]
        case _:
            _check_entries(reading, node, len(items), 1 << len(parts))
            chosen = itertools.product((True, False), repeat=len(parts))
            return [sum(itertools.compress(parts, each), ()) for each in chosen]


def _bare(node: Any) -> Any:
    return node.this if isinstance(node, exp.Paren) else node


def _check_entries(reading: Reading, node: Any, entries: int, sets: int) -> None:
    if entries > MOST_ENTRIES:
        raise too_much(f"GROUP BY has more than {MOST_ENTRIES} entries.", reading.span(node))
    if sets > MOST_SETS:
        raise too_much(f"GROUP BY has more than {MOST_SETS} grouping sets.", reading.span(node))


def _limit(reading: Reading, node: Any, word: str) -> tuple[int | None, Span | None]:
    if node is None:
        return None, None
    reading.only(node, "expression")
    if isinstance(node, exp.Fetch):
        raise reading.refused(node)
    written = reading.expression(node.expression)
    first, last = reading.at(node.expression)
    span = reading.between(first - 1, last)
    value = written.value if isinstance(written, Literal) else None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST_LIMIT:
        raise unsupported(
            written.span or span,
            f"{word} is not a written whole number.",
            "it counts groups.",
            f"write a number of groups, such as {word} 10.",
        )
    return value, span


# --- FROM -----------------------------------------------------------------------------------------


def source(reading: Reading, node: Any, tables: Tables) -> Relation:
    """Lower FROM and what is joined to it; ``tables`` are those that WITH has named.

    Joins bind more tightly than commas: each comma begins a new chain of joins.
    """
    chains: list[tuple[int, Relation]] = []
    first = node.args["from_"]
    reading.only(first, "this")
    start = reading.at(first.this)[0]
    left = _joined(reading, first.this, tables)
    for join in node.args.get("joins") or ():
        if reading.tokens[reading.at(join)[0]].word == ",":
            reading.only(join, "this")
            chains.append((start, left))
            start = reading.at(join.this)[0]
            left = _joined(reading, join.this, tables)
        else:
            left = _with_join(reading, left, start, join, tables)
    whole: Relation | None = None
    begin = 0
    for at, part in (*chains, (start, left)):
        if whole is None:
            whole, begin = part, at
        else:
            end = part.span.end if part.span is not None else 0
            span = Span(reading.text, reading.tokens[begin].span.start, end)
            whole = Join(whole, part, "cross", span=span)
    return left if whole is None else whole


def _joined(reading: Reading, node: Any, tables: Tables) -> Relation:
    """Lower one table, with the joins that sqlglot keeps inside of it."""
    start = reading.at(node)[0]
    left = _single(reading, node, tables)
    for join in node.args.get("joins") or ():
        left = _with_join(reading, left, start, join, tables)
    return left


def _with_join(reading: Reading, left: Relation, start: int, node: Any, tables: Tables) -> Relation:
    reading.only(node, "this", "side", "kind", "on", "using")
    side, kind = (str(node.args.get(name) or "").upper() for name in ("side", "kind"))
    name = "cross" if kind == "CROSS" else _SIDES.get(side, "inner")
    if kind not in {"", "INNER", "OUTER", "CROSS"} or (side and side not in _SIDES):
        raise reading.refused(node)
    right = _joined(reading, node.this, tables)
    on = node.args.get("on")
    names = tuple(reading.name(each, "a column") for each in node.args.get("using") or ())
    last = max(reading.at(node)[1], reading.at(node.this)[1])
    if names and reading.behind(last).word == ")":
        last += 1
    if name != "cross" and on is None and not names:
        raise unreadable(
            reading.behind(last).span,
            "the condition of the join is missing here.",
            "write ON condition, USING (column), or CROSS JOIN.",
        )
    if name == "cross" and (on is not None or names):
        raise reading.refused(node)
    condition = None if on is None else reading.expression(on)
    span = Span(reading.text, reading.tokens[start].span.start, reading.tokens[last].span.end)
    return Join(left, right, name, condition, names, span=span)


def _single(reading: Reading, node: Any, tables: Tables) -> Relation:
    with reading.inside(node):
        lower = _table if isinstance(node, exp.Table) else _enclosed
        return lower(reading, node, tables)


def _table(reading: Reading, node: Any, tables: Tables) -> Relation:
    reading.only(node, "this", "db", "catalog", "alias", "joins")
    if isinstance(node.this, exp.Anonymous):
        raise unsupported(
            reading.token(node.this).span,
            "a function is used where a table is needed.",
            "every table is declared by the owner.",
            "name a declared table.",
        )
    named = [part for part in (node.args.get(name) for name in ("catalog", "db", "this")) if part]
    parts = [each for part in named for each in reading.dotted(part)]
    token = reading.token(parts[-1]) if isinstance(parts[-1], exp.Identifier) else None
    if token is None or token.kind is TokenKind.TEXT:
        raise unsupported(
            reading.span(node.this) if token is None else token.span,
            "a file is used where a table is needed.",
            "whose rows a table holds is declared by its owner, under its name.",
            "write the name that the policy gives the table; opening the session reads files.",
        )
    name = ".".join(reading.name(part, "a table") for part in parts)
    first, last = reading.at(parts[0])[0], reading.at(parts[-1])[1]
    known = tables.get(folded(name))
    leaf = Table(name, span=reading.between(first, last)) if known is None else known
    return _under_alias(reading, node, leaf, None if known is None else name)


def _enclosed(reading: Reading, node: Any, tables: Tables) -> Relation:
    """Lower a subquery, or joined tables, in parentheses."""
    if not isinstance(node, exp.Subquery):
        raise reading.refused(node)
    reading.only(node, "this", "alias", "joins")
    if isinstance(node.this, exp.Table) or (
        isinstance(node.this, exp.Subquery) and node.this.args.get("joins")
    ):
        inner = _joined(reading, node.this, tables)
        if node.args.get("alias") is not None and isinstance(inner, Table | Named | Join):
            raise reading.refused(node)
    elif isinstance(node.this, exp.Subquery) and node.this.args.get("alias") is not None:
        inner = _single(reading, node.this, tables)
    else:
        inner = subquery(reading, node.this, tables)
    if isinstance(inner, Table | Named | Join) and node.args.get("alias") is None:
        return inner
    return _under_alias(reading, node, inner, None)


def flat(relation: Relation) -> tuple[Relation, ...]:
    """Return the parts of a union, or the relation alone."""
    return relation.parts if isinstance(relation, UnionAll) else (relation,)


def _under_alias(reading: Reading, node: Any, inner: Relation, name: str | None) -> Relation:
    """Put a relation under its alias, if there is one."""
    alias = node.args.get("alias")
    if alias is not None:
        name = _plain_name(reading, alias.this, "a name for the table")
        inner = renamed(inner, column_names(reading, alias))
    if name is None:
        return inner
    return Named(inner, name, span=reading.span(node))


Names = tuple[tuple[str, ...], Span] | None
"""New names for the columns of a subquery, and where they stand."""


def column_names(reading: Reading, alias: Any) -> Names:
    """Lower (a, b) behind the name of a subquery, if it has them."""
    reading.only(alias, "this", "columns")
    columns = alias.args.get("columns")
    if not columns:
        return None
    if None in columns:
        raise reading.refused(alias)
    names = tuple(reading.name(_identifier(each), "a column") for each in columns)
    first, last = reading.at(columns[0])[0] - 1, reading.at(columns[-1])[1] + 1
    span = reading.between(first, last)
    if len({folded(name) for name in names}) < len(names):
        raise unreadable(span, "two columns get one name.", "use different names.")
    return names, span


def _identifier(node: Any) -> Any:
    return node.this if isinstance(node, exp.Column) and not node.table else node


def renamed(relation: Relation, names: Names) -> Relation:
    """Return a subquery with other names for its columns."""
    if names is None:
        return relation
    match relation:
        case Distinct(child=child):
            return replace(relation, child=renamed(child, names))
        case UnionAll(parts=parts):
            return replace(relation, parts=tuple(renamed(part, names) for part in parts))
        case Project(outputs=outputs) if len(outputs) == len(names[0]) and not any(
            isinstance(value, Star) for _, value in outputs
        ):
            values = [value for _, value in outputs]
            return replace(relation, outputs=tuple(zip(names[0], values, strict=True)))
        case _:
            raise unsupported(
                names[1],
                "these names do not fit the columns of a subquery.",
                "only a SELECT that lists its columns, one for each name, says which is which.",
                "name columns with AS inside the subquery.",
            )
