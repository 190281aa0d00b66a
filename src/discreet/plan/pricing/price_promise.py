"""What an answer may cost, before it is known by which noise it will be protected.

Trust: kernel.  This is charged, so nothing that costs more may follow.

Definition.  A promise is what every answer of a question keeps, whatever bounds are found.  If its
price is divided in epsilon, every part keeps its share: those whose noise does not depend on bounds
are released as they are planned, and every other one with an epsilon that is not above its share.
Otherwise the answer as a whole keeps an epsilon outside an event of chance delta, or a rho.
For prices beyond a million, as tests ask for, nothing is promised at all.
Theorem (key ``bounds-composition``).  Let bounds be found by a release with loss L, and let the
answer, planned from the bounds that were released, keep the promise whatever they are.  Then both
together lose at most L composed with the promise.
Proof.  Given the bounds, each part of the answer is one that was planned, or is epsilon-private, or
the whole is (epsilon, delta)-private, or concentrated by rho outside an event of chance delta.  So
its loss is no larger than that of the worst release of this kind, which does not depend on the
bounds; and losses that hold for every outcome of what came before compose (keys ``filter-basic``,
``filter-concentrated``, ``filter-approximate``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.errors import OutOfRange
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated
from discreet.plan.pricing.calibration import Calibrated, Price
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.pricing.loss_sums import Sum, epsilon_sum, pure_rho, rho_sum
from discreet.plan.pricing.release_composition import composition_of
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.pricing.unpriced_release import UnpricedRelease
from discreet.units import PrivacyUnit, Relation

_NONE: Final = Fraction(0)
_LARGEST: Final = 10**6
_NAME: Final = "answer"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PricePromise:
    """Leaves that stand for an answer, their price, and the shares that its parts keep."""

    price: Price
    leaves: tuple[Node, ...]
    shares: tuple[tuple[ReleaseInput, Fraction], ...] = ()


def promise_of(
    ask: RequestedPrice, sketch: UnpricedRelease, calibrated: Calibrated, scaled: Sequence[str]
) -> PricePromise:
    """Return what every answer keeps, given a plan of it for some bounds.

    Args:
        ask: the price that is asked for.
        sketch: the parts of the answer.
        calibrated: how they would be released for these bounds.
        scaled: the measures whose noise depends on bounds.
    """
    price, unit = calibrated.price, sketch.unit
    if ask.epsilon is None:
        beside = ask.delta if price.beside else _NONE
        rho = ask.rho or _NONE
        losses = [ZeroConcentrated(rho=rho) if rho <= _LARGEST else UNPROTECTED]
        losses += [Approximate(epsilon=_NONE, delta=beside)] if beside else []
        leaves = tuple(_leaf(loss, _NAME, unit) for loss in losses)
        return PricePromise(price=Price(rho=ask.rho, delta=beside, beside=beside), leaves=leaves)
    if calibrated.delta is None:
        return _in_shares(sketch, sketch.epsilons(ask.epsilon), ask.delta, scaled)
    small = ask.epsilon <= _LARGEST
    whole = Approximate(epsilon=ask.epsilon, delta=ask.delta) if small else UNPROTECTED
    return PricePromise(
        price=Price(
            epsilon=ask.epsilon, delta=ask.delta, rho=pure_rho(ask.epsilon), beside=ask.delta
        ),
        leaves=(_leaf(whole, _NAME, unit),),
    )


def with_promised_shares(sketch: UnpricedRelease, promise: PricePromise) -> UnpricedRelease:
    """Give every part the share that was promised, if shares were."""
    shares = dict(promise.shares)
    if not shares:
        return sketch
    if any(part.use not in shares for part in sketch.parts):
        raise _broken()
    return replace(sketch, fixed=tuple(shares[part.use] for part in sketch.parts))


def check_promise(promise: PricePromise, tree: Node, price: Price, unit: PrivacyUnit) -> None:
    """Refuse to go on if an answer costs more than was promised; none is known that does."""
    most = promise.price
    if promise.shares:
        leaves = {_named(node): node for node in promise.leaves}
        fits = all(_fits(node, leaves.get(_named(node)), unit) for node in _nodes(tree))
    elif most.epsilon is not None:
        fits = price.epsilon is not None and price.epsilon <= most.epsilon
        fits = fits and price.delta <= most.delta
    else:
        fits = price.rho is not None and most.rho is not None and price.rho <= most.rho
        fits = fits and price.beside <= most.beside
    if not fits:
        raise _broken()


def composed_with_search(search: Node, promise: PricePromise) -> Node:
    """Return the composition of a search and of the answer."""
    return Sequential(*_nodes(search), *promise.leaves)


def total_price(first: Price, second: Price, delta: Fraction) -> Price:
    """Return what a search and the answer cost; of a rho, epsilon is read off at a delta.

    >>> total_price(Price(epsilon=Fraction(1, 10), rho=Fraction(1, 200)),
    ...     Price(epsilon=Fraction(1, 2)),
    ...      Fraction(0)).epsilon
    Fraction(3, 5)
    """
    rho = None if second.rho is None or first.rho is None else first.rho + second.rho
    beside = second.beside
    if second.epsilon is not None:
        epsilon = None if first.epsilon is None else first.epsilon + second.epsilon
        return Price(epsilon=epsilon, delta=second.delta, rho=rho, beside=beside)
    if rho is None or delta <= beside:
        return Price(delta=beside, rho=rho, beside=beside)
    rest = (delta - beside) / (1 - beside)
    epsilon = Fraction(ZeroConcentrated(rho=rho).epsilon(delta=rest))
    return Price(epsilon=epsilon, delta=delta, rho=rho, beside=beside)


def _in_shares(
    sketch: UnpricedRelease, shares: Sequence[Fraction], delta: Fraction, scaled: Sequence[str]
) -> PricePromise:
    """Promise every part its share of epsilon; what follows from bounds keeps nothing else."""
    unit = sketch.unit
    leaves: list[Node] = []
    epsilons, rhos = (_NONE, _NONE), (_NONE, _NONE)
    for node in _nodes(composition_of(sketch.with_epsilons(shares, delta), unit)):
        point = epsilon_sum(node, unit)
        if point is None:
            raise _broken()
        if _named(node).partition(" at ")[0] in scaled:
            pure = Pure(epsilon=point[0]) if point[0] <= _LARGEST else UNPROTECTED
            leaves.append(_leaf(pure, _named(node), unit))
            one = (pure_rho(point[0]), _NONE)
        else:
            leaves.append(node)
            one = rho_sum(node, unit)
        epsilons, rhos = _added(epsilons, point), _added(rhos, one)
    return PricePromise(
        price=Price(epsilon=epsilons[0], delta=epsilons[1], rho=rhos[0], beside=rhos[1]),
        leaves=tuple(leaves),
        shares=tuple((part.use, share) for part, share in zip(sketch.parts, shares, strict=True)),
    )


def _fits(node: Node, promised: Node | None, unit: PrivacyUnit) -> bool:
    """Say whether a release is the one that was promised, or keeps its epsilon."""
    if node == promised:
        return True
    match promised:
        case Leaf(source=Pure(bound=most)):
            total = epsilon_sum(node, unit)
            return total is not None and total[0] <= most and total[1] == 0
        case Leaf(source=source):
            return source == UNPROTECTED
        case _:
            return False


def _added(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1]


def _nodes(tree: Node) -> Iterator[Node]:
    yield from tree.children if isinstance(tree, Sequential) else (tree,)


def _named(node: Node) -> str:
    leaf = node.child if isinstance(node, Repeat) else node
    return leaf.name if isinstance(leaf, Leaf) else ""


def _leaf(loss: PrivacyLoss, name: str, unit: PrivacyUnit) -> Leaf:
    """Return a leaf that is certified for units that come or go, and for one that is replaced.

    Noise that hides a unit that is replaced hides one that comes or goes: that moves less.
    """
    whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    replaced = loss if unit.relation.replaces else None
    return Leaf(loss, name=name, unit=whose, replaced=replaced)


def _broken() -> OutOfRange:
    return OutOfRange(
        what="an answer within found bounds costs more than was charged for it.",
        why="nothing is answered at a price above the one that was charged.",
        do="report this as a bug.",
    )
