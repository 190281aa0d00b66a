"""Groups that a public table lists: an outer join that keeps its rows.

Trust: kernel.

Definition.  Where a question joins private rows with SELECT DISTINCT of a public table, keeps the
rows of the latter that nobody matches, groups by columns of the public side, and the join compares
each of these with the private side and nothing else, the public side lists the groups of the
answer.
Theorem (key ``public-listing``).  The answer is that of the inner join, with an empty group for
every listed one that nobody matches; which groups appear does not depend on private rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, final

from discreet.errors import UnsupportedSQL
from discreet.plan.bind import Binder
from discreet.plan.fan_out import PublicRows
from discreet.plan.fields import Bound
from discreet.plan.joins import conjuncts, equalities
from discreet.plan.key_values import AskedKey
from discreet.plan.lowered import KeyValue
from discreet.plan.schema import Schema
from discreet.query.expressions import Column, Expression
from discreet.query.question import Question
from discreet.query.relations import Distinct, Filter, Join, Named, Project, Relation
from discreet.query.span import pointed

__all__ = ["Listing"]

_PRESERVED: Final = {"left": 0, "right": 1}


@final
@dataclass(frozen=True, slots=True)
class Listing:
    """An outer join that may list groups, and the relation with an inner join in its place."""

    join: Join
    inner: Relation

    @classmethod
    def of(cls, question: Question) -> Self | None:
        """Find such a join at the top of a question, below its conditions."""
        relation, above = question.relation, []
        while isinstance(relation, Filter):
            above.append(relation)
            relation = relation.child
        if not isinstance(relation, Join) or relation.kind not in _PRESERVED:
            return None
        if not question.keys or not _different(relation.children()[_PRESERVED[relation.kind]]):
            return None
        inner: Relation = replace(relation, kind="inner")
        for each in reversed(above):
            inner = replace(each, child=inner)
        return cls(relation, inner)

    def groups(
        self, keys: Sequence[AskedKey], rows: Bound, schema: Schema, public_rows: PublicRows
    ) -> tuple[tuple[KeyValue, ...], ...]:
        """Return the groups that are listed, or refuse the join."""
        public = Binder(schema).bind(self.join.children()[_PRESERVED[self.join.kind]])
        columns = [_public_column(each.key.expression, rows, public) for each in keys]
        compared = _compared(_join(rows.relation), {each.key.expression for each in keys})
        if not public.public or None in columns or not compared:
            raise UnsupportedSQL(
                what=pointed(
                    "this outer join keeps public rows that nobody matches.", self.join.span
                ),
                why="that is answered only where these rows are the groups of the answer.",
                do="join SELECT DISTINCT of the public columns ON each of them, with no other "
                "condition, and GROUP BY the public columns; or use an inner join.",
            )
        outputs = tuple((f"key {at}", Column(str(name))) for at, name in enumerate(columns))
        return tuple(public_rows(Distinct(Project(public.relation, outputs))))


def _different(side: Relation) -> bool:
    """Whether a side of a join is a SELECT DISTINCT, perhaps under an alias."""
    while isinstance(side, Named):
        side = side.child
    return isinstance(side, Distinct)


def _join(relation: Relation) -> Join | None:
    while isinstance(relation, Filter):
        relation = relation.child
    return relation if isinstance(relation, Join) else None


def _public_column(key: Expression, rows: Bound, public: Bound) -> str | None:
    """Return the column of the public side, bound by itself, that a key of the question is."""
    if not isinstance(key, Column):
        return None
    field = next(each for each in rows.fields if each.column == key.name)
    same = [each for each in public.fields if (each.name, each.table) == (field.name, field.table)]
    from_public = field.facts.source is not None and field.facts.source.public
    return same[0].column if len(same) == 1 and from_public else None


def _compared(join: Join | None, keys: set[Expression]) -> bool:
    """Whether a join compares just the keys, each with a column of the other side."""
    if join is None:
        return False
    pairs = equalities(join.on)
    names = {key.name for key in keys if isinstance(key, Column)}
    met = {name for pair in pairs for name in pair & names}
    single = all(len(pair) == 2 and len(pair & names) == 1 for pair in pairs)
    return met == names and single and len(pairs) == len(list(conjuncts(join.on)))
