"""What a model learns from a table of a session: its columns, bounded as the policy declares.

Trust: kernel.  Bounds, categories and classes come from the policy alone; what is not declared is
refused before anything is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from discreet.errors import MissingBounds, UnknownName, WrongKind
from discreet.learning.models.fit_plans import Recipe
from discreet.learning.models.rows.bounded_columns import CategoryColumn, Column, NumberColumn
from discreet.learning.models.rows.bounded_rows import Encoding
from discreet.plan.binding.value_facts import Facts, as_keys
from discreet.query.relations import Relation, Table, descend, folded
from discreet.query.types import Type

if TYPE_CHECKING:  # handed in
    from discreet.session.programs import ProgramRows
    from discreet.session.session import Session


class Fitted(Protocol):
    """What a fit in a session needs to know of a model."""

    @property
    def kind(self) -> str:
        """Whether it is a classifier, a regressor, a clusterer or a transformer."""
        ...

    @property
    def constant(self) -> bool:
        """Whether rows end with a constant."""
        ...

    def _recipe(self, encoding: Encoding) -> Recipe: ...


def column_names(
    session: Session,
    relation: Relation,
    model: Fitted,
    label: str | None,
    columns: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the features, and the label last, as the schema spells them."""
    learns = model.kind in {"classifier", "regressor"}
    if learns != (label is not None):
        raise WrongKind(
            what="a label is missing, or given to a model that learns none.",
            why="a classifier and a regression learn one column from the others.",
            do="write fit(session.table('visits'), label='ill'), say.",
        )
    tables = [node.name for node in descend(relation) if isinstance(node, Table)]
    facts = session.schema.table(tables[0]) if len(tables) == 1 else None
    if columns is None and facts is None:
        raise WrongKind(
            what="the rows come from several tables, and no columns are named.",
            why="a model is fitted on columns that are asked for.",
            do="give columns=['age', 'ward'], say.",
        )
    if columns is None and facts is not None:
        left_out = {folded(name) for name in facts.unit} | {folded(label or "")}
        left_out |= set() if facts.link is None else {folded(facts.link.column)}
        columns = [each.name for each in facts.columns if folded(each.name) not in left_out]
    names = tuple(columns or ()) + (() if label is None else (label,))
    if not columns or len({folded(name) for name in names}) != len(names):
        raise UnknownName(
            what="there are no columns to learn from, or one is named twice.",
            why="every column is a feature once, or the label.",
            do="give columns=['age', 'ward'], say, without the label.",
        )
    return names


def encoding_of(
    model: Fitted, rows: ProgramRows, names: tuple[str, ...], label: str | None
) -> Encoding:
    """Return how rows are bounded, from what the policy declares."""
    pairs = list(zip(names, (key.facts for key in rows.bound.keys), strict=True))
    target, classes = None, None
    if label is not None:
        name, facts = pairs.pop()
        column = _column(name, facts)
        if model.kind == "regressor":
            if not isinstance(column, NumberColumn):
                raise _unfit_label(name, "a number with bounds")
            target = column
        else:
            if not isinstance(column, CategoryColumn):
                raise _unfit_label(name, "categories, or a truth value")
            classes = column.values
    features: list[Column] = []
    for name, facts in pairs:
        column = _column(name, facts)
        alike = bool(features) and features[-1] == column
        features.append(features[-1] if alike else column)  # one for all: they are written together
    return Encoding(
        features=tuple(features), target=target, classes=classes, constant=model.constant
    )


def _column(name: str, facts: Facts) -> Column:
    if facts.categories is not None:
        values = as_keys(facts.categories, facts.type)
        return CategoryColumn(tuple(value for value in values if value is not None))
    if facts.type is Type.BOOLEAN:
        return CategoryColumn((False, True))
    if facts.bounds is not None and facts.type.is_number:
        low, high = facts.bounds
        if low < high:
            return NumberColumn(Fraction(low), Fraction(high))
    raise MissingBounds(
        what=f"column {name} has neither bounds nor categories.",
        why="a model sees bounded rows, and bounds that were read off the data would tell of it.",
        do=f"declare them for {name} in the policy, or leave the column out with columns=[...].",
    )


def _unfit_label(name: str, needed: str) -> WrongKind:
    return WrongKind(
        what=f"the label {name} does not have {needed}.",
        why="what a model may say is declared, and not read off the data.",
        do=f"declare it in the policy, or name another label than {name}.",
    )
