"""Sums and the counts of their rows as points of simplexes, if that is more exact.

Trust: kernel.  The counts and sums that are joined stay what they were; an engine is asked to keep
each sum within so much for each row that its count counts, which no unit notices whose rows are
as planning believes.

Definition.  A sum and the count of its rows are turned into how far the rows are above the low end
of their values, and below the high end (key ``simplex-release``): one unit moves both together by
as much as one of them, and not by the sum of two distances.  Counts of more rows than those, with
the same limit on the rows of a unit, are joined with them; what they count beyond is a corner of
its own.  Several sums are chains of their own, which divide the price equally; a count in several
of them is the mean of what each says.

Definition.  Joined are sums around the middle of their bounds, of SUM, AVG, VARIANCE and STDDEV
that are bounded row by row, if the counts of their rows are measured in any case; or else counts
alone.  Nothing is joined in a question that names an epsilon for an aggregate or for its choice of
groups, or errors in place of a price, or has bounds to be found.

Definition.  Groups that are private may be chosen by what the noisy coordinates add up to
(key ``sum-keys``), unless the question says how.  Then the first count of every chain is the number
of units, for as many rows as each of them may have; sums without a count are chains, too; and
nothing is paid for the choice but its delta.  Otherwise totals by which groups are chosen are not
joined.

Joined they are only if the errors of all columns, multiplied, are smaller for it, by the law
that is asked for, or by the better one for either.  Where groups are private, the root of the
number of units from which they are shown is one more factor.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from discreet.plan.binding.value_facts import counting_conditions, one_where_all
from discreet.plan.pricing.calibration import KEYS_PART, gaussian_rho
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.linear_strategy import (
    CellSensitivity,
    CellStrategy,
    CellValue,
    Chain,
    SimplexTotals,
    are_nested,
    conditions_of,
)
from discreet.plan.pricing.noise_steps import (
    MOST_EPSILON,
    chooser_of,
    column_errors,
    units_shown,
    unpriced_release,
)
from discreet.plan.pricing.release_parts import GAUSSIAN, SumSelection
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.workload.strategies import Candidate
from discreet.query.expressions import Expression
from discreet.requests.engine_request import Measure, Total

_PARTS: Final = "parts"
_FINE: Final = 4
_BETTER: Final = 0.98
_LIKELY: Final = Fraction(1, 10**10)
"""A delta of the choice of groups, if what a budget lends is not known yet."""
_ADDED: Final = frozenset({"SUM", "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexWorkload:
    """Chains that share a price, and the measure that stands for them.

    >>> pay = Chain(counts=("count",), total="sum", low=-5, high=5)
    >>> found = SimplexWorkload(measure="parts", chains=(pay,), rows=3)
    >>> found.names, found.strategy.norms
    (('sum', 'count'), (10, 20, 100, 200))
    """

    measure: str
    chains: tuple[Chain, ...]
    rows: int
    strategy: CellStrategy = field(init=False, compare=False, repr=False)
    """Every coordinate as a sum, and the answers by their names."""

    def __post_init__(self) -> None:
        """Find the strategy once: planning asks for it again for each aggregate."""
        object.__setattr__(self, "strategy", self._coordinates())

    def _coordinates(self) -> CellStrategy:
        multiples = _multiples([chain.width for chain in self.chains])
        size = max(chain.corners for chain in self.chains)
        answers: dict[str, list[tuple[int, Fraction]]] = {}
        sums: list[tuple[int, ...]] = []
        factors: list[tuple[int, ...]] = []
        shared = Counter(name for chain in self.chains for name in chain.counts)
        for at, (chain, multiple) in enumerate(zip(self.chains, multiples, strict=True)):
            first = len(sums)
            sums += [(at * size + corner,) for corner in range(chain.corners)]
            factors += [(multiple,)] * chain.corners
            one = Fraction(1, chain.width * multiple)
            inner = 1
            if chain.total is not None:
                ends = ((first, one * chain.high), (first + 1, one * chain.low))
                answers[chain.total] = [(place, each) for place, each in ends if each]
                inner = 2
            for more, name in enumerate(reversed(chain.counts)):
                part = one / shared[name] / (self.rows if name == UNITS else 1)
                held = [(first + corner, part) for corner in range(inner + more)]
                answers.setdefault(name, []).extend(held)
        plain = all(multiple == 1 for multiple in multiples)
        return CellStrategy(
            words="as points of a simplex" + ("" if len(multiples) == 1 else " for each sum"),
            cells=size,
            sums=tuple(sums),
            answers=tuple((name, tuple(sorted(each))) for name, each in answers.items()),
            factors=() if plain else tuple(factors),
            unit=max(c.width * m for c, m in zip(self.chains, multiples, strict=True)),
            values=tuple(
                CellValue(measure=chain.total or chain.counts[-1], low=0, high=chain.width)
                for chain in self.chains
            ),
            source=SimplexTotals(chains=self.chains, rows=self.rows),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all counts and sums."""
        return self.strategy.names

    def selection(self, groups: int, fewest: int) -> SumSelection:
        """Return the choice of groups by what the coordinates add up to."""
        strategy = self.strategy
        each = zip(self.chains, _multiples([chain.width for chain in self.chains]), strict=True)
        return SumSelection(
            measure=self.measure,
            coordinates=strategy.size,
            most=self.rows * sum(chain.width * multiple for chain, multiple in each),
            squared=self.rows**2 * strategy.lengths[1],
            groups=groups,
            fewest=fewest,
        )

    def candidates(self, groups: int, available: int | None) -> tuple[Candidate, ...]:
        """Return what a unit in so many groups moves."""
        strategy = self.strategy
        far = CellSensitivity(
            low=0, high=self.rows, groups=groups, available=available, cells=strategy
        )
        return ((far, strategy.spread),)


def _multiples(widths: list[int]) -> tuple[int, ...]:
    """Return by what to multiply chains, so that one row moves each by about as much."""
    largest = max(widths)
    fine = 1 if all(largest % each == 0 for each in widths) else _FINE
    found = [fine * largest // each for each in widths]
    common = math.gcd(*found)
    return tuple(each // common for each in found)


def simplex_sums(
    setting: Setting, measured: MeasuredAggregates, otherwise: MeasuredAggregates
) -> MeasuredAggregates:
    """Return the same with sums and counts as points of simplexes, or what errs less otherwise."""
    limits, aggregates = setting.limits, [inner for _, inner in setting.bound.aggregates]
    named = any(each.epsilon is not None for each in aggregates)
    if not setting.shared or setting.ask.errors or named or limits.rows is None:
        return otherwise
    if setting.clause.group_selection_epsilon is not None:
        return otherwise
    best, groups = otherwise, setting.groups
    choosing = groups.chosen and groups.strategy is None
    for chooses in (False, True) if choosing else (False,):
        for chains in _chains(setting, measured, chooses=chooses):
            if chains:
                workload = SimplexWorkload(measure=_PARTS, chains=chains, rows=limits.rows)
                joined = _joined(measured, workload)
                if chooses:
                    joined = replace(joined, sums=workload.selection(limits.groups, groups.fewest))
                best = joined if _better(setting, joined, best) else best
    return best


def _chains(
    setting: Setting, measured: MeasuredAggregates, *, chooses: bool
) -> Iterator[tuple[Chain, ...]]:
    """Yield a chain of counts alone, if it has several, and one for each sum of counted rows.

    If they choose, all of them begin with the number of units.
    """
    rows = setting.limits.rows or 1
    totals: dict[str, Measure | None] = {
        each.name: each
        for each in measured.measures
        if isinstance(each, Total) and (conditions_of(each) is None or each.high == rows)
    }
    if measured.counts_units and rows == 1 and not setting.limits.all_rows:
        totals[UNITS] = None
    chooser = None if chooses else chooser_of(setting, measured)
    if chooser is not None:
        totals.pop(chooser[0], None)
    found_parts = {name: conditions_of(each) for name, each in totals.items()}
    parts = {name: each for name, each in found_parts.items() if each is not None}
    counts = {name: totals[name] for name in parts}

    def outer(name: str) -> tuple[str, ...]:
        nested = _outer(counts, parts, name, rows)
        every = rows == 1 and not parts[nested[0]]
        return nested if not chooses or every else (UNITS, *nested)

    if len(counts) > 1 or (counts and chooses):
        nested = outer(max(parts, key=lambda each: len(parts[each])))
        yield (Chain(counts=nested),) if len(nested) > 1 or chooses else ()
    found: dict[str, Chain] = {}
    bound = [inner for _, inner in setting.bound.aggregates]
    for aggregate, estimator in zip(bound, measured.estimators, strict=True):
        if aggregate.function not in _ADDED or aggregate.bounds_per_group is not None:
            continue
        if aggregate.distinct and not setting.limits.single:
            continue
        total = next((each for each in estimator.totals() if each not in counts), None)
        measure = None if total is None else totals.get(total)
        if total is None or not isinstance(measure, Total) or measure.rows != setting.limits.cap:
            continue
        counted = one_where_all(counting_conditions(aggregate, setting.bound.rows.facts))
        wanted = conditions_of(Total(name="", row=counted, low=0, high=1))
        known = [name for name, conditions in parts.items() if conditions == wanted]
        around = measure.low < 0 if known else chooses and measure.low <= 0 <= measure.high
        if measure.low % rows == measure.high % rows == 0 and around and measure.low < measure.high:
            found[total] = Chain(
                counts=outer(known[0]) if known else (UNITS,),
                total=total,
                low=measure.low // rows,
                high=measure.high // rows,
            )
    yield tuple(found.values())


def _outer(
    counts: Mapping[str, Measure | None],
    parts: Mapping[str, frozenset[Expression]],
    name: str,
    rows: int,
) -> tuple[str, ...]:
    """Return counts each of which has the next one in it, down to one of them."""
    chain = [name]
    wider = [each for each in counts if each != name and parts[each] <= parts[name]]
    others = sorted(wider, key=lambda each: -len(parts[each]))
    for other in others:
        if are_nested([counts[chain[0]], counts[other]], rows):
            chain.insert(0, other)
    return tuple(chain)


def _joined(measured: MeasuredAggregates, workload: SimplexWorkload) -> MeasuredAggregates:
    """Return the same aggregates with totals that are kept within their counts."""
    names = frozenset(workload.names)
    per: dict[str, str] = {}
    for chain in workload.chains:
        ends = (*chain.counts, *([] if chain.total is None else [chain.total]))
        pairs = zip(ends[1:], ends, strict=False)
        per |= {inner: outer for inner, outer in pairs if outer != UNITS}
    kept = [
        replace(each, per=per[each.name]) if isinstance(each, Total) and each.name in per else each
        for each in measured.measures
    ]
    kept.sort(key=lambda each: _depth(each.name, per))
    uses = tuple(
        tuple(dict.fromkeys((_PARTS, None) if use[0] in names else use for use in each))
        for each in measured.uses
    )
    sums = [measured.about[chain.total] for chain in workload.chains if chain.total is not None]
    first = workload.chains[0].counts
    nested = f"{len(first)} counts, each a part of the next"
    if len(first) == 2 and first[0] == UNITS and workload.rows > 1:
        nested = f"{measured.about[first[1]]}, and how many more each unit may have"
    theirs = "the count of its rows" if len(sums) == 1 else "the counts of their rows"
    if first == (UNITS,):
        theirs = "the number of units"
    about = f"{', '.join(sums)} and {theirs}" if sums else nested
    return replace(
        measured,
        measures=tuple(kept),
        uses=uses,
        about={**measured.about, _PARTS: about},
        workload=workload,
    )


def _depth(name: str, per: Mapping[str, str]) -> int:
    return 0 if name not in per else 1 + _depth(per[name], per)


def _better(setting: Setting, joined: MeasuredAggregates, otherwise: MeasuredAggregates) -> bool:
    """Whether the product of the errors of all columns is smaller, by the better law for each."""
    ask, law = setting.ask, setting.clause.noise
    sketches = [unpriced_release(setting, each) for each in (joined, otherwise)]
    epsilon, rho, delta = ask.epsilon or Fraction(1), ask.rho or Fraction(1), ask.delta or _LIKELY
    laws: tuple[int, ...] = (1,) if (law or (ask.rho and GAUSSIAN)) == GAUSSIAN else (0,)
    if ask.epsilon is not None and ask.epsilon <= MOST_EPSILON and ask.delta and law is None:
        apart = delta * KEYS_PART if setting.groups.chosen else 0
        laws, rho = (0, 1), gaussian_rho(ask.epsilon, ask.delta - apart)
    errors = [column_errors(sketch, epsilon, rho, float(1 - ask.confidence)) for sketch in sketches]
    begins = [units_shown(sketch, epsilon, rho, delta) for sketch in sketches]
    product = [
        min(
            sum(math.log(each[at]) for each in columns if each[at]) + math.log(start[at]) / 2
            for at in laws
        )
        for columns, start in zip(errors, begins, strict=True)
    ]
    return product[0] < product[1] + len(errors[0]) * math.log(_BETTER)
