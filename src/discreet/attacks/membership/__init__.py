"""Membership: was an example among those that a model, or a statistic, was made from?

Trust: public.

>>> from discreet.attacks.membership import Canaries
>>> canaries = Canaries(bits=[1, 0, 1, 0])
>>> canaries.audit([0.9, 0.1, 0.8, 0.3], guesses=4, level="0.1").hits
(4, 0)
"""

from discreet.attacks.membership.canaries import Canaries, draw, guesses_by
from discreet.attacks.membership.likelihood_ratios import (
    confidence_logits,
    likelihood_ratios,
    outside_scores,
)

__all__ = [
    "Canaries",
    "confidence_logits",
    "draw",
    "guesses_by",
    "likelihood_ratios",
    "outside_scores",
]
