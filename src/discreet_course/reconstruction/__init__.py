"""Reconstruction: the secret bit of every person, from enough answers that are exact enough.

>>> from discreet_course.reconstruction import fourier, holding, recovered
>>> bits = [1, 0, 0, 1, 1, 1, 0, 1]
>>> recovered(bits, fourier.attack(holding(bits), people=8))
1.0
"""

from discreet_course.reconstruction import (
    census,
    differencing,
    fourier,
    linear,
    predicates,
    published,
    tracker,
)
from discreet_course.reconstruction.curators import (
    Curator,
    ceiling,
    holding,
    recovered,
    releasing,
    with_noise,
)

__all__ = [
    "Curator",
    "ceiling",
    "census",
    "differencing",
    "fourier",
    "holding",
    "linear",
    "predicates",
    "published",
    "recovered",
    "releasing",
    "tracker",
    "with_noise",
]
