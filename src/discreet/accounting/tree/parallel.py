"""Parallel composition: releases about parts of the table, one part or several for a record.

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
in the part of each; the r costliest are charged.  With ``routed`` parts records arrive over time,
and are sent to their part after its earlier answers were seen; then the deltas of all parts add up.

Definition, of keys with several values a record, such as tags, diagnoses and tickets.
``overlap=r`` says that a record has at most r values of a key, and lies in the part of each of
them.  It is a statement about the key, so every node on that key must make it.
Conditions on such a key do not narrow each other: a record with the values a and b is in the part a
of one node and in the part b of a node inside it.  No theorem here covers that, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

from discreet.accounting.scopes.box import Box, checked_box
from discreet.accounting.scopes.column_conditions import Values, equals, is_null
from discreet.accounting.scopes.ordered_keys import common_kind
from discreet.accounting.tree.certificates import checked_flag
from discreet.accounting.tree.leaf import Leaf, refuse_bounded
from discreet.accounting.tree.node import Node, checked_node
from discreet.errors import NotComposable, WrongKind
from discreet.loss.parameters import checked_count


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
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

    def __init__(self, box: Box, child: Node) -> None:
        """Take a box, and a node that sees its records alone."""
        object.__setattr__(self, "box", checked_box(box, name="condition"))
        node = refuse_bounded(checked_node(child), where="a condition")
        object.__setattr__(self, "child", node)

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Where({self.box!r}, {self.child!r})"

    def title(self) -> str:
        """Say which records."""
        return f"Where {self.box}"

    def regions(self, shared: Callable[[str], bool]) -> tuple[tuple[Box, Node], ...]:  # noqa: ARG002
        """Return what is released, about the box."""
        return ((self.box, self.child),)


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One part: what to call it, which values of the key belong to it, and what is released.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> Parallel("ward", {"A": Leaf(Pure(epsilon=1))}).parts[0].label
    "'A'"
    """

    label: str
    values: Values
    child: Node


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
    parts: tuple[Part, ...]
    overlap: int
    routed: bool

    def __init__(
        self, key: str, parts: Mapping[Any, Node], *, overlap: int = 1, routed: bool = False
    ) -> None:
        """Take a public column, and a node for each value or set of values of it."""
        column = _checked_key(key)
        if not isinstance(parts, Mapping) or not parts:
            raise WrongKind(
                what="the parts are not a mapping from values of the key to nodes, or are none.",
                why="the list of parts is public, and each part has its own releases.",
                do="give a dict, such as {'A': Leaf(...), 'B': Leaf(...)}.",
            )
        checked = tuple(_part(values, child) for values, child in parts.items())
        most = checked_count(overlap, name="overlap")
        if most > 1 and not all(_is_single(part.values) for part in checked):
            raise WrongKind(
                what="parts that may overlap are not single values of the key.",
                why="a record has up to so many values, and lies in the part of each of them.",
                do="give one part for each value, or leave overlap at 1.",
            )
        _refuse_overlapping([part.values for part in checked])
        object.__setattr__(self, "key", column)
        object.__setattr__(self, "parts", checked)
        object.__setattr__(self, "overlap", most)
        object.__setattr__(self, "routed", checked_flag(routed, name="routed"))

    def __repr__(self) -> str:
        """Show how to make it again."""
        parts = ", ".join(f"{part.values!r}: {part.child!r}" for part in self.parts)
        overlap = f", overlap={self.overlap}" if self.overlap > 1 else ""
        return f"Parallel({self.key!r}, {{{parts}}}{overlap}{', routed=True' * self.routed})"

    def title(self) -> str:
        """Name the key."""
        overlap = f", up to {self.overlap} parts a record" if self.overlap > 1 else ""
        return f"Parallel by {self.key}{overlap}{', routed' * self.routed}"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what is released of each part."""
        return tuple((part.label, part.child) for part in self.parts)

    def regions(self, shared: Callable[[str], bool]) -> tuple[tuple[Box, Node], ...] | None:
        """Return the parts, where each unit lies in one of them."""
        if self.overlap > 1 or self.routed or not shared(self.key):
            return None
        return tuple((Box({self.key: part.values}), part.child) for part in self.parts)

    def overlapping_key(self) -> str | None:
        """Return the key, if a record can lie in several parts."""
        return self.key if self.overlap > 1 else None


def checked_column(value: object) -> str:
    """Return the name of a column."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise WrongKind(
            what="a column is not named by printable text.",
            why="who belongs where must be a public function of one record at a time.",
            do="name a column of the table.",
        )
    return value


def _checked_key(key: object) -> str:
    computed = callable(key) or isinstance(key, Iterable) or hasattr(key, "__array__")
    if not isinstance(key, str) and (computed or hasattr(key, "loss")):
        raise NotComposable(
            what=f"the key is a {type(key).__name__}, so it may be computed from the table.",
            why="with ranks, quantiles or clusters one record moves others to other parts; several "
            "parts then change at once, and parallel composition fails (key parallel).",
            do="name a public column; or release the boundaries privately first, as a leaf of "
            "their own, and make the parts from that answer.",
        )
    return checked_column(key)


def _part(values: object, child: object) -> Part:
    if isinstance(values, Values):
        chosen = values
    else:
        chosen = is_null() if values is None else equals(values)
    node = refuse_bounded(checked_node(child), where=f"the part {chosen}")
    return Part(str(chosen), chosen, node)


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
        do="make the parts disjoint; or ask one after the other, which costs both only where they "
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
    """Return how many values a record has of each key, where it may be more than one.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> one = Leaf(Pure(epsilon=1))
    >>> overlapping_keys(Parallel("tag", {"a": one, "b": one}, overlap=2), [])
    {'tag': 2}
    """
    inner = [node for node in tree.walk() if type(node) is not Leaf]
    nodes = [node for node in inner if isinstance(node, Parallel)]
    overlaps = {node.key: node.overlap for node in nodes if node.overlap > 1}
    for node in nodes:
        if node.key in overlaps and (node.overlap != overlaps[node.key] or node.routed):
            raise _refusal(node.key, "nodes on it disagree, or route records to parts")
        if node.key in overlaps and any(_uses(part.child, node.key) for part in node.parts):
            raise _refusal(node.key, "one node on it lies in a part of another")
    conditions = [node.box for node in inner if isinstance(node, Where)]
    for box in (*conditions, *boxes):
        for column, _ in box.conditions:
            if column in overlaps:
                raise _refusal(column, "a box sets a condition on it")
    return overlaps


def _uses(tree: Node, key: str) -> bool:
    return any(isinstance(node, Parallel) and node.key == key for node in tree.walk())


def _refusal(key: str, how: str) -> NotComposable:
    return NotComposable(
        what=f"records have several values of {key!r}, and {how}.",
        why="parallel composition (key ``parallel``) counts the parts of one record; here the "
        "count of one node says nothing about the others.",
        do=f"give all nodes on {key!r} the same overlap, side by side, or release in sequence.",
    )
