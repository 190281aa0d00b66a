"""What a tree loses when known rows change: a fold over its nodes.

Trust: kernel.

Definition.  A change says how many rows of which cells leave the table, and how many of which cells
enter it.  A node sees the rows that meet all conditions above it; a leaf that sees r old and i new
rows costs its price at (r, i), counted in the units that it protects:
    rows                       r and i themselves;
    the unit accounted for     one if any of its rows is seen;
    smaller units              as many as rows, or as are declared to belong to one unit;
    larger or other units      whatever holds the rows comes, goes or changes in part: once for each
                               row, or once for each table if one larger unit holds all rows.
Theorem (key ``general-composition``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
Let leaf i read f_i(D) and be d_i-private.  Then the releases together are d-private with
d(D, D') = sum of d_i(f_i(D), f_i(D')), also if later leaves depend on earlier answers.  A leaf
whose input does not change is free; one whose input changes in a way that its certificate does not
cover costs everything.
So the price of a change is found from the leaves up: sequences and parts compose, repeats are
powers, choices join, and samples and shuffles are applied to what is inside them; see
the functions of the loss room for their theorems.

Pairs are ordered: the table with the old rows first.  A price is ``attained`` if some releases with
these leaves lose as much as its lower end; otherwise it is only an upper bound.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final, final

from discreet.accounting.box import Contribution
from discreet.accounting.cells import Cell, Domain, Rows, bits
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.accounting.nodes import Choice, Leaf, Node, Post, Repeat, Sequential
from discreet.accounting.parts_and_samples import Group, Parallel, Sampled, Shuffled, Where
from discreet.accounting.values import Values
from discreet.loss import PrivacyLoss
from discreet.loss.amplification import poisson_replaced, sampled_group
from discreet.loss.composition import Composition
from discreet.loss.envelope import chained, product_as_finite_pair, upper_envelope
from discreet.loss.finite import FinitePair
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import Pair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import ResponsePair
from discreet.units import PrivacyUnit, Relation

_NOBODY: Final[Rows] = ()
_MOST_CHOICES: Final = 64
_EVERYTHING: Final = ((ResponsePair(Fraction(0), Fraction(1)), 1),)


@final
@dataclass(frozen=True, slots=True)
class Price:
    """Pairs with counts, a curve beside them, and whether some releases lose as much."""

    pairs: tuple[tuple[Pair, int], ...] = ()
    renyi: RenyiCurve | None = None
    attained: bool = True

    @classmethod
    def of(cls, composition: Composition, *, attained: bool = True) -> Price:
        """Take a composition apart; one that protects nothing is the pair above all others."""
        if is_unprotected(composition):
            return cls(_EVERYTHING, None, attained)
        return cls(composition.pairs, composition.renyi, attained)

    @property
    def free(self) -> bool:
        return not self.pairs and self.renyi is None

    def composition(self) -> Composition:
        return Composition(self.pairs, self.renyi)

    def power(self, count: int) -> Price:
        if count == 1:
            return self
        renyi = self.renyi.times(count) if self.renyi is not None and count else None
        return Price(tuple((pair, n * count) for pair, n in self.pairs), renyi, self.attained)


Prices = tuple[Price, ...]
"""The alternatives of choices; the price is the largest of them."""

_FREE: Final[Prices] = (Price(),)


def is_unprotected(composition: Composition) -> bool:
    """Say whether nothing is protected: two distributions have no outcome in common."""
    return any(pair.infinity().low >= 1 for pair, _ in composition.pairs)


def product(parts: Iterable[Prices]) -> Prices:
    """Compose releases side by side; any alternative of one goes with any of another."""
    lists = list(parts)
    if all(len(prices) == 1 for prices in lists):
        return (_product([prices[0] for prices in lists]),)
    ways = functools.reduce(lambda count, prices: count * len(prices), lists, 1)
    if ways > _MOST_CHOICES:
        lists = [prices if len(prices) == 1 else (above(prices),) for prices in lists]
    return tuple(dict.fromkeys(_product(way) for way in itertools.product(*lists)))


def _product(parts: Sequence[Price]) -> Price:
    lossy = [part for part in parts if not part.free]
    if len(lossy) == 1 and all(part.attained for part in parts):
        return lossy[0]
    curves = [part.renyi for part in lossy if part.renyi is not None]
    renyi = functools.reduce(lambda one, two: one + two, curves) if curves else None
    pairs: dict[Pair, int] = {}
    for part in lossy:
        for pair, count in part.pairs:
            pairs[pair] = pairs.get(pair, 0) + count
    return Price(tuple(pairs.items()), renyi, all(part.attained for part in parts))


def above(prices: Prices) -> Price:
    """Return one price above all alternatives."""
    if len(prices) == 1:
        return prices[0]
    return Price.of(upper_envelope([price.composition() for price in prices]), attained=False)


def count_of(rows: Rows) -> int:
    """Return how many rows there are."""
    return sum(count for _, count in rows)


Moved = tuple[int, int]
"""How many rows leave the table, and how many enter it."""


@final
class TreeFold:
    """Prices of the nodes of one tree for one unit; each is worked out once for what it sees."""

    def __init__(
        self,
        tree: Node,
        domain: Domain,
        *,
        unit: PrivacyUnit,
        contribution: Contribution,
        alone: Callable[[Node, Relation, int], PrivacyLoss],
    ) -> None:
        self._domain, self._places = domain, {name: at for at, name in enumerate(domain.names())}
        self._unit, self._contribution, self._alone = unit, contribution, alone
        self._numbers: dict[int, int] = {}
        self._used: dict[int, tuple[bool, ...]] = {}
        self._parts: dict[int, dict[int, list[int]]] = {}
        self._known: dict[tuple[int, Rows, Rows, int | None, Moved], Prices] = {}
        self._whole: Moved = (0, 0)
        self._register(tree, {})

    def _register(self, node: Node, seen: dict[Node, int]) -> tuple[bool, ...]:
        """Number nodes, equal ones alike, and note which columns matter below each."""
        columns = {node.key} if isinstance(node, Parallel) else set()
        if isinstance(node, Where):
            columns = {column for column, _ in node.box.conditions}
        below = [self._register(child, seen) for _, child in node.branches()]
        mine = (name in columns for name in self._places)
        used = tuple(any(each) for each in zip(mine, *below, strict=True))
        self._numbers[id(node)] = seen.setdefault(node, len(seen))
        self._used[id(node)] = used
        return used

    def number(self, node: Node) -> int:
        """Return what equal nodes share."""
        return self._numbers[id(node)]

    def uses(self, node: Node) -> list[str]:
        """Return the columns on which a price of a node depends."""
        return [name for name, at in self._places.items() if self._used[id(node)][at]]

    def price(self, node: Node, old: Rows, new: Rows, whole: Moved) -> Prices:
        """Return what a node loses if these rows leave, and those enter."""
        self._whole = whole
        return self._fold(node, old, new, 0)

    def _fold(self, node: Node, old: Rows, new: Rows, spread: int | None) -> Prices:
        if not (old or new):
            return _FREE
        used = self._used[id(node)]
        old, new = _projected(old, used), _projected(new, used)
        key = (self._numbers[id(node)], old, new, spread, self._whole)
        if key not in self._known:
            self._known[key] = self._folded(node, old, new, spread)
        return self._known[key]

    def _folded(  # noqa: C901, PLR0911, PLR0912  (one case for each kind of node)
        self, node: Node, old: Rows, new: Rows, spread: int | None
    ) -> Prices:
        def inner(child: Node, old: Rows = old, new: Rows = new) -> Prices:
            return self._fold(child, old, new, spread)

        match node:
            case Leaf():
                return (self._leaf(node, (count_of(old), count_of(new)), spread),)
            case Sequential(children=children):
                return product(map(inner, children))
            case Repeat(child=child, count=count):
                return repeated(inner(child), count)
            case Post(child=child):
                return inner(child)
            case Choice(children=children, adaptive=adaptive):
                ways = tuple(dict.fromkeys(way for child in children for way in inner(child)))
                if not adaptive or len(ways) == 1:
                    return ways
                return (above(ways), *(way for way in ways if way.attained))
            case Where(box=box, child=child):
                if box.empty:
                    return _FREE
                for column, values in box.conditions:
                    old, new = (self._meeting(rows, column, values) for rows in (old, new))
                return self._fold(child, old, new, spread)
            case Parallel():
                return product(self._parallel(node, old, new, spread))
            case Group(distance=0):
                return _FREE
            case Group(child=child, distance=distance) if all(
                isinstance(below, Leaf | Sequential | Repeat | Post) for below in child.walk()
            ):
                further = None if spread is None or distance is None else max(spread, 1) * distance
                return self._fold(child, old, new, further)
            case Group():
                return (self._grouped(node, old, new, spread),)
            case Sampled(rate=None):
                return (self._fixed(node, old, new, spread),)
            case Sampled():
                return self._sampled(node, old, new, _apart(node.child, spread))
            case Shuffled():
                return (self._shuffled(node, (count_of(old), count_of(new)), spread),)
            case _:
                raise TypeError(type(node))  # pragma: no cover  (every kind of node is listed)

    def _meeting(self, rows: Rows, column: str, values: Values) -> Rows:
        at, mask = self._places[column], self._domain.mask(column, values)
        return tuple((cell, count) for cell, count in rows if cell[at] & mask)

    # Leaves

    def _leaf(self, leaf: Leaf, seen: Moved, spread: int | None) -> Price:
        old, new, exactly = self._units(leaf, seen)
        if spread and leaf.unit is not None:  # the rows may be anybody's
            old = new = sum(seen)
        several = max(self._whole) > 1
        certain = exactly and spread == 0 and not (leaf.common_domain and several)
        if spread is None:
            loss: PrivacyLoss = UNPROTECTED if old or new else leaf.price(0, 0)
        elif exactly and not spread:
            loss = leaf.price(old, new)
        else:
            times = max(spread, 1)
            loss = leaf.price_up_to(old * times, new * times)
        return directed(loss, old, new, attained=certain)

    def _units(self, leaf: Leaf, seen: Moved) -> tuple[int, int, bool]:
        """Return how many of a leaf's units go and come at most, and whether exactly as many do."""
        old, new = seen
        if not (old or new):
            return 0, 0, True
        mine, theirs = set(self._unit.columns), set(leaf.unit.columns) if leaf.unit else set()
        if leaf.common_domain and theirs in (set(), mine):  # the certificate is about the table
            old, new = self._whole
        if not theirs:
            return old, new, True
        if mine == theirs:
            return min(old, 1), min(new, 1), True
        if theirs < mine:  # each table's rows are in one larger unit, which may change in part
            units = (old > 0) + (new > 0)
            return units, units, False
        if mine and mine < theirs:
            most = self._contribution.most_units(leaf.unit)
            return min(old, most), min(new, most), False
        return old + new, old + new, False

    # Parts

    def _parallel(
        self, node: Parallel, old: Rows, new: Rows, spread: int | None
    ) -> Iterator[Prices]:
        parts = self._parts.setdefault(id(node), {})
        if not parts:  # which parts are in which atom, so that others are not looked at
            for place, (values, _) in enumerate(node.parts):
                for atom in bits(self._domain.mask(node.key, values)):
                    parts.setdefault(atom, []).append(place)
        at = self._places[node.key]
        atoms = {atom for cell, _ in (*old, *new) for atom in bits(cell[at])}
        for place in sorted({place for atom in atoms for place in parts.get(atom, ())}):
            values, child = node.parts[place]
            mine, theirs = (self._meeting(rows, node.key, values) for rows in (old, new))
            yield self._fold(child, mine, theirs, spread)

    def _grouped(self, node: Group, old: Rows, new: Rows, spread: int | None) -> Price:
        """Give the rows that a row becomes their own cells, whatever cell it is in."""
        if node.distance is None or spread is None:
            return directed(UNPROTECTED, 1, 1, attained=False)
        leave, enter = count_of(old), count_of(new)
        most = max(leave, enter) * node.distance * max(spread, 1)
        relation = Relation.EITHER if leave and enter else Relation.ADD_REMOVE
        return directed(self._alone(node.child, relation, most), leave, enter, attained=False)

    # Samples and shuffles

    def _sampled(  # noqa: PLR0911  (rows leave, enter or are replaced, and are drawn in two ways)
        self, node: Sampled, old: Rows, new: Rows, spread: int | None
    ) -> Prices:
        def inside(old: Rows, new: Rows) -> Prices:
            return self._fold(node.child, old, new, spread)

        columns = () if node.unit is None else tuple(sorted(node.unit.columns))
        whole_unit = columns != () and columns == tuple(sorted(self._unit.columns))
        amplified = columns == () or whole_unit  # rows drawn with others outside their unit are not
        assert node.rate is not None  # noqa: S101  (for the type checker)
        rate = node.rate if amplified else Fraction(1)
        draw = rate, whole_unit
        leave, enter = inside(old, _NOBODY) != _FREE, inside(_NOBODY, new) != _FREE
        if not (leave or enter):
            return _FREE
        if not enter:
            return _halves(lambda rows: inside(rows, _NOBODY), old, draw, "old")
        if not leave:
            return _halves(lambda rows: inside(_NOBODY, rows), new, draw, "new")
        if amplified and max(self._whole) == 1:
            if rate == 1:
                return inside(old, new)
            three = [above(inside(*each)) for each in ((old, _NOBODY), (_NOBODY, new), (old, new))]
            removed, inserted, replaced = (price.composition() for price in three)
            if any(map(is_unprotected, (removed, inserted, replaced))):
                return (Price.of(_leak(rate), attained=False),)
            mixed = poisson_replaced(removed, inserted, replaced, rate)
            return (Price.of(mixed, attained=False),)
        first = _halves(lambda rows: inside(rows, _NOBODY), old, draw, "old")
        second = _halves(lambda rows: inside(_NOBODY, rows), new, draw, "new")
        both = chained(above(first).composition(), above(second).composition())
        return (Price.of(both, attained=False),)

    def _fixed(self, node: Sampled, old: Rows, new: Rows, spread: int | None) -> Price:
        """Sample a fixed number: known if the population keeps its size."""
        leave, enter = count_of(old), count_of(new)
        if leave != enter or spread != 0:
            return directed(UNPROTECTED, 1, 1, attained=False)
        if all(
            self._fold(node.child, *change, spread) == _FREE
            for change in ((old, _NOBODY), (_NOBODY, new))
        ):
            return Price()
        assert node.size is not None  # noqa: S101  (for the type checker)
        assert node.population is not None  # noqa: S101  (for the type checker)
        inner = self._alone(node.child, Relation.REPLACE, 1)
        loss = inner.sampled_without_replacement(size=node.size, population=node.population)
        return directed(loss.group(leave) if leave > 1 else loss, 1, 1, attained=False)

    def _shuffled(self, node: Shuffled, seen: Moved, spread: int | None) -> Price:
        """Shuffle reports: known if as many are replaced as there are, by as many others."""
        old, new, exactly = self._units(node.child, seen)
        if not exactly or old != new or spread != 0:
            return directed(UNPROTECTED, 1, 1, attained=False)
        shuffled = node.child.price(1, 1).shuffled(population=node.population)
        return directed(shuffled.group(old), 1, 1, attained=False)


def directed(loss: PrivacyLoss, old: int, new: int, *, attained: bool = True) -> Price:
    """Take the direction of a loss: removed, inserted, or either if rows are replaced."""
    if loss.pure_bound() == 0:
        return Price(attained=attained)
    profile = loss.profile()
    sides = profile.remove if new == 0 else profile.add
    if old and new and profile.remove is not profile.add:
        sides = (*profile.remove, *profile.add)
    distinct = list(dict.fromkeys(sides)) if len(sides) > 1 else list(sides)
    return Price.of(upper_envelope(distinct), attained=attained and len(distinct) == 1)


def _projected(rows: Rows, used: tuple[bool, ...]) -> Rows:
    """Forget the columns that do not matter."""
    if not rows or all(used):
        return rows
    counts: dict[Cell, int] = {}
    for cell, count in rows:
        seen = tuple(atoms if use else 0 for atoms, use in zip(cell, used, strict=True))
        counts[seen] = counts.get(seen, 0) + count
    return tuple(sorted(counts.items()))


def repeated(prices: Prices, count: int) -> Prices:
    """Release one of several alternatives each time."""
    if count == 0:
        return _FREE
    if len(prices) == 1:
        return (prices[0].power(count),)
    if comb(len(prices) + count - 1, count) > _MOST_CHOICES:
        return (above(prices).power(count), *(p.power(count) for p in prices if p.attained))
    ways = itertools.combinations_with_replacement(prices, count)
    return tuple(dict.fromkeys(_product(way) for way in ways))


def _apart(child: Node, spread: int | None) -> int | None:
    """Look at tables with and without the rows, which no certificate for replace covers."""
    covered = not any(isinstance(node, Leaf) and node.common_domain for node in child.walk())
    return spread if covered else None


def _halves(
    inside: Callable[[Rows], Prices], rows: Rows, draw: tuple[Fraction, bool], side: str
) -> Prices:
    """Sample rows that only leave, or only enter: each by itself, or all of a unit as one."""
    count, (rate, whole_unit) = count_of(rows), draw
    if whole_unit or count == 1:
        return tuple(
            Price.of(_mixed([price.composition()], rate, side), attained=price.attained)
            for price in inside(rows)
        )
    by_number = [
        above(tuple(dict.fromkeys(price for some in _subsets(rows, j) for price in inside(some))))
        for j in range(1, count + 1)
    ]
    mixed = _mixed([price.composition() for price in by_number], rate, side)
    return (Price.of(mixed, attained=False),)


def _subsets(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield the ways to take so many of some rows."""
    for counts in itertools.product(*(range(min(count, size) + 1) for _, count in rows)):
        if sum(counts) == size:
            yield tuple((cell, n) for (cell, _), n in zip(rows, counts, strict=True) if n)


def _leak(probability: Fraction) -> Composition:
    """Reveal everything with a probability, as if an unprotected person is drawn."""
    return Composition(((ResponsePair(Fraction(0), probability), 1),))


def _mixed(by_rows: Sequence[Composition], rate: Fraction, side: str) -> Composition:
    """Sample rows of one side; ``by_rows`` is what one of them costs inside, what two, and so on.

    Compositions are ordered, the table with the old rows first; mixtures are of the table that
    holds the rows.
    """
    if rate == 1:
        return by_rows[-1]
    if any(map(is_unprotected, by_rows)):
        return _leak(1 - (1 - rate) ** len(by_rows))
    old = side == "old"
    towards = [composition if old else composition.reverse() for composition in by_rows]
    if len(by_rows) == 1:
        finite = product_as_finite_pair(towards[0])
        if finite is not None:
            mixed = [(1 - rate) * q + rate * p for p, q in zip(finite.p, finite.q, strict=True)]
            pair = FinitePair(tuple(mixed), finite.q)
            return Composition(((pair if old else pair.reverse(), 1),))
        direction = Direction.REMOVE if old else Direction.ADD
        return Composition(((SampledPair(towards[0], rate, direction), 1),))
    mixture = sampled_group(towards, rate)
    return mixture if old else mixture.reverse()
