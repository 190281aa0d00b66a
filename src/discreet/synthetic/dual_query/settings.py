"""The public settings of DualQuery, and what they cost.

Trust: kernel.

Definition.  In round t = 1, ..., T, with k = t - 1 rows x_1, ..., x_k released so far, s queries
are drawn independently of each other, q with probability proportional to
exp(eta (k c_q / N - q(x_1) - ... - q(x_k))), where c_q is the count of q, and N a public number.

Theorem (key ``dual-query``; Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, Dual Query; Cesar and
Rogers 2021).  Let one unit move counts as ``query-counts`` says, by at most d. Then the log-ratio
of the distributions of one draw after k rows has a range of at most eta k d / N if a unit is
added or removed, and of at most 2 eta k d / N if one replaces another.  So all draws together
are rho-zCDP with rho = s eta^2 d^2 T (T-1) (2T-1) / (48 N^2), or four times that if units are
replaced.  Rows are made from the drawn queries alone, and cost nothing more. Proof in
docs/proofs/synthetic.md. N is fixed before: the number of rows if all tables have one size,
otherwise a noisy count that was paid for, or any other public number.

A model that is a list of rows: what DualQuery releases.

Trust: public.

The game of DualQuery: queries are drawn privately, rows are chosen in public.

The draws are the only step that sees counts of the data.

Definition (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014).  In each round s queries are drawn by
exponential weights, and the oracle looks for a row that as many of them as possible hold for.  A
query that the rows so far answer too low is drawn more often.  (The listing in the paper has both
signs reversed; its proofs and its authors' program agree with this definition.)  The T rows are
released; the answer to a query is its average over them.

Columns that no drawn query names are free: every code meets as many drawn queries.  They keep the
code of the row before, so that a query which once held goes on holding until its negation is drawn.
With fresh codes instead, it has to be drawn again for every row.

Theorem keys: ``dual-query`` for the price, ``exponential-inversion`` for the distribution of the
draws. Scores are the integers k c_q - N (q(x_1) + ... + q(x_k)), and the rate is eta / N: nothing
is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.exact import freeze, positive, whole
from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Exponential
from discreet.noise import SYSTEM, Entropy, exponential_weights
from discreet.synthetic.dual_query.conjunctions import Conjunctions
from discreet.synthetic.dual_query.oracle import Oracle, Sample
from discreet.synthetic.inference.inference import CodedDomain, Codes, code_type
from discreet.synthetic.inference.tree_model import shuffled, systematic
from discreet.units import PrivacyUnit, Relation

MOST_ROUNDS: Final = 1 << 16
MOST_ROWS: Final = 1 << 40
_MOST_SAMPLES: Final = 1 << 30
_ROUNDS_IN_TREE: Final = 64  # beyond, the accountant takes a minute and finds what zCDP says
_ROUNDS_PER_ROOT: Final = Fraction(7, 10)
_DEFAULT_ROUNDS: Final = 1 << 10
_DEFAULT_SAMPLES: Final = 1 << 13


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DualQuerySettings:
    """Rounds T, samples s a round, the rate eta, and the public number of rows N.

    >>> adult = DualQuerySettings(rounds=60, samples=384, rate=Fraction(2), rows=30162)
    >>> round(float(adult.rho(moved=1, replaces=True)), 5)
    0.05927
    >>> round(adult.advanced_epsilon(moved=1, replaces=True, delta=1e-3), 2)
    3.04
    """

    rounds: int
    samples: int
    rate: Fraction
    rows: int

    def __post_init__(self) -> None:
        """Refuse settings that are not positive numbers, or whose scores would not fit."""
        whole(self.rounds, name="rounds", low=1, high=MOST_ROUNDS)
        whole(self.samples, name="samples", low=1, high=_MOST_SAMPLES)
        whole(self.rows, name="rows", low=1, high=MOST_ROWS)
        freeze(self, rate=positive(self.rate, name="rate"))

    def draw_range(self, earlier: int, *, moved: int, replaces: bool) -> Fraction:
        """Return the range of the log-ratios of one draw after this number of rows.

        >>> DualQuerySettings(rounds=9, samples=1, rate=Fraction(1), rows=10).draw_range(
        ...     5, moved=1, replaces=True)
        Fraction(1, 1)
        """
        return (2 if replaces else 1) * self.rate * earlier * moved / self.rows

    def rho(self, *, moved: int, replaces: bool) -> Fraction:
        """Return the zCDP price of all draws."""
        last = self.rounds - 1
        squares = Fraction(last * self.rounds * (2 * self.rounds - 1), 6)
        return self.samples * self.draw_range(1, moved=moved, replaces=replaces) ** 2 * squares / 8

    def tree(self, *, queries: int, moved: int, unit: PrivacyUnit) -> Node:
        """Return the charge for ``queries`` conjunctions: each round, or their zCDP sum."""
        replaces = unit.relation.replaces
        if self.rounds > _ROUNDS_IN_TREE:
            loss = ZeroConcentrated(rho=self.rho(moved=moved, replaces=replaces))
            relation = Relation.REPLACE if replaces else Relation.ADD_REMOVE
            return Leaf(loss, name="draws of queries", unit=_with(unit, relation))
        return Sequential(*self._rounds(2 * queries, moved, unit))

    def _rounds(self, candidates: int, moved: int, unit: PrivacyUnit) -> Iterator[Node]:
        """Yield the draws of each round; those of the first one do not depend on the data."""
        replaces = unit.relation.replaces
        draw = Exponential(
            candidates=candidates,
            scale=self.rows / self.rate,
            change="general" if replaces else "monotone",
        )
        for earlier in range(1, self.rounds):
            leaf = Leaf(
                draw,
                name="draw of a query",
                unit=_with(unit, Relation.ADD_REMOVE),
                added=earlier * moved,
                replaced=earlier * moved if replaces else None,
            )
            yield Repeat(leaf, self.samples)

    def advanced_epsilon(self, *, moved: int, replaces: bool, delta: float) -> float:
        """Return the epsilon of advanced composition, which priced published runs.

        A figure to compare with, not a charge.
        """
        ranges = [
            float(self.draw_range(earlier, moved=moved, replaces=replaces))
            for earlier in range(1, self.rounds)
        ]
        spread = self.samples * math.fsum(e * e for e in ranges)
        drift = self.samples * math.fsum(e * math.expm1(e) for e in ranges)
        return math.sqrt(2 * math.log(1 / delta) * spread) + drift


def default_settings(
    *, rows: int, rho: Fraction, moved: int, replaces: bool, rate: Fraction = Fraction(2)
) -> DualQuerySettings:
    """Return settings that spend rho: rounds and samples both grow like the root of N root(rho).

    With b = rho N^2 / d^2, as for replaced units, T is 0.7 b^(1/4), and s is what the price leaves.
    They are functions of public numbers.  The constants, 0.7 and the rate, were fitted to settings
    that an uncharged search on the tables Adult and KDD99 had found: so errors on these two tables
    are no independent evidence of how well the defaults do elsewhere.
    There are at most 1024 rounds of 8192 samples; beyond, part of the price stays unspent.

    >>> default_settings(rows=30162, rho=Fraction("0.0593"), moved=1, replaces=True)
    DualQuerySettings(rounds=60, samples=384, rate=Fraction(2, 1), rows=30162)
    """
    reach = rho * Fraction(rows, moved) ** 2 * (1 if replaces else 4)
    root = math.sqrt(math.isqrt(math.floor(reach)))
    rounds = max(2, min(_DEFAULT_ROUNDS, round(float(_ROUNDS_PER_ROOT) * root)))
    while rounds >= 2:
        one = DualQuerySettings(rounds=rounds, samples=1, rate=rate, rows=rows)
        samples = math.floor(rho / one.rho(moved=moved, replaces=replaces))
        if samples >= 1:
            return DualQuerySettings(
                rounds=rounds, samples=min(samples, _DEFAULT_SAMPLES), rate=rate, rows=rows
            )
        rounds -= 1
    return DualQuerySettings(rounds=1, samples=1, rate=rate, rows=rows)


def _with(unit: PrivacyUnit, relation: Relation) -> PrivacyUnit:
    return PrivacyUnit(name=unit.name, columns=unit.columns, relation=relation)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowModel:
    """Equally likely rows of codes, times a number of rows.

    >>> model = RowModel(CodedDomain(("a",), (2,)), np.array([[0], [1], [1], [1]]), 100.0)
    >>> model.marginal((0,)).tolist()
    [25.0, 75.0]
    """

    domain: CodedDomain
    codes: NDArray[np.integer[Any]]
    total: float

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the expected counts of some columns."""
        chosen = self.domain.marginal(columns)
        shape = self.domain.shape(chosen)
        cells = np.zeros(len(self.codes), np.int64)
        for column, size in zip(chosen, shape, strict=True):
            cells = cells * size + self.codes[:, column]
        counts = np.bincount(cells, minlength=self.domain.size(chosen)).astype(np.float64)
        counts *= self.total / len(self.codes)
        return counts.reshape(shape)

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return every row about equally often, in random order."""
        often = systematic(np.ones(len(self.codes)), count, stream)
        repeated = np.repeat(self.codes, often, axis=0).astype(code_type(self.domain.sizes))
        return repeated[shuffled(count, stream)]


Rows = NDArray[np.unsignedinteger[Any]]


def query_scores(
    held: NDArray[np.int64],
    missed: NDArray[np.int64],
    answered: NDArray[np.int64],
    *,
    earlier: int,
    rows: int,
) -> NDArray[np.int64]:
    """Return the scores of all conjunctions, then of their negations.

    ``held`` and ``missed`` count the rows of the data for which conjunctions hold or do not,
    ``answered`` the released rows for which they hold, out of ``earlier`` ones.

    >>> query_scores(np.array([7]), np.array([3]), np.array([1]), earlier=2, rows=10).tolist()
    [4, -4]
    """
    for_them = earlier * np.minimum(held, MOST_ROWS) - rows * answered
    against = earlier * np.minimum(missed, MOST_ROWS) - rows * (earlier - answered)
    return np.concatenate([for_them, against])


def play(  # noqa: PLR0913  the game, its data, its oracle, and two kinds of randomness
    queries: Conjunctions,
    held: NDArray[np.int64],
    missed: NDArray[np.int64],
    settings: DualQuerySettings,
    *,
    oracle: Oracle,
    stream: Entropy,
    entropy: Entropy = SYSTEM,
) -> Rows:
    """Return the rows that the game releases: one for each round, as codes.

    Args:
        queries: The conjunctions; their negations are drawn too.
        held: How many rows of the data each conjunction holds for.
        missed: For how many it does not.
        settings: Rounds, samples, rate and the public number of rows.
        oracle: Looks for a row that many queries hold for; it sees released queries alone.
        stream: Public randomness of the oracle.
        entropy: Private randomness of the draws.
    """
    answered = np.zeros(queries.count, np.int64)
    table = np.empty((settings.rounds, queries.domain.columns), code_type(queries.domain.sizes))
    for earlier in range(settings.rounds):
        scores = query_scores(held, missed, answered, earlier=earlier, rows=settings.rows)
        drawn = exponential_weights(
            scores=scores,
            rate=settings.rate / settings.rows,
            count=settings.samples,
            entropy=entropy,
        )
        sample = Sample.of(queries, drawn)
        row = oracle.best(sample, stream)
        table[earlier] = _kept(sample, row, table[earlier - 1]) if earlier else row
        answered += queries.holds(table[earlier])
    return table


def _kept(sample: Sample, row: NDArray[np.int64], before: Rows) -> Rows:
    """Take a row if drawn queries name a column, and the one before elsewhere."""
    kept = before.copy()
    kept[sample.columns] = row[sample.columns]
    return kept
