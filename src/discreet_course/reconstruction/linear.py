"""Attacks by linear algebra: random questions, and the bits that fit the answers best.

Dinur and Nissim 2003, Revealing Information while Preserving Privacy; Dwork,
McSherry and Talwar 2007, The Price of Privacy and the Limits of LP Decoding.

Definition.  m questions about random halves of n people, A, were answered with a.  *Least squares*
rounds the z with the smallest |A z - a|_2.  *Linear programming* rounds a z between 0 and 1 with
the smallest sum of |A z - a|: box and absolute values make it robust, a few answers may be garbage.
Fact.  If errors are independent and normal with standard deviation s, least squares guesses about
a share of Phi(sqrt(m - n - 1) / (4 s)) of the bits: see :func:`expected`.

Secrets need not be bits: between any two public ends they are bits that were stretched.

*Confidence* is the probability that a guess is right, by the rule of Bayes: bits are fair coins
before any answer, and fits normal around them, with the deviation that the errors of all answers
show.  It is an estimate, and proves nothing.

The linear program is solved by splitting (the alternating direction method of multipliers): its
matrix is dense, and one factorization of n by n serves all steps, where general solvers take
minutes.  A dual solution bounds how far the sum is from the smallest one, and the steps end there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import erfc, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.read_numbers import number_above_zero, numbers, secret_ends
from discreet.exact import whole
from discreet.noise import SYSTEM, Entropy
from discreet_course.reconstruction.curators import Answers, Curator, Sets

__all__ = ["Fit", "attack", "expected", "least_squares", "linear_program", "random_halves"]

_STEPS = 5000
_CHECKED = 20
_GAP, _COARSE, _MANY = 0.001, 0.01, 500
_LEAST = 1e-6
_ROBUST = 1.4826  # from a median to a deviation
_OUTLYING = 4
_FAR = 700.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What fits the answers, before rounding.

    Attributes:
        near: a number for each person.
        gap: how far the sum of errors is from the smallest possible, as a share, at most.
        free: the same by least squares, without ends, and without answers that err far too much.
        deviation: how far the true number may be from ``free``, as a standard deviation.
        ends: the public ends of the numbers.
    """

    near: NDArray[np.float64]
    gap: float = 0.0
    free: NDArray[np.float64]
    deviation: NDArray[np.float64]
    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def guess(self) -> NDArray[np.uint8]:
        """The bits, or the half of the range that contains each number."""
        return (self.near > sum(self.ends) / 2).astype(np.uint8)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability that each guess is right, as an estimate."""
        low, high = self.ends
        above = (2 * self.free - low - high) / (high - low)
        odds = above / (2 * (self.deviation / (high - low)) ** 2)
        chances = 1 / (1 + np.exp(-np.clip(np.where(self.guess, odds, -odds), -_FAR, _FAR)))
        return np.asarray(chances, np.float64)


def random_halves(people: int, *, questions: int, entropy: Entropy = SYSTEM) -> Sets:
    """Return questions that include each person with probability 1/2."""
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
    noise = number_above_zero(deviation, name="deviation", why="exact answers tell everything.")
    return 0.5 * erfc(-sqrt(spare) / (4 * noise) / sqrt(2))


def least_squares(
    sets: object, answers: object, *, secrets: tuple[float, float] = (0.0, 1.0)
) -> Fit:
    """Return what has the smallest sum of squared errors."""
    ends = secret_ends(secrets)
    matrix, target = _stretched(sets, answers, ends)
    near, *_ = np.linalg.lstsq(matrix, target, rcond=None)
    return _fit(np.asarray(near, np.float64), matrix, target, ends)


def linear_program(
    sets: object,
    answers: object,
    *,
    secrets: tuple[float, float] = (0.0, 1.0),
    gap: float | None = None,
) -> Fit:
    """Return the vector within the bounds of secrets with the smallest sum of absolute errors.

    The sum is within a share ``gap`` of the smallest, or what 5,000 steps reach: a thousandth
    unless given, which finds the same people as the smallest; a hundredth among many people, where
    steps are slow.
    """
    from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    ends = secret_ends(secrets)
    matrix, target = _stretched(sets, answers, ends)
    questions, people = matrix.shape
    enough = _enough(gap, people)
    weight = questions / 4
    factor = cho_factor(matrix.T @ matrix + weight * np.eye(people))
    start = cho_solve(factor, matrix.T @ target + weight / 2)
    scale = float(np.mean(np.abs(matrix @ start - target))) or 1.0  # how far noise reaches
    error, error_dual = np.zeros(questions), np.zeros(questions)
    inside, inside_dual = np.clip(start, 0, 1), np.zeros(people)
    best, closest = inside, np.inf
    for step in range(1, _STEPS + 1):
        aim = matrix.T @ (target + error - error_dual) + weight * (inside - inside_dual)
        near = cho_solve(factor, aim)
        moved = matrix @ near - target + error_dual
        error = np.sign(moved) * np.maximum(np.abs(moved) - scale, 0)
        error_dual = moved - error
        shifted = near + inside_dual
        inside = np.clip(shifted, 0, 1)
        inside_dual = shifted - inside
        if step % _CHECKED == 0:
            left = _gap(matrix, target, inside, error_dual / scale)
            if left < closest:
                best, closest = inside, left
            if closest <= enough:
                break
    errors = np.abs(matrix @ best - target)  # as many as there are people may be none
    noise = _ROBUST * float(np.median(np.sort(errors)[min(people, questions - 1) :]))
    kept = errors <= _OUTLYING * noise + _LEAST
    good = kept if kept.sum() > people else np.ones(questions, np.bool_)
    return replace(_fit(best, matrix[good], target[good], ends), gap=float(closest))


def _enough(gap: float | None, people: int) -> float:
    """Return how close to the smallest a sum has to be."""
    if gap is None:
        return _GAP if people <= _MANY else _COARSE
    return number_above_zero(gap, name="gap", why="the smallest sum is reached in the limit.")


def _stretched(sets: object, answers: object, ends: tuple[float, float]) -> tuple[Answers, Answers]:
    """Return questions and answers about secrets between 0 and 1."""
    matrix = numbers(sets, name="sets", shape=(None, None))
    read = numbers(answers, name="answers", shape=(len(matrix),))
    low, high = ends
    return matrix, (read - low * matrix.sum(axis=1)) / (high - low)


def _fit(near: Answers, matrix: Answers, target: Answers, ends: tuple[float, float]) -> Fit:
    """Say how far numbers may be from the truth; without end where questions do not tell."""
    (low, high), people = ends, matrix.shape[1]
    sizes, directions = np.linalg.eigh(matrix.T @ matrix)
    told = sizes > _LEAST * max(float(sizes[-1]), _LEAST)  # no question sees other directions
    known, hidden = directions[:, told], directions[:, ~told]
    free = 0.5 + known @ (known.T @ (matrix.T @ (target - matrix.sum(axis=1) / 2)) / sizes[told])
    errors = matrix @ free - target
    noise = sqrt(float(errors @ errors) / max(len(target) - people, 1))
    spread = (known**2 / sizes[told]).sum(axis=1)
    open_yet = (hidden**2).sum(axis=1) > _LEAST
    deviation = np.where(open_yet, np.inf, max(noise, _LEAST) * np.sqrt(spread))
    return Fit(
        near=low + (high - low) * near,
        free=low + (high - low) * free,
        deviation=(high - low) * deviation,
        ends=ends,
    )


def _gap(matrix: Answers, answers: Answers, inside: Answers, dual: Answers) -> float:
    """Bound how far a sum of errors is from the smallest: weak duality with |dual| <= 1.

    It is a share of the sum, or of a millionth for each question where they are all but met.
    """
    distance = float(np.abs(matrix @ inside - answers).sum())
    clipped = np.clip(dual, -1, 1)
    least = float(-clipped @ answers + np.minimum(matrix.T @ clipped, 0).sum())
    return (distance - least) / max(distance, _LEAST * len(answers))


def attack(
    curator: Curator,
    *,
    people: int,
    questions: int,
    squares: bool = False,
    entropy: Entropy = SYSTEM,
) -> NDArray[np.uint8]:
    """Ask about random halves, and guess each person's bit.

    >>> from discreet_course.reconstruction.curators import holding
    >>> attack(holding([1, 0, 1, 1, 0]), people=5, questions=20).tolist()
    [1, 0, 1, 1, 0]
    """
    sets = random_halves(people, questions=questions, entropy=entropy)
    answers = curator(sets)
    return (least_squares if squares else linear_program)(sets, answers).guess
