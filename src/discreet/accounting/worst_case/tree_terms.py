"""Terms of a flattened tree: which leaves a changed record touches, as a function of its cell.

Trust: kernel.

Definition.  A term is a leaf behind conditions on columns, or a node that cannot be flattened (a
sample, a choice) around inner terms.  Each term is seen from two sides: the table that holds the
unit's old rows (bit 1) and the one that holds its new rows (bit 2).  Fixing the atom of a column
removes its condition, or the side, or the term.
Theorem (key ``general-composition``).  Two tables that agree on what a leaf reads make it free;
those that differ by r rows removed and i inserted cost its price at (r, i); so a product of terms
without conditions is the composition in that cell.

Terms and products are numbered, so that equal ones are found equal at once: parts that hold the
same subtree are one scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from discreet.accounting.scopes.atoms import ColumnAtoms
from discreet.accounting.tree.leaf import Leaf

BEFORE: Final = 1
AFTER: Final = 2
BOTH: Final = 3
ANYONE: Final = -1  # in place of a leaf's number: everybody who can be drawn

Conditions = tuple[tuple[str, int], ...]
Product = int
Item = int


class WrapperKind(Enum):
    """Nodes that stay whole."""

    POISSON = "poisson"
    FIXED = "fixed"
    SHUFFLED = "shuffled"
    ADAPTIVE = "adaptive"
    STATIC = "static"
    ROUTED = "routed"
    GROUPED = "grouped"


@final
@dataclass(frozen=True, slots=True)
class LeafTerm:
    """A leaf, by number, behind conditions, seen from some sides.

    ``spread`` is 0 where it reads rows themselves, otherwise how many rows one row becomes at most
    (None: no bound).
    """

    leaf: int
    spread: int | None
    conditions: Conditions
    sides: int


@final
@dataclass(frozen=True, slots=True)
class WrappedTerm:
    """A node around products of terms, with its parameters.

    A sample of fixed size has two children: what runs on it, and who can be drawn at all.  A
    preprocessed node with conditions inside has one: whose rows it is given.
    """

    kind: WrapperKind
    parameters: tuple[Hashable, ...]
    children: tuple[Product, ...]


@final
@dataclass(frozen=True, slots=True)
class ForbiddenCells:
    """A combination of cells that no record has, on one side."""

    conditions: Conditions
    sides: int


Term = LeafTerm | WrappedTerm | ForbiddenCells


@final
class ImpossibleRecord(Exception):
    """All conditions of a forbidden combination are met."""


@final
class TreeTerms:
    """The terms of one tree, numbered, and how they shrink."""

    def __init__(self, columns: ColumnAtoms) -> None:
        """Start with the empty product, which has number 0."""
        self.columns = columns
        self.leaves: list[Leaf] = []
        self._leaf_numbers: dict[Leaf, int] = {}
        self._terms: list[Term] = []
        self._term_numbers: dict[Term, Item] = {}
        self._variables: list[frozenset[tuple[str, int]]] = []
        self._products: list[tuple[tuple[Item, int], ...]] = []
        self._product_numbers: dict[tuple[tuple[Item, int], ...], Product] = {}
        self._shrunk: dict[tuple[Item, str, int | None, int | None], Item | None] = {}
        self._seen: dict[tuple[Item, int], Item | None] = {}
        self.empty = self.product({})

    def term(self, item: Item) -> Term:
        """Look a term up."""
        return self._terms[item]

    def items(self, product: Product) -> tuple[tuple[Item, int], ...]:
        """List the terms of a product, with counts."""
        return self._products[product]

    def variables(self, item: Item) -> frozenset[tuple[str, int]]:
        """Return the (column, side) choices on which a term still depends."""
        return self._variables[item]

    def leaf(self, leaf: Leaf) -> int:
        """Number a leaf."""
        number = self._leaf_numbers.setdefault(leaf, len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(leaf)
        return number

    def product(self, counts: Mapping[Item, int]) -> Product:
        """Number a product."""
        key = tuple(sorted((item, count) for item, count in counts.items() if count))
        number = self._product_numbers.get(key)
        if number is None:
            number = self._product_numbers[key] = len(self._products)
            self._products.append(key)
        return number

    def number(self, term: Term) -> Item:
        """Number a term."""
        number = self._term_numbers.get(term)
        if number is None:
            number = self._term_numbers[term] = len(self._terms)
            self._terms.append(term)
            self._variables.append(self._free(term))
        return number

    def _free(self, term: Term) -> frozenset[tuple[str, int]]:
        if isinstance(term, WrappedTerm):
            items = (item for child in term.children for item, _ in self.items(child))
            return frozenset().union(*map(self.variables, items))
        sides = [side for side in (BEFORE, AFTER) if term.sides & side]
        return frozenset((column, side) for column, _ in term.conditions for side in sides)

    def depends_on_cells(self, product: Product) -> bool:
        """Say whether a product still depends on a choice of cells."""
        return any(self.variables(item) for item, _ in self.items(product))

    def substitute(self, product: Product, item: Item, *others: Product) -> Product:
        """Put products in the place of a term."""
        counts = dict(self.items(product))
        del counts[item]
        for other in others:
            counts = _plus(counts, dict(self.items(other)))
        return self.product(counts)

    def without_conditions(self, item: Item) -> Item:
        """Take the conditions off a leaf."""
        term = self.term(item)
        assert isinstance(term, LeafTerm)  # noqa: S101  (for the type checker)
        return self.number(LeafTerm(term.leaf, term.spread, (), term.sides))

    def unconditional(self, term: WrappedTerm) -> WrappedTerm:
        """Drop the conditions on the rows that a preprocessed node is given."""
        ((item, count),) = self.items(term.children[0])
        inner = self.product({self.without_conditions(item): count})
        return WrappedTerm(term.kind, term.parameters, (inner,))

    def fixed(
        self, product: Product, column: str, before: int | None, after: int | None
    ) -> Product:
        """Put the old record, the new one or both into atoms of a column.

        Raises ImpossibleRecord where no such record exists.
        """
        return self._each(product, lambda item: self._fix(item, column, before, after))

    def placed(self, product: Product, column: str, sides: int) -> list[Product | None]:
        """Put the records of the given sides into one atom of a column, for each atom in turn.

        The same as ``fixed`` atom by atom, in one pass; None where no such record exists.
        """
        atoms = self.columns.count(column)
        common: dict[Item, int] = {}
        pieces: list[dict[Item, int] | None] = [{} for _ in range(atoms)]
        for item, count in self.items(product):
            term = self.term(item)
            if not any(name == column for name, _ in self.variables(item)) or (
                not isinstance(term, WrappedTerm) and term.sides & ~sides
            ):
                common[item] = count
                continue
            mask = -1 if isinstance(term, WrappedTerm) else dict(term.conditions)[column]
            for atom in _bits(mask, atoms):
                piece = pieces[atom]
                if piece is None:
                    continue
                try:
                    left = self._fix(item, column, *_at(atom, sides))
                except ImpossibleRecord:
                    pieces[atom] = None
                    continue
                if left is not None:
                    piece[left] = piece.get(left, 0) + count
        return [None if piece is None else self.product(_plus(common, piece)) for piece in pieces]

    def seen(self, product: Product, sides: int) -> Product:
        """Look from one side only."""
        return self._each(product, lambda item: self._look(item, sides))

    def _each(self, product: Product, change: Callable[[Item], Item | None]) -> Product:
        counts: dict[Item, int] = {}
        for item, count in self.items(product):
            left = change(item)
            if left is not None:
                counts[left] = counts.get(left, 0) + count
        return self.product(counts)

    def _fix(self, item: Item, column: str, before: int | None, after: int | None) -> Item | None:
        if not any(name == column for name, _ in self.variables(item)):
            return item
        key = (item, column, before, after)
        if key not in self._shrunk:
            self._shrunk[key] = self._fixed_term(self.term(item), column, before, after)
        return self._shrunk[key]

    def _fixed_term(
        self, term: Term, column: str, before: int | None, after: int | None
    ) -> Item | None:
        if isinstance(term, WrappedTerm):
            children = tuple(self.fixed(c, column, before, after) for c in term.children)
            return self._around(term, children)
        unknown = (term.sides & BEFORE and before is None) or (term.sides & AFTER and after is None)
        if unknown:
            return self.number(term)
        mask = dict(term.conditions)[column]
        sides = term.sides
        if sides & BEFORE and not mask >> _known(before) & 1:
            sides &= ~BEFORE
        if sides & AFTER and not mask >> _known(after) & 1:
            sides &= ~AFTER
        if not sides:
            return None
        rest = tuple(condition for condition in term.conditions if condition[0] != column)
        if isinstance(term, ForbiddenCells):
            if not rest:
                raise ImpossibleRecord
            return self.number(ForbiddenCells(rest, sides))
        return self.number(LeafTerm(term.leaf, term.spread, rest, sides))

    def _look(self, item: Item, sides: int) -> Item | None:
        key = (item, sides)
        if key not in self._seen:
            self._seen[key] = self._look_term(self.term(item), sides)
        return self._seen[key]

    def _look_term(self, term: Term, sides: int) -> Item | None:
        match term:
            case WrappedTerm():
                return self._around(term, tuple(self.seen(child, sides) for child in term.children))
            case ForbiddenCells():
                return self.number(term) if term.sides & sides else None
            case LeafTerm():
                left = term.sides & sides
                if not left:
                    return None
                return self.number(LeafTerm(term.leaf, term.spread, term.conditions, left))

    def _around(self, term: WrappedTerm, children: tuple[Product, ...]) -> Item | None:
        """Keep a wrapper only if something that runs in it is touched."""
        running = children[:1] if term.kind is WrapperKind.FIXED else children
        if all(child == self.empty for child in running):
            return None
        if term.kind in {WrapperKind.ADAPTIVE, WrapperKind.STATIC}:
            children = tuple(sorted(set(children)))
        elif term.kind is WrapperKind.ROUTED:
            children = tuple(sorted(children))
        return self.number(WrappedTerm(term.kind, term.parameters, children))


def _bits(mask: int, count: int) -> Iterator[int]:
    """Yield the atoms of a mask."""
    if mask == -1:
        yield from range(count)
        return
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _at(atom: int, sides: int) -> tuple[int | None, int | None]:
    return (atom if sides & BEFORE else None), (atom if sides & AFTER else None)


def _plus(common: Mapping[Item, int], piece: Mapping[Item, int]) -> dict[Item, int]:
    total = dict(common)
    for item, count in piece.items():
        total[item] = total.get(item, 0) + count
    return total


def _known(atom: int | None) -> int:
    assert atom is not None  # noqa: S101  (for the type checker: the caller checked)
    return atom
