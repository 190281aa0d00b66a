"""Audits of one training step: below its claim, and above it for every broken twin."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from discreet.attacks import Batches, estimate_epsilon
from discreet.torch import Clipping, PoissonBatches, PrivateSum
from discreet.torch.arguments import clip_groups, normalized_groups
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noisy_sum import BatchSums
from discreet.torch.per_example import ModelEngine, RecordedFactors
from discreet.torch.private_sum import statement_of, tree_of_run
from discreet.torch.rows import RowTensors
from discreet.units import row
from tests.torch.reference import clipped_sum

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
                total = clipped_sum(one.clipping, lines) if clip else lines.sum(0)
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


UP = np.tile([[1.0, 0.0]], (6, 1))
AGAINST = np.concatenate([UP, [[-1.0, 0.0]]]), UP


def test_a_divisor_from_the_batch_tells_more_than_is_priced():
    """One unit against six moves sum / len by 2/7, and the noise of the sum by 1/6 is no match."""
    real, claim = step()
    assert not estimate_epsilon(real, AGAINST, MANY, claim=claim).violates

    def divided(data, count):
        return real.draw(data, count) / len(data)

    assert estimate_epsilon(Batches(divided), AGAINST, MANY, claim=claim).violates


def epoch(steps, *, shuffled):
    """Return a subject that releases the sums of an epoch, and the claim of Poisson samples.

    All rows but the last add -1 to their step; the last one is there with +1, or with nothing.
    Given the secret shuffle, each row is in just one step: nobody is ever in none or in two.
    """
    one = PrivateSum(
        clipping=Clipping(bound=1), sigma=Fraction(1, 2), coordinates=1, units=64, operations=70
    )
    stream = np.random.default_rng(7)

    def released(data, count):
        noise = one.law.sample(steps * count).reshape(count, steps)
        if shuffled:
            sums = stream.permuted(np.tile(data, (count, 1)), axis=1)
            sums = sums.reshape(count, steps, -1).sum(2)
        else:
            sums = (stream.random((count, steps, len(data)), np.float32) < 1 / steps) @ data
        return one.grid.from_grid(one.grid.to_grid(sums) + noise).max(1)

    tree = tree_of_run(one.leaf(row()), rate=Fraction(1, steps), steps=steps, unit=row())
    return Batches(released), statement_of(tree, row()).loss


BELOW = np.concatenate([-np.ones(31), [1.0]]), np.concatenate([-np.ones(31), [0.0]])


@pytest.mark.parametrize("shuffled", [False, True])
def test_shuffled_batches_tell_more_than_poisson_samples(shuffled):
    subject, claim = epoch(32, shuffled=shuffled)
    found = estimate_epsilon(subject, BELOW, 20_000, claim=claim)
    assert found.violates == shuffled


@pytest.mark.parametrize("left_out", [False, True])
def test_a_bias_left_out_of_the_norm_tells_more(left_out):
    """A row of zeros has no part in weights; its whole gradient is that of the bias."""
    model = nn.Linear(2, 1)
    nn.init.zeros_(model.weight)
    bare = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(bare.weight)
    objective = SummedObjective(lambda outputs, targets: -outputs[:, 0] * targets)
    factors, short = RecordedFactors(model, objective), RecordedFactors(bare, objective)

    class Twin:
        """The contributions of the model, with norms of its weights alone."""

        def parts(self, *given):
            (part,), (weights,) = factors.parts(*given), short.parts(*given)
            part.squares, part.spans = weights.squares, weights.spans
            return [part]

    engine = ModelEngine(Twin() if left_out else factors, (), 1)
    groups = normalized_groups(model, clip_groups(model, 1))
    one = PrivateSum(
        clipping=Clipping(bound=1), sigma=Fraction(1), coordinates=3, units=8, operations=12
    )

    def released(data, count):
        rows = RowTensors(torch.zeros(len(data), 2), torch.from_numpy(data))
        sums = BatchSums(
            model,
            engine,
            rows,
            groups=groups,
            micro=8,
            normalized=False,
            device=torch.device("cpu"),
        )
        total = sums.total(np.arange(len(data))[:, None]).numpy()
        noise = one.law.sample(3 * count).reshape(count, 3)
        return one.grid.from_grid(one.grid.to_grid(total) + noise)[:, 2]

    claim = statement_of(tree_of_run(one.leaf(row()), rate=1, steps=1, unit=row()), row()).loss
    pair = np.array([0.1] * 6 + [30.0]), np.array([0.1] * 6)
    assert estimate_epsilon(Batches(released), pair, MANY, claim=claim).violates == left_out


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
        cells = [one.grid.to_grid(clipped_sum(one.clipping, rows)) for rows in (OTHERS, data)]
        first, second = cells
        return (one.grid.from_grid(second + noise) - one.grid.from_grid(first + noise))[:, 0]

    tree = tree_of_run(one.leaf(row()), rate=1, steps=2, unit=row())
    found = estimate_epsilon(Batches(twice), PAIR, MANY, claim=statement_of(tree, row()).loss)
    assert found.violates
