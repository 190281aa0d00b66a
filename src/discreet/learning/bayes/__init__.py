"""Posteriors that know about the noise, and single draws that need none.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need one of them
    from discreet.learning.bayes.beta_bernoulli import BetaBernoulli, BetaMixture
    from discreet.learning.bayes.dirichlet import DirichletCounts
    from discreet.learning.bayes.likelihood import PrivateLikelihood
    from discreet.learning.bayes.linear_model import LinearPosterior, NoisyMoments
    from discreet.learning.bayes.one_draw import PosteriorDraw

__all__ = [
    "BetaBernoulli",
    "BetaMixture",
    "DirichletCounts",
    "LinearPosterior",
    "NoisyMoments",
    "PosteriorDraw",
    "PrivateLikelihood",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "beta_bernoulli": (
                "BetaBernoulli",
                "BetaMixture",
            ),
            "dirichlet": ("DirichletCounts",),
            "likelihood": ("PrivateLikelihood",),
            "linear_model": (
                "LinearPosterior",
                "NoisyMoments",
            ),
            "one_draw": ("PosteriorDraw",),
        },
    )
