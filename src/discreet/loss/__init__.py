"""Privacy loss: what a release costs, in every notion, with certified answers.

Trust: kernel.

``Laplace(scale=...)`` and ``GaussianDP(mu=...)`` are the losses of continuous noise, as in papers.
The mechanisms that run, ``discreet.mechanisms.Laplace`` and ``Gaussian``, add integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

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
    from discreet.loss.continuous_laplace import Laplace
    from discreet.loss.conversions import CONVERSIONS, Conversion, convert
    from discreet.loss.dp_events import from_dp_event
    from discreet.loss.gaussian_dp import GaussianDP
    from discreet.loss.pld_exchange import from_pld, to_pld
    from discreet.loss.plots import plot
    from discreet.loss.privacy_loss import PrivacyLoss
    from discreet.loss.profile import Profile
    from discreet.loss.pure_and_approximate import Approximate, Pure, optimal_delta
    from discreet.loss.renyi.curve import RenyiCurve
    from discreet.loss.renyi.renyi_and_zcdp import RenyiDP, ZeroConcentrated
    from discreet.loss.sampling.shuffle import Shuffle

__all__ = [
    "CONVERSIONS",
    "Approximate",
    "Bracket",
    "Composition",
    "Conversion",
    "GaussianDP",
    "Laplace",
    "PrivacyLoss",
    "Profile",
    "Pure",
    "RenyiCurve",
    "RenyiDP",
    "Shuffle",
    "ZeroConcentrated",
    "convert",
    "from_dp_event",
    "from_pld",
    "gaussian_sigma",
    "laplace_scale",
    "least_scale",
    "most_queries",
    "most_repeats",
    "optimal_delta",
    "plot",
    "to_pld",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "bracket": ("Bracket",),
            "calibration": (
                "gaussian_sigma",
                "laplace_scale",
                "least_scale",
                "most_queries",
                "most_repeats",
            ),
            "composition": ("Composition",),
            "continuous_laplace": ("Laplace",),
            "conversions": ("CONVERSIONS", "Conversion", "convert"),
            "dp_events": ("from_dp_event",),
            "gaussian_dp": ("GaussianDP",),
            "pld_exchange": ("from_pld", "to_pld"),
            "plots": ("plot",),
            "privacy_loss": ("PrivacyLoss",),
            "profile": ("Profile",),
            "pure_and_approximate": ("Approximate", "Pure", "optimal_delta"),
            "renyi.curve": ("RenyiCurve",),
            "renyi.renyi_and_zcdp": ("RenyiDP", "ZeroConcentrated"),
            "sampling.shuffle": ("Shuffle",),
        },
    )
