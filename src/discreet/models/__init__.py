"""Models as scikit-learn has them, and posteriors, each paid for before it sees a row.

Trust: public.

>>> import discreet as dp
>>> dp.models.LogisticRegression(epsilon=1, delta="1e-6", bounds=(0, 1), classes=(0, 1))
LogisticRegression(epsilon=1, delta='1e-6', classes=(0, 1), bounds=(0, 1))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most programs need one of them
    from discreet.models.fitting import FitPlan
    from discreet.models.k_means import KMeans
    from discreet.models.linear import PCA, LinearRegression, Ridge
    from discreet.models.linear_posterior import LinearPosterior, NoisyMoments
    from discreet.models.naive_bayes import CategoricalNB, GaussianNB
    from discreet.models.posterior_draw import PosteriorDraw
    from discreet.models.posteriors import (
        BetaBernoulli,
        BetaMixture,
        DirichletCounts,
        PrivateLikelihood,
    )
    from discreet.models.regression import LogisticRegression, PoissonRegression, SoftmaxRegression
    from discreet.models.tuning import Evaluation, Tuned, TuningPrice, evaluate, tune

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
