"""The price of a tree: the changes that may be worst, the largest of them, and a witness.

Trust: kernel.

Definition.  An option says which cells of the public domain the changed rows are in, and what the
tree loses there; the price of a tree is the largest over options, question by question.
Composing keeps domination (key ``dominance``), so an option that another one dominates may be
dropped before both are composed with the same rest, without changing the price.
If too many remain, some are replaced by one product above them all: the price may rise, and it
is no longer that of a neighbor that exists.

Theorem (key ``scenario-accounting``).  The price is the largest over scenarios, epsilon by epsilon;
so at one delta it is the largest of their epsilons.  A scenario whose profile at an epsilon is at
most delta has none above it, so that one point of its curve is enough to leave it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.box import Box
from discreet.accounting.cells import Domain
from discreet.accounting.fold import Price
from discreet.accounting.nodes import Node, drawn
from discreet.accounting.parts_and_samples import Group, Parallel, Where
from discreet.accounting.values import Values
from discreet.exact import float_down, float_up
from discreet.loss import PrivacyLoss, Pure
from discreet.loss.composition import Composition
from discreet.loss.dominance import dominates
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import Pair
from discreet.loss.parameters import checked_delta, checked_epsilon
from discreet.loss.privacy_loss import PrivacyCurve
from discreet.loss.profile import Profile
from discreet.loss.rounding import Bracket
from discreet.units import PrivacyUnit

Moments = tuple[float, ...]

OptionCell = tuple[str, int, int, int]
"""A column, a side (1 old, 2 new), an atom of the column, and how many rows lie there."""

MOST_OPTIONS: Final = 2048
"""More incomparable options than this are merged."""

COMPARED: Final = 12
"""How many of the largest and of the nearest options one is compared with; more do not pay."""

MOMENT_ORDERS: Final = (
    0.25,
    0.5,
    1.0,
    2.0,
    3.0,
    5.0,
    8.0,
    12.0,
    18.0,
    27.0,
    40.0,
    60.0,
    90.0,
    135.0,
)
"""Orders at which moments are compared."""

MOMENT_ROUNDING: Final = 1e-9
"""Relative error of a sum of moments, with room to spare.

ln E e**(tL) is at least 0 for t > 0, so nothing cancels: a sum of n such numbers is off by at most
n 2**-53 of itself, to first order, which is below 1e-9 for n up to eight million.
"""

_MIDDLE: Final = 6


@final
@dataclass(frozen=True, slots=True)
class Option:
    """What is lost, the cells in which it arises, and whether the price is attained there."""

    composition: Composition
    cells: tuple[OptionCell, ...] = ()
    attained: bool = True
    _moments: list[Moments] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, price: Price, cells: tuple[OptionCell, ...]) -> Option:
        return cls(price.composition(), cells, price.attained)

    @property
    def moments(self) -> Moments:
        """Bounds on ln E e**(tL), worked out when options are first compared."""
        if not self._moments:
            self._moments.append(self.composition.log_moments(MOMENT_ORDERS))
        return self._moments[0]

    def compose(self, other: Option) -> Option:
        """Compose with what is lost in columns that this one does not depend on."""
        return Option(
            self.composition.compose(other.composition),
            (*self.cells, *other.cells),
            self.attained and other.attained,
        )


def pruned(options: Iterable[Option], most: int = MOST_OPTIONS) -> list[Option]:
    """Drop what is provably dominated; merge neighbors if too many are left."""
    first: dict[tuple[Composition, bool], Option] = {}
    for option in options:
        first.setdefault((option.composition, option.attained), option)
    found = list(first.values())
    if len(found) <= 1:
        return found
    kept: list[Option] = []
    for option in sorted(found, key=_size, reverse=True):
        if not any(_is_above(other, option) for other in (*kept[:COMPARED], *kept[-COMPARED:])):
            kept.append(option)
    while len(kept) > most:
        kept = pruned([_merged(kept[at : at + 2]) for at in range(0, len(kept), 2)], most=len(kept))
    return kept


def _is_above(one: Option, other: Option) -> bool:
    """Return whether the other can be forgotten; attained ones yield to attained ones only.

    A larger composition has larger moments, so that most comparisons need no matching.  Where
    rounding hides that they are not larger, the pairs are matched, and decide.
    """
    if other.attained and not one.attained:
        return False
    pairs = zip(one.moments, other.moments, strict=True)
    if any(a < b * (1 - MOMENT_ROUNDING) for a, b in pairs):
        return False
    return dominates(one.composition, other.composition)


def _merged(options: Sequence[Option]) -> Option:
    """Return one option above several: each pair as often as where it is most frequent."""
    if len(options) == 1:
        return options[0]
    counts: dict[Pair, int] = {}
    curve: RenyiCurve | None = None
    for option in options:
        for pair, count in option.composition.pairs:
            counts[pair] = max(count, counts.get(pair, 0))
        more = option.composition.renyi
        if more is not None and more != curve:
            curve = more if curve is None else curve + more
    return Option(Composition(tuple(counts.items()), curve), (), attained=False)


def _size(option: Option) -> tuple[float, bool]:
    return option.moments[_MIDDLE], option.attained


BEFORE: Final = 1
AFTER: Final = 2
_SHOWN: Final = Fraction(1, 10**6)


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A number of rows whose value in a column is in a set."""

    column: str
    values: Values
    rows: int

    def __str__(self) -> str:
        many = "" if self.rows == 1 else f"{self.rows} rows with "
        return f"{many}{self.column} {self.values}"


@final
@dataclass(frozen=True, slots=True)
class Witness:
    """The worst neighbor: where the rows lie that disappear, and where those that appear.

    ``exact`` says whether such a neighbor exists for sure; otherwise the price is an upper bound
    over several of them.
    """

    change: str
    removed: tuple[Place, ...]
    inserted: tuple[Place, ...]
    exact: bool

    def __str__(self) -> str:
        sides = [(word, places) for word, places in (("out", self.removed), ("in", self.inserted))]
        shown = [f"{word}: {', '.join(map(str, places))}" for word, places in sides if places]
        return "; ".join([self.change, *shown])


@final
@dataclass(frozen=True, slots=True)
class Statement(PrivacyCurve):
    """The price of a tree for a unit.

    >>> from discreet.accounting import Leaf, Parallel, account
    >>> from discreet.loss import Pure
    >>> wards = Parallel("ward", {"A": Leaf(Pure(epsilon=1)), "B": Leaf(Pure(epsilon="1/2"))})
    >>> price = account(wards, relation="add_remove")
    >>> price.epsilon(delta=0), price.epsilon(0), price.epsilons([0, 1]).tolist()
    (1.0, 1.0, [1.0, 0.0])
    """

    tree: Node
    unit: PrivacyUnit
    theorems: tuple[str, ...]
    _old: tuple[Option, ...]
    _new: tuple[Option, ...]
    _domain: Domain
    _again: Callable[[Node], Statement]

    @property
    def loss(self) -> PrivacyLoss:
        """The price, to compose or convert further."""
        if not self._all():
            return Pure(epsilon=0)
        remove, add = (
            tuple(dict.fromkeys(option.composition for option in options))
            for options in (self._old or self._new, self._new or self._old)
        )
        add = remove if add == remove else add
        return Profile(remove=remove, add=add, indivisible=True)  # of parts unknown

    def epsilon(self, delta: object) -> float:
        return self._worst(checked_delta(delta))[1]

    def delta(self, epsilon: object) -> float:
        return self.loss.delta(epsilon=epsilon)

    def interval(self, delta: object) -> Bracket:
        """Enclose the price at a delta: the lower end is that of a scenario that exists."""
        probability = checked_delta(delta)
        worst, high = self._worst(probability)
        if worst is None:
            return Bracket(0.0, 0.0)
        options = [worst] if worst.attained else self._all()
        attained = (o.composition for o in options if o.attained)
        low = max((composition.epsilon(probability).low for composition in attained), default=0.0)
        return Bracket(min(low, high), high)

    def delta_interval(self, epsilon: object) -> Bracket:
        """Enclose the probability of failure at an epsilon: the lower end is that of a scenario."""
        exact = checked_epsilon(epsilon)
        high, right = self.loss.delta(exact), float_up(exact)
        attained = (o.composition for o in self._all() if o.attained)
        low = max((composition.delta(right).low for composition in attained), default=0.0)
        return Bracket(min(low, high), high)

    def renyi(self, order: object) -> float:
        """Return the largest Rényi divergence of an order over scenarios, rounded up."""
        return self.loss.renyi(order)

    def tradeoff(self, false_alarm: object) -> float:
        """Return the least probability of a missed detection over scenarios, rounded down."""
        return self.loss.tradeoff(false_alarm)

    def tradeoffs(self, false_alarms: Iterable[object]) -> NDArray[np.float64]:
        return self.loss.tradeoffs(false_alarms)

    def gap(self, delta: object) -> float:
        """Return how far the price may be above the truth."""
        return self.interval(delta=delta).width

    @property
    def witness(self) -> Witness:
        """The worst neighbor at a delta of one in a million."""
        return self.witness_at(delta=_SHOWN)

    def witness_at(self, delta: object) -> Witness:
        """Return the worst neighbor at a delta."""
        option, _ = self._worst(checked_delta(delta))
        if option is None:
            return Witness("nothing changes", (), (), exact=True)
        removed, inserted = (self._places(option, side) for side in (BEFORE, AFTER))
        sides = {side for _, side, _, _ in option.cells}
        if len(sides) == 2 or self.unit.relation.size_is_public:
            change = f"replace a {self.unit.name}"
        else:
            change = f"{'remove' if option in self._old else 'add'} a {self.unit.name}"
        return Witness(change, removed, inserted, exact=option.attained)

    def _places(self, option: Option, side: int) -> tuple[Place, ...]:
        return tuple(
            Place(column, self._domain.atom(column, atom), rows)
            for column, where, atom, rows in sorted(option.cells)
            if where == side
        )

    def _all(self) -> list[Option]:
        """List the options of both directions, each composition once."""
        return list({option.composition: option for option in (*self._new, *self._old)}.values())

    def _worst(self, delta: Fraction) -> tuple[Option | None, float]:
        """Return the worst option and its epsilon; the largest moments are looked at first."""
        worst, price = None, 0.0
        for option in sorted(self._all(), key=_size, reverse=True):
            composition = option.composition
            if worst is not None and (
                math.isinf(price) or composition.delta_above(price) <= float_down(delta)
            ):
                continue
            epsilon = Profile(remove=(composition,), add=(composition,)).epsilon(delta=delta)
            if worst is None or epsilon > price:
                worst, price = option, epsilon
        return worst, price

    def __str__(self) -> str:
        prices = (self._shown(node, box) for node, box in _behind(self.tree, Box.everything()))
        head = f"{self.unit.name}, {self.unit.relation.value}: epsilon at delta {float(_SHOWN):.0e}"
        tree = drawn(self.tree, lambda _: next(prices))
        shown = f"{head}\n{tree}\nworst: {self.witness}"
        if math.isinf(self.epsilon(delta=_SHOWN)):
            shown += "\nnothing is promised: a release does not cover what changes in its input"
        return shown

    def _shown(self, node: Node, box: Box) -> str:
        epsilon = self._again(Where(box, node) if box.conditions else node).epsilon(delta=_SHOWN)
        return "infinite" if math.isinf(epsilon) else f"{math.ceil(epsilon * 10**4) / 10**4:.4f}"


def _behind(node: Node, box: Box) -> Iterator[tuple[Node, Box]]:
    """Yield each node, in the order of a drawing, and the conditions that its records meet."""
    yield node, box
    match node:
        case Parallel(overlap=1):
            for values, child in node.parts:
                yield from _behind(child, box & Box({node.key: values}))
        case Where():
            yield from _behind(node.child, box & node.box)
        case Group():  # its rows may lie elsewhere
            yield from _behind(node.child, Box.everything())
        case _:
            for _, child in node.branches():
                yield from _behind(child, box)
