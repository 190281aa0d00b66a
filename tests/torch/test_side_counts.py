"""What is told beside a sum: bounded, Lipschitz, paid for, and right up to its noise."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OutOfRange
from discreet.ledger import Ledger
from discreet.torch import Clipping, PrivateSum, Training
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noisy_sum import BatchSums, ClipGroup
from discreet.torch.per_example import ModelEngine, RecordedFactors
from discreet.torch.rows import RowTensors
from discreet.torch.side_counts import SideCounts, adapted, centered_lengths

BOTH = SideCounts.of({"objective": 2, "clipped": True}, adaptive=False)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
    ) as opened:
        yield opened


def rows(count=60):
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def training(ledger, *, model=None, **changed):
    model = nn.Linear(4, 2) if model is None else model
    given_ = {
        "objective": nn.functional.cross_entropy,
        "data": rows(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": 6,
        "sigma": 4,
        "delta": "1e-5",
        "every": 2,
        "processes": 0,
    }
    return Training(model, **(given_ | changed))


RATIOS = st.floats(0, 1e6) | st.floats(0.4, 1.6)


@pytest.mark.theorem("side-counts")
@example(ratio=1.0, share=0.01)  # where a count jumps
@given(ratio=RATIOS, share=st.floats(0, 0.01))
def test_a_ramp_moves_by_no_more_than_its_steepness(ratio, share):
    """Norms that move by a share move the count by three times as much at most."""
    first, second = centered_lengths(np.array([ratio, ratio * (1 + share)]))
    assert abs(first - second) <= 3 * share + 1e-12
    assert -1 <= second <= first <= 1


@pytest.mark.theorem("side-counts")
@given(value=st.floats(0, 2), share=st.floats(0, 0.01))
def test_a_cut_objective_moves_by_no_more_than_its_steepness(value, share):
    first, second = BOTH.centered_objectives(np.array([value, value * (1 + share)]))
    assert abs(first - second) <= 3 * share + 1e-12


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -5.0])
def test_nothing_adds_more_than_the_weight(value):
    assert abs(float(centered_lengths(np.array([value]))[0])) <= 1
    assert abs(float(BOTH.centered_objectives(np.array([value]))[0])) <= 1


def step_sums(model, x, y, *, threshold=1.0, micro=3):
    summed = SummedObjective(nn.functional.cross_entropy)
    group = ClipGroup(frozenset(model.parameters()), Clipping(bound=1), threshold)
    engine = ModelEngine(RecordedFactors(model, summed), (), 1)
    return BatchSums(
        model,
        engine,
        RowTensors(x, y),
        groups=(group,),
        micro=micro,
        normalized=False,
        device=torch.device("cpu"),
        side=BOTH,
        objective=summed,
    )


@pytest.mark.theorem("side-counts")
@pytest.mark.parametrize("kind", ["plain", "huge", "tiny", "not finite", "at the threshold"])
def test_neighbors_differ_by_at_most_what_is_priced(kind):
    torch.manual_seed(0)
    model, (x, y) = nn.Linear(4, 2), rows(7)
    x *= {"huge": 1e12, "tiny": 1e-30}.get(kind, 1.0)
    if kind == "not finite":
        x[2], x[3, 0] = torch.nan, torch.inf
    made = step_sums(model, x, y)
    if kind == "at the threshold":  # where a hard count would jump
        x[:] = x[:1]
        y[:] = y[:1]
        parts = made.engine.contributions.parts(x, y, torch.ones(7, dtype=torch.bool), 7)
        made = step_sums(model, x, y, threshold=float(sum(p.squares for p in parts)[0]) ** 0.5)
    one = PrivateSum(
        clipping=Clipping(bound=1),
        sigma=Fraction(1),
        units=8,
        coordinates=12,
        operations=16,
        beside=BOTH.squared,
    )
    everyone = np.arange(7)[:, None]
    whole = one.grid.to_grid(made.total(everyone).numpy())
    furthest = 0
    for gone in range(7):
        part = one.grid.to_grid(made.total(np.delete(everyone, gone, axis=0)).numpy())
        moved = sum(int(v) ** 2 for v in whole - part)
        assert moved <= one.squared
        furthest = max(furthest, moved)
    if kind == "huge":  # clipped, and its objective above the bound
        alone = (
            one.squared
            - PrivateSum(
                clipping=Clipping(bound=1),
                sigma=Fraction(1),
                units=8,
                coordinates=12,
                operations=16,
            ).squared
        )
        assert furthest > one.squared - alone // 2  # a sum without a price for it would be exceeded


def test_sums_tell_the_truth_where_there_is_no_noise(ledger):
    """A share and a mean, from all rows and no noise."""
    torch.manual_seed(0)
    model, (x, y) = nn.Linear(4, 2), rows()
    made = step_sums(model, x, y, threshold=1e6)
    total = made.total(np.arange(60)[:, None]).numpy()
    told = BOTH.told(total[-2:], batch=60)
    truth = nn.functional.cross_entropy(model(x), y, reduction="none").clamp(max=2).mean()
    assert told["clipped"] == pytest.approx(0.0, abs=1e-9)
    assert told["objective"] == pytest.approx(float(truth.detach()), rel=1e-5)
    long = step_sums(model, x, y, threshold=1e-6).total(np.arange(60)[:, None]).numpy()
    assert BOTH.told(long[-2:], batch=60)["clipped"] == pytest.approx(1.0)


def test_metrics_are_told_if_bought_and_only_then(ledger):
    run = training(ledger, metrics={"objective": 3, "clipped": True}, sigma="0.4", batch=50)
    seen = [step.metrics for step in run]
    assert all(set(found) == {"clipped", "objective"} for found in seen)
    assert 0 < np.mean([found["objective"] for found in seen]) < 1.5
    assert all(step.metrics == {} for step in training(ledger, name="silent"))


@pytest.mark.parametrize(
    "metrics", [{"accuracy": 1}, {"clipped": 3}, {"objective": 0}, {"objective": "many"}]
)
def test_other_metrics_are_refused_before_anything_is_spent(ledger, metrics):
    with pytest.raises((OutOfRange, dp.DiscreetError)):
        training(ledger, metrics=metrics)
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


def test_an_adaptive_threshold_finds_the_median_and_is_kept(ledger, tmp_path):
    torch.manual_seed(0)
    x, y = rows(400)
    given_ = {
        "data": (x, y),
        "population": 400,
        "batch": 300,
        "steps": 60,
        "sigma": "0.5",
        "clip": 50,
        "clipping": "adaptive",
        "every": 10,
    }
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)  # the norms stay what they are
    run = training(ledger, model=model, optimizer=optimizer, folder=tmp_path / "r", **given_)
    for step in run:
        if step.number == 40:
            break
    factor = run._run.progress.factor
    other = nn.Linear(4, 2)
    again = training(
        ledger,
        model=other,
        optimizer=torch.optim.SGD(other.parameters(), lr=1e-9),
        folder=tmp_path / "r",
        **given_,
    )
    loop = again.steps()
    next(loop)
    assert again._run.progress.factor == pytest.approx(factor, rel=0.2)
    assert again._run.progress.factor != 1.0
    for _ in loop:
        pass
    norms = torch.stack(
        [
            torch.cat(
                [
                    g.flatten()
                    for g in torch.autograd.grad(
                        nn.functional.cross_entropy(other(x[i : i + 1]), y[i : i + 1]),
                        list(other.parameters()),
                    )
                ]
            ).norm()
            for i in range(100)
        ]
    )
    assert 50 * again._run.progress.factor == pytest.approx(float(norms.median()), rel=0.35)


def test_factors_follow_noisy_shares_and_stay_finite():
    assert adapted(1.0, 1.0) > 1 > adapted(1.0, 0.0)
    factor = 1.0
    for _ in range(10_000):
        factor = adapted(factor, 1e9)
    assert factor == 2.0**30
