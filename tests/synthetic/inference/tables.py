"""Small random problems of inference, and a convex solver to compare with."""

from fractions import Fraction

import numpy as np
from scipy import optimize

from discreet.noise import KeyedEntropy
from discreet.synthetic.inference.inference import CodedDomain, Measurement


def stream(label):
    return KeyedEntropy(key=bytes(range(32)), label=label)


def domain_of(*sizes):
    return CodedDomain(tuple(f"c{number}" for number in range(len(sizes))), sizes)


def latent_counts(domain, *, seed, rows=5000, classes=3):
    """Counts of all cells of a table with latent classes."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.ones(classes))
    law = np.zeros(domain.sizes)
    for weight in weights:
        part = np.array(weight)
        for size in domain.sizes:
            part = np.multiply.outer(part, generator.dirichlet(np.ones(size)))
        law += part
    return generator.multinomial(rows, law.ravel() / law.sum()).reshape(domain.sizes)


def marginal_of(cells, marginal):
    axes = tuple(axis for axis in range(cells.ndim) if axis not in marginal)
    return cells.sum(axis=axes)


def measured(domain, marginals, *, seed, sigma=20, rows=5000):
    """Noisy marginals of a random table."""
    generator = np.random.default_rng(seed + 1)
    cells = latent_counts(domain, seed=seed, rows=rows)
    return [
        Measurement(
            marginal,
            np.rint(
                marginal_of(cells, marginal).ravel()
                + generator.normal(0, sigma, domain.size(marginal))
            ).astype(np.int64),
            Fraction(sigma) ** 2,
        )
        for marginal in marginals
    ]


def design(domain, marginals):
    """The matrix from cells to marginals."""
    codes = np.indices(domain.sizes).reshape(domain.columns, -1)
    blocks = []
    for marginal in marginals:
        cell = np.ravel_multi_index([codes[c] for c in marginal], domain.shape(marginal))
        blocks.append(np.eye(domain.size(marginal))[cell].T)
    return np.concatenate(blocks)


def objective(model, measurements):
    """Half the sum of squared residuals over variances, as the definition says."""
    return sum(
        float(((model.marginal(m.marginal).ravel() - m.values) ** 2).sum()) / (2 * m.variance)
        for m in measurements
    )


def least_objective(domain, measurements, total, allowed=None):
    """The optimum of the same objective over nonnegative counts with this total, by active sets.

    Nonnegative least squares with one heavy row that fixes the total; the row's own residual is not
    part of the objective.
    """
    scales = [1 / float(m.variance) ** 0.5 for m in measurements]
    rows = design(domain, [m.marginal for m in measurements])
    weights = np.repeat(scales, [m.values.size for m in measurements])
    wanted = np.concatenate([m.values for m in measurements]).astype(float)
    matrix = rows * weights[:, None]
    if allowed is not None:
        matrix = matrix[:, allowed]
    heavy = 1e4
    stacked = np.vstack([matrix, heavy * np.ones(matrix.shape[1])])
    solution, _ = optimize.nnls(stacked, np.append(wanted * weights, heavy * total), maxiter=10**4)
    solution *= total / solution.sum()
    return 0.5 * float(((matrix @ solution - wanted * weights) ** 2).sum())
