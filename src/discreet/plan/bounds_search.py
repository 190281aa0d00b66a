"""Bounds on values, found privately: what is searched, what is found, and what both stages cost.

Trust: kernel.  This is charged, so nothing that costs more may follow.

Definition.  A number is in one bin: that of zero, or that of its sign and size.  Whole numbers of
size 2**(j-1) to 2**j - 1 share a bin, j = 1, ..., 63.  Of other numbers those of size 2**k up to
2**(k+1) do, k = -64, ..., 63; what is smaller counts as zero, and what is larger as the largest.
(A negative FLOAT that is a power of two is in the bin that ends with it.)
Bins rise with the numbers in them.  Nothing here depends on data.

Definition.  A *target* is an expression without public bounds that an aggregate looks at.  Of every
unit one row counts for each target, whichever a hash picks, in one of these
bins, whatever group the row is in.  Laplace noise is
added to the number of units in every bin.  Bounds are computed from these noisy numbers alone: they
are public then.
Theorem (key ``bounds-search``; the search for bounds of Wilson et al. 2020, Differentially Private
SQL with Bounded User Contribution, with one row of each unit).  One unit that is added or removed
moves the numbers of a target by at most 1 in L1, and one that is replaced by at most 2.
Proof.
``bounded-contribution`` with one row of each unit: a histogram moves by what the unit adds to it,
and takes from it.

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

A question with missing bounds is planned twice.  Before any data is read they are taken from 0 to
about 2**20, so that noise and its errors are known in units of the bounds.  Once they are found it
is planned with them, and has to keep the price that was charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, final

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated
from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.binding.value_facts import Facts, argument_of, facts_of, value_where_counted
from discreet.plan.error_forecast import ErrorForecast
from discreet.plan.estimator import REFERENCE, Predicted
from discreet.plan.pricing.calibration import Calibrated, Price, Sum, epsilon_sum, pure_rho, rho_sum
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Noise, ReleaseInput, Releases
from discreet.plan.pricing.release_composition import check_claims, composition_of
from discreet.plan.pricing.release_parts import LAPLACE, NoisyTotals, UnpricedRelease
from discreet.plan.pricing.requested_price import BoundsPrice, PriceArguments, RequestedPrice
from discreet.plan.setting import Setting
from discreet.plan.statistics.answer_layout import AnswerColumn, Estimate
from discreet.plan.statistics.contribution_bounds import Pair
from discreet.plan.statistics.partition_selection import within_categories
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Call, Column, Expression, Literal
from discreet.query.functions import AGGREGATES
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Leaves
from discreet.units import PrivacyUnit, Relation

_SMALLEST: Final = -64
_LARGEST: Final = 64
_BITS: Final = 63
_NEAR: Final = 4


@final
@dataclass(frozen=True, kw_only=True)  # without slots, so that the edges are made once
class SearchBins:
    """The ends of bins: those of bin i > ``zero`` are in ``ends[i - zero - 1]``, up to its sign.

    >>> WHOLE.span(WHOLE.zero, WHOLE.zero + 2)
    (Fraction(0, 1), Fraction(3, 1))
    """

    ends: tuple[Pair, ...]
    whole: bool

    @property
    def zero(self) -> int:
        """The bin of zero, in the middle."""
        return len(self.ends)

    @property
    def count(self) -> int:
        """How many bins there are."""
        return 2 * len(self.ends) + 1

    @property
    def widest(self) -> Pair:
        """Bounds on everything that bins distinguish."""
        return self.span(0, self.count - 1)

    def place(self, value: Expression) -> Expression:
        """Return the bin of a number, as an expression.

        >>> from discreet.query.expressions import Column
        >>> WHOLE.place(Column("age")).function
        'RANGE_BUCKET'
        """
        return Call("RANGE_BUCKET", (value, *self._edges))

    def span(self, first: int, last: int) -> Pair:
        """Return bounds on the numbers in some bins.

        They reach to zero if that makes the range longer by a third at most, and are apart: of
        zero alone they are those of a share.

        >>> FLOATS.span(FLOATS.zero, FLOATS.zero + 68)
        (Fraction(0, 1), Fraction(16, 1))
        >>> WHOLE.span(WHOLE.zero - 1, WHOLE.zero - 1), WHOLE.span(WHOLE.zero, WHOLE.zero)
        ((Fraction(-1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 1)))
        """
        low, high = self._ends(first)[0], self._ends(last)[1]
        if low > 0 and (_NEAR * low <= high or low == high):
            low = Fraction(0)
        if high < 0 and (_NEAR * high >= low or low == high):
            high = Fraction(0)
        return (low, high) if low < high else (Fraction(0), Fraction(1))

    def _ends(self, place: int) -> Pair:
        away = abs(place - self.zero)
        if away == 0:
            return Fraction(0), Fraction(0)
        low, high = self.ends[away - 1]
        return (low, high) if place > self.zero else (-high, -low)

    @cached_property
    def _edges(self) -> tuple[Literal, ...]:
        """Where one bin ends and the next begins, from the lowest."""
        inner = [-high for _, high in reversed(self.ends[:-1])]
        middle = [Fraction(0)] if self.whole else [-self.ends[0][0]]
        edges = (*inner, *middle, *(low for low, _ in self.ends))
        return tuple(Literal(int(edge) if self.whole else edge) for edge in edges)


WHOLE: Final = SearchBins(
    ends=tuple((Fraction(2 ** (j - 1)), Fraction(2**j - 1)) for j in range(1, _BITS + 1)),
    whole=True,
)
"""The bins of INTEGER."""

FLOATS: Final = SearchBins(
    ends=tuple((Fraction(2) ** k, Fraction(2) ** (k + 1)) for k in range(_SMALLEST, _LARGEST)),
    whole=False,
)
"""The bins of FLOAT."""


def bins_of(kind: Type) -> SearchBins:
    """Return the bins of a type of numbers.

    >>> bins_of(Type.INTEGER).count, bins_of(Type.FLOAT).count
    (127, 257)
    """
    return WHOLE if kind is Type.INTEGER else FLOATS


FALSE_ALARM: Final = Fraction(1, 1000)
"""The probability that an empty bin of a target seems to be occupied."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsTarget:
    """What bounds are looked for: the name of its histogram, what rows hold, and in words.

    >>> from discreet.query.expressions import Column
    >>> BoundsTarget(measure="bounds", row=Column("x"), type=Type.FLOAT, about="x").bins.count
    257
    """

    measure: str
    row: Expression
    type: Type
    about: str

    @property
    def bins(self) -> SearchBins:
        """Where bounds may lie."""
        return bins_of(self.type)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBounds:
    """Bounds that were found; ``seen`` says whether any bin stood out from the noise.

    ``outside`` is the largest share of the rows near the bounds that may be clipped, by the noisy
    numbers of the bins next to them.

    >>> FoundBounds(about="cost", low=Fraction(0), high=Fraction(128), seen=True).bounds
    (Fraction(0, 1), Fraction(128, 1))
    """

    about: str
    low: Fraction
    high: Fraction
    seen: bool
    outside: Fraction = Fraction(0)

    @property
    def bounds(self) -> Pair:
        """Both bounds."""
        return self.low, self.high


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsSearch:
    """How bounds are found, and what that costs in addition to the answer.

    ``given`` is what was asked, from which the answer is planned once bounds are known; ``promise``
    is what the answer may cost then, whatever they are.  The noise of the measures ``scaled`` is
    in proportion to the bounds.
    """

    request: EngineRequest
    targets: tuple[BoundsTarget, ...]
    noises: tuple[Noise, ...]
    tree: Node
    price: Price
    promise: PricePromise
    given: PriceArguments
    scaled: tuple[str, ...]

    @property
    def widest(self) -> tuple[FoundBounds, ...]:
        """The bounds that are found if nothing stands out from the noise."""
        ends = ((target.about, *target.bins.widest) for target in self.targets)
        return tuple(
            FoundBounds(about=about, low=low, high=high, seen=False) for about, low, high in ends
        )


_NONE: Final = Fraction(0)
_LARGEST_PRICE: Final = 10**6
_ANSWER: Final = "answer"


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
        losses = [ZeroConcentrated(rho=rho) if rho <= _LARGEST_PRICE else UNPROTECTED]
        losses += [Approximate(epsilon=_NONE, delta=beside)] if beside else []
        leaves = tuple(_leaf(loss, _ANSWER, unit) for loss in losses)
        return PricePromise(price=Price(rho=ask.rho, delta=beside, beside=beside), leaves=leaves)
    if calibrated.delta is None:
        return _in_shares(sketch, sketch.epsilons(ask.epsilon), ask.delta, scaled)
    small = ask.epsilon <= _LARGEST_PRICE
    whole = Approximate(epsilon=ask.epsilon, delta=ask.delta) if small else UNPROTECTED
    return PricePromise(
        price=Price(
            epsilon=ask.epsilon, delta=ask.delta, rho=pure_rho(ask.epsilon), beside=ask.delta
        ),
        leaves=(_leaf(whole, _ANSWER, unit),),
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
        if _named(node).partition(" at ")[0].partition(" around ")[0] in scaled:
            pure = Pure(epsilon=point[0]) if point[0] <= _LARGEST_PRICE else UNPROTECTED
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


_MEASURE: Final = "bounds"


MissingBounds = tuple[BoundQuestion, tuple[BoundsTarget, ...], tuple[Expression | None, ...]]
"""A question with bounds, what is still to be found, and what for in each aggregate."""


def find_missing_bounds(
    bound: BoundQuestion, ask: RequestedPrice, found: Sequence[FoundBounds], *, searching: bool
) -> MissingBounds:
    """Find aggregates without bounds, and put in those that were found, or stand for them."""
    facts = bound.rows.facts
    targets = _targets([inner for _, inner in bound.aggregates], facts)
    if len(found) not in {0, len(targets)}:
        raise WrongKind(
            what="the bounds that were found are not those that are missing.",
            why="the policy or the question has changed since.",
            do="ask the question anew.",
        )
    if not targets or not searching:
        return bound, (), ()  # what is missing is said where it is needed
    if not found and ask.errors:
        raise WrongKind(
            what="errors are named, and bounds are to be found.",
            why="how far noise moves a number follows from its bounds, which are not known yet.",
            do="give a price, such as epsilon=0.5; or give the bounds.",
        )
    pairs = [each.bounds for each in found] or [REFERENCE] * len(targets)
    bounds = dict(zip((target.row for target in targets), pairs, strict=True))
    rows = tuple(_row(inner, facts) for _, inner in bound.aggregates)
    aggregates = tuple(
        (outer, inner if row is None else replace(inner, bounds_per_row=bounds[row]))
        for (outer, inner), row in zip(bound.aggregates, rows, strict=True)
    )
    return replace(bound, aggregates=aggregates), () if found else targets, rows


def price_bounds_search(  # noqa: PLR0913  what the answer is planned by
    setting: Setting,
    targets: tuple[BoundsTarget, ...],
    given: PriceArguments,
    *,
    sketch: UnpricedRelease,
    calibrated: Calibrated,
    estimates: Sequence[Estimate],
) -> BoundsSearch | None:
    """Price the search for bounds, and an answer that costs no more whatever they are."""
    wanted, unit = given.bounds, setting.unit
    if not targets or wanted is None:
        return None
    waiting = _open(setting.bound)
    scaled = tuple(
        dict.fromkeys(
            name
            for estimate in estimates
            if estimate.aggregate in waiting
            for name in estimate.estimator.clamped()
        )
    )
    releases = _releases(targets, wanted, unit)
    tree = composition_of(releases, unit)
    point = epsilon_sum(tree, unit)
    assert point is not None  # noqa: S101 (all of it is Laplace noise)
    request = _lowered(setting, targets)
    check_claims(request, releases)
    return BoundsSearch(
        request=request,
        targets=targets,
        noises=releases.noises,
        tree=tree,
        price=Price(epsilon=point[0], rho=rho_sum(tree, unit)[0]),
        promise=promise_of(setting.ask, sketch, calibrated, scaled),
        given=given,
        scaled=scaled,
    )


def _open(bound: BoundQuestion) -> frozenset[Aggregate]:
    """Return the aggregates whose bounds are not known yet."""
    pairs = bound.aggregates
    return frozenset(one for one, other in pairs if one.bounds_per_row != other.bounds_per_row)


def errors_by_width(
    forecast: ErrorForecast,
    predicted: Sequence[Predicted],
    bound: BoundQuestion,
    outputs: Sequence[AnswerColumn],
) -> tuple[Predicted, ...]:
    """Say errors in terms of the bounds that are not known yet."""
    columns, missing = {column.name: column for column in outputs}, _open(bound)
    return tuple(forecast.by_width(columns[each.output], each, missing) for each in predicted)


def _targets(aggregates: list[Aggregate], facts: Mapping[str, Facts]) -> tuple[BoundsTarget, ...]:
    """Return what lacks bounds, each of it once."""
    targets: dict[Expression, BoundsTarget] = {}
    for aggregate in aggregates:
        row = _row(aggregate, facts)
        if row is not None and row not in targets:
            number = len(targets) + 1
            value = argument_of(aggregate)
            where = "" if aggregate.where is None else f" where {said(aggregate.where)}"
            targets[row] = BoundsTarget(
                measure=_MEASURE if number == 1 else f"{_MEASURE}_{number}",
                row=row,
                type=facts_of(value, facts).type,
                about=f"{said(value)}{where}",
            )
    return tuple(targets.values())


def _row(aggregate: Aggregate, facts: Mapping[str, Facts]) -> Expression | None:
    """Return the bin of each row that an aggregate looks at, if it has no bounds."""
    given = aggregate.bounds_per_row is not None or aggregate.bounds_per_group is not None
    if given or not AGGREGATES[aggregate.function].clamps:
        return None
    value = argument_of(aggregate)
    known = facts_of(value, facts)
    if known.bounds is not None or not known.type.is_number:
        return None
    return value_where_counted(aggregate, bins_of(known.type).place(value))


def _releases(
    targets: tuple[BoundsTarget, ...], wanted: BoundsPrice, unit: PrivacyUnit
) -> Releases:
    """Divide the price evenly; a unit is in one bin of each target."""
    parts = tuple(
        NoisyTotals(
            measure=target.measure,
            distances=GroupSensitivity(low=1, high=1, groups=1, available=target.bins.count),
        )
        for target in targets
    )
    ones: tuple[int, ...] = (1,) * len(parts)
    sketch = UnpricedRelease(parts=parts, weights=ones, fixed=(None,) * len(parts), unit=unit)
    if wanted.epsilon is not None:
        return sketch.by_epsilon(wanted.epsilon, Fraction(0))
    assert wanted.rho is not None  # noqa: S101 (one of the two is given)
    return sketch.by_rho(wanted.rho, Fraction(0), LAPLACE)


def _lowered(setting: Setting, targets: Sequence[BoundsTarget]) -> EngineRequest:
    """Return what an engine counts: one row of every unit, in whichever group it is."""
    known, limits = setting.bound, setting.limits
    return EngineRequest(
        relation=within_categories(known.rows.relation, known.keys),
        unit=tuple(Column(name) for name in known.rows.unit or ()),
        keys=(),
        groups=None if limits.single else 1,
        measures=tuple(
            Leaves(name=target.measure, row=target.row, leaves=target.bins.count, rows=1)
            for target in targets
        ),
    )
