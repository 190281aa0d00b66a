"""Expressions over one row, as SQL of a dialect.

Trust: kernel (T2).  An overflow, a division by zero or a root of a negative number is NULL.  No
string grows beyond ``LONGEST_TEXT`` bytes, and no day leaves the years 1 to 9999.

A bare NULL has no type.  A *clamp* moves a value between two literals.  What lies between bounds
that follow from clamps alone (key ``fact-rules``) needs no guard: no bound of a column is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from string import ascii_lowercase, ascii_uppercase
from typing import Final, final

from discreet.engines.dialect import Dialect, Value, nearest_float
from discreet.engines.fragments import Node, call, chosen, in_pairs, joined, number
from discreet.errors import WrongType
from discreet.plan.binding.value_facts import KnownFacts, facts_of
from discreet.query.expression_types import FUNCTIONS, ColumnTypes
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal
from discreet.query.functions import LONGEST_TEXT
from discreet.query.types import LARGEST, NUMBERS, SMALLEST, Scalar, Type

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TEXT_FORMS: Final = {
    Type.INTEGER: "[+-]?[0-9]{1,18}",
    Type.FLOAT: "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
    Type.DATE: _DAY,
    Type.TIMESTAMP: f"{_DAY}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?",
}
"""The strings that can be read as values of a type."""

_MEETING: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "RANGE_BUCKET"})
_FARTHEST: Final = 2**31 - 1
_EXTREMES: Final = frozenset({"GREATEST", "LEAST"})
_FAR_BITS: Final = 1000
_FAR: Final = 2**_FAR_BITS


@final
class Expressions:
    """Prints expressions over columns of known types."""

    __slots__ = ("_cells", "_column", "_dialect", "_sql", "_types")

    def __init__(self, dialect: Dialect, types: Mapping[str, Type]) -> None:
        """Take a dialect and the types of columns."""
        self._dialect = dialect
        self._sql, self._column = dialect.sql, dialect.column
        self._types = types if isinstance(types, ColumnTypes) else ColumnTypes(types)
        self._cells = KnownFacts({}, self._types)

    def node(self, expression: Expression, to: Type | None = None) -> Node:
        """Return the SQL of an expression, perhaps as a number of another type."""
        return self._dialect.closed(self._converted(self.value(expression), to))

    def read(self, value: Value, to: Type) -> Node:
        """Return a value that is read from a source as one of another type."""
        return self._dialect.closed(self._cast(value, to))

    def value(self, expression: Expression) -> Value:
        """Return the SQL of an expression, with its type and what else is known of it."""
        match expression:
            case Column(name=name):
                return Value(self._column(name), self._types[name])
            case Literal(value=value, type=kind):
                return self._literal(value, kind)
            case Cast(argument=argument, to=to):
                read = self.value(argument)
                if read.whole and not read.open and self.bounds(expression) is not None:
                    return Value(self._dialect.cast(read.node, to), to)  # no guard is needed
                return self._cast(read, to)
            case Case():
                return self._case(expression)
            case Call():
                return self._call(expression)
            case _:
                message = f"{type(expression).__name__} is not an expression over one row"
                raise TypeError(message)

    def bounds(self, expression: Expression) -> tuple[Fraction, Fraction] | None:
        """Return the bounds of a number whatever cells hold; None if the engine might round it."""
        if kind_of(expression, self._types) not in NUMBERS:
            return None
        try:
            found = facts_of(expression, self._cells)
        except WrongType:  # a NULL without a type is in it
            return None
        outside = found.bounds and (found.bounds[0] < SMALLEST or found.bounds[1] > LARGEST)
        return None if found.type is Type.INTEGER and outside else found.bounds

    def _literal(self, value: Scalar, kind: Type | None) -> Value:
        if kind is Type.FLOAT and value is not None:
            nearest = nearest_float(value)  # type: ignore[arg-type]
            node = self._dialect.literal(nearest, kind)
            return Value(node, kind, literal=None if nearest is None else value)
        return Value(self._dialect.literal(value, kind), kind, literal=value)

    def _converted(self, value: Value, to: Type | None) -> Value:
        """Return a number, or a bare NULL, as a value of a type."""
        if to is None or value.kind is to:
            return value
        if value.literal is not None or value.kind is None:
            return self._literal(value.literal, to)
        return Value(self._dialect.op(f"{value.kind.value} to {to.value}", x=value.node), to)

    def _case(self, case: Case) -> Value:
        kind = kind_of(case, self._types)
        branches = [
            (self.node(condition, Type.BOOLEAN), self.node(value, kind))
            for condition, value in case.branches
        ]
        return Value(chosen(branches, self.node(case.default or Literal(None), kind)), kind)

    def _cast(self, value: Value, to: Type) -> Value:
        dialect, kind = self._dialect, value.kind
        if kind is None or kind is to:
            return self._converted(value, to)
        operation = f"{kind.value} to {to.value}"
        if kind is Type.FLOAT:
            rounded = value if value.whole else self._round(value)
            return Value(
                dialect.once([dialect.closed(rounded)], lambda x: dialect.op(operation, x=x)), to
            )
        if kind is Type.TEXT:
            read = dialect.once(
                [value.node], lambda x: dialect.op(operation, x=x, form=f"^{TEXT_FORMS[to]}$")
            )
            if to in {Type.DATE, Type.TIMESTAMP}:
                return Value(in_years(dialect, read, to), to)
            return Value(read, to, open=to is Type.FLOAT)
        if {kind, to} == {Type.DATE, Type.TIMESTAMP}:
            return Value(dialect.cast(value.node, to), to)
        return Value(dialect.once([value.node], lambda x: dialect.op(operation, x=x)), to)

    def _call(self, call: Call) -> Value:
        if kind_of(call, self._types) is None:
            return self._literal(None, None)
        between = clamp_of(call)
        if between is not None:
            return self._clamped(call, [self.value(part) for part in between])
        arguments = [self.value(argument) for argument in call.arguments]
        arguments = [
            self._converted(argument, to)
            for argument, to in zip(
                arguments, _argument_types(call.function, arguments), strict=True
            )
        ]
        if call.function in {"+", "-", "*"}:
            bounded = self.bounds(call) is not None
            return self._arithmetic(call.function, *arguments, bounded=bounded)
        return _PRINTERS[call.function](self, *arguments)

    def _clamped(self, call: Call, parts: list[Value]) -> Value:
        if parts[0].kind is Type.INTEGER and self._lies_inside(call):
            return parts[0]
        kind = shared(part.kind for part in parts)
        value, low, high = (self._converted(part, kind) for part in parts)
        node = self._dialect.once(
            [self._dialect.closed(value)], lambda x: clamped(self._dialect, x, low.node, high.node)
        )
        return Value(node, kind)

    def _lies_inside(self, call: Call) -> bool:
        """Whether a clamp of a number changes nothing."""
        parts = clamp_of(call)
        within = None if parts is None else self.bounds(parts[0])
        ends = [] if parts is None else [parts[1].value, parts[2].value]
        return within is not None and ends[0] <= within[0] and within[1] <= ends[1]  # type: ignore[operator]

    # --- numbers ------------------------------------------------------------------------------

    def _arithmetic(self, sign: str, left: Value, right: Value, *, bounded: bool) -> Value:
        dialect = self._dialect
        if left.kind is Type.INTEGER:
            if bounded:
                return Value(self._sql(f":x {sign} :y", x=left.node, y=right.node), Type.INTEGER)
            node = dialect.once([left.node, right.node], lambda x, y: dialect.op(sign, x=x, y=y))
            return Value(node, Type.INTEGER)
        if dialect.open_floats or bounded:
            node = self._sql(f":x {sign} :y", x=left.node, y=right.node)
            return Value(node, Type.FLOAT, open=dialect.open_floats and not bounded)
        ends = [dialect.closed(left), dialect.closed(right)]
        node = dialect.once(ends, lambda x, y: dialect.op(f"FLOAT {sign}", x=x, y=y))
        return Value(node, Type.FLOAT)

    def _divided(self, left: Value, right: Value) -> Value:
        """Return a quotient: by zero it is NULL, and an infinite divisor is closed first."""
        dialect = self._dialect
        if dialect.open_floats:
            node = dialect.op("FLOAT /", x=left.node, y=dialect.closed(right))
            return Value(node, Type.FLOAT, open=True)
        ends = [dialect.closed(left), dialect.closed(right)]
        return Value(dialect.once(ends, lambda x, y: dialect.op("FLOAT /", x=x, y=y)), Type.FLOAT)

    def _whole_division(self, operation: str, left: Value, right: Value) -> Value:
        dialect = self._dialect
        node = dialect.once([left.node, right.node], lambda x, y: dialect.op(operation, x=x, y=y))
        return Value(node, Type.INTEGER)

    def _negate(self, value: Value) -> Value:
        zero = self._literal(0, value.kind)
        return self._arithmetic("-", zero, value, bounded=False)

    def _abs(self, value: Value) -> Value:
        dialect = self._dialect
        if value.kind is Type.FLOAT:
            return Value(dialect.op("FLOAT ABS", x=value.node), Type.FLOAT, open=value.open)
        zero = self._literal(0, Type.INTEGER).node

        def body(x: Node) -> Node:
            return dialect.op("ABS", x=x, negated=dialect.op("-", x=zero, y=x))

        return Value(dialect.once([value.node], body), Type.INTEGER)

    def _sign(self, value: Value) -> Value:
        dialect = self._dialect
        node = dialect.once([dialect.closed(value)], lambda x: dialect.op("SIGN", x=x))
        return Value(dialect.cast(node, Type.INTEGER), Type.INTEGER)

    def _rounding(self, operation: str, value: Value) -> Value:
        if value.kind is not Type.FLOAT:
            return value
        if operation == "ROUND":
            return self._round(value)
        dialect = self._dialect
        node = dialect.once([value.node], lambda x: dialect.op(f"FLOAT {operation}", x=x))
        return Value(node, Type.FLOAT, open=value.open, whole=True)

    def _round(self, value: Value) -> Value:
        dialect = self._dialect
        node = dialect.once([value.node], lambda x: dialect.op("FLOAT ROUND", x=x))
        return Value(node, Type.FLOAT, open=value.open, whole=True)

    def _square_root(self, value: Value) -> Value:
        node = self._dialect.op("FLOAT SQRT", x=value.node)
        return Value(node, Type.FLOAT, open=self._dialect.open_floats)

    def _extreme(self, sign: str, *values: Value) -> Value:
        """Return LEAST or GREATEST, which are NULL if any argument is."""

        def body(x: Node, y: Node) -> Node:
            return self._sql(
                f"CASE WHEN :x {sign} :y THEN :x WHEN :x IS NOT NULL THEN :y END", x=x, y=y
            )

        nodes = [self._dialect.closed(value) for value in values]
        node = in_pairs(lambda x, y: self._dialect.once([x, y], body), nodes)
        return Value(node, values[0].kind)

    def _range_bucket(self, value: Value, *edges: Value) -> Value:
        """Return the number of edges that are at most the value, found by halving."""
        if any(edge.literal is None for edge in edges):  # an edge beyond all floats is NULL
            return self._literal(None, Type.INTEGER)
        ends = sorted(edges, key=lambda edge: Fraction(edge.literal))  # type: ignore[arg-type]

        def body(x: Node) -> Node:
            halved = self._halved(x, ends, 0)
            return self._sql("CASE WHEN :x IS NOT NULL THEN :halved END", x=x, halved=halved)

        node = self._dialect.once([self._dialect.closed(value)], body)
        return Value(node, Type.INTEGER)

    def _halved(self, value: Node, edges: Sequence[Value], below: int) -> Node:
        if not edges:
            return self._literal(below, Type.INTEGER).node
        middle = len(edges) // 2
        return self._sql(
            "CASE WHEN :x < :edge THEN :low ELSE :high END",
            x=value,
            edge=edges[middle].node,
            low=self._halved(value, edges[:middle], below),
            high=self._halved(value, edges[middle + 1 :], below + middle + 1),
        )

    # --- conditions ---------------------------------------------------------------------------

    def _compared(self, sign: str, left: Value, right: Value) -> Value:
        ends = (self._dialect.closed(left), self._dialect.closed(right))
        return Value(self._sql(f":x {sign} :y", x=ends[0], y=ends[1]), Type.BOOLEAN)

    def _joined(self, word: str, *values: Value) -> Value:
        nodes = [self._dialect.closed(value) for value in values]
        return Value(
            in_pairs(lambda x, y: self._sql(f":x {word} :y", x=x, y=y), nodes), Type.BOOLEAN
        )

    def _after(self, template: str, value: Value) -> Value:
        return Value(self._sql(template, x=self._dialect.closed(value)), Type.BOOLEAN)

    def _in(self, value: Value, *others: Value) -> Value:
        listed = joined(", ", [self._dialect.closed(each) for each in others])
        return Value(
            self._sql("(:x) IN (:y)", x=self._dialect.closed(value), y=listed), Type.BOOLEAN
        )

    def _coalesce(self, *values: Value) -> Value:
        return Value(call("COALESCE", [*map(self._dialect.closed, values)]), values[0].kind)

    # --- strings ------------------------------------------------------------------------------

    def _short(self, value: Value, body: Callable[[Node], Node], kind: Type = Type.TEXT) -> Value:
        """Return what is made of a string, unless that is too long."""

        def checked(x: Node) -> Node:
            size = self._dialect.op("bytes", x=x)
            return self._sql(
                "CASE WHEN :size <= :most THEN :made END",
                size=size,
                most=LONGEST_TEXT,
                made=body(x),
            )

        return Value(self._dialect.once([value.node], checked), kind)

    def _cased(self, name: str, value: Value) -> Value:
        """Change A-Z or a-z alone."""
        pair = ascii_uppercase, ascii_lowercase
        start, to = pair if name == "LOWER" else pair[::-1]
        if self._dialect.has(name):
            return self._short(value, lambda x: self._dialect.op(name, x=x))
        return self._short(value, lambda x: self._dialect.op("translate", x=x, y=start, z=to))

    def _length(self, value: Value) -> Value:
        return Value(self._dialect.op("LENGTH", x=value.node), Type.INTEGER)

    def _substr(self, value: Value, place: Value, count: Value | None = None) -> Value:
        """Return the code points at places that are there; the numbers are known by now."""
        start = _integer(place)
        first = max(start, 1)
        wanted = _FARTHEST if count is None else start + _integer(count) - first
        if first > _FARTHEST or wanted <= 0:
            first, wanted = 1, 0
        wanted = min(wanted, _FARTHEST)

        def body(x: Node) -> Node:
            return self._dialect.op("SUBSTR", x=x, y=first, z=wanted)

        if count is not None and _integer(count) <= LONGEST_TEXT // 4:
            return Value(body(value.node), Type.TEXT)
        return self._short(value, body)

    def _concat(self, *values: Value) -> Value:
        def body(*parts: Node) -> Node:
            sizes = [self._dialect.op("bytes", x=part) for part in parts]
            return self._sql(
                "CASE WHEN :size <= :most THEN :made END",
                size=in_pairs(lambda x, y: self._sql(":x + :y", x=x, y=y), sizes),
                most=LONGEST_TEXT,
                made=in_pairs(lambda x, y: self._dialect.op("CONCAT", x=x, y=y), parts),
            )

        return Value(self._dialect.once([value.node for value in values], body), Type.TEXT)

    def _trim(self, value: Value) -> Value:
        return self._short(value, lambda x: self._dialect.op("TRIM", x=x))

    def _predicate(self, operation: str, value: Value, part: Value) -> Value:
        dialect = self._dialect
        node = dialect.once([value.node, part.node], lambda x, y: dialect.op(operation, x=x, y=y))
        return Value(node, Type.BOOLEAN)

    def _replace(self, value: Value, old: Value, new: Value) -> Value:
        dialect = self._dialect

        def body(x: Node, y: Node, z: Node) -> Node:
            size, part, other = (dialect.op("bytes", x=each) for each in (x, y, z))
            places = dialect.op(
                "quotient", x=size, y=self._sql("CASE WHEN :p > 1 THEN :p ELSE 1 END", p=part)
            )
            return self._sql(
                "CASE WHEN :y = '' AND NOT :z IS NULL THEN :x"
                " WHEN :size + :places * :other <= :most THEN :made END",
                x=x,
                y=y,
                z=z,
                size=size,
                places=places,
                other=other,
                most=LONGEST_TEXT,
                made=dialect.op("REPLACE", x=x, y=y, z=z),
            )

        return Value(dialect.once([value.node, old.node, new.node], body), Type.TEXT)

    def _like(self, value: Value, pattern: Value) -> Value:
        node = self._dialect.like(value.node, str(pattern.literal))
        return Value(node, Type.BOOLEAN)

    # --- days and timestamps ------------------------------------------------------------------

    def _extract(self, part: Value, moment: Value) -> Value:
        node = self._dialect.op(f"EXTRACT {part.literal}", x=moment.node)
        return Value(self._dialect.cast(node, Type.INTEGER), Type.INTEGER)

    def _date_trunc(self, moment: Value, part: Value) -> Value:
        kind = moment.kind or Type.DATE
        word = "week" if part.literal == "ISOWEEK" else str(part.literal).lower()
        cut = self._dialect.op("DATE_TRUNC", x=moment.node, word=word)
        return Value(self._dialect.cast(cut, kind), kind)

    def _date_diff(self, first: Value, second: Value, _part: Value) -> Value:
        node = self._dialect.op("DATE_DIFF", x=first.node, y=second.node)
        return Value(self._dialect.cast(node, Type.INTEGER), Type.INTEGER)

    def _date_add(self, day: Value, days: Value) -> Value:
        """Return a later day; only days that stay within the years are moved at all."""
        dialect, shift = self._dialect, days.literal
        longest = (date.max - date.min).days
        if not isinstance(shift, int) or abs(shift) > longest:
            return self._literal(None, Type.DATE)
        first = dialect.literal(date.min + timedelta(days=max(0, -shift)), Type.DATE)
        last = dialect.literal(date.max - timedelta(days=max(0, shift)), Type.DATE)

        def body(x: Node) -> Node:
            moved = dialect.op("DATE_ADD", x=x, y=number(shift))
            return self._sql(
                "CASE WHEN :x BETWEEN :first AND :last THEN :moved END",
                x=x,
                first=first,
                last=last,
                moved=dialect.cast(moved, Type.DATE),
            )

        return Value(dialect.once([day.node], body), Type.DATE)


def kind_of(expression: Expression, columns: Mapping[str, Type]) -> Type | None:
    """Return the type of a bound expression, or None for a NULL that fits every type.

    >>> kind_of(Literal(1), {}), kind_of(Literal(None), {})
    (INTEGER, None)
    """
    types = columns if isinstance(columns, ColumnTypes) else ColumnTypes(columns)
    try:
        return types.type_of(expression)
    except WrongType:  # bound expressions are well typed, and so this is a NULL without a type
        return None


def shared(kinds: Iterable[Type | None]) -> Type | None:
    """Return the type in which values of these types meet.

    >>> shared([Type.INTEGER, None, Type.FLOAT])
    FLOAT
    """
    found: Type | None = None
    for kind in kinds:
        if kind is None or kind is found:
            continue
        if found is not None:
            return Type.FLOAT
        found = kind
    return found


def clamp_of(call: Call) -> tuple[Expression, Literal, Literal] | None:
    """Return the value and the bounds of a clamp of numbers; None if a call is something else.

    >>> low, high = Literal(0), Literal(9)
    >>> clamp_of(Call("GREATEST", (Call("LEAST", (Column("x"), high)), low)))
    (Column(name='x', table=None), Literal(value=0), Literal(value=9))
    """
    if call.function not in _EXTREMES:  # most are not
        return None
    match call:
        case (
            Call(
                function="GREATEST",
                arguments=(
                    Call(function="LEAST", arguments=(value, Literal() as high)),
                    Literal() as low,
                ),
            )
            | Call(
                function="LEAST",
                arguments=(
                    Call(function="GREATEST", arguments=(value, Literal() as low)),
                    Literal() as high,
                ),
            )
        ):
            return (value, low, high) if _rising(low, high) else None
        case _:
            return None


def _rising(low: Literal, high: Literal) -> bool:
    """Whether both are numbers that every float can be compared with, in order."""
    if low.type not in NUMBERS or high.type not in NUMBERS:
        return False
    ends = low.value, high.value
    return all(map(_is_near, ends)) and ends[0] <= ends[1]  # type: ignore[operator]


def _is_near(number: Scalar) -> bool:
    """Whether a number is between -2**1000 and 2**1000; its length in bits mostly tells."""
    assert isinstance(number, int | Fraction)  # noqa: S101  (for the type checker)
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    return bits < _FAR_BITS or -_FAR < number < _FAR


def clamped(dialect: Dialect, value: Node, low: Node, high: Node) -> Node:
    """Return a value moved between two bounds; NULL stays NULL."""
    return dialect.sql(
        "CASE WHEN :x >= :high THEN :high WHEN :x <= :low THEN :low ELSE :x END",
        x=value,
        low=low,
        high=high,
    )


def in_years(dialect: Dialect, node: Node, kind: Type) -> Node:
    """Return a day or a timestamp that is NULL outside the years 1 to 9999."""
    ends = (date.min, date.max) if kind is Type.DATE else (datetime.min, datetime.max)  # noqa: DTZ901
    low, high = (dialect.literal(end, kind) for end in ends)
    return dialect.once(
        [node],
        lambda x: dialect.sql(
            "CASE WHEN :x BETWEEN :low AND :high THEN :x END", x=x, low=low, high=high
        ),
    )


def _argument_types(function: str, arguments: list[Value]) -> list[Type | None]:
    """Return the types that arguments are turned into, if that is needed."""
    if function in {"/", "SQRT"}:
        return [Type.FLOAT] * len(arguments)
    takes = FUNCTIONS[function].takes
    if function in _MEETING or FUNCTIONS[function].gives == "same":
        return [shared(argument.kind for argument in arguments)] * len(arguments)
    return [
        argument.kind
        if argument.kind is not None or (wanted := takes[min(place, len(takes) - 1)]) == set(Type)
        else min(wanted, key=list(Type).index)
        for place, argument in enumerate(arguments)
    ]


def _integer(value: Value) -> int:
    return value.literal if isinstance(value.literal, int) else 0


def _with(method: Callable[..., Value], *fixed: str) -> Callable[..., Value]:
    return lambda printer, *values: method(printer, *fixed, *values)


# ruff: noqa: SLF001  (the methods below are those of the class above)
_E: Final = Expressions
_PRINTERS: Final[dict[str, Callable[..., Value]]] = {
    **{sign: _with(_E._compared, sign) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "AND": _with(_E._joined, "AND"),
    "OR": _with(_E._joined, "OR"),
    "NOT": _with(_E._after, "NOT :x"),
    "IS NULL": _with(_E._after, ":x IS NULL"),
    "IS TRUE": _with(_E._after, "COALESCE(:x, FALSE)"),
    "IS FALSE": _with(_E._after, "NOT COALESCE(:x, TRUE)"),
    "IN": _E._in,
    "COALESCE": _E._coalesce,
    "/": _E._divided,
    "DIV": _with(_E._whole_division, "DIV"),
    "MOD": _with(_E._whole_division, "MOD"),
    "NEGATE": _E._negate,
    "ABS": _E._abs,
    "SIGN": _E._sign,
    "FLOOR": _with(_E._rounding, "FLOOR"),
    "CEIL": _with(_E._rounding, "CEIL"),
    "ROUND": _with(_E._rounding, "ROUND"),
    "SQRT": _E._square_root,
    "LEAST": _with(_E._extreme, "<="),
    "GREATEST": _with(_E._extreme, ">="),
    "RANGE_BUCKET": _E._range_bucket,
    "LOWER": _with(_E._cased, "LOWER"),
    "UPPER": _with(_E._cased, "UPPER"),
    "LENGTH": _E._length,
    "SUBSTR": _E._substr,
    "CONCAT": _E._concat,
    "TRIM": _E._trim,
    "STARTS_WITH": _with(_E._predicate, "STARTS_WITH"),
    "ENDS_WITH": _with(_E._predicate, "ENDS_WITH"),
    "REPLACE": _E._replace,
    "LIKE": _E._like,
    "EXTRACT": _E._extract,
    "DATE_TRUNC": _E._date_trunc,
    "DATE_DIFF": _E._date_diff,
    "DATE_ADD": _E._date_add,
}
"""How each function of one row is printed."""
