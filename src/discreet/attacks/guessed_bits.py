"""An audit in one run: a lower bound on epsilon from bits that were guessed.

Trust: public.

Setting.  m people have fair and independent bits (in a training run: whether an example was put
in).  Answers are (epsilon, delta)-private when one bit changes.  Some bits are guessed from the
answers, others are left alone.  W guesses are right.  Let c = e^epsilon / (1 + e^epsilon).

Theorem (key ``guessed-bits``; Steinke, Nasr and Jagielski 2023).  If delta = 0, then given the
answers, W is stochastically at most the number of heads among as many coins of probability c as
there are guesses.
Proof.  Given the bits before the i-th, the probabilities of an answer with the i-th bit 0 and 1 are
means over the later bits, so their ratio is within e^epsilon.  By Bayes, given the answer as well,
the i-th bit is 0 with probability at most c, and 1 likewise.  So for any earlier guesses, the next
one is right with probability at most c; add them up one by one.

Theorem (key ``guessed-bits-approximate``).  If at most r bits are guessed, r fixed in advance, then
    P[W >= v] <= P[B_r >= v] + m delta (1 - c) (pi_0 + ... + pi_(r-1)) / r,
where B_k counts the heads of k coins with probability c, and pi_k is the probability of its
likeliest value.
Proof.  Let r bits be guessed; fewer are filled up by guesses at will.  Given the answer y, reveal
the guessed bits in an order drawn at random.  When bit i comes up, P0 and P1 are the probabilities
of y given the bits revealed so far and the i-th, means over the others.  Flag the bit with
probability (P1 - e^epsilon P0)+ / P1 if it is 1, and (P0 - e^epsilon P1)+ / P0 if it is 0.  Without
a flag its two values have weights within e^epsilon of each other, so the guess is right with
probability at most c; if f is the probability of a flag, with one of at most c + f (1 - c).
Let X_j = P[B_(r-j) >= v - W_j] after j guesses, W_j of them right; X_0 = P[B_r >= v], and X_r says
whether W >= v.  With k = r - j - 1, a guess that is right with probability p moves X_j on average
by (p - c) P[B_k = v - W_j - 1], which is at most f (1 - c) pi_k.  So the increase over P[B_r >= v]
is at most (1 - c) times the sum of pi_k times the probability of a flag at the guess with k to
come.
If bit i is guessed, it is at each place with probability 1 / r.  Its flag then has probability at
most delta, averaged over y and bits: (.)+ is convex, so it does not grow if bits are averaged over,
and with all other bits known the mean over both values of the i-th is that of (P1 - e^epsilon P0)+
and (P0 - e^epsilon P1)+, summed over y: at most delta each.  Sum over the m bits.

Theorem (key ``one-run-audit``).  Let L be a probability at which that bound, at v = W, is at most
the level.  Then L > c with probability at most the level.
Proof.  Let v be the least count for which some c' > c has a bound of at most the level.  Answers
that are (epsilon, delta)-private are so for the larger epsilon' of c' too.  So L > c implies W >=
v, which has probability at most the bound at c' and v.
With delta = 0 this holds given the answers, for the number of guesses that were made.
Averages of pi_0 ... pi_(r-1) do not grow with r, so a smaller r may replace a larger one there.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.claim import log_ratio
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least, tail
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_down, float_up, whole
from discreet.loss.parameters import checked_delta
from discreet.loss.privacy_loss import PrivacyCurve

__all__ = ["guessed"]

Bits = Sequence[int] | NDArray[np.integer]
"""The secret of each person: 0 or 1."""
Guesses = Bits | Sequence[int | None]

ABSTAIN: Final = -1
_FIXED: Final = 1 << 128
_MOST_PEAKS: Final = 1 << 16
_ROUNDS: Final = 4
_HALF: Final = Fraction(1, 2)


def guessed(  # noqa: PLR0913  what was guessed, what was promised, and how surely
    bits: Bits,
    guess: Guesses,
    *,
    claim: object = None,
    delta: object = 0,
    most: int | None = None,
    level: object = "1e-6",
    event: str = "",
) -> Measured:
    """Bound epsilon from below by how many of the bits were guessed, in a single run.

    Args:
        bits: fair and independent bits, each 0 or 1.
        guess: a guess of each from the answers; None or -1 for no guess.
        claim: what was promised: an epsilon at this delta, a loss, or the price of a tree.
        delta: the delta that goes with epsilon.
        most: the most guesses that could have been made, fixed before the answers were seen; needed
            if delta is above 0 and some bits are not guessed.
        level: the probability that the bound is too high.
        event: what to call the guesses.

    >>> print(guessed([0, 1] * 500, [0, 1] * 500, claim=1))
    epsilon >= 4.275, claimed 1: VIOLATED (1000 against 0 of 1000: bits guessed)
    >>> sure = [0, 1] * 50 + [None] * 900
    >>> print(guessed([0, 1] * 500, sure, delta="1e-6", most=100, level="0.01"))
    epsilon(delta=1e-06) >= 3.0545 (100 against 0 of 100: bits guessed)
    """
    truth, said = _read(bits, guess)
    made, right = int((said != ABSTAIN).sum()), int((truth == said).sum())
    chance = checked_delta(delta)
    coins, failures = _coins(len(truth), made, most, chance), len(truth) * chance
    least = _least(right, coins, failures, level)
    if least == 0 and _least(coins, coins, failures, level) == 0:
        raise OutOfRange(
            what=f"at this level no number of {coins} guesses can say anything.",
            why="answers may fail at delta for each of the bits, which alone is as likely.",
            do="give a larger level, a smaller delta, or more guesses of fewer bits.",
        )
    rough = max(np.log((right + 0.5) / (coins - right + 0.5)), 0.0)
    return Measured(
        parameter="epsilon",
        lower=log_ratio(least, 1 - least),
        estimate=float(rough),
        claimed=_claimed(claim, chance),
        delta=float(chance),
        event=event or "bits guessed",
        hits=(right, coins - right),
        n=coins,
        level=float_up(decimal(level, name="level")),
    )


def _read(bits: Bits, guess: Guesses) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    values = guess if np.iterable(guess) else ()
    truth = np.asarray(bits)
    said = np.asarray([ABSTAIN if value is None else value for value in values])
    if truth.shape != said.shape or truth.ndim != 1 or not truth.size:
        raise WrongKind(
            what="there is not one guess for every bit.",
            why="right guesses are counted among all.",
            do="give as many guesses as bits, at least one; None if a bit is not guessed.",
        )
    if not (np.isin(truth, (0, 1)).all() and np.isin(said, (ABSTAIN, 0, 1)).all()):
        raise WrongKind(
            what="a bit is neither 0 nor 1, or a guess is neither 0, 1, -1 nor None.",
            why="a fair coin has two sides; -1 and None stand for no guess.",
            do="write the bits as 0 and 1.",
        )
    if (said == ABSTAIN).all():
        raise WrongKind(
            what="no bit is guessed.",
            why="epsilon is bounded by how many guesses are right.",
            do="guess at least the bit that the answers say most about.",
        )
    return truth.astype(np.int64), said.astype(np.int64)


def _coins(bits: int, made: int, most: int | None, delta: Fraction) -> int:
    """Return with how many coins the right guesses are compared."""
    if most is None and delta and made < bits:
        raise WrongKind(
            what="not all bits were guessed, and it is not said how many could have been.",
            why="with delta above 0, a number of guesses that depends on the answers proves less.",
            do="fix in advance how many bits are guessed at most, and give most=...",
        )
    limit = bits if most is None else whole(most, name="most", low=1, high=bits)
    if made > limit:
        raise OutOfRange(
            what="there are more guesses than most allows.",
            why="the bound holds for a number of guesses that was fixed in advance.",
            do="guess fewer bits: the surest ones.",
        )
    return limit if delta else made


def _claimed(claim: object, delta: Fraction) -> float | None:
    if claim is None:
        return None
    if isinstance(claim, PrivacyCurve):
        return claim.epsilon(delta)
    return float_up(decimal(claim, name="claim"))


def _least(right: int, coins: int, failures: Fraction, level: object) -> Fraction:
    """Return a probability whose bound is at most the level: close to the largest, or 0."""
    least = at_least(right, coins, level=level)
    if failures == 0:
        return least
    total = decimal(level, name="level")
    for _ in range(_ROUNDS):  # towards the largest probability that is still refuted, from above
        rest = total - _failed(coins, failures, least) if least > _HALF else Fraction(0)
        if rest <= 0:
            return Fraction(0)
        least = at_least(right, coins, level=rest)
    step = least / 2**20
    while least > _HALF:
        if tail(right, coins, least) + _failed(coins, failures, least) <= total:
            return least
        least, step = least - step, 2 * step
    return Fraction(0)


def _failed(coins: int, failures: Fraction, chance: Fraction) -> Fraction:
    """Return what failures add to the probability of many right guesses, rounded up."""
    rounded = Fraction(float_down(chance))  # the term falls as the probability grows
    places = min(coins, _MOST_PEAKS)
    return failures * (1 - rounded) * _peaks(places, rounded) / places


@functools.lru_cache(maxsize=256)
def _peaks(count: int, chance: Fraction) -> Fraction:
    """Return the sum of the largest chances of binomial(k, chance) for k < count, rounded up.

    The likeliest value of k trials is w = floor((k + 1) chance).  With one trial more it is w or
    w + 1, whose chances are those of w times (1 - chance) (k+1) / (k+1-w), or chance (k+1) / (w+1).

    >>> _peaks(3, Fraction(1, 2))  # 1 + 1/2 + 1/2
    Fraction(2, 1)
    """
    top, bottom = chance.numerator, chance.denominator
    peak, total, mode = _FIXED, 0, 0
    for k in range(count):
        total += peak
        if (k + 2) * top // bottom > mode:
            mode += 1
            peak = -(-peak * (k + 1) * top // (mode * bottom))
        else:
            peak = -(-peak * (k + 1) * (bottom - top) // ((k + 1 - mode) * bottom))
    return Fraction(total, _FIXED)
