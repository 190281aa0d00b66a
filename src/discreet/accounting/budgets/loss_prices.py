"""What a loss costs, in the terms in which budgets are kept.

Trust: kernel.

Each function returns numbers that are true of every release with that loss, together with a delta:
outside an event whose chance is at most delta and does not depend on the data, the numbers hold.
None means that no such numbers are known.  The ways go in one direction (key ``filter-admission``):

    epsilon       from a pure bound; from (epsilon, delta); from any profile at a named delta
    rho           from a concentrated loss, a pure one (key ``pure-to-concentrated``), and through
                  (epsilon, delta); a product of pairs by its own divergences, perhaps outside an
                  event (key ``approximately-concentrated``)
    mu**2         from a Gaussian loss, from discrete Gaussian noise (key ``gaussian-smoothing``),
                  and from pure losses (key ``pure-to-gaussian``), pair by pair
    divergences   from any loss, order by order
Where a delta is named, samples have a rho and a mu outside an event of that chance (keys
``truncated-concentration`` and ``gaussian-cover``).

Theorem.  An (epsilon, delta)-private release is a function of a coin, which falls with chance delta
whatever the data, and of randomized response (key ``randomized-response``); so outside that event
it is epsilon-private.  A delta is never dropped: it is charged beside the numbers.

Theorem (key ``filter-admission``; Kairouz, Oh and Viswanath 2015, theorem 3.4, for the event).  A
release is charged numbers that hold outside an event whose chance does not depend on the data; an
(eps, delta)-private one is eps-private outside such an event.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from discreet.loss import (
    Approximate,
    GaussianDP,
    PrivacyLoss,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
    pairs,
)
from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_loss
from discreet.loss.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.pairs.smoothed_gaussian import SmoothedGaussianPair
from discreet.loss.renyi.curve import RenyiCurve
from discreet.loss.renyi.divergences import pure_renyi, pure_to_gaussian_mu
from discreet.loss.renyi.moment_growth import concentration

_NONE = Fraction(0)

Price = tuple[Fraction, Fraction]
"""A number, and the chance of the event outside which it holds."""


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
            prices.append(pairs.profile_operations.approximately_concentrated(loss))
    outside = _outside(loss, delta, "truncated_rho")
    return min([*prices, *outside], default=None)


def gaussian_price(loss: PrivacyLoss, delta: Fraction | None = None) -> Price | None:
    """Return the square of a mu, and a delta.

    >>> from discreet.loss import GaussianDP, ZeroConcentrated
    >>> gaussian_price(GaussianDP(mu=2)) == (4, 0)
    True
    >>> gaussian_price(ZeroConcentrated(rho=1)) is None
    True
    """
    if isinstance(loss, GaussianDP):
        return loss.mu_squared, _NONE
    prices = []
    point = point_price(loss, delta)
    if point is not None:
        prices.append((pure_to_gaussian_mu(epsilon=point[0]) ** 2, point[1]))
    products = _worst_of(loss, _pair_gaussian)
    if products is not None:
        prices.append(products)
    return min([*prices, *_outside(loss, delta, "least_mu")], default=None)


def _outside(loss: PrivacyLoss, delta: Fraction | None, least: str) -> list[Price]:
    """Return the price of samples outside an event of a chance that is named for it, if any.

    What runs on a sample loses little but for a small chance, and then as much as without one.
    Other losses have no such tails, and are priced as before.
    """
    products = dict.fromkeys((*loss.remove, *loss.add)) if isinstance(loss, Profile) else {}
    rare = any(pair.rare_losses for product in products for pair, _ in product.pairs)
    if not delta or not rare:
        return []
    find = getattr(pairs.profile_operations, least)
    values = [find(product, delta) for product in products]
    return [] if None in values else [(max(values), delta)]


def divergence_price(
    loss: PrivacyLoss, orders: Sequence[Fraction], delta: Fraction | None = None
) -> tuple[Fraction, ...] | None:
    """Return the divergences of some orders, and a delta.

    >>> from discreet.loss import ZeroConcentrated
    >>> divergence_price(ZeroConcentrated(rho="0.1"), [Fraction(2), Fraction(5)])
    (Fraction(1, 5), Fraction(1, 2), Fraction(0, 1))
    """
    values = [_divergence(loss, order) for order in orders]
    finite = [value for value in values if value is not None]
    if len(finite) == len(values):
        return (*finite, _NONE)
    point = point_price(loss, delta)
    if point is None:
        return None
    bounds = (Fraction(pure_renyi(epsilon=point[0], order=order)) for order in orders)
    return (*bounds, point[1])


def _divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | None:
    """Return the divergence of an order, exactly where it is known so; None if it is infinite."""
    match loss:
        case ZeroConcentrated(rho=rho):
            return rho * order
        case GaussianDP(mu_squared=square):
            return square * order / 2
        case RenyiDP():
            return loss.curve.at(order)
        case Profile():
            exact = [_straight_sum(product, order) for product in (*loss.remove, *loss.add)]
            sums = [value for value in exact if value is not None]
            return _least(loss, order, max(sums) if len(sums) == len(exact) else None)
        case _:
            return _least(loss, order)


def _least(loss: PrivacyLoss, order: Fraction, exact: Fraction | None = None) -> Fraction | None:
    """Return the divergence as a float that was rounded up, or an exact bound that is less."""
    value = loss.renyi(order=order)
    if math.isinf(value):
        return exact
    return Fraction(value) if exact is None else min(Fraction(value), exact)


def _straight_sum(product: Composition, order: Fraction) -> Fraction | None:
    """Add up exact divergences: those of a curve, and of pairs whose rho is known."""
    rho = concentration(Composition(product.pairs))
    curve = _NONE if product.renyi is None else product.renyi.at(order)
    return None if rho is None or curve is None else rho * order + curve


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


def _pair_gaussian(pair: Pair) -> Price | None:
    match pair:
        case GaussianPair(mu_squared=square):
            return square, _NONE
        case SmoothedGaussianPair(mu_squared=square, leak=leak):
            return square, leak
        case DiscreteGaussianPair(variance=variance, distance=distance):
            smooth = SmoothedGaussianPair.of(variance=variance, squared=distance**2, coordinates=1)
            return None if smooth is None else (smooth.mu_squared, smooth.leak)
        case _:
            point = _pair_point(pair)
            return None if point is None else (pure_to_gaussian_mu(epsilon=point[0]) ** 2, point[1])
