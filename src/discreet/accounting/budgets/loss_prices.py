"""What a loss costs, in the terms in which budgets are kept.

Trust: kernel.

Each function returns numbers that are true of every release with that loss, together with a delta:
outside an event whose chance is at most delta and does not depend on the data, the numbers hold.
None means that no such numbers are known.  The ways go in one direction (key ``filter-admission``):

    epsilon       from a pure bound; from (epsilon, delta); from any profile at a named delta
    rho           from a concentrated loss, a pure one (key ``pure-to-concentrated``), and through
                  (epsilon, delta); a product of pairs by its own divergences, perhaps outside an
                  event (key ``approximately-concentrated``)
Where a delta is named, samples have a rho outside an event of that chance (key
``truncated-concentration``).

Theorem.  An (epsilon, delta)-private release is a function of a coin, which falls with chance delta
whatever the data, and of randomized response (key ``randomized-response``); so outside that event
it is epsilon-private.  A delta is never dropped: it is charged beside the numbers.

Theorem (key ``filter-admission``; Kairouz, Oh and Viswanath 2015, theorem 3.4, for the event).  A
release is charged numbers that hold outside an event whose chance does not depend on the data; an
(eps, delta)-private one is eps-private outside such an event.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.loss import Approximate, PrivacyLoss, Profile, Pure
from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_loss
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import Pair
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import approximately_concentrated, concentration, truncated_rho

_NONE = Fraction(0)

Price = tuple[Fraction, Fraction]
"""A number, and the chance of the event outside which it holds."""


def in_order(loss: PrivacyLoss) -> PrivacyLoss:
    """Return an equal loss whose pairs and alternatives are in one order, so that sums round alike.

    >>> one, other = Pure(epsilon="0.1").profile(), Pure(epsilon="0.3").profile()
    >>> loss = in_order(one.compose(other)), in_order(other.compose(one))
    >>> loss[0].remove[0].pairs == loss[1].remove[0].pairs
    True
    """
    if not isinstance(loss, Profile):
        return loss
    remove = _sorted(loss.remove)
    add = remove if loss.add is loss.remove else _sorted(loss.add)
    return Profile(remove=remove, add=add, indivisible=loss.indivisible)


def _sorted(side: tuple[Composition, ...]) -> tuple[Composition, ...]:
    ordered = (Composition(tuple(sorted(each.pairs, key=_spelled)), each.renyi) for each in side)
    return tuple(sorted(ordered, key=lambda each: _spelled((each.pairs, each.renyi))))


def _spelled(value: object) -> str:
    """Return a text by which values are put in order; Python prints no integer of 4,300 digits."""
    if isinstance(value, Fraction):
        return f"{value.numerator:x}/{value.denominator:x}"
    if isinstance(value, int):
        return f"{value:x}"
    if isinstance(value, tuple):
        return f"({','.join(map(_spelled, value))})"
    if dataclasses.is_dataclass(value):
        shown = (getattr(value, each.name) for each in dataclasses.fields(value) if each.repr)
        return type(value).__name__ + _spelled(tuple(shown))
    return repr(value)


def point_price(loss: PrivacyLoss, delta: Fraction | None = None) -> Price | None:
    """Return an epsilon and a delta; at the delta that is named, if one is.

    >>> from discreet.loss import GaussianDP, Pure
    >>> point_price(Pure(epsilon="0.1")) == (Fraction(1, 10), 0)
    True
    >>> point_price(GaussianDP(mu=1)) is None
    True
    >>> round(float(point_price(GaussianDP(mu=1), Fraction(1, 10**5))[0]), 9)
    4.377178096
    """
    if delta is not None:
        return _point_at(loss, delta)
    bound = loss.pure_bound()
    if bound is not None:
        return bound, _NONE
    if isinstance(loss, Approximate):
        return loss.epsilon_bound, loss.delta_bound
    return _worst_of(loss, _pair_point)


def _point_at(loss: PrivacyLoss, delta: Fraction) -> Price | None:
    """Return an epsilon at a delta: a float, or the sum of exact ones where that is less."""
    epsilon = loss.epsilon(delta=delta)
    if math.isinf(epsilon):
        return None
    exact = point_price(loss)
    bounds = [Fraction(epsilon), *([exact[0]] if exact is not None and exact[1] <= delta else [])]
    return min(bounds), delta


def concentrated_price(loss: PrivacyLoss, delta: Fraction | None = None) -> Price | None:
    """Return a rho and a delta.

    >>> from discreet.loss import Approximate, GaussianDP
    >>> concentrated_price(GaussianDP(mu=1)) == (Fraction(1, 2), 0)
    True
    >>> rho, delta = concentrated_price(Approximate(epsilon=1, delta="1e-9"))
    >>> float(rho), float(delta)
    (0.4621171572600098, 1e-09)
    """
    prices = []
    known = loss.concentrated()
    if known is not None:
        prices.append((known, _NONE))
    point = point_price(loss, delta)
    if point is not None:
        prices.append((Pure(epsilon=point[0]).concentrated(), point[1]))
    products = _worst_of(loss, _pair_rho, _straight)
    if products is not None:
        prices.append(products)
        if products[1]:
            prices.append(approximately_concentrated(loss))
    return min([*prices, *_outside(loss, delta)], default=None)


def _outside(loss: PrivacyLoss, delta: Fraction | None) -> list[Price]:
    """Return the rho of a sample outside an event of a probability that is named for it, if any.

    What runs on a sample rarely loses much, and other losses have no such tails.
    """
    products = dict.fromkeys((*loss.remove, *loss.add)) if isinstance(loss, Profile) else {}
    rare = any(pair.rare_losses for product in products for pair, _ in product.pairs)
    if not delta or not rare:
        return []
    values = [truncated_rho(product, delta) for product in products]
    known = [value for value in values if value is not None]
    return [(max(known), delta)] if len(known) == len(values) else []


def _unknown(curve: RenyiCurve) -> Fraction | None:  # noqa: ARG001  (whatever it is)
    return None


def _straight(curve: RenyiCurve) -> Fraction | None:
    return None if curve.orders else curve.rho


def _worst_of(
    loss: PrivacyLoss,
    price: Callable[[Pair], Price | None],
    bound: Callable[[RenyiCurve], Fraction | None] = _unknown,
) -> Price | None:
    """Add the prices of the pairs of each product, and take the largest over products."""
    products: tuple[Composition, ...] = ()
    if isinstance(loss, Profile):
        products = loss.add if loss.remove is loss.add else (*loss.remove, *loss.add)
    totals = [_sum_of(product, price, bound) for product in products]
    priced = [total for total in totals if total is not None]
    if not priced or len(priced) < len(totals):
        return None
    return max(value for value, _ in priced), max(chance for _, chance in priced)


def _sum_of(
    product: Composition,
    price: Callable[[Pair], Price | None],
    bound: Callable[[RenyiCurve], Fraction | None],
) -> Price | None:
    value = _NONE if product.renyi is None else bound(product.renyi)
    if value is None:
        return None
    chance = _NONE
    for pair, count in product.pairs:
        cost = price(pair)
        if cost is None:
            return None
        value, chance = value + count * cost[0], chance + count * cost[1]
    return value, min(chance, Fraction(1))


def _pair_point(pair: Pair) -> Price | None:
    """Return an epsilon above all finite losses of a pair, and the chance of the infinite ones."""
    hashed: Any = pair
    return _point_of(hashed)


@functools.lru_cache(maxsize=256)  # one pair stands in many products
def _point_of(pair: Pair) -> Price | None:
    if isinstance(pair, ResponsePair):
        return pair.epsilon, pair.delta
    once = ((pair, 1),)
    ways = [Composition(once), Composition(once).reverse()]  # one side alone is no pure bound
    largest = [way.largest() for way in ways]
    if math.isinf(max(largest)):
        return None
    exact = [largest_loss(way) for way in ways]
    bounds = [Fraction(a) if b is None else b for a, b in zip(largest, exact, strict=True)]
    chance = max(Fraction(way.infinity().high) for way in ways)
    return max(*bounds, _NONE), chance


def _pair_rho(pair: Pair) -> Price | None:
    known = concentration(Composition(((pair, 1),)))
    if known is not None:
        return known, _NONE
    point = _pair_point(pair)
    return None if point is None else (Pure(epsilon=point[0]).concentrated(), point[1])
