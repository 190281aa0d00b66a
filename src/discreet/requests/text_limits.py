"""How much text a question makes of one row, and its limit.

Trust: kernel.  Texts are the only values without a size, and an engine that runs out of memory
reveals the row that was too long (see :mod:`discreet.plan.binding.fan_out`).

Definition.  The *text work* of a question is the number of its calls that make a text, and of its
outputs that hold a text which another output of the same step holds already.  It is at most
``MOST_TEXTS``; every text that is made has at most ``LONGEST`` bytes
(:mod:`discreet.query.functions`). If rows of private tables are held (in joins, unions,
windows, DISTINCT and aggregations), texts of more than ``LONGEST_HELD`` / f code points are read
as NULL, where f is the fan-out of the question.  So all rows that are made of one hold no more
text of a column than one row may.

Definition.  The *text time* of a question is the sum over its calls of the units below, whether or
not a CASE comes to them, times its fan-out; a call in a condition that a semi join computes for
pairs of rows counts ``_PAIRS`` times.  A unit is what takes about 10 microseconds with a text
of ``LONGEST_TEXT`` bytes: what DuckDB 1.4 and PostgreSQL 15 need was measured, and is rounded up.
It is at most
``MOST_TIME``: 20 ms, so no row makes an answer miss its tick by what is done to its texts (T1).

All of this follows from the question, the policy and public
tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from discreet.query.expression_types import ColumnTypes, columns
from discreet.query.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Window,
    conjuncts,
    walk,
)
from discreet.query.functions import searches
from discreet.query.nodes import too_much
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Join,
    Project,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    descend,
)
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, measured_expressions

LONGEST_HELD: Final = 2**14
"""Code points of a text that is held."""
MOST_TEXTS: Final = 100
MOST_TIME: Final = 2000
_UNITS: Final = {"REPLACE": 32, "LOWER": 8, "UPPER": 8, "TRIM": 4}
_TO_FLOAT: Final = 16
"""Units of reading a text as a FLOAT, which may have very many digits; other types have few."""
_PAIRS: Final = 100
_PLAIN_LIKE: Final = 8
_SEARCHES: Final = 8
"""Parts of a pattern with both % and _."""
_COMPARED: Final = 2
"""Units for each letter between two % of a pattern, which may be compared at every place of a text.

The part after a % is searched once, from the end of the match of the part before it.
"""
_CUT_OFF: Final = 20
"""Units for each letter of a pattern with several searches, which are cut off by halving."""
_Node = tuple[Expression, ColumnTypes, int]
"""An expression, the types of the columns that it reads, and how often it counts."""
_PATTERN: Final = 1000
"""Code points of a pattern of LIKE."""
_MAKERS: Final = frozenset({"LOWER", "UPPER", "SUBSTR", "CONCAT", "TRIM", "REPLACE"})


def check_text_work(request: EngineRequest, *, fan_out: int = 1) -> None:
    """Refuse a question that makes too many texts of one row, or works on them for too long."""
    nodes, time = list(_nodes(request)), 0
    for node, types, times in nodes:
        if isinstance(node, Call) and node.function == "LIKE":
            pattern = _pattern(node)
            if len(pattern) > _PATTERN or searches(pattern) > _SEARCHES:
                raise too_much("this pattern is too long.", node.span)
            time += _time_of_like(pattern) * times
        elif isinstance(node, Call):
            time += _UNITS.get(node.function, 0) * times
        elif isinstance(node, Cast) and node.to is Type.FLOAT:
            time += _TO_FLOAT * times if types.type_of(node.argument) is Type.TEXT else 0
    if _text_work(request, nodes) > MOST_TEXTS:
        raise too_much("the question makes too many texts of one row.", None)
    if time * fan_out > MOST_TIME:
        raise too_much("the question works too long on the texts of one row.", None)


def _pattern(node: Call) -> str:
    written = node.arguments[1]
    return str(written.value) if isinstance(written, Literal) else ""


def _time_of_like(pattern: str) -> int:
    if "%" not in pattern:
        return _PLAIN_LIKE
    if "_" in pattern and searches(pattern) > 1:
        return max(_PLAIN_LIKE, len(pattern) * _CUT_OFF)
    return max(_PLAIN_LIKE, max(map(len, pattern.split("%"))) * _COMPARED)


def text_work(request: EngineRequest) -> int:
    """Return how many texts a question makes of one row."""
    return _text_work(request, _nodes(request))


def _text_work(request: EngineRequest, nodes: Iterable[_Node]) -> int:
    made = sum(_makes_text(node) for node, _, _ in nodes)
    return made + sum(map(_copies, descend(request.relation)))


def _nodes(request: EngineRequest) -> Iterator[_Node]:
    """Yield all calls and casts of a request, and whatever else holds an expression."""
    waiting = list(_expressions(request))
    while waiting:
        node, types, times = waiting.pop()
        below = node.children()
        if below:  # a column or a literal makes nothing
            yield node, types, times
            waiting += ((child, types, times) for child in below)


def _makes_text(node: Expression) -> bool:
    if isinstance(node, Call):
        return node.function in _MAKERS
    return isinstance(node, Cast) and node.to is Type.TEXT


def with_short_texts(relation: Relation, fan_out: int, public: Collection[str]) -> Relation:
    """Return a relation that reads long texts as NULL, if it holds rows.

    Args:
        relation: a bound relation.
        fan_out: how many rows it can make of one.
        public: the names of public tables, which anybody may see.
    """
    if not any(map(_holds_rows, descend(relation))):
        return relation
    return _shortened(relation, max(1, LONGEST_HELD // fan_out), public)


def _holds_rows(node: Relation) -> bool:
    if isinstance(node, Project):
        return any(isinstance(part, Window) for _, value in node.outputs for part in walk(value))
    return isinstance(node, Join | SemiJoin | UnionAll | Distinct | Aggregated)


def _shortened(node: Relation, longest: int, public: Collection[str]) -> Relation:
    if not isinstance(node, Scan):
        return node.rebuilt([_shortened(child, longest, public) for child in node.children()])
    if node.table in public or all(kind is not Type.TEXT for _, kind in node.columns):
        return node
    outputs = tuple(
        (name, _short(Column(name), longest) if kind is Type.TEXT else Column(name))
        for name, kind in node.columns
    )
    return Project(node, outputs, span=node.span)


def _short(column: Column, longest: int) -> Expression:
    fits = Call("<=", (Call("LENGTH", (column,)), Literal(longest)))
    return Case(((fits, column),))


def _copies(node: Relation) -> int:
    """Return how many outputs hold the text of another output."""
    if not isinstance(node, Project | Aggregated):
        return 0
    kinds = dict(columns(node.child))
    pairs = node.outputs if isinstance(node, Project) else (*node.keys, *node.outputs)
    plain = [
        value.name
        for _, value in pairs
        if isinstance(value, Column) and kinds.get(value.name) is Type.TEXT
    ]
    return len(plain) - len(set(plain))


def _expressions(request: EngineRequest) -> Iterator[_Node]:
    types = ColumnTypes(dict(columns(request.relation)))
    for value in _of_rows(request):
        yield value, types, 1
    for node in descend(request.relation):
        sides = [columns(child) for child in node.children()]
        below = ColumnTypes(dict(pair for side in sides for pair in side))
        if isinstance(node, SemiJoin) and node.on is not None:
            left, right = map(dict, sides)
            for part in conjuncts(node.on):
                yield part, below, _PAIRS if is_of_pairs(part, left, right) else 1
        else:
            yield from ((value, below, 1) for value in node.expressions())


def is_of_pairs(part: Expression, left: Collection[str], right: Collection[str]) -> bool:
    """Whether a condition of a join has to be computed for pairs of rows.

    It has not if each value that it compares by ``=`` is one of one side: equal values are found
    by their hashes.

    >>> same = Call("=", (Column("city"), Call("LOWER", (Column("name"),))))
    >>> is_of_pairs(same, {"city"}, {"name"}), is_of_pairs(same, {"city", "name"}, {"name"})
    (False, True)
    """
    sides = part.arguments if isinstance(part, Call) and part.function == "=" else (part,)
    reads = ({each.name for each in walk(side) if isinstance(each, Column)} for side in sides)
    return any(names & {*left} and names & {*right} for names in reads)


def _of_rows(request: EngineRequest) -> Iterator[Expression]:
    yield from request.unit
    yield from (key.expression for key in request.keys)
    for measure in request.measures:
        yield from measured_expressions(measure)
