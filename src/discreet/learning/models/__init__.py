"""Models as scikit-learn has them, each paid for before it sees a row.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need one of them
    from discreet.learning.models.components import PCA
    from discreet.learning.models.fit_plans import FitPlan
    from discreet.learning.models.k_means import KMeans
    from discreet.learning.models.linear import LinearRegression, Ridge
    from discreet.learning.models.logistic import LogisticRegression, SoftmaxRegression
    from discreet.learning.models.naive_bayes import CategoricalNB, GaussianNB
    from discreet.learning.models.poisson import PoissonRegression

__all__ = [
    "PCA",
    "CategoricalNB",
    "FitPlan",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegression",
    "Ridge",
    "SoftmaxRegression",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "components": ("PCA",),
            "k_means": ("KMeans",),
            "linear": (
                "LinearRegression",
                "Ridge",
            ),
            "logistic": (
                "LogisticRegression",
                "SoftmaxRegression",
            ),
            "naive_bayes": (
                "CategoricalNB",
                "GaussianNB",
            ),
            "fit_plans": ("FitPlan",),
            "poisson": ("PoissonRegression",),
        },
    )
