"""DP-SGD for PyTorch: private training, paid from the same ledger as questions.

Trust: public.

A plan says how a model will be trained and what that costs; the whole run is charged before a row
is read; every step releases one noisy sum of clipped per-example gradients, and nothing else of the
data.  Plans, prices and :func:`adopt` need no PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because torch takes seconds
    from discreet.torch.adoption import adopt
    from discreet.torch.clipping import Clipping
    from discreet.torch.corrected_adam import CorrectedAdam
    from discreet.torch.private_stop import PrivateStop
    from discreet.torch.private_sum import PrivateSum
    from discreet.torch.progress import TrainingReport
    from discreet.torch.rows import ShiftedImages
    from discreet.torch.sampling import PoissonBatches
    from discreet.torch.training import Training
    from discreet.torch.training_plan import TrainingPlan, noise_multiplier, plan_training

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
