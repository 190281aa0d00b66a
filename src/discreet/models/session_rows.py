"""Fitting a table of a session: bounded rows through the pipeline of every question.

Trust: kernel.  The engine keeps a unit in at most ``max_groups`` different rows, each at most
``max_rows`` times, and the price is read off the request that it enforces.  Bounds and categories
come from the policy; values are clamped and rows left out where they become integers, whatever an
engine returns.

Theorem (key ``session-rows``).  Let the request bound a unit to m groups of r rows; m = r = 1 where
each row is a unit.  The rows that a model is fitted on are the groups, each as often as it counts;
adding or removing a unit adds or removes at most m r of them.
Proof.  By ``bounded-contribution`` the unit changes at most m counts, each by at most r and upward
when it is added.  Cutting counts off at a public ceiling, leaving out groups and clamping values
act on each group by itself, and bring no two multisets of rows further apart.

What a model learns from a table of a session: its columns, bounded as the policy declares.

refused before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol, final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.accounting import Node
from discreet.errors import MissingBounds, OutOfRange, UnknownName, WrongKind
from discreet.ledger.values import StoredAnswer
from discreet.models.bounded_rows import (
    BoundedRows,
    CategoryColumn,
    Column,
    Encoding,
    ListedValues,
    NumberColumn,
    Values,
)
from discreet.models.fitting import FitPlan, Recipe, drawn_bytes, fit_document
from discreet.models.measurement import AskedPrice, SumSchedule, scheduled
from discreet.noise import Entropy
from discreet.plan.binding.value_facts import Facts, as_keys
from discreet.plan.pricing.requested_price import (
    PriceArguments,
    check_requested_price,
    read_requested_price,
)
from discreet.query.expressions import Aggregate, Call, Literal
from discreet.query.expressions import Column as ColumnName
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import RawTotals, nulls, numbers
from discreet.session.inquiry import Inquiry
from discreet.session.programs import Program, ProgramRows
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in
    from discreet.session.session import Session

ROWS: Final = "rows"
_MOST: Final = 1 << 27
"""So many rows of one kind count, and so many in all: more do not fit into memory."""
_FEW: Final = 1 << 16
_KINDS: Final = (pa.int64(), pa.float64())


def is_table(source: object) -> bool:
    """Whether something is a table of a session.

    >>> is_table([[1.0]])
    False
    """
    return isinstance(source, Inquiry)


def plan_in_session(
    model: Fitted,
    source: Inquiry,
    label: str | None,
    asked: AskedPrice,
    columns: Sequence[str] | None = None,
) -> FitPlan:
    """Plan a fit on a table; nothing private is read."""
    session = source.session
    relation = source.rows.relation()
    names = column_names(session, relation, model, label, columns)
    question = Question(
        relation=relation,
        keys=tuple((name, ColumnName(name)) for name in names),
        outputs=((ROWS, Aggregate("COUNT")),),
    )
    given = PriceArguments(epsilon=asked.epsilon, delta=asked.delta, rho=asked.rho, size=None)
    price = read_requested_price(question, session.policy.limits, given)
    if not session.test_mode:
        check_requested_price(price, session.policy.limits)
    asked = AskedPrice(epsilon=price.epsilon, delta=price.delta or None, rho=price.rho)
    rows = session.program_rows(question)
    encoding = encoding_of(model, rows, names, label)
    request = parts_request(rows)
    recipe = model._recipe(encoding)  # noqa: SLF001  models hand themselves over
    sums, most = recipe.sums(encoding), rows_of_unit(request)
    noise = scheduled(sums, asked, unit=session.unit, rows=most)
    draw = ModelDraw(recipe=recipe, encoding=encoding, noise=noise)
    program = Program.of(rows, unit=session.unit, reads=(request,), delta=asked.delta, draw=draw)
    return FitPlan(
        model=type(model).__name__,
        recipe=recipe,
        encoding=encoding,
        schedule=noise,
        names=names,
        program=program,
    )


def fit_in_session(
    model: Fitted,
    source: Inquiry,
    label: str | None,
    asked: AskedPrice,
    columns: Sequence[str] | None = None,
) -> tuple[FitPlan, StoredAnswer]:
    """Charge, read, draw and record a fit on a table; again, it is the same model for free."""
    plan = plan_in_session(model, source, label, asked, columns)
    return plan, source.session.perform(plan.program)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDraw:
    """Draws what a model releases from rows that an engine has bounded."""

    recipe: Recipe
    encoding: Encoding
    noise: SumSchedule

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters, in plain JSON."""
        return fit_document(self.recipe, self.encoding, self.noise.asked)

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return the composition of all sums, by the bounds that the engine enforces."""
        (request,) = reads
        if self.noise.rows != rows_of_unit(request) or self.noise.unit != unit:
            raise OutOfRange(
                what="a model is planned for other bounds than its request has.",
                why="noise that is scaled to less than a unit can add hides nobody.",
                do="plan the fit with the model's plan method.",
            )
        if self.noise.sums != self.recipe.sums(self.encoding):
            raise OutOfRange(
                what="a model is planned for other sums than it takes.",
                why="what is charged is what is measured.",
                do="plan the fit with the model's plan method.",
            )
        return self.noise.tree

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  a model does not name its program
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  nor the states of its tables
    ) -> bytes:
        """Turn groups into rows, take the sums and write down what was released."""
        (raw,) = raws
        rows = rows_of(raw, self.encoding)
        return drawn_bytes(self.recipe, self.encoding, self.noise, rows, entropy)


def rows_of_unit(request: EngineRequest) -> int:
    """Return how many rows of a unit a model sees, as the engine enforces it."""
    (total,) = request.totals
    if total.low != 0:
        raise OutOfRange(
            what="a request does not bound how often a row counts.",
            why="noise is scaled to that bound.",
            do="plan the fit with the model's plan method.",
        )
    return total.most * (1 if request.groups is None else request.groups)


def rows_of(raw: RawTotals, encoding: Encoding) -> BoundedRows:
    """Return each group of an engine as often as it counts, as bounded rows."""
    clipped = np.clip(np.asarray(raw.totals[ROWS], np.int64), 0, _MOST)
    counts = None if (clipped == 1).all() else clipped
    labeled = encoding.target is not None or encoding.classes is not None
    features = zip(raw.keys, encoding.features, strict=not labeled)
    arrays: list[Values] = [
        _numbers(key) if isinstance(column, NumberColumn) else _listed(key)
        for key, column in features
    ]
    if not labeled:
        return encoding.rows(_together(arrays), counts=counts)
    label = raw.keys[len(arrays)]
    labels = _listed(label) if encoding.target is None else _numbers(label)
    return encoding.rows(_together(arrays), labels, counts=counts)


def _together(arrays: list[Values]) -> NDArray[np.float64] | list[Values]:
    """Return a few numbers as one matrix, which is written in fewer calls."""
    floats = [each for each in arrays if isinstance(each, np.ndarray) and each.dtype == np.float64]
    few = len(floats) == len(arrays) and sum(map(len, floats)) <= _FEW
    return np.stack(floats).T if few else arrays


def _numbers(key: pa.Array) -> NDArray[Any]:
    """Return the numbers of a key; NULL is NaN."""
    if key.type not in _KINDS:
        return np.array(key.to_pylist(), object)
    floats = numbers(key).astype(np.float64, copy=False)
    return np.where(nulls(key), np.nan, floats) if key.null_count else floats


def _listed(key: pa.Array) -> ListedValues:
    """Return the different values of a key, and which of them each row has."""
    listed = key.dictionary_encode()
    values = np.array([*listed.dictionary.to_pylist(), None], object)  # the last of them is NULL
    places = numbers(listed.indices)
    return ListedValues(values, np.where(nulls(key), -1, places) if key.null_count else places)


_REQUESTS: Final = WeakKeyDictionary[ProgramRows, EngineRequest]()


def parts_request(rows: ProgramRows) -> EngineRequest:
    """Ask the same in parts, once for all fits on these rows: they are added up, in no order."""
    known = _REQUESTS.get(rows)
    if known is None:
        known = _REQUESTS[rows] = replace(rows_request(rows), in_parts=True)
    return known


def rows_request(rows: ProgramRows) -> EngineRequest:
    """Ask how often each combination of values occurs, a unit being bounded."""
    keys = tuple(
        KeyColumn(f"value {place}", key.key.expression, key.facts.type)
        for place, key in enumerate(rows.bound.keys)
    )
    limits = rows.contributions
    return rows.request(
        keys=keys,
        measures=(Total(name=ROWS, row=Literal(1), low=0, high=limits.most_rows(None)),),
        conditions=tuple(
            Call("NOT", (Call("IS NULL", (key.key.expression,)),)) for key in rows.bound.keys
        ),
        groups=limits.groups,
    )


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
