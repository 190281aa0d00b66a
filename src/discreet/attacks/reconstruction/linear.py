"""Attacks by linear algebra: random questions, and the bits that fit the answers best.

Trust: public.  Dinur and Nissim 2003, Revealing Information while Preserving Privacy; Dwork,
McSherry and Talwar 2007, The Price of Privacy and the Limits of LP Decoding.

Definition.  m questions about random halves of n people, A, were answered with a.  *Least squares*
rounds the z with the smallest |A z - a|_2.  *Linear programming* rounds a z between 0 and 1 with
the smallest sum of |A z - a|: box and absolute values make it robust, a few answers may be garbage.
Fact.  If errors are independent and normal with standard deviation s, least squares guesses about
a share of Phi(sqrt(m - n - 1) / (4 s)) of the bits: see :func:`expected`.

The linear program is solved by splitting (the alternating direction method of multipliers): its
matrix is dense, and one factorization of n by n serves all steps, where general solvers take
minutes.  A dual solution bounds how far the sum is from the smallest one, and the steps end there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction.curators import Answers, Curator, Sets
from discreet.exact import whole
from discreet.noise import SYSTEM, Entropy

__all__ = ["Fit", "attack", "expected", "least_squares", "linear_program", "random_halves"]

_STEPS = 2000
_CHECKED = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What fits the answers, before rounding.

    ``gap`` is how far the sum of errors is from the smallest possible, as a share, at most.
    """

    near: NDArray[np.float64]
    gap: float = 0.0

    @property
    def guess(self) -> NDArray[np.uint8]:
        """The bits."""
        return (self.near > 0.5).astype(np.uint8)


def random_halves(people: int, *, questions: int, entropy: Entropy = SYSTEM) -> Sets:
    """Return questions about everybody with an even chance."""
    rows, columns = whole(questions, name="questions", low=1), whole(people, name="people", low=1)
    words = entropy.words(-(-rows * columns // 64), 64).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), count=rows * columns)
    return bits.reshape(rows, columns)


def expected(people: int, *, questions: int, deviation: float) -> float:
    """Return the share that least squares guesses, in expectation, up to small terms.

    >>> round(expected(128, questions=512, deviation=2.83), 3)
    0.958
    """
    spare = max(questions - people - 1, 0)
    return 0.5 * erfc(-sqrt(spare) / (4 * deviation) / sqrt(2))


def least_squares(sets: Sets, answers: Answers) -> Fit:
    """Return what has the smallest sum of squared errors."""
    near, *_ = np.linalg.lstsq(sets.astype(np.float64), answers, rcond=None)
    return Fit(near=np.asarray(near, np.float64))


def linear_program(sets: Sets, answers: Answers, *, gap: float = 0.01) -> Fit:
    """Return what lies between 0 and 1 and has the smallest sum of absolute errors.

    The sum is within a share ``gap`` of the smallest, or what 2,000 steps reach.
    """
    from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    matrix = sets.astype(np.float64)
    questions, people = matrix.shape
    weight = questions / 4
    factor = cho_factor(matrix.T @ matrix + weight * np.eye(people))
    start = cho_solve(factor, matrix.T @ answers + weight / 2)
    scale = float(np.mean(np.abs(matrix @ start - answers))) or 1.0  # how far noise reaches
    error, error_dual = np.zeros(questions), np.zeros(questions)
    inside, inside_dual = np.clip(start, 0, 1), np.zeros(people)
    best = Fit(near=inside, gap=np.inf)
    for step in range(1, _STEPS + 1):
        target = matrix.T @ (answers + error - error_dual) + weight * (inside - inside_dual)
        near = cho_solve(factor, target)
        moved = matrix @ near - answers + error_dual
        error = np.sign(moved) * np.maximum(np.abs(moved) - scale, 0)
        error_dual = moved - error
        shifted = near + inside_dual
        inside = np.clip(shifted, 0, 1)
        inside_dual = shifted - inside
        if step % _CHECKED == 0:
            left = _gap(matrix, answers, inside, error_dual / scale)
            if left < best.gap:
                best = Fit(near=inside, gap=left)
            if best.gap <= gap:
                break
    return best


def _gap(matrix: Answers, answers: Answers, inside: Answers, dual: Answers) -> float:
    """Bound how far a sum of errors is from the smallest: weak duality with |dual| <= 1."""
    distance = float(np.abs(matrix @ inside - answers).sum())
    clipped = np.clip(dual, -1, 1)
    least = float(-clipped @ answers + np.minimum(matrix.T @ clipped, 0).sum())
    return (distance - least) / distance if distance else 0.0


def attack(
    curator: Curator,
    *,
    people: int,
    questions: int,
    squares: bool = False,
    entropy: Entropy = SYSTEM,
) -> NDArray[np.uint8]:
    """Ask about random halves, and guess everybody's bit.

    >>> from discreet.attacks.reconstruction.curators import holding
    >>> attack(holding([1, 0, 1, 1, 0]), people=5, questions=20).tolist()
    [1, 0, 1, 1, 0]
    """
    sets = random_halves(people, questions=questions, entropy=entropy)
    answers = curator(sets)
    return (least_squares if squares else linear_program)(sets, answers).guess
