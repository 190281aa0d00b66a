"""The likelihood of a private release, for any modeling language.

Trust: public.  It describes released numbers and the public law of their noise.

Definition.  The release is z = s + Z with independent noise of a known law.  p(z | s) is the law of
the noise at z - s, and for a model that says how likely each s is, p(z | theta) is the sum of
p(z | s) p(s | theta) over all s.  A sampler that knows p(z | theta) knows about the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.mechanisms import Gaussian, Laplace

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class PrivateLikelihood:
    """Released integers and the mechanism that added their noise.

    >>> from discreet.mechanisms import Laplace
    >>> seen = PrivateLikelihood((37,), Laplace(scale=10))
    >>> bool(seen.log_density([37]) > seen.log_density([20]))
    True
    >>> round(float(np.exp(seen.log_density(np.arange(-900, 900)[:, None])).sum()), 6)
    1.0
    """

    released: Sequence[int]
    mechanism: Laplace | Gaussian

    def __post_init__(self) -> None:
        """Refuse noise whose law is not known here, and numbers that integer noise cannot make."""
        if not isinstance(self.mechanism, Laplace | Gaussian) or self.mechanism.grid is not None:
            raise WrongKind(
                what="the mechanism is neither Laplace nor Gaussian noise on integers.",
                why="the likelihood is that of integer noise of a known law.",
                do="give the mechanism of the release, such as Laplace(scale=10).",
            )

        held = tuple(whole(value, name="released") for value in np.ravel(self.released).tolist())
        object.__setattr__(self, "released", held)

    def log_density(self, truth: Any) -> Any:
        """Return ln p(z | s) for true totals s, along the last axis; vectorized over the others."""
        values = np.asarray(truth, np.float64)
        if values.shape[-1:] != (len(self.released),):
            raise OutOfRange(
                what="there are not as many true totals as released ones.",
                why="each released number is one total with noise.",
                do="give an array whose last axis is as long as the release.",
            )
        gap = np.asarray(self.released, np.float64) - values
        return (self._log_weight(gap) - self._log_sum()).sum(axis=-1)

    def marginal(self, truths: Any, log_chances: Any) -> float:
        """Return ln p(z | theta) from a list of possible totals and ln p(s | theta) of each."""
        joint = np.asarray(self.log_density(truths)) + np.asarray(log_chances, np.float64)
        top = joint.max()
        return float(top + np.log(np.exp(joint - top).sum()))

    def document(self) -> Mapping[str, Any]:
        """Return release and noise in plain JSON, for programs in other languages."""
        if isinstance(self.mechanism, Laplace):
            return {
                "released": list(self.released),
                "law": "two-sided geometric",
                "scale": float(self.mechanism.scale),
            }
        return {
            "released": list(self.released),
            "law": "discrete gaussian",
            "variance": float(self.mechanism.variance),
        }

    def _log_weight(self, gap: Floats) -> Floats:
        if isinstance(self.mechanism, Laplace):
            return -np.abs(gap) / float(self.mechanism.scale)
        return -(gap**2) / (2 * float(self.mechanism.variance))

    def _log_sum(self) -> float:
        """Return the logarithm of the sum of all weights."""
        if isinstance(self.mechanism, Laplace):
            rate = np.exp(-1 / float(self.mechanism.scale))
            return float(np.log((1 + rate) / (1 - rate)))
        variance = float(self.mechanism.variance)
        if variance > 1:  # the sum differs from the integral by less than 1e-8 of it
            return 0.5 * float(np.log(2 * np.pi * variance))
        steps = np.arange(-40.0, 41.0)
        return float(np.log(np.exp(self._log_weight(steps)).sum()))
