"""Privacy loss: what a release costs, in every notion, with certified answers.

Trust: kernel.

``Laplace(scale=...)`` and ``GaussianDP(mu=...)`` are the losses of continuous noise, as in papers.
The mechanisms that run, ``discreet.mechanisms.Laplace`` and ``Gaussian``, add integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.loss.bracket import Bracket
    from discreet.loss.calibration import (
        gaussian_sigma,
        laplace_scale,
        least_scale,
        most_queries,
        most_repeats,
    )
    from discreet.loss.composition import Composition
    from discreet.loss.gaussian_dp import GaussianDP, Laplace
    from discreet.loss.pld_exchange import from_dp_event, from_pld, to_pld
    from discreet.loss.plots import plot
    from discreet.loss.privacy_loss import PrivacyLoss
    from discreet.loss.profile import Profile
    from discreet.loss.pure_and_approximate import Approximate, Pure, optimal_delta
    from discreet.loss.renyi.curve import RenyiCurve
    from discreet.loss.renyi.renyi_and_zcdp import RenyiDP, ZeroConcentrated
    from discreet.loss.sampling.shuffle import Shuffle

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
