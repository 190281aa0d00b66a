"""Questions without SQL: rows and groups of a table, step by step.

Trust: kernel.  Every step makes the same tree, by the same code, as SQL text of the same meaning.

Every method returns a new value.  Expressions are text in the SQL of this dialect; a name can stand
inside the text, as in ``"LOWER(ward) AS w"``, or be a keyword, as in ``w="LOWER(ward)"``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, TypedDict, Unpack, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.query.expressions import Aggregate, Expression, Pair, Star, conjunction
from discreet.query.nodes import Node
from discreet.query.question import MOST_SETS, Question
from discreet.query.relations import KINDS, Join, Named, Relation, Table, UnionAll
from discreet.query.sql.clauses import flat
from discreet.query.sql.parse import (
    as_question,
    read_expression,
    read_item,
    read_orders,
    read_relation,
)
from discreet.query.sql.privacy_clause import clause_of
from discreet.query.sql.select import Item, Select, subquery_relation

Bounds = tuple[Any, Any]
"""The lowest and the highest value: exact numbers, or floats that stand for their decimal text."""


class Options(TypedDict, total=False):
    """Keywords of an aggregate.

    ``name`` is the name of the column; only rows for which ``where`` is true count; ``bounds`` are
    those of every value, and ``bounds_per_group`` those of what one unit adds to one group;
    ``epsilon`` is the part of the price that goes to this aggregate.
    """

    name: str | None
    where: str | None
    bounds: Bounds | None
    bounds_per_group: Bounds | None
    epsilon: object


class _Aggregates:
    """The aggregates that can be asked about rows, or about groups of them."""

    __slots__ = ()

    def count(self, of: str | None = None, **options: Unpack[Options]) -> Asked:
        """Count all rows, or those in which an expression is not NULL."""
        argument = None if of is None else read_expression(of)
        return self._add(Aggregate("COUNT", argument), **options)

    def count_distinct(self, of: str, **options: Unpack[Options]) -> Asked:
        """Count the different values of an expression, such as the people."""
        return self._add(Aggregate("COUNT", read_expression(of), distinct=True), **options)

    def sum(self, of: str, **options: Unpack[Options]) -> Asked:
        """Add up an expression."""
        return self._add(Aggregate("SUM", read_expression(of)), **options)

    def mean(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the mean of an expression."""
        return self._add(Aggregate("AVG", read_expression(of)), **options)

    def variance(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the variance of an expression, as of a sample."""
        return self._add(Aggregate("VAR_SAMP", read_expression(of)), **options)

    def stddev(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the standard deviation of an expression, as of a sample."""
        return self._add(Aggregate("STDDEV_SAMP", read_expression(of)), **options)

    def min(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take a value near the lowest, between the bounds."""
        return self._add(Aggregate("MIN", read_expression(of)), **options)

    def max(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take a value near the highest, between the bounds."""
        return self._add(Aggregate("MAX", read_expression(of)), **options)

    def median(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the value in the middle."""
        return self.percentile(of, 0.5, **options)

    def percentile(self, of: str, fraction: object, **options: Unpack[Options]) -> Asked:
        """Take the value below which a fraction of the values lies."""
        place = decimal(fraction, name="fraction")
        if not 0 <= place <= 1:
            raise OutOfRange(
                what="fraction is not from 0 to 1.",
                why="it is a part of all values.",
                do="give a fraction such as 0.9.",
            )
        total = Aggregate("PERCENTILE_CONT", read_expression(of), parameter=place)
        return self._add(total, **options)

    def quantiles(self, of: str, parts: int, **options: Unpack[Options]) -> Asked:
        """Take the values that cut all values into this many equal parts, with both ends."""
        count = whole(parts, name="parts", low=1, high=1000)
        total = Aggregate("APPROX_QUANTILES", read_expression(of), parameter=Fraction(count))
        return self._add(total, **options)

    def median_absolute_deviation(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the median distance of the values from their median."""
        return self._add(Aggregate("MEDIAN_ABSOLUTE_DEVIATION", read_expression(of)), **options)

    def mode(self, of: str, **options: Unpack[Options]) -> Asked:
        """Take the most frequent of the public values of an expression."""
        return self._add(Aggregate("MODE", read_expression(of)), **options)

    def _add(self, total: Aggregate, **options: Unpack[Options]) -> Asked:
        raise NotImplementedError


@final
@dataclass(frozen=True, slots=True)
class Asked(_Aggregates):
    """Groups of rows and the aggregates that are asked about them.

    >>> from discreet.query.builder import table
    >>> from discreet.query.sql.parse import read
    >>> asked = table("visits").group_by("ward").count(name="n").mean("cost", bounds=(0, 500))
    >>> asked.question() == read(
    ...     "SELECT ward, COUNT(*) AS n, AVG(cost, contribution_bounds_per_row => (0, 500))"
    ...     " FROM visits GROUP BY ward"
    ... )
    True
    """

    select: Select

    def question(self) -> Question:
        """Return the question, after the same checks as those of SQL text."""
        return as_question(self.select)

    def show(self, *items: str, **named: str) -> Asked:
        """Add any expression over keys and aggregates, such as ``"SUM(a) / COUNT(*) AS ratio"``."""
        return self._with(items=(*self.select.items, *read_items(items, named)))

    def having(self, condition: str) -> Asked:
        """Keep the groups for which a condition on what is released is true."""
        return self._with(having=read_expression(condition))

    def order_by(self, *items: str) -> Asked:
        """Order the groups by what is released; ``"n DESC"`` begins with the largest."""
        return self._with(order=tuple(order for item in items for order in read_orders(item)))

    def limit(self, count: int) -> Asked:
        """Keep this many groups, from the first on."""
        return self._with(limit=whole(count, name="limit", low=0, high=2**31 - 1))

    def options(self, **options: object) -> Asked:
        """Set the options of the differential privacy clause, such as ``epsilon=0.5``."""
        return self._with(clause=clause_of(options))

    def _with(self, **changes: Any) -> Asked:
        return Asked(replace(self.select, **changes))

    def _add(self, total: Aggregate, **options: Unpack[Options]) -> Asked:
        """Add an aggregate with its keywords."""
        where, epsilon = options.get("where"), options.get("epsilon")
        exact = None if epsilon is None else decimal(epsilon, name="epsilon")
        asked = replace(
            total,
            where=None if where is None else read_expression(where),
            bounds_per_row=_pair(options.get("bounds"), "bounds"),
            bounds_per_group=_pair(options.get("bounds_per_group"), "bounds_per_group"),
            epsilon=None if exact is None else positive(exact, name="epsilon"),
        )
        for name in options.keys() - Options.__annotations__.keys():
            message = f"unexpected keyword argument {name!r}"
            raise TypeError(message)
        return self._with(items=(*self.select.items, Item(asked, options.get("name"))))


def read_items(items: tuple[str, ...], named: dict[str, str]) -> tuple[Item, ...]:
    """Read expressions with names inside the text, or given beside it.

    >>> [item.alias for item in read_items(("LOWER(ward) AS w",), {"a": "age"})]
    ['w', 'a']
    """
    written = [read_item(text) for text in items]
    given = [Item(read_expression(text), name) for name, text in named.items()]
    return (*written, *given)


def _pair(bounds: object, name: str) -> Pair | None:
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2 or None in bounds:
        raise WrongKind(
            what=f"{name} needs a low and a high end.",
            why="noise has to hide the largest possible value, so both ends must be known.",
            do=f"give {name}=(0, 100), or low=0, high=100.",
        )
    low, high = (decimal(end, name=name) for end in bounds)
    if low > high:
        raise OutOfRange(
            what=f"the low end of {name} is above the high end.",
            why="no value is between them.",
            do=f"give {name} as (low, high).",
        )
    return low, high


@final
@dataclass(frozen=True, slots=True)
class Rows(_Aggregates, Node):
    """Rows of a table, filtered, joined and projected.

    >>> from discreet.query.sql.parse import read
    >>> adults = table("visits").where("age >= 18")
    >>> adults.group_by("ward").count(name="n").question() == read(
    ...     "SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward"
    ... )
    True
    """

    source: Relation
    condition: Expression | None = None

    def alias(self, name: str) -> Rows:
        """Give the rows a name, by which their columns can be called: ``name.column``."""
        return Rows(Named(self.relation(), name))

    def where(self, condition: str) -> Rows:
        """Keep the rows for which a condition is true."""
        return Rows(self.source, conjunction([self.condition, read_expression(condition)]))

    def select(self, *items: str, **named: str) -> Rows:
        """Turn each row into these columns; ``"*"`` keeps all columns."""
        stars = [Item(Star())] if "*" in items else []
        rest = tuple(item for item in items if item != "*")
        return Rows(subquery_relation(self._select((*stars, *read_items(rest, named)))))

    def distinct(self) -> Rows:
        """Keep each different row once; needs the column of the unit."""
        return Rows(subquery_relation(self._select((Item(Star()),), distinct=True)))

    def join(
        self,
        other: Rows,
        *,
        on: str | None = None,
        using: str | tuple[str, ...] = (),
        kind: str = "inner",
    ) -> Rows:
        """Join with the rows of another table; the kind is one of ``KINDS``."""
        names = (using,) if isinstance(using, str) else using
        wanted = 0 if kind == "cross" else 1
        known = kind in KINDS and isinstance(names, tuple | list)
        if not known or (on is not None) + bool(names) != wanted:
            raise WrongKind(
                what="a join has no kind that is known, or not one condition.",
                why="which rows stand beside each other must be said once.",
                do=f"give on= or using=, except for a cross join; kinds: {', '.join(KINDS)}.",
            )
        condition = None if on is None else read_expression(on)
        return Rows(Join(self.relation(), _relation_of(other), kind, condition, tuple(names)))

    def union_all(self, *others: Rows) -> Rows:
        """Put the rows of other tables below, column by column."""
        parts = [part for rows in (self, *others) for part in flat(_relation_of(rows))]
        return Rows(UnionAll(tuple(parts)))

    def per(self, *keys: str, **totals: str) -> Rows:
        """Aggregate plainly below the question: one row for each combination of keys.

        >>> rows = table("visits").per("patient", "ward", n="COUNT(*)")
        >>> rows.group_by("ward").mean("n", bounds=(0, 10)).question().keys[0][0]
        'ward'
        """
        items = read_items(keys, {})
        select = self._select((*items, *read_items((), totals)), group=items)
        return Rows(subquery_relation(select))

    def group_by(self, *keys: str, **named: str) -> Asked:
        """Make groups; what is asked about them is added to what this returns."""
        items = read_items(keys, named)
        return Asked(self._select(items, group=items))

    def _add(self, total: Aggregate, **options: Unpack[Options]) -> Asked:
        """Ask about all rows."""
        rows = Asked(Select(items=(), source=self.source, where=self.condition))
        return rows._add(total, **options)  # noqa: SLF001 (the same step)

    def rollup(self, *keys: str) -> Asked:
        """Make groups of all keys, of all but the last, and so on, down to the total."""
        return self._grouped(keys, [tuple(range(end)) for end in range(len(keys), -1, -1)])

    def cube(self, *keys: str) -> Asked:
        """Make groups of every set of keys, down to the total.

        >>> from discreet.query.sql.parse import read
        >>> asked = table("visits").cube("ward", "sex").count(name="n")
        >>> asked.question() == read(
        ...     "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY CUBE(ward, sex)"
        ... )
        True
        """
        _check_sets(1 << len(keys))
        sizes, places = range(len(keys) + 1), range(len(keys))
        return self._grouped(keys, [some for size in sizes for some in combinations(places, size)])

    def marginals(self, *keys: str, ways: int) -> Asked:
        """Make groups of every set of so many keys, which ``Release.tables`` shows one by one."""
        size = whole(ways, name="ways", low=1, high=len(keys))
        _check_sets(comb(len(keys), size))
        asked = self._grouped(keys, list(combinations(range(len(keys)), size)))
        return Asked(replace(asked.select, items=()))

    def _grouped(self, keys: tuple[str, ...], sets: list[tuple[int, ...]]) -> Asked:
        items = read_items(keys, {})
        return Asked(replace(self._select(items, group=items), sets=tuple(sets)))

    def relation(self) -> Relation:
        """Return the rows as a relation; with a condition they are a subquery."""
        if self.condition is None:
            return self.source
        return subquery_relation(self._select((Item(Star()),)))

    def _select(
        self,
        items: tuple[Item, ...],
        *,
        group: tuple[Item, ...] | None = None,
        distinct: bool = False,
    ) -> Select:
        keys = None if group is None else tuple(Item(item.expression) for item in group)
        return Select(
            items=items, source=self.source, where=self.condition, group=keys, distinct=distinct
        )


def _check_sets(count: int) -> None:
    """Refuse more grouping sets than a question may have."""
    if count > MOST_SETS:
        raise OutOfRange(
            what=f"these are more than {MOST_SETS} grouping sets.",
            why="each of them is a table of its own.",
            do="give fewer keys, or ask for smaller tables.",
        )


def _relation_of(rows: object) -> Relation:
    if not isinstance(rows, Rows):
        raise WrongKind(
            what=f"a {type(rows).__name__} holds no rows.",
            why="rows are put beside or below the rows of a table.",
            do="give what table() or subquery() returns.",
        )
    return rows.relation()


def table(name: str) -> Rows:
    """Begin with all rows of a table.

    >>> table("visits").source
    Table(name='visits')
    """
    if not isinstance(name, str) or not name:
        raise WrongKind(
            what="the name of a table is not a text.",
            why="tables are found by their names.",
            do="give the name as a str.",
        )
    return Rows(Table(name))


def subquery(text: str) -> Rows:
    """Begin with the rows of a query in SQL.

    >>> type(subquery("SELECT DISTINCT ward FROM wards").source).__name__
    'Distinct'
    """
    return Rows(read_relation(text))
