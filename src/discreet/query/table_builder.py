"""The table builder: the same questions as in SQL, said in Python.

Trust: kernel.  Every step makes the same tree, by the same code, as SQL text of the same meaning.

Every method returns a new value.  Expressions are text in the SQL of this dialect; a name can stand
inside the text, as in ``"LOWER(ward) AS w"``, or be a keyword, as in ``w="LOWER(ward)"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.errors import WrongKind
from discreet.query.expressions import Expression, Star, check_expression
from discreet.query.group_builder import Asked, Bounds, read_items
from discreet.query.relations import KINDS, Join, Named, Relation, Table, UnionAll, check_relation
from discreet.query.row_level import only_rows
from discreet.query.sql.conditions import both
from discreet.query.sql.parse import read_expression, read_relation
from discreet.query.sql.select_syntax import Item, Select
from discreet.query.sql.selects import flat
from discreet.query.sql.subqueries import subquery_relation


@final
@dataclass(frozen=True, slots=True)
class Rows:
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

    def __post_init__(self) -> None:
        """Accept a relation and a condition."""
        check_relation(self.source)
        if self.condition is not None:
            check_expression(self.condition)

    def alias(self, name: str) -> Rows:
        """Give the rows a name, by which their columns can be called: ``name.column``."""
        return Rows(Named(self.relation(), name))

    def where(self, condition: str) -> Rows:
        """Keep the rows for which a condition is true."""
        return Rows(self.source, both(self.condition, read_expression(condition)))

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
        condition = None if on is None else only_rows(read_expression(on), place="ON")
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

    def count(self, of: str | None = None, *, name: str | None = None) -> Asked:
        """Count all rows; for more, begin with ``group_by()``."""
        return self._all().count(of, name=name)

    def count_distinct(self, of: str, *, name: str | None = None) -> Asked:
        """Count the different values of an expression among all rows."""
        return self._all().count_distinct(of, name=name)

    def sum(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Add up an expression over all rows."""
        return self._all().sum(of, bounds=bounds, name=name)

    def mean(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take the mean of an expression over all rows."""
        return self._all().mean(of, bounds=bounds, name=name)

    def median(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take the value in the middle of all rows."""
        return self._all().median(of, bounds=bounds, name=name)

    def variance(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take the variance of an expression over all rows, as of a sample."""
        return self._all().variance(of, bounds=bounds, name=name)

    def stddev(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take the standard deviation of an expression over all rows, as of a sample."""
        return self._all().stddev(of, bounds=bounds, name=name)

    def min(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take a value near the lowest of all rows."""
        return self._all().min(of, bounds=bounds, name=name)

    def max(self, of: str, *, bounds: Bounds | None = None, name: str | None = None) -> Asked:
        """Take a value near the highest of all rows."""
        return self._all().max(of, bounds=bounds, name=name)

    def percentile(
        self, of: str, fraction: object, *, bounds: Bounds | None = None, name: str | None = None
    ) -> Asked:
        """Take the value below which a fraction of all rows lies."""
        return self._all().percentile(of, fraction, bounds=bounds, name=name)

    def quantiles(
        self, of: str, parts: int, *, bounds: Bounds | None = None, name: str | None = None
    ) -> Asked:
        """Take the values that cut all rows into this many equal parts, with both ends."""
        return self._all().quantiles(of, parts, bounds=bounds, name=name)

    def mode(self, of: str, *, name: str | None = None) -> Asked:
        """Take the most frequent of the public values of all rows."""
        return self._all().mode(of, name=name)

    def relation(self) -> Relation:
        """Return the rows as a relation; with a condition they are a subquery."""
        if self.condition is None:
            return self.source
        return subquery_relation(self._select((Item(Star()),)))

    def _all(self) -> Asked:
        return Asked(Select(items=(), source=self.source, where=self.condition))

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
