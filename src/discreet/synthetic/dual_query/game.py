"""The game of DualQuery: queries are drawn privately, rows are chosen in public.

Trust: kernel.  The draws are the only step that sees counts of the data.

Definition (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014).  In each round s queries are drawn by
exponential weights, and the oracle looks for a row that as many of them as possible hold for.  A
query that the rows so far answer too low is drawn more often.  (The listing in the paper has both
signs reversed; its proofs and its authors' program run what is written here.)  Released are the T
rows; the answer to a query is its average over them.

Columns that no drawn query names are free: every code meets as many drawn queries.  They keep the
code of the row before, so that a query which once held goes on holding until its negation is drawn.
With fresh codes instead, it has to be drawn again for every row.

Theorem keys: ``dual-query`` for the price, ``exponential-inversion`` for the law of the draws.
Scores are the integers k c_q - N (q(x_1) + ... + q(x_k)), and the rate is eta / N: nothing is
rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise import SYSTEM, Entropy, exponential_weights
from discreet.synthetic.dual_query.conjunctions import Conjunctions
from discreet.synthetic.dual_query.oracle import Oracle, Sample
from discreet.synthetic.dual_query.settings import MOST_ROWS, DualQuerySettings
from discreet.synthetic.inference.values import code_type

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
    """Take a row where drawn queries name a column, and the one before elsewhere."""
    kept = before.copy()
    kept[sample.columns] = row[sample.columns]
    return kept
