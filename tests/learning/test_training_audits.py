"""Audits of one training step: below its claim, and above it for every broken twin."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import Batches, estimate_epsilon
from discreet.learning import Clipping, PoissonBatches, PrivateSum, statement_of, tree_of_run
from discreet.units import row

OTHERS = np.full((6, 2), 0.2)
CANARY = np.array([[30.0, 0.0]])
PAIR = np.concatenate([OTHERS, CANARY]), OTHERS
MANY = 6000


def step(*, rate=1, sigma=1, clip=True, noise=1.0, skipped=False, fixed=None):
    """Return a subject that takes one training step; the defaults are the real one."""
    one = PrivateSum(
        clipping=Clipping(bound=1), sigma=Fraction(sigma), coordinates=2, units=8, operations=12
    )
    batches = PoissonBatches(rate=rate, cap=8)
    shuffle = np.random.default_rng(5)

    def released(data, count):
        drawn = np.rint(one.law.sample(2 * count).reshape(count, 2) * noise).astype(np.int64)
        sums = {}
        cells = np.empty((count, 2), np.int64)
        broken = np.zeros(count, bool)
        for i in range(count):
            chosen = tuple(batches.draw(len(data)) if rate != 1 else range(len(data)))
            if fixed is not None:
                chosen = tuple(np.sort(shuffle.permutation(len(data))[:fixed]))
            lines = data[list(chosen)]
            if chosen not in sums:
                total = one.sum_vectors(lines) if clip else lines.sum(0)
                sums[chosen] = one.grid.to_grid(total), not np.isfinite(lines).all()
            cells[i], broken[i] = sums[chosen]
        answers = one.grid.from_grid(cells + drawn)[:, 0]
        return np.where(broken, 0.0, answers) if skipped else answers

    tree = tree_of_run(one.leaf(row()), rate=rate, steps=1, unit=row())
    return Batches(released), statement_of(tree, row()).loss


@pytest.mark.parametrize("kwargs", [{}, {"rate": Fraction(1, 2)}, {"sigma": 2}])
def test_the_real_step_stays_below_its_claim(kwargs):
    subject, claim = step(**kwargs)
    found = estimate_epsilon(subject, PAIR, MANY, claim=claim)
    assert not found.violates
    assert found.lower > 0


@pytest.mark.parametrize(
    "twin",
    [
        {"clip": False},
        {"noise": 1 / 8},  # noise of the mean on the sum
        {"noise": 1 / 2},  # noise split over four ranks, of which one is seen
        {"rate": Fraction(1, 8), "fixed": 7},  # batches of another kind than is priced
    ],
)
def test_every_broken_twin_is_above_its_claim(twin):
    subject, claim = step(**twin)
    assert estimate_epsilon(subject, PAIR, MANY, claim=claim).violates


def test_a_divisor_from_the_batch_moves_further_than_the_bound():
    """With a sum of B C, one unit more moves sum / len by up to 2 C / B: twice what is priced."""
    lines = np.array([[1.0, 0.0]] * 3)
    with_it = np.concatenate([lines, [[-1.0, 0.0]]])
    moved = abs(lines.sum(0)[0] / 3 - with_it.sum(0)[0] / 4)
    assert moved > 1 / 3


def test_a_skipped_step_tells_of_a_row_that_is_not_finite():
    data = np.concatenate([OTHERS, [[np.nan, 0.0]]]), OTHERS
    broken, claim = step(skipped=True)
    assert estimate_epsilon(broken, data, MANY, claim=claim).violates
    real, claim = step()
    assert not estimate_epsilon(real, data, MANY, claim=claim).violates


def test_noise_used_again_on_resume_tells_everything():
    one = PrivateSum(
        clipping=Clipping(bound=1), sigma=Fraction(1), coordinates=2, units=8, operations=12
    )

    def twice(data, count):
        noise = one.law.sample(2 * count).reshape(count, 2)
        first, second = (one.grid.to_grid(one.sum_vectors(rows)) for rows in (OTHERS, data))
        return (one.grid.from_grid(second + noise) - one.grid.from_grid(first + noise))[:, 0]

    tree = tree_of_run(one.leaf(row()), rate=1, steps=2, unit=row())
    found = estimate_epsilon(Batches(twice), PAIR, MANY, claim=statement_of(tree, row()).loss)
    assert found.violates
