"""Private learning: gradients, clipped and noised on a grid, paid from the same ledger.

Trust: kernel.

A plan says how a model will be trained and what that costs; the whole run is charged before a row
is read; every step releases one noisy sum of clipped contributions, and nothing else of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need few of them
    from discreet.learning.calibrated import calibrated_sigma, noise_multiplier
    from discreet.learning.clipping import Clipping
    from discreet.learning.noise_ahead import NoiseAhead
    from discreet.learning.private_sum import PrivateSum
    from discreet.learning.run_tree import one_sum, statement_of, tree_of_run
    from discreet.learning.sampling import PoissonBatches, overflow_chance, smallest_cap
    from discreet.learning.training import Training
    from discreet.learning.training_plan import TrainingPlan, plan_training
    from discreet.learning.training_report import TrainingReport

__all__ = [
    "Clipping",
    "NoiseAhead",
    "PoissonBatches",
    "PrivateSum",
    "Training",
    "TrainingPlan",
    "TrainingReport",
    "calibrated_sigma",
    "noise_multiplier",
    "one_sum",
    "overflow_chance",
    "plan_training",
    "smallest_cap",
    "statement_of",
    "tree_of_run",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "calibrated": ("calibrated_sigma", "noise_multiplier"),
            "clipping": ("Clipping",),
            "noise_ahead": ("NoiseAhead",),
            "private_sum": ("PrivateSum",),
            "run_tree": ("one_sum", "statement_of", "tree_of_run"),
            "sampling": ("PoissonBatches", "overflow_chance", "smallest_cap"),
            "training": ("Training",),
            "training_plan": ("TrainingPlan", "plan_training"),
            "training_report": ("TrainingReport",),
        },
    )
