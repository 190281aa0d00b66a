"""Views of rows, adapters, mixed precision and constant work."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import NotPerExample, OutOfRange
from discreet.torch import ShiftedImages, Training


def rows(count=40):
    x = torch.randn(count, 6, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def training(ledger, model, **changed):
    trained = [p for p in model.parameters() if p.requires_grad]
    given = {
        "objective": nn.functional.cross_entropy,
        "data": rows(),
        "optimizer": torch.optim.SGD(trained, lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 40,
        "batch": 20,
        "steps": 4,
        "sigma": 4,
        "delta": "1e-5",
        "processes": 0,
        "micro_batch": 8,
    }
    return Training(model, **(given | changed))


def gradient(model, x, y):
    """Return the gradient of one row."""
    trained = [p for p in model.parameters() if p.requires_grad]
    found = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), trained)
    return torch.cat([g.flatten().double() for g in found])


def check_neighbors(run, count=9):
    """Integer sums with and without a row differ by at most what is priced."""
    grid, everyone = run.plan.one.grid, np.arange(count)[:, None]
    whole = grid.to_grid(run._run.sums.total(everyone).numpy())
    for gone in (0, 4, count - 1):
        rest = run._run.sums.total(np.delete(everyone, gone, axis=0)).numpy()
        assert sum(int(v) ** 2 for v in whole - grid.to_grid(rest)) <= run.plan.one.squared


# --- views ------------------------------------------------------------------------------------

MADE = []  # a global, into which nobody looks


def noted(row):
    """Multiply a row by a number, and note that."""
    MADE.append(float(torch.randint(1, 9, ())))
    return row * MADE[-1]


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("views", [1, 3])
def test_a_unit_contributes_the_mean_of_its_views(ledger, views):
    torch.manual_seed(0)
    model, (x, y) = nn.Linear(6, 2), rows()
    run = training(ledger, model, views=views, augment=noted, clip=1000)
    MADE.clear()
    total = run._run.sums.total(np.array([[5]]))
    truth = torch.stack([gradient(model, x[5:6] * k, y[5:6]) for k in MADE]).mean(0)
    assert len(MADE) == views
    assert torch.allclose(total, truth / 1000, rtol=1e-5, atol=1e-12)


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("views", [1, 2, 8])
def test_the_bound_and_the_price_do_not_depend_on_how_many_views_there_are(ledger, views):
    torch.manual_seed(0)
    run = training(
        ledger,
        nn.Linear(6, 2),
        views=views,
        augment=lambda row: row + torch.randn(6),
        clip="1e-6",
        sigma=None,
        epsilon=2,
    )
    total = run._run.sums.total(np.array([[5]]))
    assert 0.999 < float(total.square().sum().sqrt()) <= 1  # clipped once, to the same bound
    one = training(ledger, nn.Linear(6, 2), clip="1e-6", sigma=None, epsilon=2)
    assert float(run.plan.sigma / one.plan.sigma) == pytest.approx(1, abs=1e-6)
    assert run.fit(bar=False).taken == 4


@pytest.mark.theorem("augmented-views")
def test_neighbors_of_augmented_rows_differ_by_at_most_what_is_priced(ledger):
    """Given the coins of all views: each is a function of its row."""
    torch.manual_seed(0)
    shifts = torch.randn(40, 6)
    run = training(
        ledger,
        nn.Linear(6, 2),
        views=3,
        augment=lambda row: (row + shifts[int(row.abs().sum() * 1000) % 40]) * 1e6,
    )
    everyone = np.arange(14)[:, None]

    def cells(lines):
        return run.plan.one.grid.to_grid(run._run.sums.total(lines).numpy())

    whole, moved = cells(everyone), []
    for gone in range(14):
        rest = cells(np.delete(everyone, gone, axis=0))
        moved.append(sum(int(v) ** 2 for v in whole - rest))
    assert run.plan.one.squared / 2 < max(moved) <= run.plan.one.squared


def images(count=40):
    x = torch.randn(count, 2, 5, 6, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0, 0, 0] > 0).long()


def test_shifted_images_are_all_shifts_of_an_image_and_its_mirror():
    torch.manual_seed(0)
    image = torch.arange(12.0).view(1, 3, 4)
    framed = nn.functional.pad(image[None], (1, 1, 1, 1), mode="reflect")[0]
    cuts = [framed[:, i : i + 3, j : j + 4] for i in range(3) for j in range(3)]
    possible = {tuple(cut.flatten().tolist()) for each in cuts for cut in (each, each.flip(2))}
    made = ShiftedImages(pixels=1).views(image.expand(2000, 1, 3, 4))
    assert {tuple(view.flatten().tolist()) for view in made} == possible  # missed by e-109 * 18
    assert torch.equal(ShiftedImages(pixels=0, mirrored=False)(image), image)


@pytest.mark.theorem("augmented-views")
def test_shifted_images_are_clipped_as_the_mean_of_their_views(ledger):
    torch.manual_seed(0)
    model, (x, y) = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(36, 2)), images()
    run = training(ledger, model, data=(x, y), views=3, augment=ShiftedImages(pixels=1), clip=1000)
    state = torch.get_rng_state()
    total = run._run.sums.total(np.array([[5]]))
    torch.set_rng_state(state)
    views = ShiftedImages(pixels=1).views(x[5:6].expand(3, 2, 5, 6))
    truth = torch.stack([gradient(model, view[None], y[5:6]) for view in views]).mean(0)
    assert torch.allclose(total, truth / 1000, rtol=1e-5, atol=1e-9)
    near = training(ledger, model, data=(x, y), views=1, augment=ShiftedImages(0, mirrored=False))
    check_neighbors(near)
    with pytest.raises(OutOfRange, match="larger than their shifts"):
        training(ledger, model, data=(x, y), augment=ShiftedImages(pixels=5))


def test_the_data_stays_what_it_is_and_bad_views_are_refused(ledger):
    x, y = rows()
    before = x.clone()
    run = training(ledger, nn.Linear(6, 2), data=(x, y), views=2, augment=lambda row: row.mul_(0))
    run.fit(bar=False)
    assert torch.equal(x, before)
    with pytest.raises(NotPerExample):
        training(ledger, nn.Linear(6, 2), views=2, augment=lambda row: row[:3])
    with pytest.raises(OutOfRange):
        training(ledger, nn.Linear(6, 2), views=2)


def test_masks_do_not_follow_from_the_seed_of_the_user(ledger):
    """Whoever knew the seed could tell from the masks of others that a unit is there."""
    model = nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5), nn.Linear(64, 2))
    run = training(ledger, model)
    torch.manual_seed(3)
    first = run._run._clipped_sum(np.arange(8)[:, None])
    told = torch.rand(4)
    torch.manual_seed(3)
    second = run._run._clipped_sum(np.arange(8)[:, None])
    assert not torch.equal(first, second)
    assert torch.equal(told, torch.rand(4))  # and the user's stream is left alone


def test_constant_work_computes_the_cap_and_changes_nothing(ledger):
    torch.manual_seed(0)
    model = nn.Linear(6, 2)
    run = training(ledger, model, constant_work=True, micro_batch=1)
    seen = []
    original = run._run.sums.total

    def total(drawn, **given):
        seen.append(drawn.shape[0])
        return original(drawn, **given)

    run._run.sums.total = total
    run.fit(bar=False)
    assert set(seen) == {run.plan.one.units}
    rows_ = np.array([[1], [7], [-1], [-1]])
    assert torch.equal(original(rows_)[0], original(rows_[:2])[0])


# --- adapters ---------------------------------------------------------------------------------


class Merged(nn.Module):
    """An adapter that is added to the weight: a parametrization."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.down, self.up = (
            nn.Parameter(torch.randn(2, inputs)),
            nn.Parameter(torch.randn(outputs, 2)),
        )

    def forward(self, weight):
        return weight + self.up @ self.down


def test_a_parametrized_adapter_is_differentiated_example_by_example(ledger):
    torch.manual_seed(0)
    layer = nn.Linear(6, 2).requires_grad_(False)
    nn.utils.parametrize.register_parametrization(layer, "weight", Merged(2, 6))
    model, (x, y) = nn.Sequential(layer), rows()
    run = training(ledger, model, clip=1000)
    assert "one gradient for each example" in run.plan.layers[0]
    total = run._run.sums.total(np.array([[3]]))
    assert torch.allclose(total, gradient(model, x[3:4], y[3:4]) / 1000, rtol=1e-5, atol=1e-10)
    check_neighbors(run)


# --- mixed precision --------------------------------------------------------------------------


class Autocast(nn.Module):
    """A model whose layers compute in bfloat16, with weights in float32."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.model(x).float()


def half_model(kind):
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    return Autocast(plain) if kind == "autocast" else plain.bfloat16()


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("kind", ["autocast", "bfloat16"])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_short_floats_are_added_up_in_long_ones(ledger, kind, scale):
    x, y = rows()
    data = (x * scale, y) if kind == "autocast" else ((x * scale).bfloat16(), y)
    run = training(ledger, half_model(kind), data=data)
    assert run.plan.one.slack < Fraction(5, 100)
    check_neighbors(run)
    total = run._run.sums.total(np.array([[3]]))
    assert total.dtype == torch.float64
    assert float(total.square().sum()) <= 1
