"""Runs whose library rounds a row by its place: units are seated, and none moves another one."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from discreet.learning import Training
from discreet.noise import SYSTEM

COUNT, MICRO = 24, 4


class Uneven(nn.Module):
    """A layer whose outputs are rounded by their place: one of every second row is larger."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        odd = torch.arange(x.shape[0])[:, None] % 2
        return self.layer(x) * (1 + 2.0**-20 * odd * torch.tensor([0.0, 1.0, 0.0]))


class Order:
    """Random bits of the system, but for the words that seats are shuffled by."""

    def __init__(self):
        self.seats = None

    def words(self, count, width):
        if self.seats is None or (count, width) != (len(self.seats), 64):
            return SYSTEM.words(count, width)
        found = np.empty(count, np.uint64)
        found[list(self.seats)] = np.arange(count)
        return found

    def bits(self, width):
        return SYSTEM.bits(width)


def hostile_rows(model):
    """Rows with large and equal outputs, so that a last bit decides; zeros between them."""
    weight = model.layer.weight.detach().double()
    x = torch.zeros(COUNT, 4)
    x[::2] = (torch.linalg.pinv(weight) @ torch.full((3,), 2.0**22, dtype=torch.float64)).float()
    return x, torch.zeros(COUNT, dtype=torch.long)


def run_of(ledger, model, data, **changed):
    given = {"population": COUNT, "batch": COUNT, "steps": 1, "clip": 1, "sigma": 4}
    given |= {"delta": "1e-5", "micro_batch": MICRO, "processes": 0}
    given |= {"objective": nn.functional.cross_entropy} | changed
    return Training(
        model,
        data=data,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        ledger=ledger,
        unit=ledger.unit,
        **given,
    )


def grid_sum(run, rows=None):
    """Return what a step adds up, in steps of the grid: of its own batch, or of rows in order."""
    stepper = run._stepper
    total = stepper.measure() if rows is None else stepper.sums.total(rows)
    return run.plan.one.grid.to_grid(total.numpy())


def square(moved):
    return sum(int(v) ** 2 for v in moved)


def test_all_runs_are_seated_but_those_with_one_place(ledger):
    torch.manual_seed(0)
    model = Uneven()
    run = run_of(ledger, model, hostile_rows(model))
    assert run.plan.seats == COUNT
    assert "24 seats, taken at random" in str(run.plan)
    assert run_of(ledger, model, hostile_rows(model), micro_batch=1).plan.seats == 0
    fewer = run_of(ledger, model, hostile_rows(model), batch=6)
    assert fewer.plan.seats == -(-fewer.plan.one.units // MICRO) * MICRO


@pytest.mark.theorem("random-seats")
def test_a_unit_moves_no_other_one(ledger):
    """With the same seats for all others, sums differ by one contribution; in order, by many."""
    torch.manual_seed(0)
    model, order = Uneven(), Order()
    x, y = hostile_rows(model)
    run = run_of(ledger, model, (x, y), entropy=order)
    squared, seats = run.plan.one.squared, np.random.default_rng(3).permutation(COUNT)
    for gone in (0, 7, 23):
        order.seats = seats
        whole = grid_sum(run)
        left = torch.arange(COUNT) != gone
        without = run_of(ledger, model, (x[left], y[left]), entropy=order)
        order.seats = [*np.delete(seats, gone), seats[gone]]
        assert square(whole - grid_sum(without)) <= squared
    everyone = np.arange(COUNT)[:, None]
    assert square(grid_sum(run, everyone) - grid_sum(run, everyone[1:])) > squared


def test_places_that_no_generated_row_shows_move_nothing(ledger):
    """A plain layer in micro-batches of 33: the last place is rounded otherwise, by the library.

    Its generated rows agree in all orders that were tried once, and rows that are made for it moved
    a sum by 31 contributions.
    """
    torch.manual_seed(0)
    model, micro, count = nn.Linear(8, 1), 33, 330
    x, y = torch.zeros(count, 8), torch.full((count, 1), float(model.bias.detach()))
    stream, found = torch.Generator().manual_seed(1), 0
    for _ in range(3000):
        row = torch.randn(1, 8, generator=stream) * 1e4
        last, before = torch.zeros(micro, 8), torch.zeros(micro, 8)
        last[-1], before[-2] = row, row
        with torch.no_grad():
            here, there = model(last)[-1], model(before)[-2]
        if found < 10 and float(there - here) * float(row[0, 0]) > 0:  # pushes of one direction
            place = found * micro + micro - 1
            x[place], y[place] = row, here
            found += 1
    order, mse = Order(), nn.functional.mse_loss
    given = {"population": count, "batch": count, "micro_batch": micro, "objective": mse}
    run = run_of(ledger, model, (x, y), entropy=order, **given)
    assert run.plan.seats == count
    everyone = np.arange(count)[:, None]
    if found:  # the library of this machine rounds by the place
        in_order = grid_sum(run, everyone) - grid_sum(run, everyone[1:])
        assert square(in_order) > run.plan.one.squared
    order.seats = range(count)
    whole = grid_sum(run)
    without = run_of(ledger, model, (x[1:], y[1:]), entropy=order, **given)
    order.seats = [*range(1, count), 0]
    assert square(whole - grid_sum(without)) <= run.plan.one.squared


class Scale(nn.Module):
    """One weight; in every second place of a micro-batch its output is a little larger."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1, bias=False)

    def forward(self, x):
        odd = torch.arange(x.shape[0])[:, None] % 2
        return self.layer(x) * (1 + 2.0**-16 * odd)


def law_of_sums(run, order, seats):
    """Return the chance of each sum of a step, in contributions, over all shuffles of seats."""
    step, found = float(run.plan.one.grid.step), Counter()
    for order.seats in itertools.permutations(range(seats)):
        found[round(float(grid_sum(run)[0]) * step, 6)] += 1
    return {value: Fraction(times, sum(found.values())) for value, times in found.items()}


def divergences(one, other, *, sigma):
    """Return hockey-stick divergences of two laws of sums with Gaussian noise, both ways."""
    places = np.linspace(-30, 30, 6001)
    p, q = (
        sum(float(c) * np.exp(-(((places - v) / sigma) ** 2) / 2) for v, c in law.items())
        / (sigma * np.sqrt(2 * np.pi))
        for law in (one, other)
    )
    return np.array(
        [
            np.maximum(a - np.exp(epsilon) * b, 0).sum() * (places[1] - places[0])
            for epsilon in (0, 0.2, 0.5, 1)
            for a, b in ((p, q), (q, p))
        ]
    )


@pytest.mark.theorem("random-seats")
def test_mixtures_over_all_seats_are_dominated_by_one_contribution(ledger):
    """Every shuffle of four seats, through whole steps: exact laws of the sums of neighbors.

    Rows have outputs that are as large as their targets, so that the place of a row decides whether
    it contributes nothing or 1, or -1.  In order, one unit more moves the sum by 3.
    """
    torch.manual_seed(0)
    model, order = Scale(), Order()
    x = torch.tensor([[2.0**20], [2.0**20], [-(2.0**20)], [2.0**20]])
    weight = model.layer.weight.detach()
    given = {"population": 4, "batch": 4, "micro_batch": 2, "sigma": 1, "entropy": order}
    given["objective"] = directed
    targets = torch.cat([x @ weight, x.sign()], 1)
    runs = [
        run_of(ledger, model, (x[kept], targets[kept]), **given)
        for kept in (slice(0, 4), slice(1, 4))
    ]
    assert [run.plan.seats for run in runs] == [4, 4]
    laws = [law_of_sums(run, order, 4) for run in runs]
    assert all(len(law) > 1 for law in laws)
    one = divergences({0: 1}, {float(runs[0].plan.one.distance): 1}, sigma=1)
    assert (divergences(*laws, sigma=1) <= one + 1e-6).all()
    step = float(runs[0].plan.one.grid.step)
    everyone = np.arange(4)[:, None]
    in_order = [
        {round(float(grid_sum(runs[0], rows)[0]) * step, 6): 1} for rows in (everyone, everyone[1:])
    ]
    assert (divergences(*in_order, sigma=1) > one + 1e-3).any()


def directed(outputs, targets):
    """Pull an output toward its target, in a direction that the target says."""
    apart = outputs - targets[:, :1]
    return (apart.square() * targets[:, 1:]).sum(1).mean()


def test_a_seated_run_trains(ledger):
    torch.manual_seed(0)
    model = Uneven()
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(2))
    run = run_of(ledger, model, (x, (x[:, 0] > 0).long()), population=60, batch=12, steps=3)
    assert run.plan.seats > 12
    assert run.fit(bar=False).taken == 3
