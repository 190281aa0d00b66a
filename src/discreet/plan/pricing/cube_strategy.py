"""Cubes: tables of totals over several sets of keys, measured together.

Trust: kernel.  Noise is scaled to the norms that are worked out here.

Definition. Keys 1, ..., d have n(1), ..., n(d) public values; a *cell* has one of each, and x(c) is
the total of the group with the values c, as a unit adds to it (``linear-strategy``, with all groups
as the cells of one). For a set T of keys let M_T x be the table of the sums of x over the other
keys, and C_T the linear map that subtracts, key by key of T, the sum over its values from n(i)
times each entry: the Kronecker product of n(i) I - J. A cube strategy measures for each T of its
tables

    f_T M_T x        *plain*       or        f_T C_T M_T x        *centered*

with whole numbers f_T.  Both are B x for a matrix B of whole numbers.
Theorem (key ``cube-norms``).  All columns of B have the same norms, for plain and centered tables

    the sum of f_T,  of f_T prod 2 (n(i) - 1),         in L1, and
    the sum of f_T**2,  of f_T**2 prod n(i) (n(i) - 1),   in the square of L2,

and two columns whose cells differ in the keys D have the inner product: the sum of f_T**2 over all
T without a key in D for plain tables, and for centered ones the sum of f_T**2 times the product
over i in T of n(i) (n(i) - 1), or of -n(i) if i is in D.
Proof.  A column of C_T M_T is the Kronecker product of columns of n(i) I - J, with one entry
n(i) - 1 and n(i) - 1 entries -1; and (n(i) I - J)**2 = n(i) (n(i) I - J) has n(i) (n(i) - 1) on its
diagonal and -n(i) elsewhere.

Let P_A be the Kronecker product of I - J / n(i) over A.  The *residual* r_A = P_A M_A x has all of
M_A x that no table of fewer keys has.
Theorem (key ``residual-basis``; Xiao, He, Zhang and Kifer 2023).  M_W x is the sum over A in W of
r_A, each entry divided among the values of the other keys of W: times the product of 1 / n(i) over
W less A.  Let all noise have the variance v.  A plain table T has for each A in T an estimate of
r_A, with the covariance v prod(n(i), i in T less A) / f_T**2 times P_A, and a centered one of
r_T, with v / (f_T prod n(i))**2 times P_T; estimates of different residuals are uncorrelated.  So
the means of estimates, weighted by the inverse of these factors, are the best linear unbiased
ones, and with v / t_A the factor of the mean, all entries of M_W x have the variance

    v sum over A in W of 1 / t_A  prod((n(i) - 1) / n(i), i in A)  prod(n(i)**-2, i in W less A).

All tables that are computed from one set of residuals are consistent: one with fewer keys is the
sum of one with more.
Proof.  The P_A M_A x are orthogonal parts of x, which M_W adds up over its
other keys: the identity on W is the product of (I - J / n(i)) + J / n(i). Entries of independent
noise have v I as their covariance; adding up over T less A multiplies it by the product of n(i)
there, P_A projects it, and C_T = prod n(i) P_T.

Definition. Of all centered strategies the one with the least sum of variances, over all entries of
the tables W that are asked for, at a given squared length of columns has 1 / t_A in proportion to
(p_A / v_A)**(1/2), with p_A = prod((n(i) - 1) / n(i), i in A) and v_A the sum over all W that hold
A of prod(n(i) - 1, i in A) prod(1 / n(i), i in W less A). ``balanced`` rounds it to whole f_T, all
at least 32, which adds less than a part in a thousand to the sum of variances.
Proof.  By Cauchy and Schwarz: variances add up to the sum of v_A / t_A, and the squared length of a
column is the sum of p_A t_A, t_A = (f_A prod n(i))**2.  Rounding changes t_A by a part of at most
e = 1 / 32, and so the product of both sums by a factor of at most 1 / (1 - e**2) (Kantorovich).

The whole totals of groups are rounded to multiples of a ``step`` before they are measured, so that
one unit moves them by at most 2**12 steps, and ends of boxes are rounded outward.  That is a change
of x that moves no two totals apart by more than the steps that their difference rounds up to.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import Terms
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.linear_strategy import (
    CellSensitivity,
    CellValue,
    Floats,
    LinearStrategy,
    Norms,
)
from discreet.query.types import Type
from discreet.requests.engine_request import Total
from discreet.requests.table_schema import KeyValue

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.pricing.release_composition import Enforced
    from discreet.requests.raw_totals import Integers, RawTotals

Keys = tuple[int, ...]
"""The places of some keys, which rise."""

_FINEST: Final = 1 << 12
_LEAST_FACTOR: Final = 32
_MOST: Final = 1 << 40
_WIDEST: Final = 1 << 62
_FEW_PATTERNS: Final = 1 << 16
_GRID_BITS: Final = 20
_FLOAT_ERROR: Final = 1e-6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CubeKeys:
    """The public values of all keys, their types, and the sets of keys that are asked for."""

    lists: tuple[tuple[KeyValue, ...], ...]
    types: tuple[Type, ...]
    sets: tuple[Keys, ...]

    def __hash__(self) -> int:
        """Do not look at all values."""
        return hash((self.sizes, self.sets))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each key has."""
        return tuple(map(len, self.lists))

    def cells(self, some: Keys) -> int:
        """Return how many entries the table of some keys has."""
        return math.prod(self.sizes[at] for at in some)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CubeStrategy(LinearStrategy):
    """Tables that get noise, each multiplied by a whole number.

    >>> keys = CubeKeys(lists=((0, 1), ("a", "b", "c")), types=(Type.INTEGER, Type.TEXT),
    ...                 sets=((0,), (0, 1)))
    >>> plain = CubeStrategy(words="", keys=keys, value=CellValue(measure="count"),
    ...                      tables=((0, 1),), factors=(1,), centered=False)
    >>> plain.norms, plain.size, round(plain.deviation((0,)), 3)
    ((1, 2, 1, 2), 6, 1.732)
    """

    words: str
    keys: CubeKeys
    value: CellValue
    tables: tuple[Keys, ...]
    factors: tuple[int, ...]
    centered: bool
    step: int = 1

    def __hash__(self) -> int:
        """Do not look at all tables: there may be thousands."""
        return hash((self.keys.sizes, len(self.tables), self.factors[:8], self.value, self.words))

    @property
    def size(self) -> int:
        """How many sums there are."""
        return sum(map(self.keys.cells, self.tables))

    @property
    def lengths(self) -> tuple[int, int]:
        most = self.value.most
        return most * sum(self._lengths(1)), most**2 * sum(self._lengths(2))

    @property
    def norms(self) -> Norms:
        """The norms of columns and of their differences, key ``cube-norms``; these may be less."""
        first, second = self.lengths
        apart = _differences(self)
        return first, max(first, apart[0]), second, max(second, apart[1])

    def _lengths(self, power: int) -> list[int]:
        """Return the part of each table in the norm of a column, or in the square of it."""
        found = []
        for table, factor in zip(self.tables, self.factors, strict=True):
            sizes = [self.keys.sizes[at] for at in table] if self.centered else []
            entries = (2 * (n - 1) if power == 1 else n * (n - 1) for n in sizes)
            found.append(factor**power * math.prod(entries))
        return found

    def document(self) -> list[Any]:
        value = [self.value.measure, self.value.low, self.value.high, self.step]
        return ["cube", value, self.keys.sets, self.tables, self.factors, self.centered]

    def covered(self, far: CellSensitivity, by: Enforced) -> bool:
        """Whether a unit is in no more groups than are claimed, and adds no more to each."""
        measure = by.measures.get(self.value.measure)
        match measure:
            case None:
                low, high = (0, 1) if self.value.measure == UNITS else (0, _WIDEST)
            case Total(low=low, high=high):
                pass
            case _:
                return False
        least, most = self.step * self.value.low, self.step * self.value.high
        return least <= min(low, 0) and max(high, 0) <= most and by.groups <= far.high

    def read(self, raw: RawTotals) -> Integers:
        """Return all sums, table after table, without noise."""
        measure = self.value.measure
        totals = raw.units if measure == UNITS else raw.totals[measure]
        places, inside = _digits(self.keys, raw)
        steps = np.clip((totals[inside] + self.step // 2) // self.step, -_MOST, _MOST)
        return np.concatenate(
            [
                self._table(table, factor, places, steps)
                for table, factor in zip(self.tables, self.factors, strict=True)
            ]
        )

    def _table(
        self, table: Keys, factor: int, places: Sequence[Integers], steps: Integers
    ) -> Integers:
        """Return the sums of one table, exactly, clamped to what noise can be added to."""
        sizes = [self.keys.sizes[at] for at in table]
        most = int(np.abs(steps).max(initial=0)) * max(steps.size, 1) * factor
        grown = math.prod(2 * n for n in sizes) if self.centered else 1
        kind = np.int64 if most * grown < _WIDEST else object
        index = np.zeros(steps.size, np.int64)
        for at, n in zip(table, sizes, strict=True):
            index = index * n + places[at]
        sums = np.zeros(math.prod(sizes), kind)
        np.add.at(sums, index, steps.astype(kind))
        whole = sums.reshape(sizes)
        if self.centered:
            for axis, n in enumerate(sizes):
                whole = n * whole - whole.sum(axis=axis, keepdims=True)
        clamped: Integers = np.clip(factor * whole.ravel(), -_WIDEST, _WIDEST).astype(np.int64)
        return clamped

    # --- what is computed from the sums ---------------------------------------------------------

    def precisions(self) -> dict[Keys, list[tuple[int, float]]]:
        """Return for each residual its estimates: the place of a table, and 1 over the factor."""
        found: dict[Keys, list[tuple[int, float]]] = {}
        for place, (table, factor) in enumerate(zip(self.tables, self.factors, strict=True)):
            if self.centered:
                found[table] = [(place, float(factor * self.keys.cells(table)) ** 2)]
                continue
            for some in subsets(table):
                added = self.keys.cells(table) // self.keys.cells(some)
                found.setdefault(some, []).append((place, float(factor) ** 2 / added))
        return found

    def variance(self, some: Keys) -> float:
        """Return the variance of an entry of a table, in whole steps, for noise of variance one."""
        known, sizes, total = _precision(self), self.keys.sizes, 0.0
        for inner in subsets(some):
            share = math.prod((sizes[at] - 1) / sizes[at] for at in inner)
            if share:
                rest = self.keys.cells(some) / self.keys.cells(inner)
                total += share / (rest**2 * known[inner])
        return total * self.step**2

    def deviation(self, some: Keys) -> float:
        """Return the root of the variance."""
        return math.sqrt(self.variance(some))

    @property
    def spread(self) -> float:
        """The mean variance of all entries that are asked for, for noise of variance one."""
        return _spread(self)

    def tabled(self, drawn: Integers) -> dict[Keys, Floats]:
        """Return the entries of all tables that are asked for, from the noisy sums."""
        sizes = self.keys.sizes
        ends = np.cumsum([0, *map(self.keys.cells, self.tables)]).tolist()
        parts: list[Floats] = []
        for place, (table, factor) in enumerate(zip(self.tables, self.factors, strict=True)):
            scale = float(factor * (self.keys.cells(table) if self.centered else 1))
            whole = drawn[ends[place] : ends[place + 1]].astype(np.float64) * (self.step / scale)
            parts.append(whole.reshape([sizes[at] for at in table]))
        residuals: dict[Keys, Floats] = {}
        for some, estimates in _precisions(self).items():
            precision = sum(each for _, each in estimates)
            residuals[some] = np.zeros([sizes[at] for at in some])
            for place, each in estimates:
                table = self.tables[place]
                others = tuple(axis for axis, at in enumerate(table) if at not in some)
                residuals[some] += (each / precision) * parts[place].sum(axis=others)
            for axis in range(len(some)):
                residuals[some] -= residuals[some].mean(axis=axis, keepdims=True)
        found: dict[Keys, Floats] = {}
        for some in self.keys.sets:
            table_ = np.zeros([sizes[at] for at in some])
            for inner in subsets(some):
                if inner in residuals:
                    rest = self.keys.cells(some) // self.keys.cells(inner)
                    shape = [sizes[at] if at in inner else 1 for at in some]
                    table_ += residuals[inner].reshape(shape) / rest
            found[some] = table_
        return found

    def weights(self, some: Keys) -> list[tuple[float, int]]:
        """Return by what an entry of a table multiplies the noises, and how many of them, at most.

        The weight of the noise of an entry of a measured table depends on the keys in which the two
        entries agree.
        """
        known, sizes = _precisions(self), self.keys.sizes
        found: list[tuple[float, int]] = []
        for place, (table, factor) in enumerate(zip(self.tables, self.factors, strict=True)):
            scale = self.step / float(factor * (self.keys.cells(table) if self.centered else 1))
            shared = tuple(at for at in table if at in some)
            inner = [table] if self.centered and len(shared) == len(table) else []
            inner = inner if self.centered else list(subsets(shared))
            shares = []
            for each in inner:
                precision = dict(known[each])[place] / sum(one for _, one in known[each])
                rest = self.keys.cells(some) // self.keys.cells(each)
                shares.append((each, precision * scale / rest))
            for agreed in subsets(shared) if shares else ():
                count = math.prod(
                    (sizes[at] - 1 if at in shared else sizes[at])
                    for at in table
                    if at not in agreed
                )
                weight = sum(
                    share * math.prod((at in agreed) - 1 / sizes[at] for at in each)
                    for each, share in shares
                )
                if count and weight:
                    found.append((abs(weight), count))
        return found


@functools.lru_cache(maxsize=1 << 12)
def entry_terms(strategy: CubeStrategy, law: Laplace | Gaussian, some: Keys) -> Terms:
    """Return the noises in an entry of a table, or one that reaches no less far than all of them.

    Definition. Gaussian noises of residuals, of weights a_1, ..., a_m, are taken for a single one
    on a fine grid. Its deviation is S sigma + 2 S m**(1/2), with S**2 the sum of all a_j**2, and
    two steps of the grid more. Theorem (key ``cube-entry``). At a confidence of at least 1/2 it
    reaches no less far. Proof. P[Z >= k] <= Q((k - 1) / sigma) for k >= 1 (key
    ``weighted-noise-reach``), so |Z| is stochastically smaller than |X| + 1 with a normal X, and
    the sum than that of a_j X_j and of all |a_j|, which is at most S m**(1/2); and the quartile of
    the normal law is above 1/2.

    >>> keys = CubeKeys(lists=((0, 1),), types=(Type.INTEGER,), sets=((), (0,)))
    >>> whole = CubeStrategy(words="", keys=keys, value=CellValue(measure="count"),
    ...                      tables=((0,),), factors=(1,), centered=False)
    >>> [int(weight) for weight, _ in entry_terms(whole, Laplace(scale=2), ())]
    [1, 1]
    """
    if isinstance(law, Laplace) or not strategy.centered:
        known = [(_rounded(weight), count) for weight, count in strategy.weights(some)]
        return tuple((weight, law) for weight, count in known if weight for _ in range(count))
    spread = math.sqrt(strategy.variance(some))
    entries = sum(strategy.keys.cells(inner) for inner in subsets(some))
    wide = spread * (math.sqrt(law.variance) + 2 * math.sqrt(entries))
    grid = grid_of(strategy, wide)
    return ((grid, Gaussian(sigma=Fraction(wide) / grid + 2)),)


def grid_of(strategy: CubeStrategy, deviation: float) -> Fraction:
    """Return a power of two that is a millionth of a deviation, or of a step, about."""
    return Fraction(2) ** (math.floor(math.log2(max(deviation, strategy.step))) - _GRID_BITS)


def _rounded(weight: float) -> Fraction:
    """Round a weight up, but for what floats err."""
    return Fraction(math.ceil(weight * (1 << _GRID_BITS) - _FLOAT_ERROR), 1 << _GRID_BITS)


def subsets(some: Iterable[int]) -> Iterator[Keys]:
    """Yield all subsets of some keys, small ones first.

    >>> list(subsets((0, 2)))
    [(), (0,), (2,), (0, 2)]
    """
    whole = tuple(some)
    for size in range(len(whole) + 1):
        yield from itertools.combinations(whole, size)


@functools.lru_cache(maxsize=32)
def _precisions(strategy: CubeStrategy) -> Mapping[Keys, list[tuple[int, float]]]:
    return strategy.precisions()


@functools.lru_cache(maxsize=32)
def _precision(strategy: CubeStrategy) -> Mapping[Keys, float]:
    return {
        some: sum(each for _, each in estimates)
        for some, estimates in _precisions(strategy).items()
    }


@functools.lru_cache(maxsize=32)
def _spread(strategy: CubeStrategy) -> float:
    keys = strategy.keys
    entries = [keys.cells(some) for some in keys.sets]
    known = zip(keys.sets, entries, strict=True)
    return sum(count * strategy.variance(some) for some, count in known) / sum(entries)


@functools.lru_cache(maxsize=32)
def _differences(strategy: CubeStrategy) -> tuple[int, int]:
    """Bound the norms of x b - y b', of x and y each low or high, for two columns of B."""
    sizes, ends = strategy.keys.sizes, (strategy.value.low, strategy.value.high)
    ones, squares = strategy._lengths(1), strategy._lengths(2)  # noqa: SLF001 (this file)
    corners = list(itertools.product(ends, ends))
    # of two cells that differ: the tables that tell them apart add up, the others subtract
    one = max(
        sum(
            length * (abs(x) + abs(y) if table else abs(x - y))
            for table, length in zip(strategy.tables, ones, strict=True)
        )
        for x, y in corners
    )

    def inner(table: Keys, square: int, apart: frozenset[int]) -> int:
        if not strategy.centered:
            return 0 if apart & set(table) else square
        flipped = math.prod(1 - sizes[at] for at in table if at in apart)
        return square // flipped

    keys = [at for at, size in enumerate(sizes) if size > 1]
    tables = list(zip(strategy.tables, squares, strict=True))
    if len(tables) << len(keys) <= _FEW_PATTERNS:
        products = [
            sum(inner(table, square, frozenset(apart)) for table, square in tables)
            for apart in subsets(keys)
        ]
    else:  # the largest there is, and less than the smallest
        products = [
            sum(squares),
            sum(
                min(inner(table, square, frozenset({at})) for at in table) if table else square
                for table, square in tables
            ),
        ]
    whole = sum(squares)
    two = max(
        (x * x + y * y) * whole - 2 * x * y * product for x, y in corners for product in products
    )
    return one, two


def _digits(keys: CubeKeys, raw: RawTotals) -> tuple[list[Integers], NDArray[np.bool_]]:
    """Return the place of each value in the list of its key, for groups of listed values."""
    from discreet.requests.raw_totals import value_places  # noqa: PLC0415  loads Arrow

    found: list[Integers] = []
    inside = np.ones(raw.units.size, np.bool_)
    for values, kind, column in zip(keys.lists, keys.types, raw.keys, strict=True):
        places = value_places(column, values, kind)
        inside &= places >= 0
        found.append(places)
    return [each[inside] for each in found], inside


# --- which tables are measured --------------------------------------------------------------------


def residual_shares(keys: CubeKeys) -> dict[Keys, tuple[float, float]]:
    """Return p_A and v_A of each residual that the tables asked for need."""
    sizes = keys.sizes
    found: dict[Keys, float] = {}
    for some in keys.sets:
        whole = keys.cells(some)
        for inner in subsets(some):
            moved = math.prod(sizes[at] - 1 for at in inner)
            if moved:
                rest = whole / keys.cells(inner)
                found[inner] = found.get(inner, 0.0) + moved / rest
    return {
        inner: (math.prod((sizes[at] - 1) / sizes[at] for at in inner), total)
        for inner, total in found.items()
    }


def least_error(keys: CubeKeys) -> float:
    """Return the root mean square error of all entries, with Gaussian noise at rho = 1/2.

    It is for one unit that adds one to one cell.

    >>> values = tuple(tuple(range(size)) for size in (10, 8, 2))
    >>> full = CubeKeys(lists=values, types=(Type.INTEGER,) * 3, sets=tuple(subsets(range(3))))
    >>> round(least_error(full), 3)
    1.544
    """
    entries = sum(map(keys.cells, keys.sets))
    total = sum(math.sqrt(share * error) for share, error in residual_shares(keys).values())
    return total / math.sqrt(entries)


def balanced(keys: CubeKeys) -> tuple[tuple[Keys, ...], tuple[int, ...]]:
    """Return the residuals to measure, and by what to multiply each."""
    wanted = {
        inner: (error / share) ** 0.25 / keys.cells(inner)
        for inner, (share, error) in residual_shares(keys).items()
    }
    scale = _LEAST_FACTOR / min(wanted.values())
    return tuple(wanted), tuple(round(scale * each) for each in wanted.values())


def coarse_value(measure: str, low: int, high: int) -> tuple[CellValue, int]:
    """Return the bounds of what one unit adds in coarser steps, and that step.

    >>> coarse_value("sum", -1, 2**20)
    (CellValue(measure='sum', low=-1, high=4096, step=1), 256)
    """
    most = max(-low, high, 1)
    step = 1 << max(0, (most - 1).bit_length() - (_FINEST.bit_length() - 1))
    return CellValue(measure=measure, low=low // step, high=-(-high // step)), step
