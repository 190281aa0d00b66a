"""Adapters for the tools people train with: Transformers, PEFT, Lightning, MLflow.

Trust: public.  Each hands rows to :class:`discreet.torch.Training`, which clips, adds noise and
pays; nothing here computes with private rows in any other way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each needs a library of its own
    from discreet.torch.adapters.huggingface import PrivateTrainer
    from discreet.torch.adapters.lightning import PrivateModule
    from discreet.torch.adapters.mlflow import log_run
    from discreet.torch.adapters.movement import Movement

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
