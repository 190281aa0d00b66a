"""What happens before and after a release: preprocessing that multiplies rows, post-processing.

Trust: kernel.

Theorem (key ``preprocessing``).  If a function of the table turns one row into at most d rows, then
tables that differ by r removed and i inserted rows go to tables that differ by at most d r and d i;
what is released of its result costs what it costs there.  Where no d holds, neighbors may go to
tables as far apart as you like, and nothing is protected.
Theorem (key ``post-processing``).  A function of the answer alone costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from discreet.accounting.arguments import checked_name
from discreet.accounting.node import Node, checked_node
from discreet.loss.limits import checked_count

__all__ = ["Group", "Post"]


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
    distance: int | None

    def __init__(self, child: Node, *, distance: float) -> None:
        """Take a node, and how many rows one row can become: infinity where there is no bound."""
        object.__setattr__(self, "child", checked_node(child))
        endless = isinstance(distance, float) and distance == math.inf
        most = None if endless else checked_count(distance, name="distance", low=0)
        object.__setattr__(self, "distance", most)

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Group({self.child!r}, distance={_inf_or(self.distance)})"

    def title(self) -> str:
        """Say how many rows."""
        if self.distance is None:
            return "One row becomes any number"
        return f"One row becomes up to {self.distance}"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what is released."""
        return (("", self.child),)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Post(Node):
    """Release a function of the answer; it costs what the answer costs.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> print(Post(Leaf(Pure(epsilon=1)), name="rounded"))
    Post: rounded
    └── Pure(epsilon=1)
    """

    child: Node
    name: str

    def __init__(self, child: Node, *, name: str = "") -> None:
        """Take a node, and what to call the function."""
        object.__setattr__(self, "child", checked_node(child))
        object.__setattr__(self, "name", checked_name(name))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Post({self.child!r}{f', name={self.name!r}' if self.name else ''})"

    def title(self) -> str:
        """Name the function."""
        return f"Post: {self.name}" if self.name else "Post"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what is processed."""
        return (("", self.child),)


def _inf_or(distance: int | None) -> str:
    return "math.inf" if distance is None else str(distance)
