"""The Fourier attack: as many fixed questions as people, and n log n additions.

Dwork and Yekhanin 2008, New Efficient Attacks on Statistical Disclosure Control
Mechanisms.

Definition.  Let N be the least power of two that is at least the number of people; missing people
have bit 0. Question j asks about those i for which i and j, written in binary, share an even number
of ones. With H[j, i] = 1 for them and -1 for others, the true answers q satisfy 2 q - q[0] = H x,
and H H = N.  The guess is H (2 a - a[0]) / N, rounded, for the answers a.
Theorem (key ``fourier-attack``).  If each answer errs by at most E, at most 16 E^2 + 1 guesses are
wrong.  If errors are independent and normal with standard deviation s, a guess (but for the first)
is right with probability Phi(sqrt(N) / (4 s)).
Proof.  With errors e the guess before rounding errs by z = H (2 e - e[0]) / N.  The constant e[0]
only touches the first person.  Without it, H / sqrt(N) keeps lengths, so the squares of z add up
to at most 4 |e|^2 / N <= 4 E^2; a wrong guess takes at least 1/4 of that.  With normal errors
every z is normal with standard deviation 2 s / sqrt(N), and is wrong beyond 1/2 on one side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.read_numbers import numbers
from discreet.exact import whole
from discreet_course.reconstruction.curators import Answers, Curator, Sets

__all__ = ["attack", "guess", "questions", "transform"]


def questions(people: int) -> Sets:
    """Return the questions, one row each.

    >>> questions(4).tolist()
    [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]
    """
    count = whole(people, name="people", low=1)
    signs = np.ones((1, 1), np.int8)
    while len(signs) < count:
        signs = np.block([[signs, signs], [signs, -signs]])
    return (signs[:, :count] > 0).astype(np.uint8)


def transform(values: Answers) -> Answers:
    """Multiply by H, in n log n additions.

    >>> transform(np.array([1.0, 0, 0, 1])).tolist()
    [2.0, 0.0, 0.0, 2.0]
    """
    sums = np.array(values, np.float64)
    width = 1
    while width < len(sums):
        halves = sums.reshape(-1, 2, width)
        sums = np.stack([halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]], axis=1).ravel()
        width *= 2
    return sums


def guess(answers: object, *, people: int) -> NDArray[np.uint8]:
    """Guess each person's bit from the answers to :func:`questions`."""
    count = whole(people, name="people", low=1)
    read = numbers(answers, name="answers", shape=(1 << (count - 1).bit_length(),))
    near = transform(2 * read - read[0]) / len(read)
    return (near[:count] > 0.5).astype(np.uint8)


def attack(curator: Curator, *, people: int) -> NDArray[np.uint8]:
    """Ask the questions, and guess each person's bit.

    >>> from discreet_course.reconstruction.curators import holding
        >>> attack(holding([1, 0, 1, 1, 0]), people=5).tolist()
        [1, 0, 1, 1, 0]
    """
    return guess(curator(questions(people)), people=people)
