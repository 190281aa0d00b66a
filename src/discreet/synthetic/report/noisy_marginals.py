"""What was measured, with the laws of its noise.

Trust: public.
"""

from __future__ import annotations

from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.synthetic.evidence import Evidence, Measured
from discreet.synthetic.report.marginal_bounds import NoisyMarginal
from discreet.synthetic.report.noise_norms import Law


def noise_law(measured: Measured) -> Law:
    """Return the law of the noise in each count."""
    if measured.law == "gaussian":
        return DiscreteGaussian(variance=measured.scale)
    return DiscreteLaplace(scale=measured.scale)


def noisy_marginal(measured: Measured) -> NoisyMarginal:
    """Return a measured marginal with the law of its noise."""
    return NoisyMarginal(measured.marginal, measured.values, noise_law(measured))


def noisy_marginals(evidence: Evidence) -> tuple[NoisyMarginal, ...]:
    """Return the marginals of which all cells were measured."""
    return tuple(noisy_marginal(each) for each in evidence.measured if each.cell is None)
