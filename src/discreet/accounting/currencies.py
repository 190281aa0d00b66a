"""Currencies: the terms in which a budget is kept, and what a loss costs in each.

Trust: kernel.

Each function returns numbers that are true of every release with that loss, together with a delta:
outside an event whose probability is at most delta and does not depend on the data, the numbers
hold.  None means that no such numbers are known.  A delta is never dropped: it is charged beside
the numbers.

    epsilon       from a pure bound; from (epsilon, delta), outside an event (key
                  ``randomized-response``); from any profile at a named delta
    rho           from a concentrated loss, a pure one (key ``pure-to-concentrated``), and through
                  (epsilon, delta); a product of pairs by its own divergences, perhaps outside an
                  event (key ``approximately-concentrated``); a sample outside an event of a named
                  probability (key ``truncated-concentration``)

Theorem (key ``filter-admission``; Kairouz, Oh and Viswanath 2015, theorem 3.4, for the event).  A
release is charged numbers that hold outside an event whose probability does not depend on the data;
an (eps, delta)-private one is eps-private outside such an event.

Definition.  A filter accepts requests one by one.  Each request, its loss, and whether another one
is made may depend on all answers so far; the rule is that on every path of answers the sums of
what the requests cost stay within limits that were fixed in advance.
Theorem (key ``filter-basic``; Rogers, Roth, Ullman and Vadhan 2016, Privacy Odometers and
Filters).  If epsilons sum to at most E and deltas to at most D on every path, all answers together
are (E, D)-private.
Theorem (key ``filter-concentrated``; Whitehouse, Ramdas, Rogers and Wu 2023).  If rhos sum to at
most R on every path, all answers together are R-concentrated.
Theorem (key ``filter-approximate``).  Let each request obey its numbers outside an event whose
probability d_t is known and does not depend on the data, and let the d_t sum to at most D on every
path. Then the profile of all answers is at most (1 - D) h + D, with h the profile that the numbers
imply.

A few large questions are cheap in epsilon, many small ones in rho, and which it will be is not
known in advance.  So both are counted, and a question must fit one of the two routes.
Theorem (key ``filter-joint``).  Let E, C, R and D' be fixed in advance, such that R-concentrated
releases are (E, D')-private, and let request t be (e_t, c_t)-private and rho_t-concentrated.  If on
every path of answers the e_t sum to at most E and the c_t to at most C, or the rho_t to at most R,
all answers together are (E, C + D')-private.
A whole delta for each of the two routes would be wrong: an answer may decide which route is taken,
and then both fail, each on paths of its own.  What holds is the one point (E, D), not the whole
curve of R; parts of such a budget that are spent apart may break it.
Proofs: docs/proofs/composition.md, section 10.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

from discreet.accounting.amounts import NEVER, QUANTUM, amount_up, amount_value, format_up
from discreet.errors import WrongKind
from discreet.loss import Approximate, PrivacyLoss, Profile, Pure, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_loss
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import Pair
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import approximately_concentrated, concentration, truncated_rho

Price = tuple[Fraction, Fraction]
"""A number, and the probability of the event outside which it holds."""


def in_order(loss: PrivacyLoss) -> PrivacyLoss:
    """Return an equal loss with its pairs in one order, so that sums round alike."""
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
    """Return an epsilon and a delta; at the delta that is named, if one is."""
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
    """Return a rho and a delta."""
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
    return max(value for value, _ in priced), max(probability for _, probability in priced)


def _sum_of(
    product: Composition,
    price: Callable[[Pair], Price | None],
    bound: Callable[[RenyiCurve], Fraction | None],
) -> Price | None:
    value = _NONE if product.renyi is None else bound(product.renyi)
    if value is None:
        return None
    probability = _NONE
    for pair, count in product.pairs:
        cost = price(pair)
        if cost is None:
            return None
        value, probability = value + count * cost[0], probability + count * cost[1]
    return value, min(probability, Fraction(1))


def _pair_point(pair: Pair) -> Price | None:
    """Return an epsilon above all finite losses of a pair, and how probable infinite ones are."""
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
    probability = max(Fraction(way.infinity().high) for way in ways)
    return max(*bounds, _NONE), probability


def _pair_rho(pair: Pair) -> Price | None:
    known = concentration(Composition(((pair, 1),)))
    if known is not None:
        return known, _NONE
    point = _pair_point(pair)
    return None if point is None else (Pure(epsilon=point[0]).concentrated(), point[1])


_NONE: Final = Fraction(0)
_NEVER: Final = amount_value(NEVER)
_UNCONVERTED: Final = 10**9  # a rho that promises nothing, and has no useful epsilon

Amounts = tuple[int, ...]
"""One amount for each component of a currency; the last one is always delta."""


class Currency(ABC):
    """The components of a price, how to find it, and what a limit on them implies."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    @abstractmethod
    def components(self) -> tuple[str, ...]:
        """What is counted; the last component is delta."""

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]:
        """The components that have to fit together, beside delta; one of these routes has to."""
        return (tuple(range(len(self.components) - 1)),)

    @abstractmethod
    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return the numbers of a loss, one for each component; None where they are not known."""

    @abstractmethod
    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return what a limit of these amounts implies, beside a delta (``filter-approximate``)."""

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a loss that fits into these amounts on every route."""
        return self.loss(amounts)

    def price(self, loss: PrivacyLoss, delta: Fraction | None = None) -> Amounts | None:
        """Return what a loss costs, rounded up; None where no price is known."""
        numbers = self._numbers(loss, delta)
        return None if numbers is None else tuple(map(amount_up, numbers))

    def arguments(self, amounts: Amounts) -> dict[str, object]:
        """Return what to give to Budget for a limit of these amounts."""
        names = (name.replace(" ", "_") for name in self.components)
        return dict(zip(names, map(amount_value, amounts), strict=True))

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit: delta does, and all of some route."""
        within = [spent <= most for spent, most in zip(total, limit, strict=True)]
        return within[-1] and any(all(within[at] for at in route) for route in self.routes)


@final
@dataclass(frozen=True, slots=True)
class BasicCurrency(Currency):
    """Epsilons and deltas, added up (key ``filter-basic``)."""

    name: ClassVar[str] = "basic"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return point_price(loss, delta)

    def arguments(self, amounts: Amounts) -> dict[str, object]:
        """Return epsilon and delta, and that they are added up as they are."""
        epsilon, delta = map(amount_value, amounts)
        return {"epsilon": epsilon, "delta": delta, "currency": self.name}

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the point, pure where delta is 0."""
        return _point(*map(amount_value, amounts))


@final
@dataclass(frozen=True, slots=True)
class ConcentratedCurrency(Currency):
    """Rhos of zero-concentrated privacy, added up (key ``filter-concentrated``)."""

    name: ClassVar[str] = "zcdp"
    components: ClassVar[tuple[str, ...]] = ("rho", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return concentrated_price(loss, delta)

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the concentrated loss, beside a delta."""
        rho, delta = map(amount_value, amounts)
        return with_delta(ZeroConcentrated(rho=rho), delta)


@final
@dataclass(frozen=True, slots=True)
class JointCurrency(Currency):
    """Epsilons at deltas, and rhos; one of the two has to fit (key ``filter-joint``).

    ``conversion`` is the delta, as an amount, at which losses that are known by their rho have an
    epsilon.  It is a small share of what the budget allows, fixed when the budget is made: a
    hundredfold larger one would lower epsilons by less than a tenth.
    """

    conversion: int

    name: ClassVar[str] = "joint"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "conversion delta", "rho", "delta")
    routes: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1), (2,))

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return epsilon, its delta, and rho, outside one event; and the probability of that event.

        A delta that is named is spent on epsilon alone, where rho needs none.
        """
        point = point_price(loss, delta)
        known = concentrated_price(loss) if point is None or delta else None
        if point is not None and known is not None and known[1] == 0:
            return *point, *known
        if point is not None:
            epsilon, rho, probability = _both_numbers(loss, point, delta)
            return epsilon, _NONE, rho, probability
        if known is None:
            return None
        rho, probability = (
            known  # outside its event the release is concentrated, and so has a point
        )
        spent = amount_value(self.conversion)
        bound = math.inf if rho > _UNCONVERTED else ZeroConcentrated(rho=rho).epsilon(delta=spent)
        return _NEVER if math.isinf(bound) else Fraction(bound), spent, rho, probability

    def arguments(self, amounts: Amounts) -> dict[str, object]:  # noqa: ARG002  (no amounts work)
        """Refuse, since parts that are spent apart may each fit on another route."""
        raise WrongKind(
            "a budget that is kept jointly in epsilon and rho is split; split a budget with "
            "currency='zcdp' or currency='basic'."
        )

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        epsilon, _, rho, delta = map(amount_value, amounts)
        if Pure(epsilon=epsilon).concentrated() <= rho:
            return with_delta(ZeroConcentrated(rho=rho), delta)
        return _point(epsilon, delta)

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a pure loss, beside a delta, that fits both in epsilon and in rho.

        Its half square, and so its rho, is at most the rho.
        """
        epsilon, _, rho, delta = amounts
        root = math.isqrt(math.floor(2 * rho / QUANTUM))
        return _point(amount_value(min(epsilon, root)), amount_value(delta))


def _both_numbers(
    loss: PrivacyLoss, point: tuple[Fraction, Fraction], delta: Fraction | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Return epsilon and the least known rho outside one event, and the event's probability."""
    epsilon, probability = point
    rho = Pure(epsilon=epsilon).concentrated()
    if probability == 0:  # with events the two could be about different ones
        known = concentrated_price(loss, delta)
        if known is not None and known[1] == 0:
            rho = min(rho, known[0])
    return epsilon, rho, probability


def _point(epsilon: Fraction, delta: Fraction) -> PrivacyLoss:
    return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


def price_in_currency(
    currency: Currency, loss: PrivacyLoss, delta: Fraction | None = None
) -> Amounts:
    """Return what a loss costs in a currency, whatever the limits are.

    Equal losses cost the same to the last digit: sums are rounded in one order.
    """
    price = currency.price(in_order(loss), delta)
    if price is None:
        raise WrongKind(
            what=f"a {type(loss).__name__} loss has no price in {currency.components[0]}.",
            why="a loss is admitted only by a theorem that turns it into what the budget "
            "counts, and a delta is never dropped.",
            do="name a delta to spend on it, delta=1e-9 say, or keep the budget in another "
            "currency.",
        )
    return price


def with_delta(loss: PrivacyLoss, delta: Fraction) -> PrivacyLoss:
    """Return the profile (1 - delta) h + delta, for the profile h of a loss."""
    return loss.compose(Approximate(epsilon=0, delta=delta)) if delta else loss


def format_amounts(currency: Currency, amounts: Amounts) -> str:
    """Show what is spent, component by component, rounded up."""
    named = zip(currency.components, amounts, strict=True)
    return ", ".join(f"{name} {format_up(a)}" for name, a in named if a or name != "delta")
