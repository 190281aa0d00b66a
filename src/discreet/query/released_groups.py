"""Groups that one question releases and another is about: the second, once they are known.

Trust: kernel.  What stands in the second question is what was released, and nothing else.

Definition.  A question whose WITH names a SELECT with a differential privacy clause is two: the
inner one is answered first, and the values of its keys are written into the outer one, as if the
asker had written them.  ``x IN (SELECT k FROM t)`` and an inner join with t on x = k keep the rows
whose x is one of the values of k; NULL equals nothing.
Theorem (key ``released-groups``).  The outer question is an adaptive choice of the asker that
depends on the answer of the inner one alone; so both together lose what the two charges say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.errors import UnsupportedSQL
from discreet.query.expressions import Call, Column, Expression, Grouped, Literal
from discreet.query.question import Question
from discreet.query.relations import Filter, Join, Named, Relation, SemiJoin, Table, folded
from discreet.query.source_text import Span, unsupported
from discreet.query.types import Scalar

Values = Mapping[str, Mapping[str, tuple[Scalar, ...]]]
"""The released values of each key, by the folded names of the table and of the key."""

_ALSO: Final = (
    "what is released by WITH names groups; its numbers are in its own answer.",
    (
        "write x IN (SELECT key FROM name), or JOIN name USING (key); or ask the inner question "
        "first, and write down what it answers."
    ),
)


def key_names(inner: Question) -> tuple[str, ...]:
    """Return the outputs of a question that are its keys.

    >>> from discreet.query.relations import Table
    >>> ward = Question(relation=Table("v"), keys=(("ward", Column("ward")),),
    ...                 outputs=(("w", Grouped(0)),))
    >>> key_names(ward)
    ('w',)
    """
    return tuple(name for name, value in inner.outputs if isinstance(value, Grouped))


def with_released(question: Question, values: Values) -> Question:
    """Return a question with released values in place of the tables that WITH has named.

    >>> from discreet.query.sql.parse import read
    >>> asked = read("WITH w AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) ward "
    ...              "FROM visits GROUP BY ward) SELECT COUNT(*) AS n FROM visits "
    ...              "WHERE ward IN (SELECT ward FROM w)")
    >>> with_released(asked, {"w": {"ward": ("A", "B")}}).relation.predicate.function
    'IN'
    """
    rewriting = _Rewriting(values)
    relation = rewriting.relation(question.relation)

    return question.changed(rewriting.column, relation=relation, released=())


class _Rewriting:
    """Writes values into relations, and remembers what a joined key equals."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._equal: dict[tuple[str, str], Expression] = {}

    def column(self, node: Expression) -> Expression | None:
        """Return what a joined key of a released table equals."""
        if not isinstance(node, Column) or node.table is None:
            return None
        return self._equal.get((folded(node.table), folded(node.name)))

    def relation(self, node: Relation) -> Relation:
        """Return a relation without released tables."""
        match node:
            case SemiJoin(left=left, right=right) if (name := self._name(right)) is not None:
                return self._semi_joined(node, left, name)
            case Join(left=left, right=right) if (name := self._name(right)) is not None:
                return self._joined(node, left, right, name)
            case Join(left=left, right=right) if (name := self._name(left)) is not None:
                return self._joined(node, right, left, name)
            case Table() if self._name(node) is not None:
                raise _refused(node.span)
        below = node.children()
        above = [self.relation(child) for child in below]
        same = all(new is old for new, old in zip(above, below, strict=True))
        return node if same else node.rebuilt(above)

    def _name(self, side: Relation) -> str | None:
        """Return the name of a released table, if a side of a join is one."""
        inner = side.child if isinstance(side, Named) else side
        known = isinstance(inner, Table) and folded(inner.name) in self._values
        return folded(inner.name) if isinstance(inner, Table) and known else None

    def _semi_joined(self, node: SemiJoin, left: Relation, name: str) -> Relation:
        compared = node.compared
        if node.on is not None or compared is None or not isinstance(compared[1], Column):
            raise _refused(node.span)
        outer, key = compared[0], compared[1]
        among = self._among(outer, name, key.name, node.span)
        predicate = Call("NOT", (among,), span=node.span) if node.anti else among
        return Filter(self.relation(left), predicate, span=node.span)

    def _joined(self, node: Join, other: Relation, released: Relation, name: str) -> Relation:
        alias = folded(released.alias) if isinstance(released, Named) else name
        if node.kind != "inner":
            raise _refused(node.span)
        if node.on is None and len(node.using) == 1:
            key = node.using[0]
            outer: Expression = Column(key, span=node.span)
        else:
            key, outer = _equality(node.on, alias, node.span)
        self._equal[alias, folded(key)] = outer
        among = self._among(outer, name, key, node.span)
        return Filter(self.relation(other), among, span=node.span)

    def _among(self, outer: Expression, name: str, key: str, span: Span | None) -> Expression:
        values = self._values[name].get(folded(key))
        if values is None:
            raise _refused(span)
        return Call("IN", (outer, *map(Literal, values)), span=span)


def _equality(on: Expression | None, alias: str, span: Span | None) -> tuple[str, Expression]:
    """Return the key of a released table, and what a join compares it with."""
    if isinstance(on, Call) and on.function == "=":
        for side, other in (on.arguments, on.arguments[::-1]):
            if isinstance(side, Column) and side.table and folded(side.table) == alias:
                return side.name, other
    raise _refused(span)


def _refused(span: Span | None) -> UnsupportedSQL:
    return unsupported(span, "a released table is used where only its groups can be used.", *_ALSO)
