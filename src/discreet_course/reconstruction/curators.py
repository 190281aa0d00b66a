"""The target of an attack: a curator who holds secret bits, or a database queried in SQL.

Definition.  A *curator* holds bits x of n people.  A question is a set of people, a row of zeros
and ones; the answer is the number of bits in it that are set, exactly or not.
Theorem (key ``reconstruction-ceiling``).  If all answers together are epsilon-private when one bit
changes, and the bits are fair coins, no attacker guesses more than a share of
e^epsilon / (1 + e^epsilon) of them in expectation; with (epsilon, delta), of
(e^epsilon + delta) / (1 + e^epsilon).
Proof.  Take one person, and all other bits as given.  Let a be the probability that the guess is 1
if the bit is 1, and b the probability that it is 1 if the bit is 0.  The guess is right with
probability (a + 1 - b) / 2, and a <= e^epsilon b + delta as well as 1 - b <= e^epsilon (1 - a) +
delta.  The sum of the two, a + 1 - b <= e^epsilon (2 - (a + 1 - b)) + 2 delta, is the claim.

A database is asked in SQL: one answers exactly, one refuses small groups, one is a session.  An
attack takes any function from the text of a question to a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import positive, whole
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM, DyadicGrid, Entropy

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.session import Session

Bits = Sequence[int] | NDArray[np.integer]
Sets = NDArray[np.uint8]
"""One row for each question, one column for each person."""
Answers = NDArray[np.float64]
Curator = Callable[[Sets], Answers]

_DIGITS: Final = 10


def holding(bits: Bits) -> Curator:
    """Return a curator who answers exactly.

    >>> holding([1, 0, 1])(np.array([[1, 1, 0], [1, 1, 1]], np.uint8)).tolist()
    [1.0, 2.0]
    """
    members = np.flatnonzero(_read(bits))
    return lambda sets: sets[:, members].sum(axis=1, dtype=np.int64).astype(np.float64)


def with_noise(bits: Bits, *, deviation: float, entropy: Entropy = SYSTEM) -> Curator:
    """Return a curator who adds Gaussian noise of some standard deviation, without a promise.

    >>> with_noise([1, 0, 1], deviation=0.5)(np.ones((2, 3), np.uint8)).shape
    (2,)
    """
    exact = holding(bits)
    noise = Gaussian(sigma=Fraction(deviation), grid=DyadicGrid(exponent=-_DIGITS))
    return lambda sets: np.asarray(noise.run(exact(sets), entropy=entropy), np.float64)


def releasing(bits: Bits, *, epsilon: Any) -> Curator:
    """Return a curator who answers all questions of one call in a private release.

    A changed bit moves each of m counts by at most 1, so Laplace noise of scale m / epsilon on each
    makes one release of m counts epsilon-private.

    >>> releasing([1, 0, 1], epsilon=1)(np.ones((5, 3), np.uint8)).shape
    (5,)
    """
    exact, price = holding(bits), positive(epsilon, name="epsilon")

    def answer(sets: Sets) -> Answers:
        counts = exact(sets).astype(np.int64)
        return np.asarray(Laplace(scale=len(sets) / price).run(counts), np.float64)

    return answer


def recovered(bits: Bits, guess: Bits) -> float:
    """Return the share of people whose bit was guessed.

    >>> recovered([1, 0, 1, 1], [1, 0, 0, 1])
    0.75
    """
    truth, said = _read(bits), _read(guess)
    if truth.shape != said.shape:
        raise OutOfRange(
            what=f"there are {said.size} guesses about {truth.size} people.",
            why="guesses belong to people by their order.",
            do="give one guess for everybody.",
        )
    return float(np.mean(truth == said))


def ceiling(loss: PrivacyLoss, *, delta: float = 0.0) -> float:
    """Return the share of fair bits that can be guessed at most, in expectation.

    >>> from discreet.loss import Pure
    >>> round(ceiling(Pure(epsilon=1)), 3)
    0.731
    """
    epsilon = loss.epsilon(delta=delta)
    if epsilon > math.log(2**53):
        return 1.0
    growth = math.exp(epsilon)
    return min(1.0, (growth + delta) / (1 + growth) * (1 + 2**-50))


def _read(bits: Bits) -> NDArray[np.float64]:
    values = np.asarray(bits, np.float64)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise OutOfRange(
            what="the secret is not a list of zeros and ones.",
            why="the attacks guess one bit of everybody.",
            do="give one 0 or 1 for each person.",
        )
    return values


Ask = Callable[[str], float]
"""From the text of a question to its one number."""


class Refused(Exception):
    """What a database says that refuses a question."""


def exactly(connection: Any) -> Ask:
    """Ask a DuckDB connection, which answers exactly.

    >>> import duckdb
    >>> exactly(duckdb.connect())("SELECT COUNT(*) FROM range(5)")
    5.0
    """
    return lambda sql: float(connection.execute(sql).fetchone()[0])


def guarded(connection: Any, *, table: str, smallest: int) -> Ask:
    """Ask one that counts exactly, but refuses counts of few people and of nearly all.

    This is how databases were guarded before noise: no count below ``smallest``, and none of more
    than all but ``smallest``.  Questions are written as ``SELECT COUNT(*) FROM table WHERE ...``.
    """
    ask, least = exactly(connection), whole(smallest, name="smallest", low=1)
    everyone = ask(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 (the attacker's own words)

    def answer(sql: str) -> float:
        answers = ask(sql)
        if not least <= answers <= everyone - least:
            raise Refused(sql)
        return answers

    return answer


def privately(session: Session, **price: Any) -> Ask:
    """Ask a session; every question is paid for."""

    def answer(sql: str) -> float:
        release = session.ask(sql, **price)
        return float(release[release.names[0]][0].as_py())

    return answer
