"""The composition of what is touched, once it is known which rows change.

Trust: kernel.

Definition.  One unit's old rows are removed and its new rows inserted.  A leaf that reads r of the
old and i of the new ones costs its price at (r, i), counted in the units that it protects:
    rows                       r and i themselves;
    the unit accounted for     one if any of its rows is read;
    smaller units              as many as rows, or as are declared to belong to one unit;
    larger or other units      whatever holds the rows comes, goes or changes in part: once for each
                               row, or once for each table where one larger unit holds all rows.
Samples, adaptive choices and routed parts are applied to the composition inside them; see the
functions of the loss room for their theorems.

Pairs are ordered: the table with the old rows first.  An option is ``attained`` if some
release with these leaves loses as much as its lower end; otherwise it is only an upper bound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting.scopes.contribution import Contribution, RowChange
from discreet.accounting.tree.leaf import UNPROTECTED, Leaf
from discreet.accounting.tree.node import Node
from discreet.accounting.worst_case.frontier import (
    Frontier,
    Scenario,
    compose_scenarios,
    is_unprotected,
    times,
)
from discreet.accounting.worst_case.tree_terms import (
    AFTER,
    BEFORE,
    BOTH,
    LeafTerm,
    Product,
    TreeTerms,
    WrappedTerm,
    WrapperKind,
)
from discreet.loss import PrivacyLoss
from discreet.loss.composition import Composition
from discreet.loss.pairs.envelope import product_as_finite_pair, upper_envelope
from discreet.loss.pairs.finite import FinitePair
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.pairs.two_steps import chained
from discreet.loss.sampling.mixtures import routed, sampled_group
from discreet.loss.sampling.poisson_sampling import Direction, SampledPair
from discreet.loss.sampling.replaced_record import poisson_replaced
from discreet.units import PrivacyUnit, Relation

_LONGEST: Final = 8


@final
class TermPrices:
    """Prices of products without conditions, for one unit and one move of the whole table."""

    def __init__(  # noqa: PLR0913  (each is used, and none belongs to another)
        self,
        terms: TreeTerms,
        frontier: Frontier,
        *,
        unit: PrivacyUnit,
        contribution: Contribution,
        whole: RowChange,
        alone: Callable[[Node, Relation, int], PrivacyLoss],
    ) -> None:
        """Take what can be touched, for whom, and how to account for a node by itself."""
        self._terms, self._frontier = terms, frontier
        self._unit, self._contribution = unit, contribution
        self._whole, self._alone = whole, alone
        self._several = max(whole.removed, whole.inserted) > 1
        self._directed: dict[tuple[int, int, int, bool], tuple[PrivacyLoss, Scenario]] = {}
        self._touched: dict[tuple[int, int | None, int, RowChange], Scenario] = {}
        self._found: dict[tuple[Product, RowChange], Scenario] = {}

    def of(self, product: Product, move: RowChange) -> Scenario:
        """Compose the prices of all terms, each seeing the rows of the sides that touch it."""
        key = (product, move)
        if key not in self._found:
            self._found[key] = self._composed(product, move)
        return self._found[key]

    def _composed(self, product: Product, move: RowChange) -> Scenario:
        prices = []
        for item, count in self._terms.items(product):
            term = self._terms.term(item)
            if isinstance(term, LeafTerm):
                price = self._touch(term.leaf, term.spread, term.sides, move)
            else:
                assert isinstance(term, WrappedTerm)  # noqa: S101  (conditions are all decided)
                price = self.wrapped(term, move)
            prices.append(times(price, count))
        return compose_scenarios(*prices)

    def composition(self, product: Product, move: RowChange) -> Composition:
        """Compose the prices of all terms, as one composition."""
        return self._frontier.composition(self.of(product, move))

    # Leaves

    def _touch(self, number: int, spread: int | None, sides: int, move: RowChange) -> Scenario:
        key = (number, spread, sides, move)
        if key not in self._touched:
            leaf = self._terms.leaves[number]
            seen = _sided(move, sides)
            old, new, exactly = self._counts(leaf, seen)
            if spread and leaf.unit is not None:  # the rows may be anybody's
                old = new = seen.removed + seen.inserted
            certain = exactly and spread == 0 and not (leaf.common_domain and self._several)
            if spread is None:
                loss: PrivacyLoss = UNPROTECTED if old or new else leaf.price(0, 0)
            elif exactly and not spread:
                loss = leaf.price(old, new, wanted=self._unit.relation)
            else:
                times = max(spread, 1)
                loss = leaf.price_up_to(old * times, new * times, wanted=self._unit.relation)
            self._touched[key] = self.directed(loss, old, new, attained=certain)
        return self._touched[key]

    def _counts(self, leaf: Leaf, move: RowChange) -> tuple[int, int, bool]:
        """Return how many of a leaf's units go and come at most, and whether exactly as many do."""
        old, new = move.removed, move.inserted
        if not (old or new):
            return 0, 0, True
        mine, theirs = set(self._unit.columns), set(leaf.unit.columns) if leaf.unit else set()
        if leaf.common_domain and theirs in (set(), mine):  # the certificate is about the table
            old, new = self._whole.removed, self._whole.inserted
        if not theirs:
            return old, new, True
        if mine == theirs:
            return min(old, 1), min(new, 1), True
        if theirs < mine:  # each table's rows lie in one larger unit, which may change in part
            units = (old > 0) + (new > 0)
            return units, units, False
        if mine and mine < theirs:
            most = self._contribution.most_units(leaf.unit)
            return min(old, most), min(new, most), False
        return old + new, old + new, False

    def directed(self, loss: PrivacyLoss, old: int, new: int, *, attained: bool = True) -> Scenario:
        """Take the direction of a loss: removed, inserted, or either where rows are replaced."""
        key = (id(loss), old, new, attained)  # losses stay, and so their ids
        if key in self._directed:
            return self._directed[key][1]
        price = Scenario()
        if loss.pure_bound() != 0:
            profile = loss.profile()
            directed = profile.remove if new == 0 else profile.add
            if old and new and profile.remove is not profile.add:
                directed = (*profile.remove, *profile.add)
            distinct = list(dict.fromkeys(directed)) if len(directed) > 1 else directed
            single = attained and len(distinct) == 1
            price = self._frontier.option(upper_envelope(distinct), attained=single)
        self._directed[key] = loss, price
        return price

    # Other nodes

    def wrapped(self, term: WrappedTerm, move: RowChange) -> Scenario:
        """Compose what a node around terms costs."""
        old = self._terms.seen(term.children[0], BEFORE)
        new = self._terms.seen(term.children[0], AFTER)
        match term.kind:
            case WrapperKind.ADAPTIVE | WrapperKind.STATIC:
                inner = [self.composition(child, move) for child in term.children]
                return self._frontier.option(upper_envelope(inner), attained=len(inner) == 1)
            case WrapperKind.ROUTED:
                return self._routed(term, move)
            case WrapperKind.POISSON:
                return self._sampled(term, (old, new), move)
            case WrapperKind.SHUFFLED:
                return self._shuffled(term, move)
            case WrapperKind.FIXED:
                return self._fixed(term, move)
            case WrapperKind.GROUPED:
                return self._grouped(term, move)

    def _routed(self, term: WrappedTerm, move: RowChange) -> Scenario:
        steps: list[Composition] = []
        for side in (BEFORE, AFTER):
            children = [self._terms.seen(child, side) for child in term.children]
            rows = _sided(move, side)
            if any(child != self._terms.empty for child in children):
                one = _sided(RowChange(1, 1), side)
                step = [self.composition(child, one) for child in children]
                steps += [routed(step)] * (rows.removed + rows.inserted)
        return self._frontier.option(self.chain(steps), attained=False)

    def chain(self, steps: Sequence[Composition]) -> Composition:
        """Go from table to table, one row at a time; too long a way promises nothing."""
        if not steps:
            return Composition()
        if len(steps) > _LONGEST:
            return self._frontier.composition(self.directed(UNPROTECTED, 1, 1))
        return functools.reduce(chained, steps)

    def _grouped(self, term: WrappedTerm, move: RowChange) -> Scenario:
        """Give the rows that a row becomes their own cells, whatever cell it lies in."""
        distance, child, spread = term.parameters
        ((item, _),) = self._terms.items(term.children[0])
        touch = self._terms.term(item)
        assert isinstance(touch, LeafTerm)  # noqa: S101  (whose rows are given)
        assert isinstance(child, Node)  # noqa: S101  (for the type checker)
        rows = _sided(move, touch.sides)
        if distance is None or spread is None:
            return self.directed(UNPROTECTED, 1, 1, attained=False)
        most = max(rows.removed, rows.inserted) * _int(distance) * max(_int(spread), 1)
        both_ways = rows.removed and rows.inserted
        relation = Relation.EITHER if both_ways else Relation.ADD_REMOVE
        loss = self._alone(child, relation, most)
        return self.directed(loss, rows.removed, rows.inserted, attained=False)

    def _sampled(
        self, term: WrappedTerm, halves: tuple[Product, Product], move: RowChange
    ) -> Scenario:
        old = self._half(term, halves[0], RowChange(move.removed, 0))
        new = self._half(term, halves[1], RowChange(0, move.inserted))
        if old is None or new is None:
            return old or new or Scenario()
        strangers = term.parameters[1] != () and not self.draws_whole_unit(term)
        if not strangers and (move == RowChange(1, 1) or self.draws_whole_unit(term)):
            removed = self.composition(halves[0], RowChange(move.removed, 0))
            inserted = self.composition(halves[1], RowChange(0, move.inserted))
            replaced = self.composition(term.children[0], move)
            if (rate := self._rate(term)) == 1:
                return self.of(term.children[0], move)
            if any(is_unprotected(side_price) for side_price in (removed, inserted, replaced)):
                return self._frontier.option(_leak(rate), attained=False)
            mixed = poisson_replaced(removed, inserted, replaced, rate)
            return self._frontier.option(mixed, attained=False)
        halfway = [self._frontier.composition(half) for half in (old, new)]
        return self._frontier.option(self.chain(halfway), attained=False)

    def _half(self, term: WrappedTerm, product: Product, move: RowChange) -> Scenario | None:
        """Sample rows that are only removed, or only inserted; None where none is touched."""
        if product == self._terms.empty or move == RowChange(0, 0):
            return None
        most = move.removed + move.inserted
        rows = (most,) if self.draws_whole_unit(term) else range(1, most + 1)
        side = BEFORE if move.removed else AFTER
        prices = [self.of(product, _sided(RowChange(j, j), side)) for j in rows]
        mixed = self.sampled([self._frontier.composition(price) for price in prices], term, side)
        return self._frontier.option(mixed, attained=prices[-1].attained and len(prices) == 1)

    def draws_whole_unit(self, term: WrappedTerm) -> bool:
        """Say whether all rows of the unit enter a Poisson sample as one."""
        columns = term.parameters[1]
        return columns != () and columns == tuple(sorted(self._unit.columns))

    def _rate(self, term: WrappedTerm) -> Fraction:
        """Return the rate; rows drawn with others outside their unit are not amplified."""
        rate, columns = term.parameters
        return _fraction(rate) if columns == () or self.draws_whole_unit(term) else Fraction(1)

    def sampled(self, by_rows: Sequence[Composition], term: WrappedTerm, side: int) -> Composition:
        """Sample what is composed inside a Poisson sample, for one row, two rows, and so on."""
        return _mixed(by_rows, self._rate(term), side)

    def _shuffled(self, term: WrappedTerm, move: RowChange) -> Scenario:
        """Shuffle reports: known where as many are replaced as there are, by as many others."""
        ((item, _),) = self._terms.items(term.children[0])
        touch = self._terms.term(item)
        assert isinstance(touch, LeafTerm)  # noqa: S101  (a shuffled node holds one leaf)
        (population,) = term.parameters
        leaf = self._terms.leaves[touch.leaf]
        old, new, exactly = self._counts(leaf, _sided(move, touch.sides))
        if not exactly or old != new or touch.spread != 0:
            return self.directed(UNPROTECTED, 1, 1, attained=False)
        loss = leaf.price(1, 1, wanted=self._unit.relation)
        shuffled = loss.shuffled(population=_int(population))
        return self.directed(shuffled.group(old), 1, 1, attained=False)

    def _fixed(self, term: WrappedTerm, move: RowChange) -> Scenario:
        """Sample a fixed number: known where the population keeps its size."""
        size, population, child, spread, partial = term.parameters
        drawn = self._terms.items(term.children[1])
        sides = 0
        for item, _ in drawn:
            touch = self._terms.term(item)
            assert isinstance(touch, LeafTerm)  # noqa: S101  (those who can be drawn)
            sides |= touch.sides
        emptied = self._unit.relation is Relation.REPLACE_NULL and partial is False
        kept = sides == BOTH and move.removed == move.inserted
        if not (kept or emptied) or spread != 0:
            return self.directed(UNPROTECTED, 1, 1, attained=False)
        assert isinstance(child, Node)  # noqa: S101  (for the type checker)
        inner = self._alone(child, Relation.EITHER if emptied else Relation.REPLACE, 1)
        loss = inner.sampled_without_replacement(size=_int(size), population=_int(population))
        steps = max(move.removed, move.inserted)
        return self.directed(loss.group(steps) if steps > 1 else loss, 1, 1, attained=False)


def _sided(move: RowChange, sides: int) -> RowChange:
    return RowChange(move.removed if sides & BEFORE else 0, move.inserted if sides & AFTER else 0)


def _leak(chance: Fraction) -> Composition:
    """Tell everything with a chance, as where somebody unprotected is drawn."""
    return Composition(((ResponsePair(Fraction(0), chance), 1),))


def _mixed(by_rows: Sequence[Composition], rate: Fraction, side: int) -> Composition:
    """Sample rows of one side; ``by_rows`` is what one of them costs inside, what two, and so on.

    Compositions are ordered, the table with the old rows first; mixtures are of the table that
    holds the rows.
    """
    if rate == 1:
        return by_rows[-1]
    if any(map(is_unprotected, by_rows)):
        return _leak(1 - (1 - rate) ** len(by_rows))
    towards = [composition if side == BEFORE else composition.reverse() for composition in by_rows]
    if len(by_rows) == 1:
        finite = product_as_finite_pair(towards[0])
        if finite is not None:
            mixed = [(1 - rate) * q + rate * p for p, q in zip(finite.p, finite.q, strict=True)]
            pair = FinitePair(tuple(mixed), finite.q)
            return Composition(((pair if side == BEFORE else pair.reverse(), 1),))
        direction = Direction.REMOVE if side == BEFORE else Direction.ADD
        return Composition(((SampledPair(towards[0], rate, direction), 1),))
    mixture = sampled_group(towards, rate)
    return mixture if side == BEFORE else mixture.reverse()


def _fraction(value: Any) -> Fraction:
    assert isinstance(value, Fraction)  # noqa: S101  (for the type checker)
    return value


def _int(value: Any) -> int:
    assert isinstance(value, int)  # noqa: S101  (for the type checker)
    return value
