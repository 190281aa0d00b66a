"""The test of independence: each of its parts finds what no other part does."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ExamplesMix, LayerNotProvable, TooImprecise
from discreet.learning.deep.factors import RecordedFactors
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.independence import refuse_mixing
from discreet.learning.deep.objectives import SummedObjective

OBJECTIVE = SummedObjective(functional.cross_entropy)


class Scaled(nn.Module):
    """A linear layer, times a number that a row should not depend on."""

    def __init__(self, factor):
        super().__init__()
        self.layer, self.factor = nn.Linear(6, 3), factor

    def forward(self, x):
        return self.layer(x) * self.factor(x)


def try_out(model, contributions=None, units=4):
    refuse_mixing(
        model,
        contributions or RecordedFactors(model, OBJECTIVE),
        OBJECTIVE,
        inputs=RowShape((6,), torch.float32),
        targets=RowShape((), torch.int64),
        units=units,
        rows=1,
        device=torch.device("cpu"),
    )


def by_company(x):
    """Look at the last row, if it is an ordinary one."""
    last = x[-1, 0].nan_to_num().clamp(-3, 3)
    return 1 + 0.1 * last


def by_place(x):
    """Count the places of a micro-batch."""
    return 1 + 0.1 * torch.arange(len(x))[:, None]


def by_padding(x):
    """Look for rows of zeros."""
    return torch.where((x == 0).all(1).any(), 2.0, 1.0)


def by_hard_rows(x):
    """Look for rows that are not finite."""
    return torch.where(x.isnan().any(), 2.0, 1.0)


CALLS = itertools.count()


def by_time(_x):
    """Count the calls, where no attribute of the model tells."""
    return 1 + 0.1 * next(CALLS)


@pytest.mark.parametrize("factor", [by_company, by_place, by_padding, by_hard_rows, by_time])
def test_what_a_row_must_not_depend_on_is_found(factor):
    torch.manual_seed(0)
    with pytest.raises(ExamplesMix, match=r"'layer\.weight' depends on the examples beside it"):
        try_out(Scaled(factor))


def test_a_row_on_its_own_is_tried_and_found_good():
    try_out(Scaled(lambda x: x[:, :1].cos()))


@pytest.mark.parametrize("share", [1e-7, 3e-6, 2e-5])
def test_a_bit_that_depends_on_companions_is_refused(share):
    """Rows that are made for it magnify it without a bound."""

    def slightly(x):
        return 1 + share * 2 * torch.where((x == 0).all(1).any(), 1.0, 0.0)

    torch.manual_seed(0)
    with pytest.raises(TooImprecise, match=r"last bits .* depend on the examples beside it"):
        try_out(Scaled(slightly))


@pytest.mark.parametrize("place", range(4))
def test_a_place_may_be_worth_a_bit(place):
    """It is for seats to see that nobody changes places (tests of seated runs)."""
    factor = torch.ones(4, 1)
    factor[place] += 2.0**-22
    try_out(Scaled(lambda x: factor[: len(x)]))


class Peeking(nn.Module):
    """One row sees a little of another one: by default, of an ordinary one."""

    def __init__(self, row, other, seen=torch.isfinite):
        super().__init__()
        self.layer, self.row, self.other, self.seen = nn.Linear(6, 3), row, other, seen

    def forward(self, x):
        lines = self.layer(x)
        if len(x) <= max(self.row, self.other):
            return lines
        beside = x[self.other, 0]
        moved = torch.where(self.seen(beside), beside.nan_to_num().clamp(-1, 1), 0.0)
        little = torch.zeros(len(x), 3)
        little[self.row, 1] = 2.0**-19
        return lines + little * moved


@pytest.mark.parametrize(("row", "other"), [(0, 7), (7, 0), (3, 4), (2, 3), (6, 5), (1, 2)])
@pytest.mark.parametrize("seen", [torch.isfinite, torch.isinf, lambda x: x.abs() > 1e9])
def test_a_bit_of_any_other_row_is_found_at_any_place(row, other, seen):
    """Two places are parted in every second comparison; these seeds part all that are tried."""
    torch.manual_seed(0)
    with pytest.raises(TooImprecise, match=r"last bits .* depend on the examples beside it"):
        try_out(Peeking(row, other, seen), units=8)


def test_a_row_that_sees_its_neighbor_in_the_middle_alone_is_found():
    class Middle(Peeking):
        def forward(self, x):
            lines = self.layer(x)
            if len(x) < 4:
                return lines
            empty = torch.zeros_like(x[:1])
            beside = torch.cat([empty, x[2:], empty])[:, :1].nan_to_num(posinf=0, neginf=0)
            return lines + 2.0**-19 * beside * torch.tensor([0.0, 1.0, 0.0])

    torch.manual_seed(0)
    with pytest.raises((TooImprecise, ExamplesMix), match="depend"):
        try_out(Middle(0, 0), units=16)


class Shorter:
    """Contributions whose norms are a little too small; what is added up is right."""

    def __init__(self, model, share):
        self.exact, self.share = RecordedFactors(model, OBJECTIVE), share

    def parts(self, inputs, targets, inside, units):
        parts = self.exact.parts(inputs, targets, inside, units)
        for part in parts:
            for name in ("squares", "spans"):
                object.__setattr__(part, name, getattr(part, name) * self.share)
        return parts


def test_norms_below_those_of_single_gradients_are_found():
    """No company moves them, and sums are right: this comparison alone tells."""
    model = nn.Linear(6, 3)
    assert not try_out(model, Shorter(model, 1.0))
    with pytest.raises(LayerNotProvable, match="below that of its gradient"):
        try_out(model, Shorter(model, 0.9))
