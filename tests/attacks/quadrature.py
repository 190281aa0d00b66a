"""Continuous noise, by quadrature: an independent check of what the literature says."""

import itertools

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def density(x, scale):
    return np.exp(-np.abs(x) / scale) / (2 * scale)


def at_most(x, scale):
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def chance(pattern, values, *, threshold, threshold_scale, query_scale):
    """Integrate over the noise of the threshold, piece by piece between the kinks."""
    kinks = sorted({0, *(value - threshold for value in values)})
    ends = kinks[0] - 60 * query_scale, *kinks, kinks[-1] + 60 * query_scale
    cuts = np.concatenate([np.linspace(a, b, 100)[1:] for a, b in itertools.pairwise(ends)])
    half, middle = np.diff(cuts)[:, None] / 2, (cuts[1:] + cuts[:-1])[:, None] / 2
    t, weights = (middle + half * NODES).ravel(), (half * WEIGHTS).ravel()
    integrand = density(t, threshold_scale)
    for above, value in zip(pattern, values, strict=False):
        gap = threshold + t - value
        integrand = integrand * at_most(-gap if above else gap, query_scale)
    return float(integrand @ weights)


def loss(belows, aboves, **noise):
    """Return the log-ratio of (below^k, above^c) on 0^k 1^c and on 1^k 0^c."""
    pattern = (False,) * belows + (True,) * aboves
    here = chance(pattern, (0,) * belows + (1,) * aboves, **noise)
    return float(np.log(here / chance(pattern, (1,) * belows + (0,) * aboves, **noise)))
