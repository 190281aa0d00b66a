"""The worst cells for one changed record: eliminate columns one by one, keep what can be worst.

Trust: kernel.

Theorem (key ``scenario-accounting``).  Under add/remove a neighbor is a record in some cell, seen
from one side; under replace it is an ordered pair of cells.  For tables that differ so, what the
tree releases is dominated by the composition of the terms that the cell (or both) touch; the price
is the largest over scenarios.  If leaves are independent and attain their losses on such tables, it
is attained.  Proof: a leaf that reads neither record is free, others cost their price at what they
read (key ``general-composition``), and pairs compose (key ``dominating-pair``).

Terms that share no undecided column are maximized apart, since any choice for one goes with any
choice for the other.  Parts with equal subtrees are one scenario.  Where a removed and an inserted
record lie in different parts and nothing else links them, the best of each side suffice, except
that both cannot be the same part: an option is dropped only if two other parts dominate it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, Final, final

from discreet.accounting.worst_case.frontier import (
    COMPARED_SCENARIOS,
    Frontier,
    Scenario,
    ScenarioCell,
    compose_scenarios,
    times,
)
from discreet.accounting.worst_case.tree_terms import (
    AFTER,
    BEFORE,
    BOTH,
    ForbiddenCells,
    ImpossibleRecord,
    Item,
    LeafTerm,
    Product,
    TreeTerms,
    WrappedTerm,
    WrapperKind,
)

if TYPE_CHECKING:  # for annotations: a solver is handed the prices
    from discreet.accounting.scopes.contribution import RowChange
    from discreet.accounting.worst_case.term_prices import TermPrices

_MOST_CHOICES: Final = 64

Variable = tuple[str, int]
Atoms = tuple[int | None, int | None]
_DECIDED: Final = ("", 0)  # stands for no column at all


@final
class OneRecordSolver:
    """The options of products, for records that are removed, inserted or replaced."""

    def __init__(
        self, terms: TreeTerms, frontier: Frontier, prices: TermPrices, move: RowChange
    ) -> None:
        """Take the terms, and what they cost once everything is decided."""
        self._terms, self._frontier = terms, frontier
        self._prices, self._move = prices, move
        self._known: dict[Product, list[Scenario]] = {}

    def options(self, whole: Product) -> list[Scenario]:
        """Return the scenarios that may be worst; none where no record exists at all."""
        if whole not in self._known:
            self._known[whole] = self._solved(whole)
        return self._known[whole]

    def _solved(self, whole: Product) -> list[Scenario]:
        parts = self._components(whole)
        if len(parts) != 1:
            return self._frontier.product(self.options(part) for part in parts)
        chosen = self._choice(whole)
        if chosen is not None:
            return chosen
        items = self._terms.items(whole)
        if not any(self._terms.variables(item) for item, _ in items):
            return [self._prices.of(whole, self._move)]
        if len(items) == 1:
            sampled = self._sample(*items[0])
            if sampled is not None:
                return sampled
        return self._branched(whole)

    # Independent parts

    def _components(self, whole: Product) -> list[Product]:
        """Split a product where its terms share no undecided column; what is decided is one."""
        leader: dict[Variable, Variable] = {}

        def root(variable: Variable) -> Variable:
            while (above := leader.setdefault(variable, variable)) != variable:
                leader[variable] = variable = leader[above]
            return variable

        items = self._terms.items(whole)
        for item, _ in items:
            first, *others = self._terms.variables(item) or (_DECIDED,)
            for other in others:
                leader[root(other)] = root(first)
        parts: dict[Variable, dict[Item, int]] = {}
        for item, count in items:
            some = next(iter(self._terms.variables(item)), _DECIDED)
            parts.setdefault(root(some), {})[item] = count
        return [self._terms.product(members) for members in parts.values()] or [whole]

    # Choices made in advance

    def _choice(self, whole: Product) -> list[Scenario] | None:
        """Decide one choice: in advance, or by answers (then also as one loss above all)."""
        for item, count in self._terms.items(whole):
            term = self._terms.term(item)
            if not isinstance(term, WrappedTerm) or term.kind not in {
                WrapperKind.STATIC,
                WrapperKind.ADAPTIVE,
            }:
                continue
            ways = [self._terms.substitute(whole, item, *way) for way in self._ways(term, count)]
            if term.kind is WrapperKind.STATIC and ways:
                return self._frontier.union(self.options(way) for way in ways)
            if any(self._terms.variables(other) for other, _ in self._terms.items(whole)):
                return self._branched(whole)
            above = self._prices.of(whole, self._move)
            attained = [option for way in ways for option in self.options(way) if option.attained]
            return self._frontier.pruned([above, *attained])
        return None

    def _ways(self, term: WrappedTerm, count: int) -> list[tuple[Product, ...]]:
        """List which alternatives are taken how often; few of them where there are too many."""
        many = comb(len(term.children) + count - 1, count) > _MOST_CHOICES
        if not many and term.kind is WrapperKind.STATIC:
            return list(combinations_with_replacement(term.children, count))
        if term.kind is WrapperKind.STATIC:
            return []
        return [(child,) * count for child in term.children] if count <= _MOST_CHOICES else []

    # Samples

    def _sample(self, item: Item, count: int) -> list[Scenario] | None:
        """Sample each option of what is inside; sampling keeps domination."""
        term = self._terms.term(item)
        if not isinstance(term, WrappedTerm) or term.kind is not WrapperKind.POISSON:
            return None
        several = max(self._move.removed, self._move.inserted) > 1
        if several and not self._prices.draws_whole_unit(term):
            return None  # rows are drawn one by one
        sides = {side for _, side in self._terms.variables(item)}
        (inner,) = term.children
        if len(sides) != 1 or self._terms.seen(inner, next(iter(sides))) != inner:
            return None
        options = []
        for option in self.options(inner):
            composition = self._frontier.composition(option)
            sampled = self._prices.sampled([composition], term, next(iter(sides)))
            fresh = times(self._frontier.option(sampled, attained=option.attained), count)
            options.append(replace(fresh, cells=option.cells))
        return self._frontier.pruned(options)

    # Branching

    def _branched(self, whole: Product) -> list[Scenario]:
        """Decide the column that most terms depend on."""
        weights: dict[str, int] = {}
        coupled: set[str] = set()
        sides: dict[str, int] = {}
        for item, _ in self._terms.items(whole):
            for column, side in self._terms.variables(item):
                weights[column] = weights.get(column, 0) + 1
                sides[column] = sides.get(column, 0) | side
            coupled |= self._coupled(item)
        column = max(sorted(weights), key=lambda name: (weights[name], name in coupled))
        if column in coupled:
            return self._both_sides(whole, column)
        side = BEFORE if sides[column] & BEFORE else AFTER
        return self._one_side(whole, column, side)

    def _coupled(self, item: Item) -> set[str]:
        """Return the columns of terms that see both records."""
        term = self._terms.term(item)
        if isinstance(term, WrappedTerm):
            inner = (i for child in term.children for i, _ in self._terms.items(child))
            return set().union(*map(self._coupled, inner))
        return {column for column, _ in term.conditions} if term.sides == BOTH else set()

    def _one_side(self, whole: Product, column: str, side: int) -> list[Scenario]:
        kinds: dict[Product, int] = {}
        for atom, left in enumerate(self._terms.placed(whole, column, side)):
            if left is not None:
                kinds.setdefault(left, atom)
        return self._frontier.union(
            self._placed(self.options(left), [(column, side, atom, 1)])
            for left, atom in kinds.items()
        )

    def _both_sides(self, whole: Product, column: str) -> list[Scenario]:
        mine: dict[Item, int] = {}
        rest: dict[Item, int] = {}
        single = True
        for item, count in self._terms.items(whole):
            if any(name == column for name, _ in self._terms.variables(item)):
                mine[item] = count
                single = single and self._single(item, column)
            else:
                rest[item] = count
        if single:
            linked = {v for item in rest for v in self._terms.variables(item)}
            others = {v for item in mine for v in self._terms.variables(item) if v[0] != column}
            if linked.isdisjoint(others):
                split = self._split(self._terms.product(mine), column)
                return self._frontier.product([self.options(self._terms.product(rest)), split])
        count = self._terms.columns.count(column)
        atoms = list(range(count))
        if single:
            atoms = self._representatives(self._terms.product(mine), column)
        kinds: dict[Product, Atoms] = {}
        for old in atoms:
            for new in atoms:
                left = self._fixed(whole, column, (old, new))
                if left is not None:
                    kinds.setdefault(left, (old, new))
        return self._frontier.union(
            self._placed(self.options(left), [(column, BEFORE, old, 1), (column, AFTER, new, 1)])
            for left, (old, new) in kinds.items()
            if old is not None and new is not None
        )

    def _representatives(self, mine: Product, column: str) -> list[int]:
        """Return at most two atoms of each kind: both records may lie in like parts."""
        kinds: dict[Product | None, list[int]] = {}
        for atom, left in enumerate(self._terms.placed(mine, column, BOTH)):
            kinds.setdefault(left, []).append(atom)
        return [atom for atoms in kinds.values() for atom in atoms[:2]]

    def _single(self, item: Item, column: str) -> bool:
        """Say whether a term asks for one atom of a column."""
        masks = self._masks(item, column)
        return masks is not None and len(masks) == 1 and next(iter(masks)).bit_count() == 1

    def _masks(self, item: Item, column: str) -> set[int] | None:
        """Return the sets of atoms that a term asks for; None where it is not that simple."""
        term = self._terms.term(item)
        match term:
            case LeafTerm(conditions=conditions, sides=sides):
                own = {mask for name, mask in conditions if name == column}
                return own if sides == BOTH or not own else None
            case ForbiddenCells():
                return None
            case WrappedTerm(children=children):
                masks: set[int] = set()
                for child in children:
                    for inner, _ in self._terms.items(child):
                        inner_masks = self._masks(inner, column)
                        if inner_masks is None or not inner_masks:
                            return None
                        masks |= inner_masks
                return masks

    def _split(self, mine: Product, column: str) -> list[Scenario]:
        """Put the two records into one part, or into two different ones."""
        kinds: dict[Product, list[int]] = {}
        for atom, whole in enumerate(self._terms.placed(mine, column, BOTH)):
            if whole is not None:
                kinds.setdefault(whole, []).append(atom)
        same = self._frontier.union(
            self._placed(self.options(whole), _cells(column, atoms[0], atoms[0]))
            for whole, atoms in kinds.items()
        )
        old, new = (
            self._two_best(
                [
                    (kind, option, len(atoms))
                    for kind, atoms in kinds.items()
                    for option in self.options(self._terms.seen(kind, side))
                ]
            )
            for side in (BEFORE, AFTER)
        )
        apart = []
        for first, left in old:
            for second, right in new:
                atoms = kinds[first], kinds[second]
                if first != second:
                    cells = _cells(column, atoms[0][0], atoms[1][0])
                elif len(atoms[0]) > 1:
                    cells = _cells(column, atoms[0][0], atoms[0][1])
                else:
                    continue
                apart.append(self._placed([compose_scenarios(left, right)], cells)[0])
        return self._frontier.pruned([*same, *apart])

    def _two_best(
        self, options: list[tuple[Product, Scenario, int]]
    ) -> list[tuple[Product, Scenario]]:
        """Drop an option only if two parts of other kinds dominate it: one of them is free."""
        kept: list[tuple[Product, Scenario, int]] = []
        for kind, option, count in sorted(options, key=lambda way: way[1].moments, reverse=True):
            above: dict[Product, int] = {}
            for other, better, parts in kept[:COMPARED_SCENARIOS]:
                if other == kind or other in above:
                    continue
                if self._frontier.dominates(better, option):
                    above[other] = min(parts, 2)
            if sum(above.values()) < 2:
                kept.append((kind, option, count))
        return [(kind, option) for kind, option, _ in kept]

    def _fixed(self, whole: Product, column: str, atoms: Atoms) -> Product | None:
        try:
            return self._terms.fixed(whole, column, *atoms)
        except ImpossibleRecord:
            return None

    @staticmethod
    def _placed(options: Iterable[Scenario], cells: list[ScenarioCell]) -> list[Scenario]:
        return [replace(option, cells=(*option.cells, *cells)) for option in options]


def _cells(column: str, old: int, new: int) -> list[ScenarioCell]:
    return [(column, BEFORE, old, 1), (column, AFTER, new, 1)]
