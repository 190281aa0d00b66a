"""Banded noise: what one unit moves in integers, who is drawn when, and what is charged."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OutOfRange, RunFenced
from discreet.ledger import Ledger
from discreet.torch import Clipping, CorrectedAdam, PoissonBatches, PrivateSum, Training
from discreet.torch.banded_noise import Band, BandedBatches, BandedSums
from discreet.torch.marks import Marks
from discreet.torch.training_plan import plan_training

ONE = PrivateSum(
    clipping=Clipping(bound=1), sigma=Fraction(2), coordinates=2, units=20, operations=24
)


def run_of(band, sums, noise):
    """Return all measurements and estimates of a run on given integer sums."""
    banded = BandedSums(band)
    measured, estimates = [], []
    for step, (x, z) in enumerate(zip(sums, noise, strict=True)):
        measured.append(banded.measured(x, z, step=step))
        estimates.append(banded.estimate(measured[-1].astype(float)))
    return np.array(measured), np.array(estimates)


@pytest.mark.theorem("banded-sums")
@settings(max_examples=60)
@given(
    width=st.sampled_from([2, 4, 8]),
    steps=st.integers(1, 20),
    part=st.integers(0, 7),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_unit_moves_disjoint_blocks_by_no_more_than_is_priced(width, steps, part, seed):
    """In integers, for every pattern of coins that a unit can have."""
    band, stream = Band(width), np.random.default_rng(seed)
    others = stream.integers(-(2**30), 2**30, (steps, 2))
    furthest = int(Fraction(ONE.squared) ** Fraction(1, 2))
    moves = np.zeros((steps, 2), np.int64)
    for step in range(part % width, steps, width):
        if stream.integers(2):
            moves[step] = [furthest, 0] if stream.integers(2) else [-furthest, 0]
    noise = np.zeros((steps, 2), np.int64)
    with_it, _ = run_of(band, others + moves, noise)
    without, _ = run_of(band, others, noise)
    difference = with_it - without
    touched = set()
    for step in np.flatnonzero(moves[:, 0]):
        block = range(step, min(step + width, steps))
        assert not touched & set(block)
        touched |= set(block)
        moved = sum(int(v) ** 2 for v in difference[step : step + width].ravel())
        assert moved <= band.squared(ONE)
        if step + width <= steps:
            assert moved > 0.999 * band.squared(ONE)  # and hardly less
    assert not difference[[s for s in range(steps) if s not in touched]].any()


def test_drawing_a_unit_twice_in_a_block_breaks_the_price():
    """Why units take turns: fixed parts of a Poisson sample are not enough."""
    band = Band(4)
    far = int(Fraction(ONE.squared) ** Fraction(1, 2))
    moves = np.array([[far, 0], [far, 0], [0, 0], [0, 0], [0, 0]], np.int64)
    measured, _ = run_of(band, moves, np.zeros_like(moves))
    assert sum(int(v) ** 2 for v in measured.ravel()) > 2.5 * band.squared(ONE)


@pytest.mark.theorem("banded-sums")
@pytest.mark.parametrize("width", [2, 4, 8])
def test_units_take_turns_and_every_part_is_equally_likely(width):
    batches = BandedBatches(
        Band(width), PoissonBatches(rate=Fraction(1, width), cap=10_000), units=4000
    )
    rounds = [np.concatenate([batches.draw(step) for step in range(width)]) for _ in range(2)]
    for drawn in rounds:  # a rate of 1 in each part: everybody once in a round
        assert sorted(drawn.tolist()) == list(range(4000))
    sizes = [batches.draw(step).size for step in range(width)]
    assert all(abs(size - 4000 / width) < 5 * (4000 / width) ** 0.5 for size in sizes)
    assert set(batches.draw(0)) == set(batches.draw(width))


@pytest.mark.theorem("banded-sums")
def test_sums_are_measured_in_order_and_once():
    """Whatever was remembered of a step: it is not measured beside another draw of that step."""
    sums, one = BandedSums(Band(4)), np.ones(2, np.int64)
    for step in (6, 7):  # the first may be any
        measured = sums.measured(one, 0 * one, step=step)
        assert sums.next_step is None
        sums.estimate(measured.astype(float))
        assert sums.next_step == step + 1
    for step in (7, 9):
        with pytest.raises(RunFenced, match="follow"):
            sums.measured(one, 0 * one, step=step)
    sums.measured(one, 0 * one, step=8)  # nothing of them was kept; and this release breaks off
    for step in (8, 9):
        with pytest.raises(RunFenced, match="follow"):
            sums.measured(one, 0 * one, step=step)


@pytest.mark.parametrize("width", [2, 8])
def test_estimates_are_the_sums_and_their_prefixes_have_less_noise(width):
    band, stream = Band(width), np.random.default_rng(0)
    sums = stream.integers(-(2**20), 2**20, (40, 2))
    _, estimates = run_of(band, sums, np.zeros_like(sums))
    assert np.allclose(estimates, sums, rtol=0, atol=1e-6)
    impulse = np.zeros((40, 1), np.int64)
    impulse[0] = band.coefficients[0]
    _, weights = run_of(band, np.zeros((40, 1), np.int64), impulse)
    prefix = np.cumsum(weights)
    at_one_price = float((prefix**2).sum()) * float(band.length) ** 2
    assert at_one_price < 40 * 0.9  # independent noise has 40, without sampling


@pytest.mark.theorem("banded-sums")
def test_the_price_is_that_of_fewer_releases_at_a_longer_distance():
    given_ = {
        "name": "a",
        "unit": dp.row(),
        "population": 10_000,
        "batch": 500,
        "steps": 42,
        "clip": (("", Fraction(1)),),
        "coordinates": 100,
        "delta": "1e-5",
    }
    made = plan_training(**given_, epsilon=2, band=4)
    assert made.epsilon() <= 2
    assert made.epsilon() > 1.9
    assert "11 times" in str(made.tree)
    assert "rate 1/5" in str(made.tree)
    assert "bands of 4" in str(made)
    by_hand = plan_training(
        **(given_ | {"batch": 2000, "steps": 11}), sigma=made.sigma / made.band.length
    )
    assert made.epsilon() == pytest.approx(by_hand.epsilon(), rel=1e-3)
    assert made.digest != plan_training(**given_, sigma=made.sigma).digest
    for bad in ({"band": 3}, {"band": 128}, {"band": 32}):  # 32 parts of 500 are above 10,000
        with pytest.raises(OutOfRange):
            plan_training(**given_, epsilon=2, **bad)


# --- runs -------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, **changed):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given_ = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 15,
        "steps": 10,
        "sigma": 4,
        "delta": "1e-5",
        "every": 3,
        "processes": 0,
        "band": 4,
    }
    return Training(model, **(given_ | changed))


def blocks_charged(ledger):
    """Read off the chain how many blocks were paid for."""

    def repeats(node):
        if isinstance(node, dict):
            return int(node["count"]) if "count" in node else sum(map(repeats, node.values()))
        return sum(map(repeats, node)) if isinstance(node, list) else 0

    return sum(repeats(e["tree"]) for e in ledger.entries() if e["kind"] == "charge")


def watch(monkeypatch):
    """Record which units are drawn in each step, over all attempts."""
    drawn = []
    original = BandedBatches.draw

    def draw(self, step):
        found = original(self, step)
        drawn.append(found.tolist())
        return found

    monkeypatch.setattr(BandedBatches, "draw", draw)
    return drawn


def most_drawn(drawn):
    return max(sum(unit in batch for batch in drawn) for unit in range(60))


@pytest.mark.theorem("banded-sums")
@pytest.mark.parametrize("at", [None, 3, 4, 5, 9])
@pytest.mark.parametrize("killed", [False, True])
def test_nobody_is_drawn_more_often_than_was_charged(ledger, tmp_path, monkeypatch, at, killed):
    """Whether a run is left in order or killed, and wherever that is."""
    drawn = watch(monkeypatch)
    run = training(ledger, folder=tmp_path / "r")
    loop = run.steps()
    for _ in range(at or 10):
        next(loop)
    with monkeypatch.context() as planted:
        if killed:
            planted.setattr(run._run.progress, "save", lambda *_: None)
            planted.setattr(Marks, "stop", lambda *_: None)
        loop.close()
    other = training(ledger, folder=tmp_path / "r")
    assert other.fit(bar=False).taken == 10
    assert most_drawn(drawn) <= blocks_charged(ledger)
    assert torch.isfinite(other.model.weight).all()
    if at in {None, 4} and not killed:
        assert blocks_charged(ledger) == 3  # left in order, at a multiple or at the end


@pytest.mark.theorem("banded-sums")
def test_a_step_that_broke_after_its_release_starts_new_blocks(ledger, monkeypatch):
    drawn = watch(monkeypatch)
    run = training(ledger)
    loop = run.steps()
    next(loop)
    with monkeypatch.context() as planted:
        planted.setattr(run.optimizer, "step", lambda: 1 / 0)
        with contextlib.suppress(ZeroDivisionError):
            next(loop)
    parts = run._run._turns._parts
    assert run.fit(bar=False).taken == 10
    assert run._run._turns._parts is not parts
    assert most_drawn(drawn) <= blocks_charged(ledger)


@pytest.mark.theorem("banded-sums")
def test_a_loop_beside_one_that_broke_measures_no_sum_of_it(ledger, monkeypatch):
    """Two loops over one run share what is remembered; one breaks off amid its release."""
    run = training(ledger)
    first, second = run.steps(), run.steps()
    for loop in (first, second):
        next(loop)
    original, seen = BandedSums.measured, []

    def breaks_off(self, cells, noise, *, step):
        found = original(self, cells, noise, step=step)
        seen.append(step)
        if len(seen) == 1:
            raise MemoryError
        return found

    monkeypatch.setattr(BandedSums, "measured", breaks_off)
    with pytest.raises(MemoryError):
        next(first)
    with pytest.raises(RunFenced, match="follow"):
        next(second)
    assert seen == [2]
    assert run.fit(bar=False).taken == 10


def test_going_on_with_the_same_object_costs_nothing(ledger, tmp_path, monkeypatch):
    drawn = watch(monkeypatch)
    run = training(ledger, folder=tmp_path / "r")
    for step in run:
        if step.number == 5:
            break
    assert run.fit(bar=False).taken == 10
    assert most_drawn(drawn) == blocks_charged(ledger) == 3


def test_banded_noise_learns_and_its_variance_is_not_one_number(ledger):
    run = training(ledger)
    assert run.fit(bar=False).taken == 10
    assert torch.isfinite(run.model.weight).all()
    with pytest.raises(OutOfRange, match="banded"):
        CorrectedAdam(run.model.parameters(), lr=1.0).expect(run.plan)
