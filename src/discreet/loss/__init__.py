"""Privacy loss: what a release costs, in every notion, with certified answers.

Trust: kernel.

``Laplace(scale=...)`` and ``GaussianDP(mu=...)`` are the losses of continuous noise, as in papers.
The mechanisms that run, ``discreet.mechanisms.Laplace`` and ``Gaussian``, add integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.charts.curves import plot
    from discreet.loss.calibration import (
        gaussian_sigma,
        laplace_scale,
        least_scale,
        most_repeats,
    )
    from discreet.loss.composition import Composition
    from discreet.loss.interop import from_pld, to_pld
    from discreet.loss.moments import RenyiCurve
    from discreet.loss.notions import (
        Approximate,
        GaussianDP,
        Laplace,
        Pure,
        RenyiDP,
        ZeroConcentrated,
    )
    from discreet.loss.privacy_loss import PrivacyLoss
    from discreet.loss.profile import Profile
    from discreet.loss.rounding import Bracket
    from discreet.loss.shuffle import Shuffle

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
