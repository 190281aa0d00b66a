"""Releases about some of the records: those that meet a public condition.

Trust: kernel.

Theorem (key ``where-stable``).  A condition on single records keeps or drops each record by itself,
so a filtered table changes by no more rows than the table itself, and not at all if the changed
rows are dropped.  A replaced record can become one that is only added or only removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.accounting.bounded import refuse_bounded
from discreet.accounting.box import Box
from discreet.accounting.node import Node, checked_node
from discreet.errors import WrongKind

__all__ = ["Where"]


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
        if not isinstance(box, Box):
            raise WrongKind(
                what=f"the condition is a {type(box).__name__}, not a Box.",
                why="which records are meant must be public, and known without the table.",
                do="give a box, such as Box({'age': at_least(18)}).",
            )
        object.__setattr__(self, "box", box)
        node = refuse_bounded(checked_node(child), where="a condition")
        object.__setattr__(self, "child", node)

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Where({self.box!r}, {self.child!r})"

    def title(self) -> str:
        """Say which records."""
        return f"Where {self.box}"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what is released."""
        return (("", self.child),)
