"""Cells: what the conditions of several counts distinguish, and which cell a row is in.

Trust: public.  One CASE gives every row one cell or none, and counts are sums of cells that were
read.  So what is inferred here about conditions decides what is counted, and never how far one unit
moves it.

Combinations that need a value which its column is declared not to have are left out.  A row that
has one all the same makes the conditions of some cell true, and is counted in it, or of none, and
is counted nowhere: never twice.

Definition.  Conditions are made of *atoms* by AND, OR, NOT, IS TRUE, IS FALSE, IS NULL, and CASE.
An atom compares an expression with literals, or is any other condition.  The values of an
expression, NULL among them, fall into *pieces* within which all its atoms agree.  A *combination*
takes one piece of every expression, and decides all conditions.  A *cell* is what combinations have
in common that make the same conditions true, unless these are none.
Theorem (key ``count-cells``).  A row is in one combination.  Let the cells be tried in the order
of falling numbers of conditions, each by those of its conditions that no other of them implies.
Then the first cell that fits a row is the one of its combination.
Proof.  Atoms of one expression are decided by its piece (key ``truth-sets``), and SQL's logic does
the rest.  What the row makes true is a set S.  If S is empty, no cell fits.  A cell fits if all its
conditions are true, that is if it is a part of S; of those, S is the one with the most conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.values import Values, anything, equals, is_not_null, is_null
from discreet.plan.binding.truth_sets import (
    ComparedValues,
    compared_with_literals,
    declared_values,
)
from discreet.plan.binding.value_facts import Facts, KnownFacts, facts_of
from discreet.query.expressions import Call, Case, Column, Expression, Literal, walk
from discreet.query.types import Type

MOST_CELLS: Final = 4096
_MOST_NODES: Final = 1 << 14
_FALSE, _NULL, _TRUE = 0, 1, 2
_OPAQUE: Final = ComparedValues(equals(True), is_not_null() & ~equals(True), is_null())

Truth = NDArray[np.int8]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The conditions that hold in each cell, and the number of the cell of a row, or NULL."""

    conditions: tuple[tuple[int, ...], ...]
    number: Expression

    def __len__(self) -> int:
        """Return how many cells there are."""
        return len(self.conditions)


def cells_of(conditions: Sequence[Expression | None], facts: Mapping[str, Facts]) -> Cells | None:
    """Return the cells of conditions, None being true everywhere; None if there are too many.

    >>> from discreet.query.expressions import Column
    >>> red, blue = (Call("=", (Column("color"), Literal(name))) for name in ("red", "blue"))
    >>> cells_of([red, blue], {"color": Facts(type=Type.TEXT)}).conditions
    ((1,), (0,))
    """
    grid = _Grid(facts)
    for condition in conditions:
        if condition is not None:
            grid.collect(condition, positive=True)
    if not grid.divide():
        return None
    shape = grid.shape
    rows = [
        np.broadcast_to(np.int8(_TRUE) if each is None else grid.truth(each), shape).ravel()
        for each in conditions
    ]
    holds = np.unique(np.stack(rows) == _TRUE, axis=1, return_index=True)
    order = np.argsort(holds[1])
    found = holds[0][:, order]
    found = found[:, found.any(axis=0)]
    if not found.shape[1]:
        return None
    number = _number(conditions, found)
    if number is None:
        return None
    return Cells(
        conditions=tuple(tuple(np.flatnonzero(cell).tolist()) for cell in found.T), number=number
    )


def _number(conditions: Sequence[Expression | None], holds: NDArray[np.bool_]) -> Expression | None:
    """Return the CASE that numbers the cells, or None if it would be too long."""
    counts = holds.astype(np.float32)
    implies = counts @ (1 - counts.T) == 0  # a condition, and one that is true wherever it is
    earlier = np.tri(len(conditions), k=-1, dtype=np.bool_)
    drops = implies & (~implies.T | earlier.T)  # of equal ones, the first stays
    keeps = holds & (drops.T.astype(np.float32) @ counts == 0)  # none in the cell drops it
    sizes = [0 if each is None else sum(1 for _ in walk(each)) for each in conditions]
    branches: list[tuple[Expression, Expression]] = []
    nodes = 0
    for cell in np.argsort(-holds.sum(axis=0), kind="stable").tolist():
        kept = np.flatnonzero(keeps[:, cell]).tolist()
        needed = [conditions[each] for each in kept]
        parts = tuple(each for each in needed if each is not None)
        nodes += 3 + sum(sizes[each] for each in kept)
        if nodes > _MOST_NODES:
            return None
        if not parts:  # true everywhere, and tried last
            return Case(tuple(branches), Literal(cell)) if branches else Literal(cell)
        both = parts[0] if len(parts) == 1 else Call("AND", parts)
        branches.append((both, Literal(cell)))
    return Case(tuple(branches))


@final
@dataclass(slots=True, eq=False)
class _Axis:
    """The atoms of one expression, and its pieces: for each atom its truth in every piece."""

    place: int
    declared: Values
    atoms: dict[ComparedValues, bool] = field(default_factory=dict)
    truths: dict[ComparedValues, Truth] = field(default_factory=dict)

    def divide(self) -> int:
        """Divide the declared values into pieces, and return how many there are."""
        sets = [self.declared, *(values for atom in self.atoms for values in atom)]
        cuts = sorted({cut for values in sets for cut in values.cuts})
        places = {cut: place for place, cut in enumerate(cuts)}
        known = np.flatnonzero(_inside(self.declared, places))
        rows = []
        for atom, positive in self.atoms.items():
            row = np.full(len(cuts) + 2, _NULL, np.int8)
            row[_inside(atom.false, places)] = _FALSE
            row[_inside(atom.true, places)] = _TRUE
            rows.append(np.where(row == _NULL, _FALSE, row) if positive else row)
        apart = np.unique(np.stack(rows)[:, known], axis=1, return_index=True)[1]
        first = known[np.sort(apart)]
        self.truths = {atom: row[first] for atom, row in zip(self.atoms, rows, strict=True)}
        return int(first.size)


def _inside(values: Values, places: Mapping[Any, int]) -> NDArray[np.bool_]:
    """Return which stretches are in a set: before, between and after all cuts; NULL is the last."""
    turns = np.zeros(len(places) + 2, np.int64)
    turns[[places[cut] + 1 for cut in values.cuts]] = 1
    inside: NDArray[np.bool_] = (np.cumsum(turns) + values.below) % 2 == 1
    inside[-1] = values.null
    return inside


@final
class _Grid:
    """All expressions that conditions look at, each an axis of the combinations."""

    def __init__(self, facts: Mapping[str, Facts]) -> None:
        """Begin without axes."""
        self._facts = KnownFacts.of(facts)
        self._axes: dict[Expression, _Axis] = {}
        self.shape: tuple[int, ...] = ()

    def collect(self, condition: Expression, *, positive: bool) -> None:
        """Find the atoms; ``positive`` says that false and NULL make no difference here."""
        match condition:
            case Literal(value=True | False | None):
                return
            case Call(function="AND" | "OR", arguments=parts):
                for part in parts:
                    self.collect(part, positive=positive)
            case Call(function="NOT" | "IS TRUE" | "IS FALSE", arguments=(inner,)):
                self.collect(inner, positive=False)
            case Call(function="IS NULL", arguments=(Case() as inner,)):
                for when, value in inner.branches:
                    self.collect(when, positive=True)
                    self.collect(Call("IS NULL", (value,)), positive=False)
                if inner.default is not None:
                    self.collect(Call("IS NULL", (inner.default,)), positive=False)
            case Call(function="IS NULL", arguments=(Literal(),)):
                return
            case _:
                looked, atom = self._atom(condition)
                axis = self._axis(looked)
                axis.atoms[atom] = axis.atoms.get(atom, True) and positive

    def _axis(self, looked: Expression) -> _Axis:
        if looked not in self._axes:
            known = anything()
            if isinstance(looked, Column):
                known = declared_values(self._facts[looked.name])
            self._axes[looked] = _Axis(len(self._axes), known)
        return self._axes[looked]

    def divide(self) -> bool:
        """Divide all axes, or say that there are too many combinations, or mixed types."""
        sizes = []
        for axis in self._axes.values():
            sets = [axis.declared, *(values for atom in axis.atoms for values in atom)]
            kinds = {values.kind for values in sets} - {None}
            if len(kinds) > 1:
                return False
            sizes.append(axis.divide())
            if math.prod(sizes) > MOST_CELLS:
                return False
        self.shape = tuple(sizes)
        return True

    def truth(self, condition: Expression) -> Truth:  # noqa: PLR0911  one a node
        """Return where a condition is true, false and NULL."""
        match condition:
            case Literal(value=value):
                known = _NULL if value is None else _TRUE if value else _FALSE
                return np.array(known, np.int8)
            case Call(function="AND" | "OR" as name, arguments=parts):
                both = np.minimum if name == "AND" else np.maximum
                found = self.truth(parts[0])
                for part in parts[1:]:
                    found = both(found, self.truth(part))
                return found
            case Call(function="NOT", arguments=(inner,)):
                return (_TRUE - self.truth(inner)).astype(np.int8)
            case Call(function="IS TRUE" | "IS FALSE" as name, arguments=(inner,)):
                wanted = _TRUE if name == "IS TRUE" else _FALSE
                return _known(self.truth(inner) == wanted)
            case Call(function="IS NULL", arguments=(Literal(value=value),)):
                return _known(np.array(value is None))
            case Call(function="IS NULL", arguments=(Case() as inner,)):
                return self._case(inner)
            case _:
                looked, atom = self._atom(condition)
                axis = self._axes[looked]
                tail = len(self.shape) - axis.place - 1
                return axis.truths[atom].reshape((-1, *(1,) * tail))

    def _case(self, case: Case) -> Truth:
        """Return where a CASE is NULL: the first branch that is true decides."""
        default = case.default
        found = _known(np.array(True))
        if default is not None:
            found = self.truth(Call("IS NULL", (default,)))
        for when, value in reversed(case.branches):
            missing = self.truth(Call("IS NULL", (value,)))
            found = np.where(self.truth(when) == _TRUE, missing, found).astype(np.int8)
        return found

    def _atom(self, condition: Expression) -> tuple[Expression, ComparedValues]:
        """Return the expression that an atom looks at, and where it is true, false and NULL."""
        looked, found = compared_with_literals(condition, self._type)
        if found is None or not all(values.exact for values in found):
            return condition, _OPAQUE
        return looked, found

    def _type(self, expression: Expression) -> Type:
        return facts_of(expression, self._facts).type


def _known(true: NDArray[np.bool_]) -> Truth:
    return np.where(true, _TRUE, _FALSE).astype(np.int8)
