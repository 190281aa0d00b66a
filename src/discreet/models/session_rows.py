"""Fitting a table of a session: bounded rows through the pipeline of every question.

Trust: kernel.  The price is read off the request that engines enforce (key ``session-rows``).
Bounds and categories come from the policy; values are clamped and rows left out during conversion
to integers, without trusting the engine.  Columns that the policy does not bound are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.accounting import Node
from discreet.errors import MissingBounds, OutOfRange, UnknownName, WrongKind
from discreet.extend import (
    ROWS,
    AskedPrice,
    EngineRequest,
    Facts,
    PriceArguments,
    Program,
    ProgramRows,
    RawTotals,
    SumSchedule,
    as_keys,
    check_requested_price,
    nulls,
    numbers,
    read_requested_price,
    rows_of_unit,
    rows_question,
    rows_request,
    scheduled,
)
from discreet.ledger import StoredAnswer
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
from discreet.noise import Entropy
from discreet.query import Relation, Table, Type, descend, folded
from discreet.session import Inquiry, Session
from discreet.units import PrivacyUnit

_MOST: Final = 1 << 27
"""The most rows that count, of one kind and in all: more do not fit into memory."""
_FEW: Final = 1 << 16
_KINDS: Final = (pa.int64(), pa.float64())


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
    session, relation = source.session, source.rows.relation()
    names = column_names(session, relation, model, label, columns)
    question = rows_question(relation, names)
    given = PriceArguments(epsilon=asked.epsilon, delta=asked.delta, rho=asked.rho, size=None)
    price = read_requested_price(question, session.policy.limits, given)
    if not session.test_mode:
        check_requested_price(price, session.policy.limits)
    asked = AskedPrice(epsilon=price.epsilon, delta=price.delta or None, rho=price.rho)
    rows = session.program_rows(question)
    encoding = encoding_of(model, rows, names, label)
    request = rows_request(rows)
    recipe = model._recipe(encoding)  # noqa: SLF001  models hand themselves over
    sums, most = recipe.sums(encoding), rows_of_unit(request)
    noise = scheduled(sums, asked, unit=session.unit, rows=most)
    draw = ModelDraw(recipe=recipe, encoding=encoding, noise=noise)
    return FitPlan(
        model=type(model).__name__,
        recipe=recipe,
        encoding=encoding,
        schedule=noise,
        names=names,
        program=Program.of(rows, unit=session.unit, reads=(request,), delta=asked.delta, draw=draw),
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
        if self.noise.sums != self.recipe.sums(self.encoding):
            raise OutOfRange(
                "a model is planned for other sums than it takes: plan the fit with the model's "
                "plan method."
            )
        (request,) = reads
        return self.noise.charged(request, unit)

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


# --- columns, bounded as the policy declares --------------------------------------------------


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
            "classifiers and regressions learn one column from the others, and other models "
            "none: write fit(session.table('visits'), label='ill'), say, or leave label out."
        )
    tables = [node.name for node in descend(relation) if isinstance(node, Table)]
    facts = session.schema.table(tables[0]) if len(tables) == 1 else None
    if columns is None and facts is None:
        raise WrongKind("the rows come from several tables: give columns=['age', 'ward'], say.")
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
        if model.kind == "regressor" and isinstance(column, NumberColumn):
            target = column
        elif model.kind == "classifier" and isinstance(column, CategoryColumn):
            classes = column.values
        else:
            needed = "a number with bounds" if model.kind == "regressor" else "categories"
            raise WrongKind(
                f"the label {name} does not have {needed}: declare it in the policy, or name "
                f"another label than {name}."
            )
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
        why="a model sees bounded rows, and bounds that were read off the data would reveal it.",
        do=f"declare them for {name} in the policy, or leave the column out with columns=[...].",
    )
