"""Certificates for tables of public size have no place where sizes are secret.

Trust: kernel.

Theorem (key ``bounded-parallel``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
Let a source be epsilon-DP under ``replace`` on the tables of its own part.  When a record of one
part is replaced by a record of another, the part changes its size, and such tables are infinitely
far apart under ``replace``: the certificate says nothing.  The exact number of rows is 0-DP under
``replace``, and tells for each part whether it lost a record.
What does hold: certificates for ``add_remove``, of which the parts of both records are charged; and
certificates for ``replace`` on the whole table (``common_domain``), of which both are charged too,
so that the loss is the largest sum over two different parts.
"""

from __future__ import annotations

from discreet.accounting.leaf import Leaf
from discreet.accounting.node import Node
from discreet.errors import NotComposable

__all__ = ["refuse_bounded"]


def refuse_bounded(node: Node, *, where: str) -> Node:
    """Return a node that may run on a part of the table, or say that it may not.

    >>> from discreet.loss import Pure
    >>> refuse_bounded(Leaf(Pure(epsilon=1)), where="a part")
    Leaf(Pure(epsilon=Fraction(1, 1)))
    """
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
