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
    mu squared    from Gaussian noise, discrete noise outside a very rare event (key
                  ``gaussian-smoothing``), a pure loss (key ``pure-to-gaussian``), and losses of
                  bounded range (key ``bounded-range-gaussian``)

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

Theorem (key ``filter-gaussian``; Smith and Thakurta 2022, Fully Adaptive Composition for Gaussian
Differential Privacy; Koskela, Tobaben and Honkela 2022).  If the squares of mu sum to at most M on
every path, all answers together are sqrt(M)-Gaussian private.
Theorem (key ``bounded-range-gaussian``).  Losses of range e are mu-Gaussian private for the mu of a
pure loss of e/2.

A few large questions are cheap in epsilon, many small ones in rho or mu, and which it will be is
not known in advance.  So all three are counted, and a question must fit one of the routes.
Theorem (key ``filter-joint``).  Let E, C, R and M be fixed in advance, such that R-concentrated
releases are (E, D')-private, and sqrt(M)-Gaussian ones (E, D'')-private, and let request t be
(e_t, c_t)-private, rho_t-concentrated, and mu_t-Gaussian private.  If on every path of answers the
e_t sum to at most E and the c_t to at most C, or the rho_t to at most R, or the squares of mu_t to
at most M, all answers together are (E, C + D' + D'')-private.
A whole delta for each of the routes would be wrong: an answer may decide which route is taken,
and then all fail, each on paths of its own.  What holds is the one point (E, D), not the whole
curve of R or M; parts of such a budget that are spent apart may break it.
Theorem (key ``filter-alone``).  Let D be at least C + D' + D''.  If, beside, a request is accepted
on no route that is (E, D)-private and the first one, everything is still (E, D)-private: such a
request leaves no room on any route, so that it is the last one too, and that was known before it
was answered.
Proofs: docs/proofs/composition.md, section 10.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, TypeVar, final

from discreet.accounting.amounts import (
    NEVER,
    QUANTUM,
    amount_down,
    amount_up,
    amount_value,
    format_up,
)
from discreet.errors import WrongKind
from discreet.loss import (
    Approximate,
    GaussianDP,
    PrivacyLoss,
    Profile,
    Pure,
    ZeroConcentrated,
)
from discreet.loss.calibration import least_scale
from discreet.loss.composition import Composition
from discreet.loss.dominance import largest_loss
from discreet.loss.moments import pure_to_gaussian_mu
from discreet.loss.pair import Pair
from discreet.loss.pure_pairs import BoundedRangePair, ResponsePair
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
    if delta is not None:  # a float, or the sum of exact epsilons where that is less
        epsilon, exact = loss.epsilon(delta=delta), point_price(loss)
        bounds = [exact[0]] if exact is not None and exact[1] <= delta else []
        return None if math.isinf(epsilon) else (min([Fraction(epsilon), *bounds]), delta)
    bound = loss.pure_bound()
    if bound is not None:
        return bound, _NONE
    if isinstance(loss, Approximate):
        return loss.epsilon_bound, loss.delta_bound
    found = _worst_of(loss, _pair_point)
    return None if found is None else found[:2]


def concentrated_price(loss: PrivacyLoss, delta: Fraction | None = None) -> Price | None:
    """Return a rho and a delta."""
    prices = []
    known = loss.concentrated()
    if known is not None:
        prices.append((known, _NONE))
    point = point_price(loss, delta)
    if point is not None:
        prices.append((Pure(epsilon=point[0]).concentrated(), point[1]))
    products = _worst_of(loss, _pair_rho, curves=True)
    if products is not None:
        prices.append(products[:2])
        if products[1]:
            prices.append(approximately_concentrated(loss))
    return min([*prices, *_outside(loss, delta)], default=None)


def _outside(loss: PrivacyLoss, delta: Fraction | None) -> list[Price]:
    """Return the rho of a sample outside an event of a probability that is named for it, if any.

    A release from a sample rarely loses much, and other losses have no such tails.
    """
    products = dict.fromkeys((*loss.remove, *loss.add)) if isinstance(loss, Profile) else {}
    rare = any(pair.rare_losses for product in products for pair, _ in product.pairs)
    if not delta or not rare:
        return []
    values = [truncated_rho(product, delta) for product in products]
    known = [value for value in values if value is not None]
    return [(max(known), delta)] if len(known) == len(values) else []


Numbers = tuple[Fraction, Fraction, Fraction]
"""A number, and the probabilities of an event and of a leak outside which it holds."""


def _worst_of(
    loss: PrivacyLoss, price: Callable[[Pair], Numbers | None], *, curves: bool = False
) -> Numbers | None:
    """Add the numbers of the pairs of each product, and take the largest over products.

    Where ``curves`` count, one that is a line adds its rho.
    """
    totals: list[Numbers] = []
    for product in {*loss.remove, *loss.add} if isinstance(loss, Profile) else ():
        number = event = leak = _NONE
        if product.renyi is not None:
            line = product.renyi.line if curves else None
            if line is None:
                return None
            number = line
        for pair, count in product.pairs:
            cost = price(pair)
            if cost is None:
                return None
            number, event = number + count * cost[0], event + count * cost[1]
            leak += count * cost[2]
        totals.append((number, min(event, Fraction(1)), min(leak, Fraction(1))))
    if not totals:
        return None
    numbers, events, leaks = zip(*totals, strict=True)
    return max(numbers), max(events), max(leaks)


@functools.lru_cache(maxsize=256)  # one pair stands in many products
def _pair_point(pair: Pair) -> Numbers | None:
    """Return an epsilon above all finite losses of a pair, and how probable infinite ones are."""
    if isinstance(pair, ResponsePair):
        return pair.epsilon, pair.delta, _NONE
    once = ((pair, 1),)
    ways = [Composition(once), Composition(once).reverse()]  # one side alone is not a pure bound
    largest = [way.largest() for way in ways]
    if math.isinf(max(largest)):
        return None
    exact = [largest_loss(way) for way in ways]
    bounds = [Fraction(a) if b is None else b for a, b in zip(largest, exact, strict=True)]
    probability = max(Fraction(way.infinity().high) for way in ways)
    return max(*bounds, _NONE), probability, _NONE


def _pair_rho(pair: Pair) -> Numbers | None:
    known = concentration(Composition(((pair, 1),)))
    if known is not None:
        return known, _NONE, _NONE
    point = _pair_point(pair)
    return None if point is None else (Pure(epsilon=point[0]).concentrated(), *point[1:])


def _pair_square(pair: Pair) -> Numbers | None:
    if isinstance(pair, BoundedRangePair):
        return _square_of(pair.epsilon / 2), _NONE, _NONE
    if (known := pair.smoothed(_LEAK_BITS)) is not None:
        return known[0], _NONE, known[1]
    point = _pair_point(pair)
    return None if point is None else (_square_of(point[0]), *point[1:])


def gaussian_price(loss: PrivacyLoss) -> Numbers | None:
    """Return a square of mu outside the event of a point price, and outside a leak.

    >>> [float(each) for each in gaussian_price(GaussianDP(mu=2))]
    [4.0, 0.0, 0.0]
    """
    if isinstance(loss, GaussianDP):
        return loss.mu_squared, _NONE, _NONE
    point = point_price(loss)
    found = [(_square_of(point[0]), point[1], _NONE)] if point is not None else []
    pairs = _worst_of(loss, _pair_square)
    return min([*found, pairs] if pairs is not None else found, default=None)


@functools.lru_cache(maxsize=256)
def _square_of(epsilon: Fraction) -> Fraction:
    """Return the square of the mu of a pure loss; of a large one a bound on it.

    A normal variable exceeds sqrt(2 x) with probability at most e**-x / 2, so that mu**2 is at most
    8 ln((1 + e**epsilon) / 2), and that is below 8 epsilon.
    """
    mu = pure_to_gaussian_mu(epsilon=epsilon) if epsilon <= _CONVERTED else None
    return 8 * epsilon if mu is None else mu * mu


_LEAK_BITS: Final = 80  # 2**-80 is below the unit in which privacy is counted
_CONVERTED: Final = 100
_NONE: Final = Fraction(0)
_NEVER: Final = amount_value(NEVER)
_UNCONVERTED: Final = 10**9  # a rho that promises nothing, and has no useful epsilon

Amounts = tuple[int, ...]
"""One amount for each component of a currency; the last one is always delta."""


class Currency(ABC):
    """The components of a price, how to find it, and what a limit on them implies."""

    __slots__ = ()

    name: ClassVar[str]
    theorem: ClassVar[str]
    """The key of the theorem that sums of prices rest on."""
    alone: ClassVar[int | None] = None
    """The component that says whether a question fits alone, which is never shown."""

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
        """Return the numbers of a loss, one for each component; None if they are not known."""

    @abstractmethod
    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return what a limit of these amounts implies, beside a delta (``filter-approximate``)."""

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a loss that fits into these amounts on every route."""
        return self.loss(amounts)

    def price(self, loss: PrivacyLoss, delta: Fraction | None = None) -> Amounts:
        """Return what a loss costs, rounded up, whatever the limits are.

        Equal losses cost the same to the last digit: sums are rounded in one order.
        """
        numbers = self._numbers(in_order(loss), delta)
        if numbers is None:
            raise WrongKind(
                what=f"a {type(loss).__name__} loss has no price in {self.components[0]}.",
                why="a loss is admitted only by a theorem that turns it into what the budget "
                "counts, and a delta is never dropped.",
                do="name a delta to spend on it, delta=1e-9 say, or keep the budget in another "
                "currency.",
            )
        return tuple(map(amount_up, numbers))

    def fits_everywhere(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit on every route."""
        return all(spent <= most for spent, most in zip(total, limit, strict=True))

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit: delta does, and all of some route."""
        within = [spent <= most for spent, most in zip(total, limit, strict=True)]
        return within[-1] and any(all(within[at] for at in route) for route in self.routes)


@final
@dataclass(frozen=True, slots=True)
class BasicCurrency(Currency):
    """Epsilons and deltas, added up (key ``filter-basic``)."""

    name: ClassVar[str] = "basic"
    theorem: ClassVar[str] = "filter-basic"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return point_price(loss, delta)

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the point, pure if delta is 0."""
        return _point(*map(amount_value, amounts))


@final
@dataclass(frozen=True, slots=True)
class ConcentratedCurrency(Currency):
    """Rhos of zero-concentrated privacy, added up (key ``filter-concentrated``)."""

    name: ClassVar[str] = "zcdp"
    theorem: ClassVar[str] = "filter-concentrated"
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
    """Epsilons at deltas, rhos, and squares of mu; one of the three has to fit, or one question.

    Keys ``filter-joint`` and ``filter-alone``.  Prices depend on the promise of the budget that was
    made first: ``epsilon`` and ``delta`` say whether a question fits alone, and a small share of
    delta, ``conversion``, is the one at which losses that are known by their rho have an epsilon.
    A hundredfold larger one would lower epsilons by less than a tenth.
    """

    epsilon: Fraction
    delta: Fraction

    name: ClassVar[str] = "joint"
    theorem: ClassVar[str] = "filter-joint"
    components: ClassVar[tuple[str, ...]] = (
        "epsilon",
        "conversion delta",
        "rho",
        "mu squared",
        "alone",
        "delta",
    )
    routes: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1), (2,), (3,))
    alone: ClassVar[int] = 4

    @property
    def conversion(self) -> int:
        """The delta of one conversion, as an amount."""
        return amount_down(_CONVERSION * self.delta)

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return epsilon and its delta, rho, the square of mu, and whether the loss fits alone.

        The last number is the probability of the event outside which they hold; that of a leak of
        discrete noise, outside which alone there is a mu, is added to it.
        A delta that is named is spent on epsilon alone, if rho needs none.
        """
        point = point_price(loss, delta)
        known = concentrated_price(loss) if point is None or delta else None
        if point is not None and known is not None and known[1] == 0:
            numbers = (*point, *known)
        elif point is not None:
            epsilon, beside = point
            rho = Pure(epsilon=epsilon).concentrated()
            # with events, epsilon and rho could be about different ones
            sure = concentrated_price(loss, delta) if beside == 0 else None
            if sure is not None and sure[1] == 0:
                rho = min(rho, sure[0])
            numbers, known = (epsilon, _NONE, rho, beside), None
        elif known is not None:
            rho, beside = known  # outside its event the release is concentrated: it has a point
            spent = amount_value(self.conversion)
            bound = math.inf
            if spent and rho <= _UNCONVERTED:
                bound = ZeroConcentrated(rho=rho).epsilon(delta=spent)
            numbers = _NEVER if math.isinf(bound) else Fraction(bound), spent, rho, beside
        else:
            return None
        *most, beside = numbers
        square, leak, found = _NEVER, _NONE, gaussian_price(loss)
        if found is not None and found[1] == beside:
            # with events, it is known only where both are about the same ones: those of the pairs
            rhos = _worst_of(loss, _pair_rho, curves=True)
            pairs = known is None or (rhos is not None and known == rhos[:2])
            if not beside or (delta is None and pairs):
                square, _, leak = found
        if known is None and square == _NEVER and most[0] < _NEVER:
            square = _square_of(most[0])  # outside the event an epsilon holds, and so does its mu
        return *most, square, self._alone(loss, *numbers), min(beside + leak, Fraction(1))

    def _alone(
        self,
        loss: PrivacyLoss,
        epsilon: Fraction,
        chance: Fraction,
        rho: Fraction,
        beside: Fraction,
    ) -> Fraction:
        """Return 1 if a loss is within the promise, and otherwise an unaffordable price."""
        one = Fraction(1)
        if epsilon <= self.epsilon and beside + chance <= self.delta:
            return one
        most = largest_rho(self.epsilon, self.delta)
        if rho > 2 * most or beside > 2 * self.delta:  # far above what is proved to be within it
            return _NEVER
        if beside + Fraction(ZeroConcentrated(rho=rho).delta(epsilon=self.epsilon)) <= self.delta:
            return one
        return one if loss.delta(epsilon=self.epsilon) <= self.delta else _NEVER

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit on some route, or is one question alone."""
        return total[self.alone] <= limit[self.alone] or super(JointCurrency, self).fits(
            total, limit
        )

    def fits_everywhere(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit on every route; nobody knows who was alone."""
        without = (each[: self.alone] + each[self.alone + 1 :] for each in (total, limit))
        return all(spent <= most for spent, most in zip(*without, strict=True))

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        epsilon, _, rho, _, _, delta = map(amount_value, amounts)
        if Pure(epsilon=epsilon).concentrated() <= rho:
            return with_delta(ZeroConcentrated(rho=rho), delta)
        return _point(epsilon, delta)

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a pure loss, beside a delta, that fits in epsilon, in rho, and in mu.

        Its half square, and so its rho, is at most the rho; the square of its mu is at most pi/2
        times its own square.
        """
        epsilon, _, rho, square, _, delta = amounts
        roots = (math.isqrt(math.floor(each / QUANTUM)) for each in (2 * rho, 7 * square // 11))
        return _point(amount_value(min(epsilon, *roots)), amount_value(delta))


_CONVERSION: Final = Fraction(1, 50_000)
_SEARCH_BITS: Final = 32  # of the search alone: what it returns was checked


@functools.lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is proved to imply (epsilon, delta), just below the largest one."""
    return 1 / least_scale(
        lambda scale: ZeroConcentrated(rho=1 / scale),
        epsilon=epsilon,
        delta=delta,
        bits=_SEARCH_BITS,
    )


@functools.lru_cache(maxsize=256)
def largest_square(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a square of mu that is proved to imply (epsilon, delta), just below the largest."""
    return 1 / least_scale(
        lambda scale: GaussianDP(mu_squared=1 / scale),
        epsilon=epsilon,
        delta=delta,
        bits=_SEARCH_BITS,
    )


def _point(epsilon: Fraction, delta: Fraction) -> PrivacyLoss:
    return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


def with_delta(loss: PrivacyLoss, delta: Fraction) -> PrivacyLoss:
    """Return the profile (1 - delta) h + delta, for the profile h of a loss."""
    return loss.compose(Approximate(epsilon=0, delta=delta)) if delta else loss


def format_amounts(currency: Currency, amounts: Amounts) -> str:
    """Show what is spent, component by component, rounded up."""
    named = shown_components(currency, amounts)
    return ", ".join(f"{name} {format_up(a)}" for name, a in named if a or name != "delta")


Shown = TypeVar("Shown")


def shown_components(currency: Currency, values: Sequence[Shown]) -> list[tuple[str, Shown]]:
    """Return what is said about each component, by its name."""
    named = list(zip(currency.components, values, strict=True))
    return [each for at, each in enumerate(named) if at != currency.alone]
