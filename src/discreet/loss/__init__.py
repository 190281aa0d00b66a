"""Privacy loss: what a release costs, in every notion, with certified answers.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
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

_FILES: Final = {
    "CONVERSIONS": "conversions",
    "Approximate": "approximate",
    "Bracket": "bracket",
    "Composition": "composition",
    "Conversion": "conversions",
    "GaussianDP": "gaussian_dp",
    "PrivacyLoss": "notion",
    "Profile": "profile",
    "Pure": "pure",
    "RenyiCurve": "renyi_curve",
    "RenyiDP": "renyi_dp",
    "Shuffle": "shuffle",
    "ZeroConcentrated": "zero_concentrated",
    "convert": "conversions",
    "gaussian_sigma": "calibrate",
    "laplace_scale": "calibrate",
    "least_scale": "calibrate",
    "most_queries": "calibrate",
    "most_repeats": "calibrate",
    "optimal_delta": "optimal",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
