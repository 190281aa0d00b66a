"""Compositions as trees: what every node can do, sequences, repeats and choices, and drawings.

Trust: kernel.

Definition.  A tree says which releases are made of one table, before any of them is made.  Its
leaves are releases; an inner node says how those below it belong together:
    ``a + b``  ``Sequential``: all of them, each perhaps chosen in view of earlier answers;
    ``3 * a``  ``Repeat``: the same release several times, with fresh noise each time;
    ``a | b``  ``Choice``: one of them.  A static choice is made before any answer was seen; an
    adaptive one may depend on answers, also on those of releases beside it in the tree.
Theorem (key ``dominating-pair``).  A sequence loses no more than the product of what its members
lose, also if which member comes next depends on the answers before it.
Theorem (key ``adaptive-choice``).  A static choice loses what its costliest alternative does, after
everything around it has been composed; an adaptive one is replaced by one loss above all
alternatives before anything is composed with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.accounting.tree.certificates import checked_flag
from discreet.doors import Explainable
from discreet.errors import OutOfRange, WrongKind
from discreet.loss.parameters import checked_count
from discreet.notebook import Shown

if TYPE_CHECKING:  # nodes without conditions know no boxes
    from discreet.accounting.scopes.box import Box


def drawn(node: Node, price: Callable[[Node], str] | None = None) -> str:
    """Draw a tree, with a price beside each node if ``price`` is given.

    >>> from discreet.accounting import Leaf, Parallel
    >>> from discreet.loss import Pure
    >>> wards = Parallel("ward", {"A": Leaf(Pure(epsilon=1)), "B": 2 * Leaf(Pure(epsilon="1/4"))})
    >>> print(drawn(wards, price=lambda node: "free" if node is wards else "?"))
    Parallel by ward           free
    ├── 'A': Pure(epsilon=1)      ?
    └── 'B': 2 times              ?
        └── Pure(epsilon=1/4)     ?
    """
    rows = list(_rows(node, "", "", ""))
    if price is None:
        return "\n".join(text for text, _ in rows)
    prices = [price(below) for _, below in rows]
    left, right = max(len(text) for text, _ in rows), max(len(text) for text in prices)
    return "\n".join(
        f"{text:<{left}}  {cost:>{right}}".rstrip()
        for (text, _), cost in zip(rows, prices, strict=True)
    )


def _rows(node: Node, first: str, rest: str, label: str) -> Iterator[tuple[str, Node]]:
    """Yield each line of a tree and its node; the root has no lines to its left."""
    yield f"{first}{label}{node.title()}", node
    branches = node.branches()
    for number, (name, child) in enumerate(branches, start=1):
        turn, pass_by = ("└── ", "    ") if number == len(branches) else ("├── ", "│   ")
        yield from _rows(child, rest + turn, rest + pass_by, f"{name}: " if name else "")


class Node(Explainable, Shown, ABC):
    """A release, or several that belong together; frozen, and made of public values alone."""

    __slots__ = ("_hashed",)

    _hashed: int
    """The hash, once it was worked out; no part of the value, and not copied with it."""

    child: Node
    """What is below a node with one branch."""

    passes_rows: ClassVar[bool] = False
    """Whether the node looks at no row itself: what it costs a unit is known from its leaves."""

    def takes_whole(self, columns: Collection[str]) -> bool:  # noqa: ARG002  (leaves and samples ask)
        """Whether all rows of a unit, named by these columns, count as one here."""
        return self.passes_rows

    @abstractmethod
    def title(self) -> str:
        """Say on one line what the node is."""

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return the nodes directly below, each with a label, perhaps an empty one."""
        return (("", self.child),)

    def regions(
        self,
        shared: Callable[[str], bool],  # noqa: ARG002  (few nodes ask)
    ) -> tuple[tuple[Box, Node], ...] | None:
        """Return the nodes below, each with the box of units that it is about.

        ``shared`` says whether all rows of a unit have one value in a column.  None where the
        releases below are not about disjoint boxes of units.
        """
        return None

    def overlapping_key(self) -> str | None:
        """Return the key that can have several values in one record, if there is one."""
        return None

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, each before those below it."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if branches := node.branches():
                waiting.extend([child for _, child in reversed(branches)])

    def __add__(self, other: Node) -> Sequential:
        """Release both."""
        return Sequential(*_members(self), *_members(other))

    def __mul__(self, count: int) -> Repeat:
        """Release this many times."""
        return Repeat(self, count)

    def __rmul__(self, count: int) -> Repeat:
        """Release this many times."""
        return Repeat(self, count)

    def __or__(self, other: Node) -> Choice:
        """Release one of the two, chosen before any answer is seen."""
        return Choice(*_alternatives(self), *_alternatives(other))

    def __str__(self) -> str:
        """Draw the tree."""
        return drawn(self)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sequential(Node):
    """Release everything below, in turn; later releases may depend on earlier answers.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> one = Leaf(Pure(epsilon=1))
    >>> one + one + one
    Sequential(Leaf(Pure(epsilon=Fraction(1, 1))), Leaf(Pure(epsilon=Fraction(1, 1))),
               Leaf(Pure(epsilon=Fraction(1, 1))))
    """

    children: tuple[Node, ...]

    passes_rows: ClassVar[bool] = True

    def __init__(self, *children: Node) -> None:
        """Take any number of nodes; without any, nothing is released."""
        object.__setattr__(self, "children", tuple(checked_node(child) for child in children))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Sequential({', '.join(repr(child) for child in self.children)})"

    def title(self) -> str:
        """Name the node."""
        return "Sequential"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return the members."""
        return tuple(("", child) for child in self.children)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Repeat(Node):
    """Release the same a number of times, with fresh noise.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> 3 * Leaf(Pure(epsilon=1))
    Repeat(Leaf(Pure(epsilon=Fraction(1, 1))), 3)
    """

    child: Node
    count: int

    passes_rows: ClassVar[bool] = True

    def __init__(self, child: Node, count: int) -> None:
        """Take a node and how often it is released."""
        object.__setattr__(self, "child", checked_node(child))
        object.__setattr__(self, "count", checked_count(count, low=0))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Repeat({self.child!r}, {self.count})"

    def title(self) -> str:
        """Say how often."""
        return f"{self.count} times"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Choice(Node):
    """Release one of several; ``adaptive`` if answers may decide which.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure, ZeroConcentrated
    >>> print(Leaf(Pure(epsilon=1)) | Leaf(ZeroConcentrated(rho="1/2")))
    Choice, made in advance
    ├── Pure(epsilon=1)
    └── ZeroConcentrated(rho=1/2)
    """

    children: tuple[Node, ...]
    adaptive: bool

    passes_rows: ClassVar[bool] = True

    def __init__(self, *children: Node, adaptive: bool = False) -> None:
        """Take at least one alternative."""
        if not children:
            raise OutOfRange(
                what="a choice has no alternatives.",
                why="one of them is released, so there must be one.",
                do="give at least one node; Sequential() is the release of nothing.",
            )
        object.__setattr__(self, "children", tuple(checked_node(child) for child in children))
        object.__setattr__(self, "adaptive", checked_flag(adaptive, name="adaptive"))

    def __repr__(self) -> str:
        """Show how to make it again."""
        shown = ", ".join(repr(child) for child in self.children)
        return f"Choice({shown}{', adaptive=True' if self.adaptive else ''})"

    def title(self) -> str:
        """Say who chooses."""
        return "Choice, in view of answers" if self.adaptive else "Choice, made in advance"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return the alternatives."""
        return tuple(("", child) for child in self.children)


def checked_node(value: object) -> Node:
    """Return the value if it is a node, and refuse it otherwise."""
    if not isinstance(value, Node):
        raise WrongKind(
            what=f"a {type(value).__name__} is not a node of a composition.",
            why="a tree is made of nodes, and its releases are its leaves.",
            do="wrap a mechanism or a loss: Leaf(Laplace(scale=2)), Leaf(Pure(epsilon=1)).",
        )
    return value


def _members(node: Node) -> tuple[Node, ...]:
    return node.children if isinstance(node, Sequential) else (node,)


def _alternatives(node: Node) -> tuple[Node, ...]:
    return node.children if isinstance(node, Choice) and not node.adaptive else (node,)
