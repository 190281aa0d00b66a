"""Private learning: training, models and posteriors, paid from the same ledger.

Trust: kernel.

A plan says how a model will be trained and what that costs; the whole run is charged before a row
is read; every step releases one noisy sum of clipped contributions, and nothing else of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need few of them
    from discreet.learning import bayes, models
    from discreet.learning.adoption import adopt
    from discreet.learning.bayes import (
        BetaBernoulli,
        DirichletCounts,
        PosteriorDraw,
        PrivateLikelihood,
    )
    from discreet.learning.calibrated import calibrated_sigma, noise_multiplier
    from discreet.learning.clipping import Clipping
    from discreet.learning.deep.corrected_adam import CorrectedAdam
    from discreet.learning.deep.private_stop import PrivateStop
    from discreet.learning.deep.training_report import TrainingReport
    from discreet.learning.models import (
        PCA,
        CategoricalNB,
        GaussianNB,
        KMeans,
        LinearRegression,
        LogisticRegression,
        PoissonRegression,
        Ridge,
        SoftmaxRegression,
    )
    from discreet.learning.private_sum import PrivateSum
    from discreet.learning.run_tree import one_sum, statement_of, tree_of_run
    from discreet.learning.sampling import PoissonBatches, overflow_chance, smallest_cap
    from discreet.learning.training import Training
    from discreet.learning.training_plan import TrainingPlan, plan_training
    from discreet.learning.tuning.evaluation import Evaluation, evaluate
    from discreet.learning.tuning.tune import Tuned, tune
    from discreet.learning.tuning.tuning_price import TuningPrice

__all__ = [
    "PCA",
    "BetaBernoulli",
    "CategoricalNB",
    "Clipping",
    "CorrectedAdam",
    "DirichletCounts",
    "Evaluation",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "PoissonBatches",
    "PoissonRegression",
    "PosteriorDraw",
    "PrivateLikelihood",
    "PrivateStop",
    "PrivateSum",
    "Ridge",
    "SoftmaxRegression",
    "Training",
    "TrainingPlan",
    "TrainingReport",
    "Tuned",
    "TuningPrice",
    "adopt",
    "bayes",
    "calibrated_sigma",
    "evaluate",
    "models",
    "noise_multiplier",
    "one_sum",
    "overflow_chance",
    "plan_training",
    "smallest_cap",
    "statement_of",
    "tree_of_run",
    "tune",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "adoption": ("adopt",),
            "bayes": ("BetaBernoulli", "DirichletCounts", "PosteriorDraw", "PrivateLikelihood"),
            "calibrated": ("calibrated_sigma", "noise_multiplier"),
            "clipping": ("Clipping",),
            "deep.corrected_adam": ("CorrectedAdam",),
            "deep.private_stop": ("PrivateStop",),
            "deep.training_report": ("TrainingReport",),
            "tuning.evaluation": ("Evaluation", "evaluate"),
            "models": (
                "CategoricalNB",
                "GaussianNB",
                "KMeans",
                "LinearRegression",
                "LogisticRegression",
                "PCA",
                "PoissonRegression",
                "Ridge",
                "SoftmaxRegression",
            ),
            "private_sum": ("PrivateSum",),
            "run_tree": ("one_sum", "statement_of", "tree_of_run"),
            "sampling": ("PoissonBatches", "overflow_chance", "smallest_cap"),
            "tuning.tune": ("Tuned", "tune"),
            "tuning.tuning_price": ("TuningPrice",),
            "training": ("Training",),
            "training_plan": ("TrainingPlan", "plan_training"),
        },
        rooms=("bayes", "models"),
    )
