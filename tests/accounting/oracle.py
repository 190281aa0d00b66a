"""The exact price of small trees: every table, every neighbor, every outcome.

Leaves are counts of rows with truncated geometric noise, whose loss is known: at one row it is
randomized response.  Nothing here uses the accountant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import lcm

from discreet.accounting import (
    Group,
    Leaf,
    Node,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Where,
)
from discreet.loss import Profile, Pure
from discreet.loss.finite import FinitePair

Record = Mapping[str, object]
Table = tuple[int, ...]
Law = dict[tuple[int, ...], Fraction]

MOST = 3
"""Counts above this are told like it; no table that is tried holds more rows."""


def count(name: str, ratio: Fraction) -> Leaf:
    """Return the leaf of a count whose neighboring laws differ by a factor of at most 1/ratio."""
    low, high = ratio / (1 + ratio), 1 / (1 + ratio)
    loss = Profile.of(FinitePair((high, low), (low, high)))
    return Leaf(loss, name=f"{name}:{ratio}", replaced=Pure(epsilon=0))


def geometric(rows: int, ratio: Fraction) -> list[Fraction]:
    """Return the law of a count with two-sided geometric noise, clamped to 0..MOST."""
    inside = (1 - ratio) / (1 + ratio)
    law = [inside * ratio ** abs(answer - rows) for answer in range(MOST + 1)]
    law[0] = ratio**rows / (1 + ratio)
    law[-1] = ratio ** (MOST - rows) / (1 + ratio)
    assert sum(law) == 1
    return law


def law_of(node: Node, rows: Sequence[Record]) -> Law:  # noqa: PLR0911  (one for each node)
    """Return the law of everything that a tree releases."""
    match node:
        case Leaf(name=name):
            ratio = Fraction(name.split(":")[1])
            return {(answer,): p for answer, p in enumerate(geometric(len(rows), ratio))}
        case Sequential(children=children):
            return independent(law_of(child, rows) for child in children)
        case Repeat(child=child, count=times):
            return independent(law_of(child, rows) for _ in range(times))
        case Parallel(key=key, parts=parts):
            return independent(
                law_of(child, [row for row in rows if row[key] in values])
                for values, child in parts
            )
        case Where(box=box, child=child):
            return law_of(child, [row for row in rows if row in box])
        case Group(child=child, distance=distance):
            assert distance is not None
            return law_of(child, [row for row in rows for _ in range(distance)])
        case Post(child=child):
            return law_of(child, rows)
        case Sampled(child=child, rate=rate):
            assert rate is not None
            return sampled(child, rows, rate)
        case _:
            raise TypeError(type(node))


def independent(laws: Iterable[Law]) -> Law:
    joint: Law = {(): Fraction(1)}
    for law in laws:
        joint = {a + b: p * q for (a, p), (b, q) in product(joint.items(), law.items())}
    return joint


def sampled(child: Node, rows: Sequence[Record], rate: Fraction) -> Law:
    total: Counter[tuple[int, ...]] = Counter()
    for kept in product((False, True), repeat=len(rows)):
        chance = Fraction(1)
        for keep in kept:
            chance *= rate if keep else 1 - rate
        subset = [row for row, keep in zip(rows, kept, strict=True) if keep]
        for outcome, p in law_of(child, subset).items():
            total[outcome] += chance * p  # type: ignore[assignment]
    return dict(total)  # type: ignore[arg-type]


def neighbors(records: int, most: int, relation: str) -> Iterator[tuple[Table, Table]]:
    """Yield all ordered pairs of neighboring tables with at most so many rows."""
    tables = [t for n in range(most + 1) for t in combinations_with_replacement(range(records), n)]
    for left, right in product(tables, repeat=2):
        gone = sum((Counter(left) - Counter(right)).values())
        come = sum((Counter(right) - Counter(left)).values())
        one_sided = gone + come == 1
        if (relation == "add_remove" and one_sided) or (
            relation == "replace" and gone == come == 1
        ):
            yield left, right


def exact_delta(
    tree: Node, records: Sequence[Record], ratios: Sequence[Fraction], relation: str, most: int = 2
) -> list[Fraction]:
    """Return the largest P(S) - a Q(S) over neighbors and outcomes, for each ratio a."""
    pairs = list(neighbors(len(records), most, relation))
    laws = {
        table: law_of(tree, [records[at] for at in table])
        for table in dict.fromkeys(t for pair in pairs for t in pair)
    }
    outcomes = next(iter(laws.values())).keys()
    scale = lcm(*(chance.denominator for law in laws.values() for chance in law.values()))
    whole = {table: scaled(law, outcomes, scale) for table, law in laws.items()}
    different = {(whole[left], whole[right]) for left, right in pairs}  # equal laws lose alike
    return [max(excess(p, q, a) for p, q in different) / scale for a in ratios]


def scaled(law: Law, outcomes: Iterable[tuple[int, ...]], scale: int) -> tuple[int, ...]:
    """Return the chances of all outcomes as multiples of 1 / scale."""
    assert law.keys() == outcomes
    chances = (law[outcome] for outcome in outcomes)
    return tuple(chance.numerator * (scale // chance.denominator) for chance in chances)


def excess(p: tuple[int, ...], q: tuple[int, ...], ratio: Fraction) -> Fraction:
    """Return the sum of p - ratio q wherever that is positive."""
    n, d = ratio.as_integer_ratio()
    return Fraction(sum(d * x - n * y for x, y in zip(p, q, strict=True) if d * x > n * y), d)
