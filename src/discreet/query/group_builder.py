"""What is asked about groups of rows: the second half of the table builder.

Trust: kernel.  Every step makes the same tree, by the same code, as SQL text of the same meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.query.expressions import Aggregate, Pair
from discreet.query.question import Question
from discreet.query.sql.parse import as_question, read_expression, read_item, read_orders
from discreet.query.sql.privacy_clause import clause_of
from discreet.query.sql.select_syntax import Item, Select

__all__ = ["Asked", "Bounds", "read_items"]

Bounds = tuple[Any, Any]
"""The lowest and the highest value: exact numbers, or floats that stand for their decimal text."""


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """Groups of rows and the aggregates that are asked about them.

    All aggregates take these keywords, as far as they make sense: ``name`` is the name of the
    column; only rows for which ``where`` is true count; ``bounds`` are those of every value, and
    ``bounds_per_group`` those of what one unit adds to one group; ``epsilon`` is the part of the
    price that goes to this aggregate.

    >>> from discreet.query.table_builder import table
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

    def count(
        self,
        of: str | None = None,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds_per_group: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Count all rows, or those in which an expression is not NULL."""
        total = Aggregate("COUNT", None if of is None else read_expression(of))
        return self._and(total, name, where, None, bounds_per_group, epsilon)

    def count_distinct(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds_per_group: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Count the different values of an expression, such as the people."""
        total = Aggregate("COUNT", read_expression(of), distinct=True)
        return self._and(total, name, where, None, bounds_per_group, epsilon)

    def sum(  # noqa: PLR0913 (keywords)
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        bounds_per_group: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Add up an expression."""
        total = Aggregate("SUM", read_expression(of))
        return self._and(total, name, where, bounds, bounds_per_group, epsilon)

    def mean(  # noqa: PLR0913 (keywords)
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        bounds_per_group: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the mean of an expression."""
        total = Aggregate("AVG", read_expression(of))
        return self._and(total, name, where, bounds, bounds_per_group, epsilon)

    def variance(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the variance of an expression, as of a sample."""
        total = Aggregate("VAR_SAMP", read_expression(of))
        return self._and(total, name, where, bounds, None, epsilon)

    def stddev(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the standard deviation of an expression, as of a sample."""
        total = Aggregate("STDDEV_SAMP", read_expression(of))
        return self._and(total, name, where, bounds, None, epsilon)

    def min(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take a value near the lowest, between the bounds."""
        return self._and(Aggregate("MIN", read_expression(of)), name, where, bounds, None, epsilon)

    def max(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take a value near the highest, between the bounds."""
        return self._and(Aggregate("MAX", read_expression(of)), name, where, bounds, None, epsilon)

    def median(
        self,
        of: str,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the value in the middle."""
        return self.percentile(of, 0.5, name=name, where=where, bounds=bounds, epsilon=epsilon)

    def percentile(  # noqa: PLR0913 (keywords)
        self,
        of: str,
        fraction: object,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the value below which a fraction of the values lies."""
        place = decimal(fraction, name="fraction")
        if not 0 <= place <= 1:
            raise OutOfRange(
                what="fraction is not from 0 to 1.",
                why="it is a part of all values.",
                do="give a fraction such as 0.9.",
            )
        total = Aggregate("PERCENTILE_CONT", read_expression(of), parameter=place)
        return self._and(total, name, where, bounds, None, epsilon)

    def quantiles(  # noqa: PLR0913 (keywords)
        self,
        of: str,
        parts: int,
        *,
        name: str | None = None,
        where: str | None = None,
        bounds: Bounds | None = None,
        epsilon: object = None,
    ) -> Asked:
        """Take the values that cut all values into so many equal parts, with both ends."""
        count = whole(parts, name="parts", low=1, high=1000)
        total = Aggregate("APPROX_QUANTILES", read_expression(of), parameter=Fraction(count))
        return self._and(total, name, where, bounds, None, epsilon)

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
        """Keep so many groups from the beginning."""
        return self._with(limit=whole(count, name="limit", low=0, high=2**31 - 1))

    def options(self, **options: object) -> Asked:
        """Set the options of the differential privacy clause, such as ``epsilon=0.5``."""
        return self._with(clause=clause_of(options))

    def _with(self, **changes: Any) -> Asked:
        return Asked(replace(self.select, **changes))

    def _and(  # noqa: PLR0913, PLR0917 (the keywords that all aggregates share)
        self,
        total: Aggregate,
        name: str | None,
        where: str | None,
        bounds: Bounds | None,
        bounds_per_group: Bounds | None,
        epsilon: object,
    ) -> Asked:
        """Add an aggregate with its keywords."""
        asked = replace(
            total,
            where=None if where is None else read_expression(where),
            bounds_per_row=_pair(bounds, "bounds"),
            bounds_per_group=_pair(bounds_per_group, "bounds_per_group"),
            epsilon=None if epsilon is None else _above_zero(epsilon),
        )
        return self._with(items=(*self.select.items, Item(asked, name)))


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
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise WrongKind(
            what=f"{name} is not a pair.",
            why="a bound has two ends.",
            do=f"give {name} as (low, high).",
        )
    low, high = (decimal(end, name=name) for end in bounds)
    if low > high:
        raise OutOfRange(
            what=f"{name} has its lower end above.",
            why="no value lies between the ends.",
            do=f"give {name} as (low, high).",
        )
    return low, high


def _above_zero(epsilon: object) -> Fraction:
    value = decimal(epsilon, name="epsilon")
    if value <= 0:
        raise OutOfRange(
            what="epsilon is not above zero.",
            why="nothing can be released for it.",
            do="give an epsilon above zero.",
        )
    return value
