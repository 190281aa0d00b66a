"""Privacy loss: what a release costs, in every notion, with certified answers.

Trust: kernel.
"""

from discreet.loss.approximate import Approximate
from discreet.loss.bracket import Bracket
from discreet.loss.calibrate import (
    gaussian_sigma,
    laplace_scale,
    least_scale,
    most_queries,
    most_repeats,
)
from discreet.loss.composition import Composition
from discreet.loss.conversions import CONVERSIONS, Conversion, convert
from discreet.loss.gaussian_dp import GaussianDP
from discreet.loss.notion import PrivacyLoss
from discreet.loss.optimal import optimal_delta
from discreet.loss.profile import Profile
from discreet.loss.pure import Pure
from discreet.loss.renyi_curve import RenyiCurve
from discreet.loss.renyi_dp import RenyiDP
from discreet.loss.shuffle import Shuffle
from discreet.loss.zero_concentrated import ZeroConcentrated

__all__ = [
    "CONVERSIONS",
    "Approximate",
    "Bracket",
    "Composition",
    "Conversion",
    "GaussianDP",
    "PrivacyLoss",
    "Profile",
    "Pure",
    "RenyiCurve",
    "RenyiDP",
    "Shuffle",
    "ZeroConcentrated",
    "convert",
    "gaussian_sigma",
    "laplace_scale",
    "least_scale",
    "most_queries",
    "most_repeats",
    "optimal_delta",
]
