"""Tables behind commas: which conditions join them, and in which order.

Trust: kernel.

Definition.  The *leaves* of a relation are what its inner and cross joins put together.  A filter
over joins, at least one of which is a cross join, is computed as a chain of joins of the leaves:
each condition that compares columns of the leaves so far with columns of the next one is a
condition of that join, and all other conditions are a filter above.
Theorem.  That is the same relation.
Proof.  A row of either is one row of each leaf, for which all conditions are true.  A condition
that holds in every branch of an OR is true wherever the OR is; joining on it leaves out only rows
that the OR leaves out.
The joins are those of :mod:`discreet.plan.binding.joins`, with all that is proved there, so that
the order decides how many rows are kept of anyone who has very many, and nothing about privacy.

The chain begins with the leaf from which most others are found by their keys, so that few joins
multiply rows, and public tables that are not compared with each other never meet by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from discreet.plan.binding.fan_out import FanOut
from discreet.plan.binding.joins import determined, equalities, join_on, within_units
from discreet.plan.binding.names import BoundRelation, condition
from discreet.plan.binding.value_facts import Facts
from discreet.query.expressions import (
    Call,
    Column,
    Expression,
    conjunction,
    conjuncts,
    walk,
)
from discreet.query.relations import Join, Relation
from discreet.query.source_text import Span

Leaves = tuple[list[BoundRelation], list[Expression]]
"""Bound leaves in the order in which they are written, and the bound conditions between them."""


def has_cross_join(relation: Relation) -> bool:
    """Whether inner and cross joins are at the top of a relation, a cross join among them.

    >>> from discreet.query.relations import Table
    >>> has_cross_join(Join(Table("a"), Table("b"), "cross"))
    True
    """
    return _is_plain(relation) and (
        relation.kind == "cross" or any(map(has_cross_join, relation.children()))
    )


def _is_plain(relation: Relation) -> TypeGuard[Join]:
    """Whether a relation is a join of all pairs for which a condition holds."""
    return isinstance(relation, Join) and relation.kind in {"inner", "cross"} and not relation.using


def join_leaves(relation: Relation, bind: Callable[[Relation], BoundRelation]) -> Leaves:
    """Bind the leaves of a relation, and the conditions of its joins."""
    if not _is_plain(relation):
        return [bind(relation)], []
    (left, met), (right, others) = (join_leaves(side, bind) for side in relation.children())
    leaves, conditions = [*left, *right], [*met, *others]
    if relation.on is not None:
        conditions += conjuncts(condition(relation.on, side_by_side(leaves)))
    return leaves, conditions


def side_by_side(leaves: Sequence[BoundRelation]) -> BoundRelation:
    """Return the columns of several relations, to bind names to; the rest is that of the first."""
    return replace(leaves[0], fields=tuple(field for leaf in leaves for field in leaf.fields))


def join_all(
    leaves: Leaves,
    predicates: Sequence[Expression],
    limit: FanOut,
    span: Span | None,
) -> tuple[BoundRelation, Expression | None]:
    """Join leaves on their conditions, and on predicates that are not bound yet.

    Return the joined rows, and the condition that is left to filter them by, if there is one.
    """
    relations, conditions = leaves
    every = side_by_side(relations)
    bound = [part for each in predicates for part in conjuncts(condition(each, every))]
    waiting = [*conditions, *bound]
    found = [*waiting, *(same for part in waiting for same in _implied(part))]
    rest, chain = list(relations), _first(relations, equalities(conjunction(found)))
    rest.remove(chain)
    while rest:
        chain, used = _extended(chain, rest, found, limit, span)
        waiting = [part for part in waiting if part not in used]
        found = [part for part in found if part not in used]
    places = {field.column: place for place, field in enumerate(every.fields)}
    chain = replace(chain, fields=tuple(sorted(chain.fields, key=lambda f: places[f.column])))
    return chain, conjunction(waiting)


def _implied(predicate: Expression) -> Iterator[Expression]:
    """Yield conditions that hold in all branches of an OR."""
    if isinstance(predicate, Call) and predicate.function == "OR":
        branches = [conjuncts(branch) for branch in predicate.arguments]
        yield from (part for part in branches[0] if all(part in each for each in branches))


def _first(leaves: Sequence[BoundRelation], pairs: set[frozenset[str]]) -> BoundRelation:
    """Return the leaf from which most others are found by keys; private ones come first."""

    def found_by_keys(first: BoundRelation) -> int:
        known = dict(first.facts)
        rest = [leaf for leaf in leaves if leaf is not first]
        count = 0
        while near := next((each for each in rest if _is_keyed(known, each, pairs)), None):
            known |= near.facts
            rest.remove(near)
            count += 1
        return count

    private = [leaf for leaf in leaves if not leaf.public]
    return max(private or leaves, key=found_by_keys)


def _is_keyed(known: Mapping[str, Facts], leaf: BoundRelation, pairs: set[frozenset[str]]) -> bool:
    return leaf.key is not None and determined(known, leaf.facts, pairs) >= set(leaf.key)


def _extended(
    chain: BoundRelation,
    rest: list[BoundRelation],
    found: Sequence[Expression],
    limit: FanOut,
    span: Span | None,
) -> tuple[BoundRelation, list[Expression]]:
    """Join the next leaf, and return the conditions that were used; it is taken off the rest."""

    def rank(leaf: BoundRelation) -> tuple[bool, bool, bool]:
        on = conjunction(_between(chain, leaf, found))
        apart = chain.public or leaf.public or within_units(chain, leaf, on) is not None
        return not apart, not _is_keyed(chain.facts, leaf, equalities(on)), on is None

    leaf = min(rest, key=rank)
    rest.remove(leaf)
    used = _between(chain, leaf, found)
    on = conjunction(used)
    node = Join(chain.relation, leaf.relation, "cross" if on is None else "inner", on, span=span)
    return join_on(node, chain, leaf, on, limit), used


def _between(
    chain: BoundRelation, leaf: BoundRelation, found: Sequence[Expression]
) -> list[Expression]:
    """Return the conditions that compare columns of both, and of nothing else."""
    here, there = chain.facts.keys(), leaf.facts.keys()
    between = []
    for part in dict.fromkeys(found):
        names = {node.name for node in walk(part) if isinstance(node, Column)}
        if names & here and names & there and names <= here | there:
            between.append(part)
    return between
