"""Formulas of released numbers, group by group, over columns of values that may be NULL.

Trust: public.  Everything here is computed from what is released already.

The meaning of each is that of :mod:`discreet.query.functions`.  Functions of numbers take whole
columns at a time: INTEGER is NULL outside 64 bits, FLOAT is NULL if it is not finite, and what is
divided by zero is NULL.  Functions of texts and days take one value at a time, and compute it as
all engines do (:mod:`discreet.query.functions` and its neighbors).

Definition.  In a column INTEGER is held as int64, FLOAT as float64 (always finite), BOOLEAN as
bool, and all other types as Python objects.  If a value is NULL, what is in the array means
nothing.  Values are those of the engines: three-valued logic, NULL if an argument is NULL
unless the function says otherwise, and no error, regardless of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.aggregates.intervals import Floats
from discreet.arrays import INT64_MIN
from discreet.query.expression_types import FUNCTIONS, ColumnTypes
from discreet.query.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Grouping,
    Literal,
)
from discreet.query.functions import ANYWHERE, CAST_VALUES, RELEASED
from discreet.query.types import LARGEST, SMALLEST, Scalar, Type
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values, nulls, numbers

Mask = NDArray[np.bool_]
_STORED: Final[dict[Type | None, Any]] = {
    Type.INTEGER: np.int64,
    Type.FLOAT: np.float64,
    Type.BOOLEAN: np.bool_,
}
_BLANKS: Final[dict[Type | None, Any]] = {Type.INTEGER: 0, Type.FLOAT: 0.0, Type.BOOLEAN: False}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Values, and which of them are NULL; the type is None for a bare NULL.

    >>> Vector.read(pa.array([3, None]), Type.INTEGER).to_list()
    [3, None]
    """

    type: Type | None
    values: NDArray[Any]
    null: Mask

    @classmethod
    def read(cls, array: pa.Array, kind: Type) -> Vector:
        """Read an Arrow array."""
        if kind in _STORED:
            return cls(kind, numbers(array).astype(_STORED[kind]), nulls(array))
        return cls(kind, _objects(array.to_pylist()), nulls(array))

    def arrow(self) -> pa.Array:
        """Return an Arrow array."""
        kind = pa.null() if self.type is None else ARROW_TYPES[self.type]
        if self.type in _STORED:
            return arrow_numbers(self.values, kind, self.null)
        return arrow_values(self.to_list(), kind)

    def to_list(self) -> list[Any]:
        """Return values, None for NULL."""
        pairs = zip(self.values.tolist(), self.null.tolist(), strict=True)
        return [None if null else value for value, null in pairs]

    def taken(self, places: NDArray[np.int64]) -> Vector:
        """Return the values at these places."""
        return Vector(self.type, self.values[places], self.null[places])


def vector(kind: Type | None, values: NDArray[Any], null: Mask | None = None) -> Vector:
    """Make a vector; floats that are not finite are NULL, and there is one zero.

    >>> vector(Type.FLOAT, np.array([1.0, np.inf, -0.0])).to_list()
    [1.0, None, 0.0]
    """
    missing = np.zeros(values.shape, np.bool_) if null is None else null
    if kind is Type.FLOAT:
        missing = missing | ~np.isfinite(values)
        values = np.where(missing, 0.0, values) + 0.0
    return Vector(kind, values, missing)


def constant(value: Scalar | float, kind: Type | None, size: int) -> Vector:
    """Return a value ``size`` times; a fraction becomes the nearest float.

    >>> constant(Fraction(1, 10), Type.FLOAT, 2).to_list()
    [0.1, 0.1]
    """
    if value is None or kind is None:
        blank = np.full(size, _BLANKS.get(kind), _STORED.get(kind, object))
        return Vector(kind, blank, np.ones(size, np.bool_))
    if isinstance(value, Fraction):
        value = _nearest_float(value)
    if kind in _STORED:
        return vector(kind, np.full(size, value, _STORED[kind]))
    return Vector(kind, _objects([value] * size), np.zeros(size, np.bool_))


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def half_away(values: Floats) -> Floats:
    """Round to whole numbers, halves away from zero.

    >>> half_away(np.array([2.5, -2.5, 0.4])).tolist()
    [3.0, -3.0, 0.0]
    """
    size = np.abs(values)
    below = np.floor(size)
    with np.errstate(invalid="ignore"):
        nearest: Floats = np.copysign(below + (size - below >= 0.5), values)
    return nearest


Array = NDArray[Any]
Computed = tuple[Array, Mask]
"""Results, and where they are NULL for reasons of their own."""

_EDGE: Final = 2.0**63


def as_float(column: Vector) -> Vector:
    """Return whole numbers as the nearest floats, and truth as 0 and 1.

    >>> as_float(vector(Type.INTEGER, np.array([1, 2]))).to_list()
    [1.0, 2.0]
    """
    return vector(Type.FLOAT, column.values.astype(np.float64), column.null)


def as_integer(column: Vector) -> Vector:
    """Return the nearest whole numbers, halves away from zero; NULL outside 64 bits.

    >>> as_integer(vector(Type.FLOAT, np.array([2.5, -2.5, 1e30]))).to_list()
    [3, -3, None]
    """
    if column.type is Type.BOOLEAN:
        return Vector(Type.INTEGER, column.values.astype(np.int64), column.null)
    nearest = half_away(column.values)
    outside = (nearest < -_EDGE) | (nearest >= _EDGE)
    whole = np.where(outside, 0.0, nearest).astype(np.int64)
    return Vector(Type.INTEGER, whole, column.null | outside)


def _never(values: Array) -> Mask:
    return np.zeros(values.shape, np.bool_)


def _plus(left: Array, right: Array) -> Computed:
    total = left + right
    if total.dtype != np.int64:
        return total, _never(total)
    return total, ((left ^ total) & (right ^ total)) < 0


def _minus(left: Array, right: Array) -> Computed:
    rest = left - right
    if rest.dtype != np.int64:
        return rest, _never(rest)
    return rest, ((left ^ right) & (left ^ rest)) < 0


def _times(left: Array, right: Array) -> Computed:
    product = left * right
    if product.dtype != np.int64:
        return product, _never(product)
    flipped = ((left == -1) & (right == INT64_MIN)) | ((right == -1) & (left == INT64_MIN))
    divisor = np.where((left == 0) | flipped, 1, left)
    exact = (product // divisor == right) & (product % divisor == 0)
    return product, flipped | ((left != 0) & ~exact)


def _divided(left: Array, right: Array) -> Computed:
    zero = right == 0
    return left / np.where(zero, 1.0, right), zero


def _whole(compute: Callable[[Array], Array]) -> Callable[[Array], Computed]:
    """Apply a rounding; an integer is whole already."""

    def kept(value: Array) -> Computed:
        return (value if value.dtype == np.int64 else compute(value)), _never(value)

    return kept


def _square_root(value: Array) -> Computed:
    negative = value < 0.0
    return np.sqrt(np.where(negative, 0.0, value)), negative


def _logarithm(compute: Callable[[Array], Array]) -> Callable[[Array], Computed]:
    def above_zero(value: Array) -> Computed:
        outside = value <= 0.0
        return compute(np.where(outside, 1.0, value)), outside

    return above_zero


def _exponential(value: Array) -> Computed:
    return np.exp(value), _never(value)


def _power(base: Array, exponent: Array) -> Computed:
    value = np.power(base, exponent)
    return value, np.isnan(value)


def _range_bucket(value: Array, *edges: Array) -> Computed:
    return np.sum([edge <= value for edge in edges], axis=0).astype(np.int64), _never(value)


NUMBERS: Final[dict[str, Callable[..., Computed]]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _divided,
    "FLOOR": _whole(np.floor),
    "CEIL": _whole(np.ceil),
    "ROUND": _whole(half_away),
    "SQRT": _square_root,
    "RANGE_BUCKET": _range_bucket,
    "EXP": _exponential,
    "LN": _logarithm(np.log),
    "LOG10": _logarithm(np.log10),
    "LOG2": _logarithm(np.log2),
    "POWER": _power,
}
"""Functions of numbers that are not NULL; rarer ones are computed one by one."""


_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_MEETING: Final = frozenset({*_COMPARE, "IN", "RANGE_BUCKET"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Formulas:
    """Columns by their names, and keys by their places; ``totaled`` is 1 where a key is totaled.

    >>> visits = vector(Type.INTEGER, np.array([40, 7]))
    >>> formulas = Formulas(columns={"a0": visits}, keys=(), size=2)
    >>> formulas.value(Call("/", (Column("a0"), Literal(2)))).to_list()
    [20.0, 3.5]
    """

    columns: Mapping[str, Vector]
    keys: tuple[Vector, ...]
    size: int
    totaled: tuple[Vector, ...] = ()
    _types: ColumnTypes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the types, so that each expression is typed once."""
        columns = ((name, column.type) for name, column in self.columns.items())
        known = [(name, kind) for name, kind in columns if kind is not None]
        types = ColumnTypes(known, [key.type or Type.TEXT for key in self.keys])
        object.__setattr__(self, "_types", types)

    def taken(self, places: NDArray[np.int64]) -> Formulas:
        """Return the groups at these places."""
        return Formulas(
            columns={name: column.taken(places) for name, column in self.columns.items()},
            keys=tuple(key.taken(places) for key in self.keys),
            size=places.size,
            totaled=tuple(each.taken(places) for each in self.totaled),
        )

    def kind(self, expression: Expression) -> Type | None:
        """Return the type of an expression, or None for a NULL that fits every type."""
        return self._types.type_of(expression)

    def value(self, expression: Expression, to: Type | None = None) -> Vector:
        """Compute an expression, perhaps as a value of another type."""
        value = self._value(expression)
        return value if to is None else cast(value, to)

    def where_true(self, condition: Expression) -> Mask:
        """Return where a condition is true, and not false or NULL."""
        truth = self.value(condition, Type.BOOLEAN)
        return truth.values & ~truth.null

    def _value(self, expression: Expression) -> Vector:
        match expression:
            case Column(name=name):
                return self.columns[name]
            case Grouped(at=at) | Grouping(argument=Grouped(at=at)):
                return (self.keys if isinstance(expression, Grouped) else self.totaled)[at]
            case Literal(value=value, type=kind):
                return constant(value, kind, self.size)
            case Cast(argument=argument, to=to):
                return self.value(argument, to)
            case Case():
                return self._case(expression)
            case Call():
                return self._call(expression)
            case _:
                message = f"{type(expression).__name__} is not an expression over released numbers"
                raise TypeError(message)

    def _case(self, case: Case) -> Vector:
        to = self.kind(case)
        result = self.value(case.default or Literal(None), to)
        for condition, value in reversed(case.branches):
            result = _either(self.where_true(condition), self.value(value, to), result)
        return result

    def _call(self, call: Call) -> Vector:  # noqa: C901, PLR0911 (one for each kind of function)
        to = self.meeting(call)
        columns = [self.value(argument, to) for argument in call.arguments]
        match call.function:
            case "AND":
                return _negated(_any([_negated(column) for column in columns]))
            case "OR":
                return _any(columns)
            case "NOT":
                return _negated(columns[0])
            case "IN":
                equal = [_compared(np.equal, [columns[0], other]) for other in columns[1:]]
                return _any(equal)
            case "COALESCE":
                return _first(columns)
            case "IS NULL":
                return vector(Type.BOOLEAN, columns[0].null)
            case "IS TRUE" | "IS FALSE":
                wanted = columns[0].values == (call.function == "IS TRUE")
                return vector(Type.BOOLEAN, wanted & ~columns[0].null)
            case name if name in _COMPARE:
                return _compared(_COMPARE[name], columns)
            case "LEAST" | "GREATEST":
                return _extreme(np.less if call.function == "LEAST" else np.greater, columns)
            case name if name in NUMBERS:
                return _numbers(name, columns)
            case name:
                return _each(name, columns)

    def meeting(self, call: Call) -> Type | None:
        """Return the type in which the arguments meet, or None if each keeps its own."""
        if call.function in {"/", "SQRT", *RELEASED}:
            return Type.FLOAT
        if call.function in _MEETING or FUNCTIONS[call.function].gives == "same":
            kinds = {self.kind(argument) for argument in call.arguments} - {None}
            return Type.FLOAT if len(kinds) > 1 else next(iter(kinds), None)
        return None


def cast(column: Vector, to: Type) -> Vector:
    """Turn values into another type; NULL if that has no meaning.

    >>> cast(vector(Type.INTEGER, np.array([0, 7])), Type.BOOLEAN).to_list()
    [False, True]
    """
    if column.type is to:
        return column
    if column.type is None:
        return constant(None, to, column.null.size)
    match column.type, to:
        case ((Type.INTEGER | Type.BOOLEAN), Type.FLOAT):
            return as_float(column)
        case ((Type.FLOAT | Type.BOOLEAN), Type.INTEGER):
            return as_integer(column)
        case Type.INTEGER, Type.BOOLEAN:
            return Vector(to, column.values != 0, column.null)
        case _:
            return _applied(CAST_VALUES[column.type, to], [column], to)


def _negated(column: Vector) -> Vector:
    return Vector(Type.BOOLEAN, ~_truth(column), column.null)


def _any(columns: Sequence[Vector]) -> Vector:
    """Return true if any is true, else NULL if any is NULL."""
    true = np.logical_or.reduce([_truth(column) & ~column.null for column in columns])
    null = np.logical_or.reduce([column.null for column in columns])
    return Vector(Type.BOOLEAN, true, null & ~true)


def _truth(column: Vector) -> Mask:
    return column.values.astype(np.bool_) if column.type is None else column.values


def _compared(compare: Callable[[Any, Any], Any], columns: Sequence[Vector]) -> Vector:
    null = _missing(columns)
    truth = np.zeros(null.shape, np.bool_)
    truth[~null] = compare(columns[0].values[~null], columns[1].values[~null])
    return Vector(Type.BOOLEAN, truth, null)


def _extreme(better: Callable[[Any, Any], Any], columns: Sequence[Vector]) -> Vector:
    null = _missing(columns)
    there = ~null
    best = columns[0].values.copy()
    for column in columns[1:]:
        rival = column.values[there]
        best[there] = np.where(better(rival, best[there]).astype(np.bool_), rival, best[there])
    return Vector(columns[0].type, best, null)


def _first(columns: Sequence[Vector]) -> Vector:
    first = columns[0]
    for column in columns[1:]:
        first = _either(~first.null, first, column)
    return first


def _either(chosen: Mask, first: Vector, second: Vector) -> Vector:
    kind = first.type if first.type is not None else second.type
    values = np.where(chosen, first.values, second.values)
    if kind is not None and first.type is not second.type:  # one of them is a bare NULL
        values = (first if first.type is not None else second).values
    return Vector(kind, values, np.where(chosen, first.null, second.null))


def _numbers(name: str, columns: Sequence[Vector]) -> Vector:
    null = _missing(columns)
    if any(column.type is None for column in columns):
        gives = ANYWHERE[name].gives
        return constant(None, gives if isinstance(gives, Type) else None, null.size)
    with np.errstate(all="ignore"):
        values, missing = NUMBERS[name](*(column.values for column in columns))
    kind = Type.INTEGER if values.dtype == np.int64 else Type.FLOAT
    return vector(kind, values, null | missing)


def _each(name: str, columns: Sequence[Vector]) -> Vector:
    function = ANYWHERE[name]
    assert function.compute is not None  # noqa: S101 (for the type checker)
    gives = function.gives if isinstance(function.gives, Type) else columns[0].type
    return _applied(function.compute, columns, gives)


def _applied(compute: Callable[..., Any], columns: Sequence[Vector], gives: Type | None) -> Vector:
    """Compute values one by one, if no argument is NULL."""
    null = _missing(columns)
    empty = constant(None, gives, null.size)
    values: NDArray[Any] = empty.values.copy()
    missing = null.copy()
    arguments = [column.values for column in columns]
    for row in np.flatnonzero(~null).tolist():
        result = compute(*(_plain(array[row]) for array in arguments))
        if gives is Type.INTEGER and result is not None and not SMALLEST <= result <= LARGEST:
            result = None
        missing[row] = result is None
        values[row] = values[row] if result is None else result
    return vector(gives, values, missing)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _missing(columns: Sequence[Vector]) -> Mask:
    null: Mask = np.logical_or.reduce([column.null for column in columns])
    return null
