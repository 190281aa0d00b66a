"""Coins that several examples share are found, wherever they come from."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ExamplesMix
from discreet.learning.deep.choice import choose
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.model_state import ModelState, refuse_change
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.trial import Trial
from discreet.learning.deep.trials.shared_coins import refuse_shared_coins

CPU = torch.device("cpu")


def refuse(model, objective=functional.cross_entropy, *, told=False, units=4, rows=1):
    """Try a model on six numbers and two classes; return how contributions are found."""
    shapes = RowShape((6,), torch.float32), RowShape((), torch.int64)
    x, y = (shape.rows(units * rows, seed=1, device=CPU) for shape in shapes)
    summed = SummedObjective(objective)
    engine = choose(model, summed, x, y, units=units)
    trial = Trial(model, engine.contributions, *shapes, units, rows, CPU)
    trial.objective = summed if told else None
    refuse_shared_coins(trial, summed)
    return engine.layers[0]


class Masked(nn.Module):
    """A layer whose outputs are multiplied by what a function makes of a mask."""

    def __init__(self, use, masks, numbers=torch.ones):
        super().__init__()
        self.layer, self.masks = nn.Linear(6, 2), masks
        self.use, self.numbers = [use], [numbers]

    def forward(self, x):
        return self.layer(x) * self.use[0](self.masks(self.numbers[0](len(x), 2)))


SHARED_MASKS = {
    "that of the first row": lambda kept: kept[:1],
    "rescaled by the batch": lambda kept: kept / kept.mean().clamp(min=0.01),
    "that of the next row": lambda kept: kept.roll(1, 0),
    "sorted": lambda kept: kept.sort(0).values,
    "upside down": lambda kept: kept.flip(0),
}


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("chance", [0.5, 0.001, 0.999])
@pytest.mark.parametrize("use", SHARED_MASKS)
def test_a_mask_of_one_example_moves_no_other_one(use, chance):
    """The shapes that dropout is given say nothing of it."""
    with pytest.raises(ExamplesMix, match="masks of other examples move"):
        refuse(Masked(SHARED_MASKS[use], nn.Dropout(chance)))


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("kind", [nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_masks_of_all_kinds_are_turned_over(kind, inplace):
    numbers = torch.zeros if kind is nn.FeatureAlphaDropout else torch.ones
    assert "recorded" in refuse(Masked(lambda kept: kept, kind(0.1, inplace), numbers))
    with pytest.raises(ExamplesMix, match="masks of other examples move"):
        refuse(Masked(lambda kept: kept[:1], kind(0.1, inplace), numbers))


class Channels(nn.Module):
    """Whole channels are left out, of one's own row or of the first one."""

    def __init__(self, first):
        super().__init__()
        self.layer, self.masks, self.first = nn.Linear(6, 2), nn.Dropout1d(0.1), first

    def forward(self, x):
        kept = self.masks(torch.ones(len(x), 2, 3))
        return self.layer(x) * (kept[:1] if self.first else kept).mean(2)


def test_masks_of_channels_are_turned_over():
    refuse(Channels(first=False))
    with pytest.raises(ExamplesMix, match="masks of other examples move"):
        refuse(Channels(first=True))


class Heads(nn.Module):
    """Two lines of masks for each row, as attention with two heads has; or those of all rows."""

    def __init__(self, *, own):
        super().__init__()
        self.layer, self.masks, self.own = nn.Linear(6, 2), nn.Dropout(0.1), own

    def forward(self, x):
        kept = self.masks(torch.ones(2 * len(x)))
        lines = kept.view(len(x), 2) if self.own else kept.view(2, len(x)).flip(1).T
        return self.layer(x) * lines


def test_a_row_may_have_several_lines_of_masks():
    refuse(Heads(own=True), rows=2)
    with pytest.raises(ExamplesMix, match="masks of other examples move"):
        refuse(Heads(own=False))


def test_rows_of_one_unit_may_share_their_masks():
    def of_units(kept):
        return kept.view(-1, 2, 2)[:, :1].expand(-1, 2, 2).reshape(-1, 2) if len(kept) > 3 else kept

    refuse(Masked(of_units, nn.Dropout(0.5)), units=4, rows=2)
    with pytest.raises(ExamplesMix, match="masks of other examples move"):
        refuse(Masked(of_units, nn.Dropout(0.5)), units=8, rows=1)


def test_a_told_objective_follows_from_masks_of_its_own_row():
    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.masks = nn.Parameter(torch.ones(6, 2)), nn.Dropout(0.1)

        def forward(self, x):
            return x @ self.weight * self.masks(torch.ones(len(x), 2))[:1]

    assert "one gradient for each example" in refuse(Bare())  # where the first row is the own one
    with pytest.raises(ExamplesMix, match="contributes to 'the objective'"):
        refuse(Bare(), told=True)


def test_a_dropout_that_does_something_else_is_none():
    model = Masked(lambda kept: kept, nn.Dropout(0.5))
    model.masks.forward = lambda given: given * (not model.masks.training or torch.rand(()) > 1e-9)
    with pytest.raises(ExamplesMix, match="whose masks are not those of single examples"):
        refuse(model)


def test_dropout_is_left_as_it_was():
    model = Masked(lambda kept: kept, nn.Dropout(0.1))
    before = ModelState.of(model, values=True)
    refuse(model)
    refuse_change(before, model)
    assert model.masks.training


# --- coins of Python and NumPy ----------------------------------------------------------------


class Bare(nn.Module):
    """No proved layer: ``vmap`` runs Python once for all rows."""

    def __init__(self, gate):
        super().__init__()
        self.weight, self.gate = nn.Parameter(torch.ones(6, 2)), [gate]

    def forward(self, x):
        return x @ self.weight * self.gate[0]()


COINS = {
    "Python": lambda: float(random.random() > 1e-9),  # noqa: S311
    "NumPy": lambda: float(np.random.rand() > 1e-9),  # noqa: NPY002
}


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("coin", COINS)
def test_a_coin_for_all_rows_of_vmap_is_found_however_seldom_it_falls(coin):
    assert "one gradient for each example" in refuse(Bare(lambda: torch.rand(()) + 1))
    with pytest.raises(ExamplesMix, match=r"draws coins outside of nn\.Dropout"):
        refuse(Bare(COINS[coin]))


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("model", [nn.Linear(6, 2), Bare(lambda: 1.0)])
@pytest.mark.parametrize("coin", COINS)
def test_a_coin_in_an_objective_is_found(coin, model):
    def objective(outputs, targets):
        return functional.cross_entropy(outputs, targets) * COINS[coin]()

    with pytest.raises(ExamplesMix, match="or the objective draws coins"):
        refuse(model, objective)


def test_rows_that_are_run_one_by_one_toss_coins_of_their_own():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.last = nn.GRU(1, 2, batch_first=True), nn.Linear(2, 2)

        def forward(self, x):
            return self.last(self.layer(x[..., None])[0][:, -1]) * COINS["NumPy"]()

    assert "one gradient after another" in refuse(Recurrent())
    with pytest.raises(ExamplesMix, match=r"draws coins outside of nn\.Dropout"):
        refuse(Recurrent(), told=True)  # which is computed for all rows at once


@pytest.mark.parametrize(
    "generator",
    [
        random.Random(1),  # noqa: S311
        np.random.default_rng(1),
        np.random.RandomState(1),
        torch.Generator(),
    ],
    ids=lambda generator: type(generator).__name__,
)
def test_a_generator_of_a_module_is_found_when_it_is_used(generator):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.mine = nn.Linear(6, 2), {"stream": [generator]}

        def forward(self, x):
            if isinstance(generator, torch.Generator):
                torch.rand((), generator=generator)
            else:
                generator.random() if hasattr(generator, "random") else generator.rand()
            return self.layer(x)

    model = Own()
    before = ModelState.of(model)
    refuse_change(before, model)
    model(torch.zeros(2, 6))
    with pytest.raises(ExamplesMix, match="'mine' changes"):
        refuse_change(before, model)
