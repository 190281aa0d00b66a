"""The worst cells for a unit with several rows, or for records that lie in several parts.

Trust: kernel.

Theorem (key ``contribution``).  Let one unit have at most c rows, of which at most m share a value
of a column and at most p values of it occur.  Terms behind one value of the column see only the
rows that lie there, so the worst case is the best way to hand out rows to the values: a knapsack,
solved by going through the values and keeping, for every number of rows and values used, the
options that no other dominates.  A row that lies in up to r parts counts as r rows here, at most
one of them in each part.

Where terms depend on crossing columns, or on overlapping sets of values, each is given its own
worst rows.  That is an upper bound; the price is then not marked as attained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product as pairs
from typing import TYPE_CHECKING, Final, final

from discreet.accounting.scopes.contribution import Contribution, RowChange
from discreet.accounting.tree.leaf import UNPROTECTED
from discreet.accounting.worst_case.frontier import (
    MAX_SCENARIOS,
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
    Item,
    LeafTerm,
    Product,
    TreeTerms,
    WrappedTerm,
    WrapperKind,
)
from discreet.loss.composition import Composition
from discreet.loss.pairs.envelope import upper_envelope
from discreet.loss.sampling.mixtures import routed

if TYPE_CHECKING:  # for an annotation: a solver is handed the prices
    from discreet.accounting.worst_case.term_prices import TermPrices

State = tuple[int, int, int, int]
_Half = Callable[[WrappedTerm, int, int], Composition]
_START: Final = (0, 0, 0, 0)
_FEW_ROWS: Final = 8
_FEW_OPTIONS: Final = 6  # kept in each state where there are many rows to hand out
_FEW_PARTS: Final = 2  # with more, and many rows, the limit on parts is left out


@final
class SeveralRowsSolver:
    """The options of products when one unit changes several rows."""

    def __init__(
        self,
        terms: TreeTerms,
        frontier: Frontier,
        prices: TermPrices,
        contribution: Contribution,
        overlaps: Mapping[str, int],
    ) -> None:
        """Take the terms, their prices, and what belongs to one unit or record."""
        self._terms, self._frontier, self._prices = terms, frontier, prices
        self._contribution, self._overlaps = contribution, overlaps
        self._known: dict[tuple[Product, RowChange], list[Scenario]] = {}
        self._nested = 0

    def options(self, whole: Product, move: RowChange) -> list[Scenario]:
        """Return what may be worst when these numbers of rows leave and enter, anywhere."""
        key = (whole, move)
        if key not in self._known:
            self._known[key] = self._solved(whole, move)
        return self._known[key]

    def _solved(self, whole: Product, move: RowChange) -> list[Scenario]:
        chosen = self._chosen(whole)
        if chosen:
            return self._frontier.union(self.options(way, move) for way in chosen)
        decided: dict[Item, int] = {}
        lists: list[list[Scenario]] = []
        touches: dict[Item, int] = {}
        attained = True
        for item, count in self._terms.items(whole):
            term = self._terms.term(item)
            if isinstance(term, ForbiddenCells):
                attained = False  # the knapsack does not know what cannot be
            elif not self._terms.variables(item):
                decided[item] = count
            elif isinstance(term, WrappedTerm):
                lists.append(self._wrapped(term, count, move))
            else:
                touches[item] = count
        lists.append([self._prices.of(self._terms.product(decided), move)])
        lists += self._touches(touches, move)
        options = self._frontier.product(lists)
        return options if attained else [replace(option, attained=False) for option in options]

    def _chosen(self, whole: Product) -> list[Product]:
        """Decide one choice that was made in advance; all that is chosen shares the rows."""
        for item, count in self._terms.items(whole):
            term = self._terms.term(item)
            if isinstance(term, WrappedTerm) and term.kind is WrapperKind.STATIC and count == 1:
                return [self._terms.substitute(whole, item, child) for child in term.children]
        return []

    # Leaves behind conditions

    def _touches(self, touches: dict[Item, int], move: RowChange) -> list[list[Scenario]]:
        """Hand rows out to the values of one column after another."""
        lists = []
        seen: set[str] = set()
        while touches:
            column = self._commonest(touches)
            mine = {i: n for i, n in touches.items() if column in self._columns(i)}
            touches = {i: n for i, n in touches.items() if i not in mine}
            simple = {i: n for i, n in mine.items() if self._single(i, column)}
            crossing = any(self._columns(i) - {column} & seen for i in mine)
            seen |= {name for i in mine for name in self._columns(i)}
            crossing = crossing or any(self._columns(i) & seen for i in touches)
            options = self._knapsack(self._terms.product(simple), column, move)
            lists.append([replace(o, attained=False) for o in options] if crossing else options)
            lists += [self._anywhere(i, n, move) for i, n in mine.items() if i not in simple]
        return lists

    def _columns(self, item: Item) -> set[str]:
        return {column for column, _ in self._terms.variables(item)}

    def _commonest(self, touches: Iterable[Item]) -> str:
        weights: dict[str, int] = {}
        for item in touches:
            for column in self._columns(item):
                weights[column] = weights.get(column, 0) + 1
        return max(sorted(weights), key=weights.__getitem__)

    def _single(self, item: Item, column: str) -> bool:
        term = self._terms.term(item)
        assert isinstance(term, LeafTerm)  # noqa: S101  (for the type checker)
        return dict(term.conditions)[column].bit_count() == 1

    def _anywhere(self, item: Item, count: int, move: RowChange) -> list[Scenario]:
        """Let a term see any number of the rows."""
        bare = self._terms.without_conditions(item)
        seen = pairs(range(move.removed + 1), range(move.inserted + 1))
        prices = [
            self._prices.of(self._terms.product({bare: count}), RowChange(*rows)) for rows in seen
        ]
        return self._frontier.pruned(replace(price, attained=False) for price in prices)

    # The knapsack

    def _knapsack(self, mine: Product, column: str, move: RowChange) -> list[Scenario]:
        if mine == self._terms.empty:
            return [Scenario()]
        times = self._overlaps.get(column, 1)
        old, new = move.removed * times, move.inserted * times
        limited = times > 1 or self._contribution.limits(column)
        parts = self._contribution.most_parts(column) * times
        many = max(old, new) > _FEW_ROWS
        counted = parts < max(old, new) and (parts <= _FEW_PARTS or not many)
        relaxed = parts < max(old, new) and not counted
        most = _FEW_OPTIONS if many and not counted else MAX_SCENARIOS
        self._nested += 1
        states: dict[State, list[Scenario]] = {_START: [Scenario()]}
        for atom, piece in self._useful(mine, column, move, min(old, parts) + min(new, parts)):
            fresh = {state: list(options) for state, options in states.items()}
            here = self._at_most(column, atom, move)
            for rows in pairs(range(here.removed + 1), range(here.inserted + 1)):
                if rows == (0, 0):
                    continue
                inside = self._placed(self.options(piece, RowChange(*rows)), column, atom, rows)
                for state, options in states.items():
                    left = _after(state, rows, counted=counted)
                    if left[0] <= old and left[1] <= new and max(left[2:]) <= parts:
                        there = fresh.setdefault(left, [])
                        there += [compose_scenarios(a, b) for a in options for b in inside]
            states = {
                state: self._frontier.pruned(options, most) for state, options in fresh.items()
            }
        self._nested -= 1
        scenarios = self._frontier.union(states.values())
        if relaxed or (limited and self._nested):  # limits hold for all parts together
            scenarios = [replace(option, attained=False) for option in scenarios]
        return scenarios

    def _at_most(self, column: str, atom: int, move: RowChange) -> RowChange:
        """Return how many rows can lie in an atom; limits are about single values."""
        values = self._terms.columns.points(column, atom)
        if values is None:
            return move
        limit = self._contribution.most_rows(column) * values
        return RowChange(min(move.removed, limit), min(move.inserted, limit))

    def _useful(
        self, mine: Product, column: str, most: RowChange, touched: int
    ) -> list[tuple[int, Product]]:
        """Drop a value if as many others as can be touched are at least as bad in every way."""
        placed = enumerate(self._terms.placed(mine, column, BOTH))
        pieces = [(atom, piece) for atom, piece in placed if piece]  # number 0 is empty
        kept: list[tuple[int, Product]] = []
        for atom, piece in sorted(pieces, key=lambda pair: -self._weight(pair[1], most)):
            better = 0
            room = self._at_most(column, atom, most)
            for place, other in kept:
                wide = self._at_most(column, place, most) == room
                better += wide and (other == piece or self._worse(other, piece, room))
                if better >= touched:
                    break
            if better < touched:
                kept.append((atom, piece))
        return kept

    def _weight(self, piece: Product, most: RowChange) -> float:
        steps = (RowChange(most.removed, 0), RowChange(0, most.inserted))
        return sum(option.moments[0] for step in steps for option in self.options(piece, step))

    def _worse(self, other: Product, piece: Product, most: RowChange) -> bool:
        """Say whether the other piece costs at least as much for any rows."""
        for rows in pairs(range(most.removed + 1), range(most.inserted + 1)):
            larger = self.options(other, RowChange(*rows))
            for option in self.options(piece, RowChange(*rows)):
                if not any(self._frontier.dominates(big, option) for big in larger):
                    return False
        return True

    @staticmethod
    def _placed(
        options: Iterable[Scenario], column: str, atom: int, rows: tuple[int, int]
    ) -> list[Scenario]:
        cells: tuple[ScenarioCell, ...] = tuple(
            (column, side, atom, n) for side, n in zip((BEFORE, AFTER), rows, strict=True) if n
        )
        return [replace(option, cells=(*option.cells, *cells)) for option in options]

    # Other nodes

    def _wrapped(self, term: WrappedTerm, count: int, move: RowChange) -> list[Scenario]:
        composition = self._composed(term, move)
        return [times(self._frontier.option(composition, attained=False), count)]

    def _composed(self, term: WrappedTerm, move: RowChange) -> Composition:
        match term.kind:
            case WrapperKind.STATIC | WrapperKind.ADAPTIVE:
                options = [way for child in term.children for way in self.options(child, move)]
                return upper_envelope([self._frontier.composition(option) for option in options])
            case WrapperKind.POISSON:
                return self._halves(term, move, self._sampled)
            case WrapperKind.ROUTED:
                return self._halves(term, move, self._routed)
            case WrapperKind.GROUPED | WrapperKind.FIXED if not self._terms.depends_on_cells(
                term.children[-1]
            ):
                return self._frontier.composition(self._prices.wrapped(term, move))
            case WrapperKind.GROUPED:  # all rows are given to it, or some
                moves = pairs(range(move.removed + 1), range(move.inserted + 1))
                bare = self._terms.unconditional(term)
                options = [
                    self._prices.wrapped(bare, RowChange(*rows)) for rows in moves if any(rows)
                ]
                return upper_envelope([self._frontier.composition(option) for option in options])
            case _:
                return self._frontier.composition(self._prices.directed(UNPROTECTED, 1, 1))

    def _halves(self, term: WrappedTerm, move: RowChange, half: _Half) -> Composition:
        sides = [(BEFORE, move.removed), (AFTER, move.inserted)]
        return self._prices.chain([half(term, side, rows) for side, rows in sides if rows])

    def _sampled(self, term: WrappedTerm, side: int, rows: int) -> Composition:
        inner = self._terms.seen(term.children[0], side)
        least = rows if self._prices.draws_whole_unit(term) else 1
        compositions = [self._above(inner, side, j) for j in range(least, rows + 1)]
        return self._prices.sampled(compositions, term, side)

    def _routed(self, term: WrappedTerm, side: int, rows: int) -> Composition:
        children = [self._terms.seen(child, side) for child in term.children]
        step = routed([self._above(child, side, 1) for child in children])
        return self._prices.chain([step] * rows)

    def _above(self, inner: Product, side: int, rows: int) -> Composition:
        """Return one composition above all ways to place the rows."""
        move = RowChange(rows, 0) if side == BEFORE else RowChange(0, rows)
        return self._frontier.composition(self._frontier.upper_bound(self.options(inner, move)))


def _after(state: State, rows: tuple[int, int], *, counted: bool) -> State:
    """Count the rows that were handed out, and the values if their number is limited."""
    old, new = rows
    if not counted:
        return state[0] + old, state[1] + new, 0, 0
    return state[0] + old, state[1] + new, state[2] + bool(old), state[3] + bool(new)
