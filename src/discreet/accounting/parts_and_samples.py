"""Nodes about a part, a sample or a function of the table: parallel, where, group, sample, post.

Trust: kernel.

Theorem (key ``where-stable``).  A condition on single records keeps or drops each record by itself,
so a filtered table changes by no more rows than the table itself, and not at all if the changed
rows are dropped.  A replaced record can become one that is only added or only removed.

Definition.  A key is a public column.  It sends each record to the part that holds its value, or to
none; so who belongs to a part depends on nothing but the record itself.  What is below a part sees
its records alone.
Theorem (key ``parallel``; McSherry 2009).  If one record is added or removed, one part changes; so
the loss is that of the costliest part, not the sum.  It needs that
    the parts are disjoint: a record in two parts is charged for both;
    the key looks at one record at a time: with ranks, quantiles, chunks of equal size or clusters,
    one record moves others from part to part, and several parts change at once;
    the list of parts is public: parts that appear with their first record give that record away.
With ``overlap`` r a record has up to r values of the key in all, such as a list of tags, and lies
in the part of each; the r costliest are charged.  It is a statement about the key, so every node on
that key must make it.
Conditions on such a key do not narrow each other: a record with the values a and b is in the part a
of one node and in the part b of a node inside it.  No theorem here covers that, so it is refused.

Theorem (key ``preprocessing``; McSherry 2009, Privacy Integrated Queries).  If a function of the
table turns one row into at most d rows, then tables that differ by r removed and i inserted rows
go to tables that differ by at most d r and d i; what is released of its result costs what it costs
there.  If no d holds, neighbors may go to tables as far apart as you like, and nothing is
protected.

Definition.  A sample is drawn afresh, and kept secret: by ``rate``, where each record enters it
with that probability, independently; or of ``size`` records out of a ``population`` whose number is
public, all samples of that size being equally likely.  With a rate, all records of one ``unit`` may
be drawn together: they enter the sample or stay out as one.
A record that is likely not in the sample loses less.  Sampling by rate is accounted for under
add/remove and replace (key ``poisson-sampling``), a sample of fixed size if records are replaced
(key ``amplification``): if one is added or removed, the population is not public.
All releases from one sample form one node: the sample amplifies what all of it loses together, and
each further node draws a sample of its own.

If each of n people runs the leaf on their own row, and all reports are released in random order,
replacing one row loses less than in the leaf (key ``shuffling``).  It needs a leaf with a finite
epsilon at delta 0, and a public n.

Definition (Abadi et al. 2016).  In each of ``steps`` steps every record enters the sample by itself
with probability ``rate``.  The gradients of the sample are clipped to an L2 norm of at most C and
added up, Gaussian noise with a standard deviation of ``sigma`` C is added, and the sum is released.
The next step may depend on all sums so far.

One step moves the sum by at most C if a record is added or removed, so it is a Gaussian with mu
= 1/sigma on a sample (key ``poisson-sampling``), and the steps compose (key ``dominating-pair``).
The figures hold for samples that are drawn like that.  A shuffled pass over the data in batches of
a fixed size is another mechanism, which may lose more (Chua et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, final

from discreet.accounting.box import Box, checked_box
from discreet.accounting.nodes import (
    Choice,
    Leaf,
    Node,
    Post,
    Repeat,
    Sequential,
    checked_node,
    refuse_bounded,
)
from discreet.accounting.values import Values, common_kind, equals, is_null
from discreet.errors import NotComposable, OutOfRange, WrongKind
from discreet.exact import ExactNumber, freeze, positive
from discreet.loss import GaussianDP, PrivacyLoss, least_scale, most_repeats
from discreet.loss.parameters import checked_count, checked_delta, checked_rate
from discreet.units import PrivacyUnit, same_unit


@final
@dataclass(frozen=True, slots=True, repr=False)
class Where(Node):
    """Release something of the records in a box.

    >>> from discreet.accounting import Box, Leaf, at_least
    >>> from discreet.loss import Pure
    >>> print(Where(Box({"age": at_least(18)}), Leaf(Pure(epsilon=1))))
    Where age from 18
    └── Pure(epsilon=1)
    """

    box: Box
    child: Node

    def __post_init__(self) -> None:
        checked_box(self.box, name="condition")
        refuse_bounded(self.child, where="a condition")

    def title(self) -> str:
        return f"Where {self.box}"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Parallel(Node):
    """Release something of each part.

    >>> from discreet.accounting import Leaf, at_least, below
    >>> from discreet.loss import Pure
    >>> one, two = Leaf(Pure(epsilon=1)), Leaf(Pure(epsilon=2))
    >>> print(Parallel("age", {below(18): one, at_least(18): two}))
    Parallel by age
    ├── below 18: Pure(epsilon=1)
    └── from 18: Pure(epsilon=2)
    """

    key: str
    parts: tuple[tuple[Values, Node], ...]
    overlap: int = 1

    def __init__(self, key: str, parts: Mapping[Any, Node], *, overlap: int = 1) -> None:
        _refuse_computed(key)
        if not isinstance(parts, Mapping) or not parts:
            raise WrongKind(
                "the parts are not a mapping from values of the key to nodes, or are none; give "
                "a dict, such as {'A': Leaf(...), 'B': Leaf(...)}."
            )
        checked = tuple(_part(values, child) for values, child in parts.items())
        most = checked_count(overlap, name="overlap")
        if most > 1 and not all(_is_single(values) for values, _ in checked):
            raise WrongKind(
                "parts that may overlap are not single values of the key; give one part for each "
                "value, or leave overlap at 1."
            )
        _refuse_overlapping([values for values, _ in checked])
        if not isinstance(key, str) or not key.strip() or not key.isprintable():
            raise WrongKind("a column is not named by printable text; name a column of the table.")
        freeze(self, key=key, parts=checked, overlap=most)

    def __repr__(self) -> str:
        overlap = f", overlap={self.overlap}" if self.overlap > 1 else ""
        return f"Parallel({self.key!r}, {dict(self.parts)!r}{overlap})"

    def title(self) -> str:
        overlap = f", up to {self.overlap} parts a record" if self.overlap > 1 else ""
        return f"Parallel by {self.key}{overlap}"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        return tuple((str(values), child) for values, child in self.parts)


def _refuse_computed(key: object) -> None:
    computed = callable(key) or isinstance(key, Iterable) or hasattr(key, "__array__")
    if not isinstance(key, str) and (computed or hasattr(key, "loss")):
        raise NotComposable(
            what=f"the key is a {type(key).__name__}, so it may be computed from the table.",
            why="with ranks, quantiles or clusters one record moves others to other parts; several "
            "parts then change at once, and parallel composition fails (key parallel).",
            do="name a public column; or release the boundaries privately first, as a leaf of "
            "their own, and make the parts from that answer.",
        )


def _part(values: object, child: Node) -> tuple[Values, Node]:
    if not isinstance(values, Values):
        values = is_null() if values is None else equals(values)
    return values, refuse_bounded(child, where=f"the part {values}")


def _refuse_overlapping(sets: list[Values]) -> None:
    kind: str | None = None
    for values in sets:
        kind = common_kind(kind, values.kind)
    singles = [values for values in sets if _is_single(values)]
    others = [values for values in sets if not _is_single(values)]
    seen: set[Values] = set()
    for values in singles:
        if values in seen:
            raise _overlapping(values, values)
        seen.add(values)
    pairs = [(one, other) for one in singles for other in others]
    for one, other in (*pairs, *combinations(others, 2)):
        if not one.disjoint(other):
            raise _overlapping(one, other)


def _overlapping(one: Values, other: Values) -> NotComposable:
    return NotComposable(
        what=f"the parts {one} and {other} are not disjoint.",
        why="a record in both would be charged for one only, and parallel composition would be "
        "violated (key parallel).",
        do="make the parts disjoint; or ask one after the other, which costs both only if they "
        "meet: Where(Box({...}), ...) + Where(Box({...}), ...).",
    )


def _is_single(values: Values) -> bool:
    """Whether exactly one value belongs."""
    if not values.exact or values.null:
        return values == is_null()
    if values.kind == "bool":
        return True
    keys = [key for key, _ in values.cuts]
    return not values.below and len(keys) == 2 and keys[0] == keys[1]


def overlapping_keys(tree: Node, boxes: Iterable[Box]) -> dict[str, int]:
    """Return how many values a record has of each key, if it may be more than one."""
    inner = [node for node in tree.walk() if type(node) is not Leaf]
    nodes = [node for node in inner if isinstance(node, Parallel)]
    overlaps = {node.key: node.overlap for node in nodes if node.overlap > 1}
    for node in nodes:
        if node.key not in overlaps:
            continue
        if node.overlap != overlaps[node.key]:
            raise _refusal(node.key, "nodes on it disagree")
        below = (each for _, child in node.parts for each in child.walk())
        if any(isinstance(each, Parallel) and each.key == node.key for each in below):
            raise _refusal(node.key, "one node on it is in a part of another")
    conditions = [node.box for node in inner if isinstance(node, Where)]
    for box in (*conditions, *boxes):
        for column, _ in box.conditions:
            if column in overlaps:
                raise _refusal(column, "a box sets a condition on it")
    return overlaps


def _refusal(key: str, how: str) -> NotComposable:
    return NotComposable(
        what=f"records have several values of {key!r}, and {how}.",
        why="parallel composition (key ``parallel``) counts the parts of one record; here the "
        "count of one node says nothing about the others.",
        do=f"give all nodes on {key!r} the same overlap, side by side, or release in sequence.",
    )


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Group(Node):
    """Release something of a table in which one row has become up to ``distance`` rows.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> print(Group(Leaf(Pure(epsilon=1)), distance=3))
    One row becomes up to 3
    └── Pure(epsilon=1)
    """

    child: Node
    distance: int | None = field(kw_only=True)

    def __init__(self, child: Node, *, distance: float | None) -> None:
        """Take a node, and how many rows one row can become: None or infinity without a bound."""
        endless = distance is None or (isinstance(distance, float) and distance == math.inf)
        most = None if endless else checked_count(distance, name="distance", low=0)
        freeze(self, child=checked_node(child), distance=most)

    def title(self) -> str:
        if self.distance is None:
            return "One row becomes any number"
        return f"One row becomes up to {self.distance}"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sampled(Node):
    """Release something of a secret sample.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Gaussian
    >>> print(Sampled(Leaf(Gaussian(sigma=1)), rate=0.01))
    Sampled at rate 1/100
    └── Gaussian(variance=1)
    >>> print(Sampled(Leaf(Gaussian(sigma=1)), size=10, population=1000))
    Sampled: 10 of 1000
    └── Gaussian(variance=1)
    """

    child: Node
    rate: Fraction | None = None
    size: int | None = None
    population: int | None = None
    unit: PrivacyUnit | None = None

    def __init__(
        self,
        child: Node,
        *,
        rate: ExactNumber | float | None = None,
        size: int | None = None,
        population: int | None = None,
        unit: PrivacyUnit | None = None,
    ) -> None:
        """Take a node and a rate, and whose records are drawn together; or size and population."""
        given = [each is not None for each in (rate, size, population)]
        if given not in ([True, False, False], [False, True, True]):
            raise WrongKind(
                "a sample is given neither by a rate nor by a size and a population; give "
                "rate=..., or size=... and population=..."
            )
        if unit is not None and (rate is None or not same_unit(unit).columns):
            raise WrongKind(
                "a unit is given with a sample of rows, or of fixed size; leave the unit out, or "
                'give a rate and, say, unit=person("id").'
            )
        taken = None if size is None else checked_count(size, name="size")
        people = None if population is None else checked_count(population, name="population")
        if taken is not None and people is not None and taken > people:
            raise OutOfRange(
                "the size of a sample is above the population; give size <= population."
            )
        drawn = None if rate is None else checked_rate(rate)
        freeze(self, child=checked_node(child), rate=drawn, size=taken, population=people)
        freeze(self, unit=unit)

    def title(self) -> str:
        if self.rate is not None:
            together = "" if self.unit is None else f", by {self.unit.name}"
            return f"Sampled at rate {self.rate}{together}"
        return f"Sampled: {self.size} of {self.population}"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Shuffled(Node):
    """Release the reports of a population, in random order.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> print(Shuffled(Leaf(RandomizedResponse(epsilon=1)), population=1000))
    Shuffled reports of 1000
    └── RandomizedResponse(epsilon=1, categories=(0, 1))
    """

    child: Leaf
    population: int = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.child, Leaf):
            raise WrongKind(
                f"what is shuffled is a {type(self.child).__name__}, not a leaf; give the leaf of "
                "that randomizer, such as Leaf(RandomizedResponse(epsilon=1))."
            )
        freeze(self, population=checked_count(self.population, name="population", low=2))

    def title(self) -> str:
        return f"Shuffled reports of {self.population}"


def takes_whole(tree: Node, columns: Iterable[str]) -> bool:
    """Return whether all rows of a unit, named by these columns, count as one in a tree.

    So it is if leaves are certified for just this unit, and samples draw it as a whole.
    """
    names = {*columns}
    return all(
        node.unit is not None and {*node.unit.columns} == names
        if isinstance(node, Leaf | Sampled)
        else isinstance(node, Sequential | Repeat | Choice | Post)
        for node in tree.walk()
    )


def dp_sgd(*, rate: object, sigma: object, steps: int) -> Repeat:
    """Return the tree of a training run, for the accountant, a budget or a ledger.

    Args:
        rate: the probability with which a record enters the sample of a step.
        sigma: the standard deviation of the noise, over the norm to which gradients are clipped.
        steps: how many sums are released.

    >>> from discreet.accounting import account
    >>> run = dp_sgd(rate="0.01", sigma=1, steps=1000)
    >>> print(run)
    1000 times
    └── Sampled at rate 1/100
        └── one noisy sum of clipped gradients: GaussianDP(mu=1)
    >>> round(account(run, relation="add_remove").epsilon(delta=1e-5), 4)
    1.8282
    """
    mu = 1 / positive(sigma, name="sigma")
    one = Leaf(GaussianDP(mu=mu), name="one noisy sum of clipped gradients")
    return Repeat(Sampled(one, rate=checked_rate(rate)), checked_count(steps, name="steps", low=0))


def dp_sgd_sigma(*, rate: object, steps: int, epsilon: object, delta: object) -> Fraction:
    """Return the least sigma of a training run that loses at most (epsilon, delta).

    To 24 significant bits: the run with the sigma that is returned is certified, and with the next
    smaller one of that length it is not.

    >>> float(dp_sgd_sigma(rate="0.01", steps=1000, epsilon=2, delta=1e-5))
    0.9591015577316284
    """
    _refuse_pure(delta)
    count = checked_count(steps, name="steps")
    return least_scale(
        lambda sigma: _one_step(rate, sigma).power(count), epsilon=epsilon, delta=delta
    )


def dp_sgd_steps(*, rate: object, sigma: object, epsilon: object, delta: object) -> int:
    """Return the most steps of a training run that loses at most (epsilon, delta).

    >>> dp_sgd_steps(rate="0.01", sigma=1, epsilon=2, delta=1e-5)
    1202
    """
    _refuse_pure(delta)
    one = _one_step(rate, positive(sigma, name="sigma"))
    return most_repeats(one, epsilon=epsilon, delta=delta)


def _one_step(rate: object, sigma: Fraction) -> PrivacyLoss:
    return GaussianDP(mu=1 / sigma).sampled(rate=checked_rate(rate))


def _refuse_pure(delta: object) -> None:
    if checked_delta(delta) == 0:
        raise OutOfRange(
            "delta is 0; give a delta above 0, far below one over the number of records."
        )
