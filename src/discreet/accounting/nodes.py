"""Compositions as trees: leaves, sequences, repeats and choices, and drawings.

Trust: kernel.

Definition.  A tree says which releases are made of one table, before any of them is made.  Its
leaves are releases; an inner node says how those below it belong together:
    ``a + b``  ``Sequential``: all of them, each perhaps chosen in view of earlier answers;
    ``3 * a``  ``Repeat``: the same release several times, with fresh noise each time;
    ``a | b``  ``Choice``: one of them.  A static choice is made before any answer was seen; an
    adaptive one may depend on answers, also on those of releases beside it in the tree.
Everything is read and refused when a node is made, before anything is priced.
A sequence loses the product of what its members lose (key ``dominating-pair``).  A static choice
loses what its costliest alternative does, after everything around it was composed; an adaptive one
is replaced by one loss above all before that (key ``adaptive-choice``).

Definition.  A leaf runs its source once, on one input that is computed from the rows it sees.  The
source is a mechanism, which is priced at the distance that the input moves, or a loss, which is the
price of one step of the relation it is certified for.  ``price(r, i)`` bounds the loss between its
table and the same table with r rows removed and i others inserted.
Assumes, for ``local``: the source is run on each row by itself, and the rows are as many in all
tables.

Theorem (key ``bounded-parallel``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
Let a source be epsilon-DP under ``replace`` on the tables of its own part.  When a record of one
part is replaced by a record of another, the part changes its size, and such tables are infinitely
far apart under ``replace``: the certificate says nothing.  The exact number of rows is 0-DP under
``replace``, and says for each part whether it lost a record.
Two kinds of certificate do hold: for ``add_remove``, where the parts of both records are charged;
and for ``replace`` on the whole table (``common_domain``), where both are charged too, so that the
loss is the largest sum over two different parts.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from discreet.accounting.leaf_price import (
    FREE,
    UNPROTECTED,
    Source,
    exact_price,
    price_up_to,
)
from discreet.doors import Explainable
from discreet.errors import NotComposable, OutOfRange, WrongKind
from discreet.exact import ExactNumber, freeze, instance, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.loss.parameters import checked_count
from discreet.mechanisms import Gaussian, Laplace, Mechanism
from discreet.mechanisms.mechanism import factor
from discreet.notebook import Shown, short_repr
from discreet.units import PrivacyUnit, Relation

_LONGEST: Final = 200
_MOST_COORDINATES: Final = 10**12


class Node(Explainable, Shown, ABC):
    """A release, or several that belong together; frozen, and made of public values alone."""

    __slots__ = ("_hashed",)

    _hashed: int
    """The hash, once it was worked out; no part of the value, and not copied with it."""

    child: Node
    """What is below a node with one branch."""

    @abstractmethod
    def title(self) -> str:
        """Say on one line what the node is."""

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return the nodes directly below, each with a label, perhaps an empty one."""
        return (("", self.child),)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, each before those below it."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if branches := node.branches():
                waiting.extend([child for _, child in reversed(branches)])

    def __add__(self, other: Node) -> Sequential:
        both = ((n.children if isinstance(n, Sequential) else (n,)) for n in (self, other))
        return Sequential(*(child for children in both for child in children))

    def __mul__(self, count: int) -> Repeat:
        return Repeat(self, count)

    __rmul__ = __mul__

    def __or__(self, other: Node) -> Choice:
        """Release one of the two, chosen before any answer is seen."""
        both = (
            (n.children if isinstance(n, Choice) and not n.adaptive else (n,))
            for n in (self, other)
        )
        return Choice(*(child for children in both for child in children))

    def __repr__(self) -> str:
        given: list[str] = []
        for each in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if each.name == "children":
                given += map(repr, value)
            elif each.default is dataclasses.MISSING and not each.kw_only:
                given.append(repr(value))
            elif value != each.default:
                given.append(f"{each.name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        return drawn(self)


def _shown(value: object) -> str:
    if isinstance(value, Relation):
        return repr(value.value)
    if isinstance(value, PrivacyUnit):
        names = f"name={value.name!r}, columns={value.columns!r}"
        return f"PrivacyUnit({names}, relation={value.relation.value!r})"
    return repr(value)


def checked_node(value: object) -> Node:
    """Return the value if it is a node, and refuse it otherwise."""
    if not isinstance(value, Node):
        raise WrongKind(
            f"a {type(value).__name__} is not a node of a composition; wrap a mechanism or a "
            "loss: Leaf(Laplace(scale=2)), Leaf(Pure(epsilon=1))."
        )
    return value


def checked_name(value: object) -> str:
    """Return a name to show: printable text on one line, perhaps empty."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST:
        raise WrongKind(
            f"a name is not one line of at most {_LONGEST} printable characters; give a short "
            "text, or leave the name out."
        )
    return value


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

    def __init__(self, *children: Node) -> None:
        """Take any number of nodes; without any, nothing is released."""
        freeze(self, children=tuple(map(checked_node, children)))

    def title(self) -> str:
        return "Sequential"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        return tuple(("", child) for child in self.children)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Repeat(Node):
    """Release the same a number of times, with fresh noise.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> 3 * Leaf(Pure(epsilon=1))
    Repeat(Leaf(Pure(epsilon=Fraction(1, 1))), 3)
    """

    child: Node
    count: int

    def __post_init__(self) -> None:
        freeze(self, child=checked_node(self.child), count=checked_count(self.count, low=0))

    def title(self) -> str:
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
    adaptive: bool = False

    def __init__(self, *children: Node, adaptive: bool = False) -> None:
        if not children:
            raise OutOfRange(
                "a choice has no alternatives; give at least one node; Sequential() is the "
                "release of nothing."
            )
        freeze(
            self,
            children=tuple(map(checked_node, children)),
            adaptive=instance(adaptive, bool, name="adaptive"),
        )

    def title(self) -> str:
        return "Choice, in view of answers" if self.adaptive else "Choice, made in advance"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        return tuple(("", child) for child in self.children)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Post(Node):
    """Release a function of the answer; it costs what the answer costs.

    Theorem (key ``post-processing``).  A function of the answer alone costs nothing.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> print(Post(Leaf(Pure(epsilon=1)), name="rounded"))
    Post: rounded
    └── Pure(epsilon=1)
    """

    child: Node
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        checked_node(self.child)
        checked_name(self.name)

    def title(self) -> str:
        return f"Post: {self.name}" if self.name else "Post"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Leaf(Node):
    """One release.

    >>> from discreet.mechanisms import Laplace
    >>> count = Leaf(Laplace(scale=2), name="visits", replaced=0)
    >>> count.price(1, 0).epsilon(delta=0), count.price(1, 1).epsilon(delta=0)
    (0.5, 0.0)
    >>> total = Leaf(Laplace(scale=20), added=10, replaced=10)  # a sum of values from 0 to 10
    >>> total.price(1, 1).epsilon(delta=0), total.price(2, 1).epsilon(delta=0)
    (0.5, 1.0)
    >>> Leaf(Pure(epsilon="0.1")).price(1, 1)
    Pure(epsilon=Fraction(1, 5))
    """

    source: Source
    name: str = ""
    relation: Relation = Relation.ADD_REMOVE
    unit: PrivacyUnit | None = None
    added: Fraction = Fraction(1)
    replaced: Fraction | PrivacyLoss | None = None
    common_domain: bool = False
    coordinates: int = 1

    def __init__(  # noqa: PLR0913  each says something else about the certificate
        self,
        source: Source,
        *,
        name: str = "",
        relation: Relation | str | None = None,
        unit: PrivacyUnit | None = None,
        added: ExactNumber | float = 1,
        replaced: ExactNumber | float | PrivacyLoss | None = None,
        common_domain: bool = False,
        coordinates: int = 1,
    ) -> None:
        """Take a mechanism or a loss, and for whom it is certified.

        Args:
            source: a mechanism, or the loss of one step of the relation.
            name: what to call it in drawings.
            relation: which tables are neighbors for the source; that of the source or the unit if
                it has one, otherwise add_remove.
            unit: whom the source protects; None stands for rows.
            added: by how much one step of the relation moves the input of the mechanism.
            replaced: by how much replacing one row moves it, if that is known to be less than
                twice as much (0 for a count of all rows); or the loss if one row is replaced.
            common_domain: under ``replace``, that the certificate covers a record replaced anywhere
                in the whole table, though the leaf reads only its part.
            coordinates: in how many places inputs may differ at all, for noise on vectors.
        """
        kind = _relation_of(source, relation, unit)
        whole_table = instance(common_domain, bool, name="common_domain")
        if whole_table and kind is not Relation.REPLACE:
            raise WrongKind(
                f"common_domain is given under the relation {kind.value!r}; leave it out, or "
                "certify the source for 'replace' on whole tables."
            )
        places = whole(coordinates, name="coordinates", low=1, high=_MOST_COORDINATES)
        if places > 1 and not isinstance(source, Laplace | Gaussian):
            raise WrongKind("coordinates are given for a source that has none; leave them out.")
        freeze(
            self,
            source=source,
            name=checked_name(name),
            relation=kind,
            unit=unit if unit is not None and unit.columns else None,
            added=_distance_added(source, added),
            replaced=_when_replaced(source, replaced, kind),
            common_domain=whole_table,
            coordinates=places,
        )

    def __hash__(self) -> int:
        """Return what equal leaves share, worked out once: prices are looked up by leaves."""
        try:
            return self._hashed
        except AttributeError:
            parts = tuple(getattr(self, each.name) for each in dataclasses.fields(self))
            freeze(self, _hashed=hash(parts))
            return self._hashed

    def title(self) -> str:
        return f"{self.name}: {short_repr(self.source)}" if self.name else short_repr(self.source)

    def branches(self) -> tuple[tuple[str, Node], ...]:
        return ()

    def price(self, removed: int, inserted: int) -> PrivacyLoss:
        """Return the loss if ``removed`` rows leave the table and ``inserted`` others enter it.

        If ``unit`` is set, units are counted in place of rows.  For a leaf with ``common_domain``
        the rows of the whole table are counted, not those of its part.  The ``remove`` side of the
        loss belongs to tables that lose rows, the ``add`` side to those that gain some; if both
        happen, each side holds both ways.

        >>> Leaf(Pure(epsilon=1), relation="replace").price(1, 0)
        Approximate(epsilon=Fraction(0, 1), delta=Fraction(1, 1))
        """
        return self._price(exact_price, removed, inserted)

    def price_up_to(self, removed: int, inserted: int) -> PrivacyLoss:
        """Return a loss for every change of at most ``removed`` and ``inserted`` rows.

        It can exceed the price of exactly that many: two rows for two others leave a count
        alone, and two for one do not.

        >>> count = Leaf(Pure(epsilon=1), replaced=0)
        >>> count.price(2, 2), count.price_up_to(2, 2)
        (Pure(epsilon=Fraction(0, 1)), Pure(epsilon=Fraction(2, 1)))
        """
        return self._price(price_up_to, removed, inserted)

    def _price(
        self, rule: Callable[[Leaf, int, int], PrivacyLoss], removed: int, inserted: int
    ) -> PrivacyLoss:
        gone = whole(removed, name="removed", low=0)
        come = whole(inserted, name="inserted", low=0)
        return rule(self, gone, come) if gone or come else FREE


def _relation_of(source: object, relation: object, unit: object) -> Relation:
    """Return the relation that a source is certified for: as given, or as source or unit say."""
    if not isinstance(source, Mechanism | PrivacyLoss):
        raise WrongKind(
            f"a {type(source).__name__} is neither a mechanism nor a privacy loss; give a "
            "mechanism, such as Laplace(scale=2), or a loss, such as Pure(epsilon=1)."
        )
    sayings = [
        None if relation is None else Relation.read(relation),
        getattr(source, "relation", None),
        None if unit is None else instance(unit, PrivacyUnit, name="unit").relation,
    ]
    said = [saying for saying in sayings if isinstance(saying, Relation)]
    if len(set(said)) > 1:
        names = " and ".join(sorted({repr(saying.value) for saying in said}))
        raise WrongKind(
            f"the leaf, its source and its unit name different relations: {names}; name one "
            "relation throughout, the one that the source is certified for."
        )
    return said[0] if said else Relation.ADD_REMOVE


def _distance_added(source: Source, added: object) -> Fraction:
    """Read how far one step of the relation moves the input."""
    distance = factor(added, name="added")
    if distance != 1 and (isinstance(source, PrivacyLoss) or _counts_steps(source)):
        raise OutOfRange(
            f"added is given for a {type(source).__name__}, and is not 1; leave "
            "it out; if one row becomes several, say Group(leaf, distance=...)."
        )
    return distance


def _when_replaced(
    source: Source, replaced: object, relation: Relation
) -> Fraction | PrivacyLoss | None:
    """Read what is known if a row is replaced: a distance, a loss, or nothing."""
    if replaced is None:
        return None
    if relation.replaces:
        raise WrongKind(
            f"replaced is given under the relation {relation.value!r}; leave it out, or certify "
            "the source for 'add_remove'."
        )
    if isinstance(replaced, PrivacyLoss):
        return replaced
    distance = factor(replaced, name="replaced")
    if isinstance(source, PrivacyLoss) and distance == 0:
        return FREE
    if isinstance(source, PrivacyLoss) or _counts_steps(source):
        raise WrongKind(
            "replaced is a number, but the source knows no distance of its answers; give the "
            "loss if one row is replaced, or leave it out."
        )
    return distance


def _counts_steps(source: Source) -> bool:
    return isinstance(getattr(source, "relation", None), Relation)


def exact_size(name: str = "") -> Leaf:
    """Return the leaf that says how many rows there are, exactly.

    It is free if rows are replaced, and unprotected if one is added or removed.

    >>> exact_size().price(1, 1)
    Pure(epsilon=Fraction(0, 1))
    >>> exact_size().price(1, 0).delta(epsilon=10)
    1.0
    """
    return Leaf(UNPROTECTED, name=name, replaced=Pure(epsilon=0))


def refuse_bounded(node: Node, *, where: str) -> Node:
    """Return a node that may run on a part of the table, or say that it may not."""
    for leaf in checked_node(node).walk():
        if isinstance(leaf, Leaf) and leaf.relation.size_is_public and not leaf.common_domain:
            called = f"the leaf {leaf.name!r}" if leaf.name else "a leaf"
            raise NotComposable(
                what=f"{called} inside {where} is certified for {leaf.relation.value!r} only.",
                why="replacing a record can change how many rows a part has, and such a "
                "certificate says nothing about tables of different size (key bounded-parallel).",
                do="certify it for 'add_remove'; or, if it covers a record replaced anywhere in "
                "the whole table, say relation='replace', common_domain=True.",
            )
    return node
