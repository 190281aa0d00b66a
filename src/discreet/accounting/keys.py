"""Keys with several values a record: tags, diagnoses, tickets.

Trust: kernel.

Definition.  ``overlap=r`` says that a record has at most r values of a key, and lies in the part of
each of them.  It is a statement about the key, so every node on that key must make it.
Conditions on such a key do not narrow each other: a record with the values a and b is in the part a
of one node and in the part b of a node inside it.  No theorem here covers that, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.accounting.box import Box
from discreet.accounting.node import Node
from discreet.accounting.parallel import Parallel
from discreet.accounting.where import Where
from discreet.errors import NotComposable

__all__ = ["overlapping_keys"]


def overlapping_keys(tree: Node, boxes: Iterable[Box]) -> dict[str, int]:
    """Return how many values a record has of each key, where it may be more than one.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> one = Leaf(Pure(epsilon=1))
    >>> overlapping_keys(Parallel("tag", {"a": one, "b": one}, overlap=2), [])
    {'tag': 2}
    """
    nodes = [node for node in tree.walk() if isinstance(node, Parallel)]
    found = {node.key: node.overlap for node in nodes if node.overlap > 1}
    for node in nodes:
        if node.key in found and (node.overlap != found[node.key] or node.routed):
            raise _refusal(node.key, "nodes on it disagree, or route records to parts")
        if node.key in found and any(_uses(part.child, node.key) for part in node.parts):
            raise _refusal(node.key, "one node on it lies in a part of another")
    conditions = [node.box for node in tree.walk() if isinstance(node, Where)]
    for box in (*conditions, *boxes):
        for column, _ in box.conditions:
            if column in found:
                raise _refusal(column, "a box sets a condition on it")
    return found


def _uses(tree: Node, key: str) -> bool:
    return any(isinstance(node, Parallel) and node.key == key for node in tree.walk())


def _refusal(key: str, how: str) -> NotComposable:
    return NotComposable(
        what=f"records have several values of {key!r}, and {how}.",
        why="parallel composition (key ``parallel``) counts the parts of one record; here the "
        "count of one node says nothing about the others.",
        do=f"give all nodes on {key!r} the same overlap, side by side, or release in sequence.",
    )
