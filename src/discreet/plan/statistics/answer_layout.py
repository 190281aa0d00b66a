"""The layout of an answer: a slot for each aggregate, and columns computed from slots.

Trust: public.  Everything here is computed from what is released already.

Definition.  Every different aggregate of a question has a *slot*, a column ``a0``, ``a1``, ...  The
columns of the answer, its condition and its order are expressions over slots (:class:`Column`) and
keys (:class:`Grouped`).  A slot of quantiles holds a list, and stands in an output by itself.
Windows over groups have slots ``w0``, ``w1``, ... of their own, over the other slots and keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from discreet.plan.estimator import Estimator
from discreet.query.expression_types import ColumnTypes, check_condition, typed
from discreet.query.expressions import Aggregate, Column, Expression, Order, Window, transformed
from discreet.query.types import Type

if TYPE_CHECKING:  # made by an earlier step
    from discreet.plan.binding.bound_question import BoundQuestion


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A slot: the aggregate of the question that it holds, its type, and how it is computed.

    >>> from discreet.aggregates.count import Count
    >>> people = Aggregate("COUNT", Column("patient"), distinct=True)
    >>> Estimate(slot="a0", aggregate=people, type=Type.INTEGER, estimator=Count()).slot
    'a0'
    """

    slot: str
    aggregate: Aggregate
    type: Type
    estimator: Estimator


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumn:
    """A column of the answer.

    >>> AnswerColumn(name="visits", type=Type.INTEGER, expression=Column("a0")).name
    'visits'
    """

    name: str
    type: Type
    expression: Expression


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLayout:
    """All columns of an answer, which of its groups are shown, and in which order.

    Without an order, groups come in the order of their keys.

    >>> AnswerLayout(outputs=()).limit is None
    True
    """

    outputs: tuple[AnswerColumn, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    windows: tuple[tuple[str, Window], ...] = ()

    @property
    def limited(self) -> bool:
        """Whether some groups are left out by their place in the order."""
        return self.limit is not None or self.offset > 0

    def unfolded(self, expression: Expression) -> Expression:
        """Return an expression with the windows themselves in the place of their slots."""
        windows: dict[str, Expression] = dict(self.windows)
        return transformed(
            expression, lambda node: windows.get(node.name) if isinstance(node, Column) else None
        )


def answer_layout(
    known: BoundQuestion, estimators: Sequence[Estimator]
) -> tuple[tuple[Estimate, ...], AnswerLayout]:
    """Give each aggregate a slot, and write everything above them in terms of slots."""
    keys = [each.key.type for each in known.keys]
    columns = known.rows.facts.types

    def kind(aggregate: Aggregate) -> Type:
        """Return the type of an aggregate; levels add up, and so are not rounded."""
        own = typed(aggregate, columns)
        return Type.FLOAT if known.question.sets and own is Type.INTEGER else own

    estimates = tuple(
        Estimate(slot=f"a{place}", aggregate=outer, type=kind(inner), estimator=estimator)
        for place, ((outer, inner), estimator) in enumerate(
            zip(known.aggregates, estimators, strict=True)
        )
    )
    slots = {each.aggregate: Column(each.slot) for each in estimates}
    kinds = {each.slot: each.type for each in estimates}

    windows: dict[Window, str] = {}

    def placed(node: Expression) -> Expression | None:
        if isinstance(node, Window):
            kinds.setdefault(windows.setdefault(node, f"w{len(windows)}"), typed(node, kinds, keys))
            return Column(windows[node])
        return None

    def above(expression: Expression) -> Expression:
        changed = transformed(
            expression, lambda node: slots[node] if isinstance(node, Aggregate) else None
        )
        return transformed(changed, placed)

    question = known.question
    listed = tuple((name, above(value)) for name, value in question.outputs)
    types = ColumnTypes(kinds, keys)
    outputs = tuple(
        AnswerColumn(name=name, type=typed(value, types), expression=value)
        for name, value in listed
    )
    having = None if question.having is None else above(question.having)
    if having is not None:
        check_condition(having, kinds, keys)
    shown = AnswerLayout(
        outputs=outputs,
        having=having,
        order=tuple(replace(item, expression=above(item.expression)) for item in question.order),
        limit=question.limit,
        offset=question.offset,
    )
    if windows:
        shown = replace(shown, windows=tuple((slot, each) for each, slot in windows.items()))
    return estimates, shown
