"""Account for a tree: what one unit can lose by everything that it releases.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the accountant is loaded when it is called: a question is priced by its leaf
    from discreet.accounting.scopes.box import Box
    from discreet.accounting.scopes.contribution import Contribution
    from discreet.accounting.tree.node import Node
    from discreet.accounting.worst_case.statement import Statement
    from discreet.units import PrivacyUnit, Relation

__all__ = ["account"]


def account(
    tree: Node,
    *,
    relation: Relation | str | None = None,
    unit: PrivacyUnit | None = None,
    contribution: Contribution | None = None,
    impossible: Iterable[Box | Mapping[str, object]] = (),
) -> Statement:
    """Account for a tree: what one unit can lose by everything that it releases.

    Give ``unit``, or just ``relation`` to protect rows.  ``contribution`` limits what belongs to
    one unit.  ``impossible`` lists combinations of values that no record of the domain has.

    >>> from discreet.accounting import Leaf, Parallel
    >>> from discreet.mechanisms import Laplace
    >>> wards = Parallel("ward", {"A": Leaf(Laplace(scale=1)), "B": Leaf(Laplace(scale=2))})
    >>> account(wards, relation="add_remove").epsilon(delta=0)
    1.0
    """
    from discreet.accounting.worst_case.accountant import statement_of  # noqa: PLC0415  as above

    return statement_of(
        tree, relation=relation, unit=unit, contribution=contribution, impossible=impossible
    )
