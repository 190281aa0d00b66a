"""A leaf: one release, what it loses when rows come and go, and where it may not stand.

Trust: kernel.

Definition.  A leaf runs its source once, on one input that is computed from the rows it sees.  The
source is a mechanism, which is priced at the distance that the input moves, or a loss, which is the
price of one step of the relation it is certified for.  ``price(r, i)`` bounds the loss between its
table and the same table with r rows removed and i others inserted.
Assumes, for ``local``: the source is run on each row by itself, and the rows are as many in all
tables; for ``replace_null``: rows keep their places.

Certificates for tables of public size have no place where sizes are secret.

Theorem (key ``bounded-parallel``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
Let a source be epsilon-DP under ``replace`` on the tables of its own part.  When a record of one
part is replaced by a record of another, the part changes its size, and such tables are infinitely
far apart under ``replace``: the certificate says nothing.  The exact number of rows is 0-DP under
``replace``, and tells for each part whether it lost a record.
Two kinds of certificate do hold: for ``add_remove``, where the parts of both records are charged;
and for ``replace`` on the whole table (``common_domain``), where both are charged too, so that the
loss is the largest sum over two different parts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.accounting.tree.certificates import (
    Source,
    checked_name,
    common_domain_of,
    coordinates_of,
    distance_added,
    relation_of,
    when_replaced,
)
from discreet.accounting.tree.leaf_price import FREE, UNPROTECTED, exact_price, price_up_to
from discreet.accounting.tree.node import Node
from discreet.errors import NotComposable
from discreet.exact import ExactNumber, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.notebook import short_repr
from discreet.units import PrivacyUnit, Relation

__all__ = ["UNPROTECTED", "Leaf", "exact_size", "refuse_bounded"]


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
    name: str
    relation: Relation
    unit: PrivacyUnit | None
    added: Fraction
    replaced: Fraction | PrivacyLoss | None
    common_domain: bool
    coordinates: int

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
                twice as much (0 for a count of all rows); or the loss where one row is replaced.
            common_domain: under ``replace``, that the certificate covers a record replaced anywhere
                in the whole table, though the leaf reads only its part.
            coordinates: in how many places inputs may differ at all, for noise on vectors.
        """
        kind = relation_of(source, relation, unit)
        values = {
            "source": source,
            "name": checked_name(name),
            "relation": kind,
            "unit": unit if unit is not None and unit.columns else None,
            "added": distance_added(source, added),
            "replaced": when_replaced(source, replaced, kind),
            "common_domain": common_domain_of(common_domain, kind),
            "coordinates": coordinates_of(source, coordinates),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __hash__(self) -> int:
        """Return what equal leaves share, worked out once: prices are looked up by leaves."""
        try:
            return self._hashed
        except AttributeError:
            parts = (self.source, self.name, self.relation, self.unit, self.added, self.replaced)
            object.__setattr__(
                self, "_hashed", hash((*parts, self.common_domain, self.coordinates))
            )
            return self._hashed

    def __repr__(self) -> str:
        """Show how to make it again."""
        usual = Leaf(self.source)
        fields = ("name", "relation", "unit", "added", "replaced", "common_domain", "coordinates")
        given = [
            f"{field}={_shown(getattr(self, field))}"
            for field in fields
            if getattr(self, field) != getattr(usual, field)
        ]
        return f"Leaf({', '.join([repr(self.source), *given])})"

    def takes_whole(self, columns: Collection[str]) -> bool:
        """Whether it is certified for just this unit."""
        return self.unit is not None and {*columns} == {*self.unit.columns}

    def title(self) -> str:
        """Show the name and the source."""
        return f"{self.name}: {short_repr(self.source)}" if self.name else short_repr(self.source)

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return nothing: a leaf ends its branch."""
        return ()

    def price(
        self, removed: int, inserted: int, *, wanted: Relation | str | None = None
    ) -> PrivacyLoss:
        """Return the loss where ``removed`` rows leave the table and ``inserted`` others enter it.

        If ``unit`` is set, units are counted in place of rows.  For a leaf with ``common_domain``
        the rows of the whole table are counted, not those of its part.  The ``remove`` side of the
        loss belongs to tables that lose rows, the ``add`` side to those that gain some; where both
        happen, each side holds both ways.

        ``wanted`` is the relation between whole tables.  A source that is certified for rows in
        fixed places says nothing where rows have none, which is the case unless it is
        ``replace_null`` or ``local``.

        >>> Leaf(Pure(epsilon=1), relation="replace").price(1, 0)
        Approximate(epsilon=Fraction(0, 1), delta=Fraction(1, 1))
        """
        gone, come = _counts(removed, inserted)
        if gone == come == 0:
            return FREE
        return exact_price(self, gone, come) if self._holds(wanted) else UNPROTECTED

    def price_up_to(
        self, removed: int, inserted: int, *, wanted: Relation | str | None = None
    ) -> PrivacyLoss:
        """Return a loss for every change of at most ``removed`` and ``inserted`` rows.

        It can exceed the price of exactly that many: two rows for two others leave a count
        alone, and two for one do not.

        >>> count = Leaf(Pure(epsilon=1), replaced=0)
        >>> count.price(2, 2), count.price_up_to(2, 2)
        (Pure(epsilon=Fraction(0, 1)), Pure(epsilon=Fraction(2, 1)))
        """
        gone, come = _counts(removed, inserted)
        if gone == come == 0:
            return FREE
        return price_up_to(self, gone, come) if self._holds(wanted) else UNPROTECTED

    def _holds(self, wanted: Relation | str | None) -> bool:
        """Say whether the certificate means anything for neighbors of the wanted relation."""
        places = wanted is not None and Relation.read(wanted).has_places
        return places or self.relation is not Relation.REPLACE_NULL


def exact_size(name: str = "") -> Leaf:
    """Return the leaf that tells how many rows there are, exactly.

    It is free where rows are replaced, and unprotected where one is added or removed.

    >>> exact_size().price(1, 1)
    Pure(epsilon=Fraction(0, 1))
    >>> exact_size().price(1, 0).delta(epsilon=10)
    1.0
    """
    return Leaf(UNPROTECTED, name=name, replaced=Pure(epsilon=0))


def _counts(removed: int, inserted: int) -> tuple[int, int]:
    return whole(removed, name="removed", low=0), whole(inserted, name="inserted", low=0)


def _shown(value: object) -> str:
    if isinstance(value, Relation):
        return repr(value.value)
    if isinstance(value, PrivacyUnit):
        names = f"name={value.name!r}, columns={value.columns!r}"
        return f"PrivacyUnit({names}, relation={value.relation.value!r})"
    return repr(value)


def refuse_bounded(node: Node, *, where: str) -> Node:
    """Return a node that may run on a part of the table, or say that it may not."""
    for leaf in node.walk():
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
