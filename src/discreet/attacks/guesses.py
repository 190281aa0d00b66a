"""How much is lost, at least, from bits that were guessed: one release is enough.

Trust: public.

Theorem (key ``guessed-bits``; Steinke, Nasr and Jagielski 2023).  n people have fair and
independent bits, and answers are epsilon-private when one bit changes.  However the bits are
guessed from the answers, the number of right guesses is stochastically at most that of n coins with
chance c = e^epsilon / (1 + e^epsilon).
Proof.  Given the bits before the i-th, the chances of an answer with the i-th bit 0 and 1 are means
over the later bits, so their ratio is within e^epsilon.  By Bayes, given the answer as well, the
i-th bit is 0 with a chance of at most c, and 1 too.  So whatever the guesses before, the next one
is right with a chance of at most c; add them up one by one.
So if k of n guesses are right, c is at least the lower end of Clopper and Pearson at (k, n) (key
``clopper-pearson``), and epsilon at least its log odds, but for a chance of the level.
"""

from __future__ import annotations

import numpy as np

from discreet.attacks.claim import log_ratio
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least
from discreet.attacks.reconstruction.curators import Bits
from discreet.errors import WrongKind
from discreet.exact import decimal, float_up

__all__ = ["guessed"]


def guessed(
    bits: Bits, guess: Bits, *, claim: object = None, level: object = "1e-6", event: str = ""
) -> Measured:
    """Bound epsilon from below by how many of the bits were guessed.

    >>> print(guessed([0, 1] * 500, [0, 1] * 500, claim=1))
    epsilon >= 4.275, claimed 1: VIOLATED (1000 against 0 of 1000: bits guessed)
    """
    truth, said = np.asarray(bits), np.asarray(guess)
    if truth.shape != said.shape or truth.ndim != 1 or not truth.size:
        raise WrongKind(
            what="there is not one guess for every bit.",
            why="right guesses are counted among all.",
            do="give as many guesses as bits, at least one.",
        )
    n, right = truth.size, int((truth == said).sum())
    least = at_least(right, n, level=level)
    rough = max(np.log((right + 0.5) / (n - right + 0.5)), 0.0)
    return Measured(
        parameter="epsilon",
        lower=log_ratio(least, 1 - least),
        estimate=float(rough),
        claimed=None if claim is None else float_up(decimal(claim, name="claim")),
        event=event or "bits guessed",
        hits=(right, n - right),
        n=n,
        level=float_up(decimal(level, name="level")),
    )
