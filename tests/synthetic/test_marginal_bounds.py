"""Bounds on marginals hold as often as they say, and not for free: mutants miss too often."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.mechanisms import Exponential
from discreet.noise import DiscreteGaussian, DiscreteLaplace, KeyedEntropy
from discreet.synthetic.inference.dense import DenseModel
from discreet.synthetic.inference.inference import CodedDomain, Marginal
from discreet.synthetic.report import marginal_bounds as bounding
from discreet.synthetic.report.marginal_bounds import (
    CellRound,
    MarginalBound,
    NoisyMarginal,
    SelectionRound,
    cell_bounds,
    marginal_bounds,
)

ALPHA = 1e-6
DOMAIN = CodedDomain(names=("a", "b", "c", "d"), sizes=(3, 4, 2, 2))
MISSED = Fraction(1, 5)
TRIALS = 200
WANTED = (*itertools.combinations(range(4), 2), (0,), (1,), (2,), (3,))


def table(seed: int = 3, rows: int = 400) -> DenseModel:
    """Return the exact counts of a table, as a model of itself."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(DOMAIN.cells, 0.4))
    return DenseModel(DOMAIN, generator.multinomial(rows, shares).astype(np.float64))


def guess() -> DenseModel:
    """Return a model that knows nothing of the table."""
    return DenseModel(DOMAIN, np.full(DOMAIN.cells, 410 / DOMAIN.cells))


def distance(model: DenseModel, truth: DenseModel, marginal: Marginal) -> float:
    """Return what nobody may see: the true distance."""
    return float(np.abs(model.marginal(marginal) - truth.marginal(marginal)).sum())


def measure(
    truth: DenseModel, marginal: Marginal, law: bounding.Law, entropy: KeyedEntropy
) -> NoisyMarginal:
    """Add noise to all cells of a marginal."""
    counts = truth.marginal(marginal).ravel().astype(np.int64)
    return NoisyMarginal(marginal, counts + law.sample(counts.size, entropy), law)


def failures(missed: Fraction, law: bounding.Law) -> int:
    """Count trials in which any bound is below the truth."""
    truth, model, failed = table(), guess(), 0
    for trial in range(TRIALS):
        entropy = KeyedEntropy(key=bytes(32), label=f"coverage {trial} {law}")
        measured = [measure(truth, r, law, entropy) for r in ((0, 1), (1, 2), (2, 3), (0,))]
        found = marginal_bounds(model, WANTED, measured, missed=missed)
        failed += any(
            bound.rows is not None and distance(model, truth, bound.marginal) > bound.rows
            for bound in found
        )
    return failed


@pytest.mark.theorem("measured-marginal")
@pytest.mark.parametrize("law", [DiscreteGaussian(variance=90), DiscreteLaplace(scale=6)], ids=repr)
def test_bounds_of_measured_marginals_hold_at_once(law: bounding.Law) -> None:
    """The share of trials in which any bound fails is no larger than is said."""
    assert failures(MISSED, law) <= binom.isf(ALPHA, TRIALS, float(MISSED))


@pytest.mark.parametrize("factor", [0.0, 0.25])
def test_bounds_with_less_for_the_noise_fail(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """Without the noise, or with a quarter of it, bounds fail more often than they may."""
    honest = bounding.noise_norm
    monkeypatch.setattr(bounding, "noise_norm", lambda *a, **k: factor * honest(*a, **k))
    failed = failures(MISSED, DiscreteGaussian(variance=90))
    assert failed > binom.isf(ALPHA, TRIALS, float(MISSED))


def test_bounds_are_of_use() -> None:
    """They are below what anybody knows without a release: all rows, twice."""
    truth, model = table(), guess()
    entropy = KeyedEntropy(key=bytes(32), label="use")
    measured = [measure(truth, (0, 1), DiscreteGaussian(variance=4), entropy)]
    found = {
        bound.marginal: bound for bound in marginal_bounds(model, WANTED, measured, missed=MISSED)
    }
    assert found[0, 1].source == "measured"
    assert found[0,].source == found[1,].source == "projected"
    assert found[2, 3] == MarginalBound((2, 3), None)
    (rows,) = marginal_bounds(model, [()], measured, missed=MISSED)
    assert rows.rows is not None
    assert abs(model.total - truth.total) <= rows.rows < 50
    for marginal in ((0, 1), (0,), (1,)):
        bound = found[marginal].rows
        assert bound is not None
        assert distance(model, truth, marginal) <= bound < 810


def test_cells_are_within_their_half_widths() -> None:
    """All cells of a marginal at once, from two measured marginals that hold it."""
    truth, model, failed = table(), guess(), 0
    law = DiscreteGaussian(variance=50)
    for trial in range(TRIALS):
        entropy = KeyedEntropy(key=bytes(32), label=f"cells {trial}")
        measured = [measure(truth, r, law, entropy) for r in ((0, 1), (1, 2))]
        widths = cell_bounds(model, (1,), measured, missed=MISSED)
        assert widths is not None
        failed += bool((np.abs(model.marginal((1,)) - truth.marginal((1,))) > widths).any())
    assert failed <= binom.isf(ALPHA, TRIALS, float(MISSED))
    assert cell_bounds(model, (3,), measured, missed=MISSED) is None


def selected(trial: int, scale: Fraction) -> tuple[SelectionRound, DenseModel, DenseModel]:
    """Play a round: score all pairs against a model, choose one, measure it."""
    truth, model = table(), guess()
    entropy = KeyedEntropy(key=bytes(32), label=f"selection {trial}")
    pairs = tuple(itertools.combinations(range(4), 2))
    weights = {pair: float(1 + sum(pair) % 2) for pair in pairs}
    offsets = {pair: 0.25 * DOMAIN.size(pair) for pair in pairs}
    scores = [
        Fraction(weights[r]) * (Fraction(distance(model, truth, r)) - Fraction(offsets[r]))
        for r in pairs
    ]
    mechanism = Exponential(candidates=len(pairs), scale=scale)
    chosen = pairs[mechanism.run(scores, entropy=entropy)]
    law = DiscreteGaussian(variance=1)
    found = SelectionRound(
        expected={pair: model.marginal(pair) for pair in pairs},
        measured=measure(truth, chosen, law, entropy),
        weights=weights,
        offsets=offsets,
        scale=float(scale),
    )
    return found, truth, model


def unselected(scale: Fraction, claimed: float) -> int:
    """Count trials in which a bound on what was not chosen is below the truth."""
    failed = 0
    for trial in range(TRIALS):
        chosen, truth, model = selected(trial, scale)
        chosen = replace(chosen, scale=claimed)
        moved = DenseModel(DOMAIN, model.counts * np.linspace(0.99, 1.01, DOMAIN.cells))
        found = marginal_bounds(moved, WANTED, [], missed=MISSED, rounds=[chosen])
        assert all(bound.source == "selected" for bound in found if len(bound.marginal) == 2)
        failed += any(
            bound.rows is not None and distance(moved, truth, bound.marginal) > bound.rows
            for bound in found
        )
    return failed


@pytest.mark.theorem("selection-bound")
def test_what_a_selection_passed_over_is_bounded() -> None:
    """A wide selection passes over better candidates, and its bound allows for that."""
    assert unselected(Fraction(1000), 1000.0) <= binom.isf(ALPHA, TRIALS, float(MISSED))


@pytest.mark.parametrize("claimed", [0.0, 8.0])
def test_a_selection_that_claims_less_noise_fails(claimed: float) -> None:
    """With a smaller scale than that of the draw, bounds fail more often than they may."""
    assert unselected(Fraction(1000), claimed) > binom.isf(ALPHA, TRIALS, float(MISSED))


def test_a_cell_that_was_chosen_bounds_all_others() -> None:
    """A round over single cells bounds every marginal, and fails where it claims less noise."""
    truth, model = table(), guess()
    marginals = ((0, 1), (2, 3))
    expected = {r: model.marginal(r) for r in marginals}
    gaps = [abs(truth.marginal(r) - expected[r]).ravel() for r in marginals]
    scores = [Fraction(float(gap)) for gap in np.concatenate(gaps)]
    cells = [(r, cell) for r in marginals for cell in range(DOMAIN.size(r))]
    law, failed, wrong = DiscreteGaussian(variance=4), 0, 0
    for trial in range(TRIALS):
        entropy = KeyedEntropy(key=bytes(32), label=f"cell {trial}")
        place = Exponential(candidates=len(scores), scale=100).run(scores, entropy=entropy)
        r, cell = cells[place]
        count = truth.marginal(r).ravel()[[cell]].astype(np.int64) + law.sample(1, entropy)
        chosen = expected[r].ravel()[[cell]]
        for scale in (100.0, 0.0):
            claim = CellRound(
                measured=count, chosen=chosen, law=law, expected=expected, scale=scale
            )
            most = claim.bounds(DOMAIN, share=MISSED / 2, missed=MISSED / 2)
            below = any(
                gap.max() > most[r] / DOMAIN.size(r) for gap, r in zip(gaps, marginals, strict=True)
            )
            failed += below and scale > 0
            wrong += below and scale == 0
    most_failures = binom.isf(ALPHA, TRIALS, float(MISSED))
    assert failed <= most_failures < wrong
