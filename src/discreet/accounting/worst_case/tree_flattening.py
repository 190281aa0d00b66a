"""From a tree to its terms: every leaf behind the conditions above it, other nodes kept whole.

Trust: kernel.  A leaf that is left out, or put behind one condition too many, costs nothing there.

Sequences, repeats, parts, conditions and post-processing are flattened: they only say which leaves
are released, how often, and of which records.  Samples, shuffles, choices and routed parts stay
nodes around products of terms, since what they cost is no sum of what is inside.
Preprocessing that multiplies rows is flattened where all rows are looked at alike; otherwise the
rows that a row becomes may lie in other cells than the row itself, and the node stays whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from discreet.accounting.scopes.value_set import Values
from discreet.accounting.tree.leaf import Leaf
from discreet.accounting.tree.node import Choice, Node, Repeat, Sequential
from discreet.accounting.tree.parallel import Parallel, Where
from discreet.accounting.tree.processing import Group, Post, Sampled, Shuffled
from discreet.accounting.worst_case.tree_terms import (
    AFTER,
    ANYONE,
    BEFORE,
    BOTH,
    Conditions,
    ForbiddenCells,
    Item,
    LeafTerm,
    Product,
    TreeTerms,
    WrappedTerm,
    WrapperKind,
)


def flatten_tree(terms: TreeTerms, tree: Node, impossible: Iterable[Conditions]) -> Product:
    """Return the product of a tree and of what no record can be, seen from both sides."""
    counts = _flat(terms, tree, {}, 0)
    for conditions in impossible:
        for side in (BEFORE, AFTER):
            counts[terms.number(ForbiddenCells(conditions, side))] = 1
    return terms.product(counts)


def _flat(  # noqa: PLR0911  (one return for each kind of node)
    terms: TreeTerms, node: Node, path: Mapping[str, int], spread: int | None
) -> Counter[Item]:
    match node:
        case Leaf():
            touch = LeafTerm(terms.leaf(node), spread, _sorted(path), BOTH)
            return Counter({terms.number(touch): 1})
        case Sequential(children=children):
            return _sum(_flat(terms, child, path, spread) for child in children)
        case Repeat(child=child, count=count):
            flat = _flat(terms, child, path, spread)
            return Counter({item: number * count for item, number in flat.items()})
        case Parallel(routed=False):
            return _sum(
                _flat(terms, part.child, narrower, spread)
                for part in node.parts
                if (narrower := _narrowed(terms, path, {node.key: part.values})) is not None
            )
        case Where(box=box, child=child):
            narrower = None if box.empty else _narrowed(terms, path, dict(box.conditions))
            return Counter() if narrower is None else _flat(terms, child, narrower, spread)
        case Group(distance=0):
            return Counter()
        case Group(child=child, distance=distance) if _plain(child):
            return _flat(terms, child, path, _spread(spread, distance))
        case Post(child=child):
            return _flat(terms, child, path, spread)
        case _:
            return Counter({terms.number(_wrapped(terms, node, path, spread)): 1})


def _wrapped(
    terms: TreeTerms, node: Node, path: Mapping[str, int], spread: int | None
) -> WrappedTerm:
    def inner(child: Node, spread: int | None = spread) -> Product:
        return terms.product(_flat(terms, child, path, spread))

    def apart(child: Node) -> Product:
        """Look at tables with and without the rows, which no certificate for replace covers."""
        covered = not any(isinstance(n, Leaf) and n.common_domain for n in child.walk())
        return inner(child, spread if covered else None)

    def anyone() -> Product:
        return terms.product({terms.number(LeafTerm(ANYONE, spread, _sorted(path), BOTH)): 1})

    match node:
        case Sampled(rate=None, child=child, size=size, population=population):
            parameters = (size, population, child, spread, bool(path))
            return WrappedTerm(WrapperKind.FIXED, parameters, (inner(child), anyone()))
        case Group(distance=distance, child=child):  # its rows may lie in other cells
            return WrappedTerm(WrapperKind.GROUPED, (distance, child, spread), (anyone(),))
        case Sampled(rate=rate, child=child, unit=unit):
            together = () if unit is None else tuple(sorted(unit.columns))
            return WrappedTerm(WrapperKind.POISSON, (rate, together), (apart(child),))
        case Shuffled(population=population, child=child):
            return WrappedTerm(WrapperKind.SHUFFLED, (population,), (inner(child),))
        case Choice(children=choices, adaptive=adaptive):
            kind = WrapperKind.ADAPTIVE if adaptive else WrapperKind.STATIC
            return WrappedTerm(kind, (), tuple(sorted({inner(child) for child in choices})))
        case Parallel(parts=parts):
            routes = tuple(sorted(apart(part.child) for part in parts))
            return WrappedTerm(WrapperKind.ROUTED, (), routes)
        case _:
            raise TypeError(type(node))  # pragma: no cover  (every kind of node is listed)


def _sum(counters: Iterable[Counter[Item]]) -> Counter[Item]:
    total: Counter[Item] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _narrowed(
    terms: TreeTerms, path: Mapping[str, int], conditions: Mapping[str, Values]
) -> dict[str, int] | None:
    """Meet further conditions; None where no record meets all."""
    narrower = dict(path)
    for column, values in conditions.items():
        mask = terms.columns.mask(column, values) & narrower.get(column, -1)
        if mask == 0:
            return None
        narrower[column] = mask
    return {c: mask for c, mask in narrower.items() if mask != terms.columns.full(c)}


def _spread(before: int | None, distance: int | None) -> int | None:
    """Multiply how many rows one row becomes; None where there is no bound."""
    return None if before is None or distance is None else max(before, 1) * distance


def _plain(node: Node) -> bool:
    """Say whether a node looks at all rows alike, in the same way under every choice."""
    return all(isinstance(below, Leaf | Sequential | Repeat | Post) for below in node.walk())


def _sorted(path: Mapping[str, int]) -> Conditions:
    return tuple(sorted(path.items()))
