"""The exact price of small trees for people with several rows: every person, every neighbor.

Rows carry the person's ``id``.  Leaves run mechanisms whose laws are written down here, in floats;
nothing uses the accountant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from discreet.accounting import (
    Choice,
    Group,
    Leaf,
    Node,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Where,
    exact_size,
)
from discreet.loss import Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms import RandomizedResponse
from discreet.units import PrivacyUnit, custom, person

Row = Mapping[str, Hashable]
Rows = tuple[Row, ...]
Law = np.ndarray

MOST = 4
"""Counts above this are told like it; no table that is tried holds more rows."""

Expand = Callable[[Row, int], Rows]

PERSON = person("id")
DAYS = custom("person-day", columns=["id", "day"])


def _response(ratio: Fraction) -> Profile:
    low, high = ratio / (1 + ratio), 1 / (1 + ratio)
    return Profile.of(FinitePair((high, low), (low, high)))


def rows(ratio: Fraction) -> Leaf:
    """Return a noisy count of rows."""
    return Leaf(_response(ratio), name=f"rows:{ratio}", replaced=Pure(epsilon=0))


def people(ratio: Fraction) -> Leaf:
    """Return a noisy count of people."""
    return Leaf(_response(ratio), name=f"people:{ratio}", unit=PERSON, replaced=Pure(epsilon=0))


def days(ratio: Fraction) -> Leaf:
    """Return a noisy count of the days on which each person has rows."""
    return Leaf(_response(ratio), name=f"days:{ratio}", unit=DAYS, replaced=Pure(epsilon=0))


def balance(ratio: Fraction) -> Leaf:
    """Return a noisy sum of signs: a replaced row can move it twice as far as an added one."""
    return Leaf(_response(ratio), name=f"balance:{ratio}")


def anyone(epsilon: Fraction) -> Leaf:
    """Return a randomized answer whether there is any row; more rows do not cost more."""
    return Leaf(RandomizedResponse(epsilon=epsilon), name=f"anyone:{epsilon}")


def leak(chance: Fraction) -> Leaf:
    """Return an alarm that sounds with some chance if there is a row, and never without one."""
    pair = FinitePair((chance, 1 - chance), (Fraction(0), Fraction(1)))
    return Leaf(Profile.of(pair), name=f"leak:{chance}")


def told() -> Leaf:
    """Return the exact number of rows."""
    return exact_size("told:1")


def _geometric(center: int, ratio: float, least: int = 0) -> Law:
    """Return the law of an answer with two-sided geometric noise, clamped to least..MOST."""
    assert least <= center <= MOST
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(least, MOST + 1) - center)
    law[0] = ratio ** (center - least) / (1 + ratio)
    law[-1] = ratio ** (MOST - center) / (1 + ratio)
    return law


def _leaf_law(name: str, table: Rows) -> Law:  # noqa: PLR0911  (one for each kind of leaf)
    kind, parameter = name.split(":")
    ratio = float(Fraction(parameter))
    match kind:
        case "rows":
            return _geometric(len(table), ratio)
        case "people":
            return _geometric(len({row["id"] for row in table}), ratio)
        case "days":
            return _geometric(len({(row["id"], row["day"]) for row in table}), ratio)
        case "balance":
            return _geometric(sum(1 if row["sex"] == "f" else -1 for row in table), ratio, -MOST)
        case "anyone":
            lie = math.exp(-ratio)
            return np.array([1.0, lie] if table else [lie, 1.0]) / (1 + lie)
        case "leak":
            return np.array([ratio, 1 - ratio] if table else [0.0, 1.0])
        case "told":
            return np.eye(MOST + 1)[len(table)]
        case _:
            raise ValueError(kind)


def same_again(row: Row, distance: int) -> Rows:
    """Turn a row into so many copies of it."""
    return (row,) * distance


def law_of(  # noqa: C901, PLR0911  (one case for each kind of node)
    node: Node, table: Rows, expand: Expand = same_again
) -> Law:
    """Return the law of everything that a tree releases, its outcomes in a fixed order."""

    def law(child: Node, seen: Iterable[Row] = table) -> Law:
        return law_of(child, tuple(seen), expand)

    match node:
        case Leaf(name=name):
            return _leaf_law(name, table)
        case Sequential(children=children):
            return _independent(law(child) for child in children)
        case Repeat(child=child, count=times):
            return _independent([law(child)] * times)
        case Parallel(key=key, parts=parts):
            return _independent(
                law(child, [r for r in table if any(v in values for v in _at(r, key))])
                for values, child in parts
            )
        case Where(box=box, child=child):
            return law(child, [row for row in table if row in box])
        case Group(child=child, distance=distance):
            assert distance is not None
            return law(child, [new for row in table for new in expand(row, distance)])
        case Post(child=child):
            return law(child)
        case Sampled(child=child, rate=None, size=size, population=population):
            assert len(table) == population
            samples = list(combinations(table, size or 0))
            return np.sum([law(child, sample) for sample in samples], axis=0) / len(samples)
        case Sampled(child=child, rate=rate, unit=unit):
            drawn = [(row,) for row in table]
            if unit is not None:
                owners = dict.fromkeys(row["id"] for row in table)
                drawn = [tuple(row for row in table if row["id"] == each) for each in owners]
            return _sampled(lambda seen: law(child, seen), drawn, float(rate))
        case _:
            raise TypeError(type(node))


def _at(row: Row, key: str) -> tuple[Hashable, ...]:
    """Return the values of a key: a record with several of them has a tuple."""
    value = row[key]
    return value if isinstance(value, tuple) else (value,)


def _independent(laws: Iterable[Law]) -> Law:
    joint = np.ones(1)
    for law in laws:
        joint = np.multiply.outer(joint, law).ravel()
    return joint


def _sampled(law: Callable[[Rows], Law], drawn: Sequence[Rows], rate: float) -> Law:
    """Mix over who enters the sample; what is drawn together enters together."""
    total = np.zeros(1)
    for kept in product((False, True), repeat=len(drawn)):
        chance = rate ** sum(kept) * (1 - rate) ** (len(drawn) - sum(kept))
        seen = [each for each, keep in zip(drawn, kept, strict=True) if keep]
        total = total + chance * law(tuple(row for each in seen for row in each))
    return total


def decided(node: Node) -> Iterator[Node]:  # noqa: C901, PLR0912  (one case for each kind)
    """Yield the trees that arise from choices made in advance."""
    match node:
        case Choice(children=children, adaptive=False):
            for child in children:
                yield from decided(child)
        case Sequential(children=children):
            for each in product(*(list(decided(child)) for child in children)):
                yield Sequential(*each)
        case Repeat(child=child, count=times):
            for each in combinations_with_replacement(list(decided(child)), times):
                yield Sequential(*each)
        case Parallel(parts=parts):
            for each in product(*(list(decided(child)) for _, child in parts)):
                children = {values: c for (values, _), c in zip(parts, each, strict=True)}
                yield Parallel(node.key, children, overlap=node.overlap)
        case Where(box=box, child=child):
            yield from (Where(box, each) for each in decided(child))
        case Post(child=child):
            yield from decided(child)
        case Group(child=child, distance=distance):
            assert distance is not None
            yield from (Group(each, distance=distance) for each in decided(child))
        case Sampled(child=child, rate=rate, unit=unit) if rate is not None:
            yield from (Sampled(each, rate=rate, unit=unit) for each in decided(child))
        case _:
            yield node


@dataclass(frozen=True)
class Limits:
    """What can belong to one person."""

    rows: int = 1
    per_part: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    days: int | None = None

    def allow(self, table: Rows) -> bool:
        """Say whether a person can have these rows."""
        if len(table) > self.rows:
            return False
        for column, most in self.per_part.items():
            if max(Counter(row[column] for row in table).values(), default=0) > most:
                return False
        if any(len({row[c] for row in table}) > most for c, most in self.parts.items()):
            return False
        return self.days is None or len({row["day"] for row in table}) <= self.days


def owned(cells: Sequence[Row], owner: int, limits: Limits) -> list[Rows]:
    """List everything that a person can have, at least one row."""
    mine = [{**cell, "id": owner} for cell in cells]
    every = (t for n in range(1, limits.rows + 1) for t in combinations_with_replacement(mine, n))
    return [table for table in every if limits.allow(table)]


def neighbors(
    cells: Sequence[Row], unit: PrivacyUnit, limits: Limits, others: Sequence[Rows] = ((),)
) -> Iterator[tuple[Rows, Rows]]:
    """Yield ordered pairs of tables that differ in one person, or in one row.

    ``others`` are the rows of everybody else; a row may belong to person 1 or 2, who may have
    further rows among those.
    """
    relation = unit.relation.value
    if unit.columns:
        ours, theirs = owned(cells, 1, limits), owned(cells, 2, limits)
    else:
        ours = owned(cells, 1, Limits())
        theirs = owned(cells, 2, Limits())
    for rest in others:
        if relation != "replace":
            for mine in ours:
                yield (*rest, *mine), rest
                yield rest, (*rest, *mine)
        if relation in {"replace", "either"}:
            for mine, other in product(ours, (*ours, *theirs)):
                yield (*rest, *mine), (*rest, *other)
                yield (*rest, *other), (*rest, *mine)


class Truth:
    """What a tree loses, by enumeration."""

    def __init__(
        self,
        tree: Node,
        cells: Sequence[Row],
        unit: PrivacyUnit,
        *,
        limits: Limits | None = None,
        others: Sequence[Rows] = ((),),
        expand: Expand = same_again,
    ) -> None:
        """Work out the laws of all tables."""
        self._pairs: list[tuple[Law, Law]] = []
        found = list(neighbors(cells, unit, Limits() if limits is None else limits, others))
        for plain in decided(tree):
            laws: dict[object, Law] = {}
            for pair in found:
                for table in pair:
                    if _name(table) not in laws:
                        laws[_name(table)] = law_of(plain, table, expand)
            self._pairs += [(laws[_name(left)], laws[_name(right)]) for left, right in found]
        # tables with equal laws lose alike
        self._pairs = list({(p.tobytes(), q.tobytes()): (p, q) for p, q in self._pairs}.values())

    def delta(self, ratio: float) -> float:
        """Return the largest P(S) - ratio Q(S)."""
        ratio = min(ratio, 1e15)  # what lies beyond is infinite here
        return max(float(np.maximum(p - ratio * q, 0).sum()) for p, q in self._pairs)

    def epsilon(self) -> float:
        """Return the largest logarithm of a ratio."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = [np.max(np.where(p > 0, np.log(p / q), 0.0)) for p, q in self._pairs]
        return float(max(found))


def _name(table: Rows) -> object:
    return frozenset(Counter(frozenset(row.items()) for row in table).items())
