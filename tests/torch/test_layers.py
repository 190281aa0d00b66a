"""Contributions of every proved layer against a loop of autograd, and the neighbor contract."""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.pytorch_utils import Conv1D

from discreet.errors import ExamplesMix, LayerNotProvable, NotPerExample, OutOfRange, WrongKind
from discreet.torch import Clipping, PrivateSum, layers, noisy_sum
from discreet.torch.layer_parts import zeros_of
from discreet.torch.layers import linear_parts
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noisy_sum import BatchSums, ClipGroup, refuse_unsound, released
from discreet.torch.per_example import (
    ExampleGradients,
    ModelEngine,
    RecordedFactors,
    check_model,
    choose,
)
from discreet.torch.rows import RowShape, RowTensors
from discreet.torch.trial import try_model

CPU = torch.device("cpu")


class Head(nn.Module):
    """A layer, and a smooth function of its output that has no parameters."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return torch.tanh(self.layer(x)).flatten(1).cumsum(1)


def objective(outputs, targets):
    return (outputs.double() * targets.double()[:, None]).square().mean(1)


SUMMED = SummedObjective(objective)
LAYERS = {
    "linear": (lambda: nn.Linear(5, 4), (5,)),
    "linear without bias": (lambda: nn.Linear(5, 4, bias=False), (5,)),
    "linear 3-D": (lambda: nn.Linear(5, 4), (3, 5)),
    "linear 4-D, many places": (lambda: nn.Linear(3, 2), (4, 3, 3)),
    "linear, tall, many places": (lambda: nn.Linear(2, 16), (4, 2)),
    "linear 5-D": (lambda: nn.Linear(4, 6), (2, 1, 2, 4)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1, stride=2, groups=2), (4, 9)),
    "conv1d same": (lambda: nn.Conv1d(2, 3, 4, padding="same", dilation=2), (2, 9)),
    "conv2d": (lambda: nn.Conv2d(2, 4, (3, 2), padding=(2, 1), stride=(1, 2)), (2, 6, 5)),
    "conv2d dilated": (lambda: nn.Conv2d(2, 4, 3, padding=1, dilation=2, bias=False), (2, 8, 7)),
    "conv3d": (lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 3, 4, 3)),
    "layer norm": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "layer norm without bias": (lambda: nn.LayerNorm(4, bias=False), (4,)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (4, 3, 2)),
    "group norm 2-D": (lambda: nn.GroupNorm(2, 4), (4,)),
    "rms norm": (lambda: nn.RMSNorm(4), (3, 4)),
    "linear stored transposed": (lambda: Conv1D(4, 5), (3, 5)),
    "linear stored transposed, one place": (lambda: Conv1D(4, 5), (5,)),
    "linear stored transposed, pairs": (lambda: Conv1D(40, 30), (2, 30)),
    "rms norm of llama": (lambda: LlamaRMSNorm(4), (3, 4)),
    "embedding": (lambda: nn.Embedding(2, 3), (5,)),
    "embedding with padding": (lambda: nn.Embedding(2, 3, padding_idx=0), (5,)),
    "embedding 2-D": (lambda: nn.Embedding(2, 3), (2, 3)),
}


def rows_for(name, shape, count, seed, dtype):
    stream = torch.Generator().manual_seed(seed)
    if "embedding" in name:
        return torch.randint(0, 2, (count, *shape), generator=stream)
    return torch.randn((count, *shape), generator=stream, dtype=torch.float64).to(dtype)


def by_loop(model, x, y, units):
    """Return the gradient of each unit, one at a time."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    size = x.shape[0] // units
    found = []
    for i in range(units):
        part = slice(i * size, (i + 1) * size)
        total = objective(model(x[part]), y[part]).sum()
        grads = torch.autograd.grad(total, parameters)
        found.append(torch.cat([g.reshape(-1).double() for g in grads]))
    return torch.stack(found)


def vectors_of(contributions, model, x, y, units):
    inside = torch.ones(x.shape[0], dtype=torch.bool)
    parts = contributions.parts(x, y, inside, units)
    lines = []
    for i in range(units):
        totals = zeros_of(model)
        for part in parts:
            part.add(torch.eye(units, dtype=torch.float64)[i], totals)
        lines.append(torch.cat([t.reshape(-1) for t in totals.values()]))
    squares = sum(part.squares for part in parts)
    spans = sum(part.spans for part in parts)
    return torch.stack(lines), squares, spans


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    "way", [RecordedFactors, ExampleGradients, partial(ExampleGradients, one_by_one=True)]
)
def test_contributions_are_the_gradients_of_single_units(name, rows, way):
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    model = Head(make()).double()
    x, y = rows_for(name, shape, 4 * rows, 1, torch.float64), torch.linspace(-2, 2, 4 * rows)
    truth = by_loop(model, x, y, 4)
    lines, squares, spans = vectors_of(way(model, SUMMED), model, x, y, 4)
    assert torch.allclose(lines, truth, rtol=1e-10, atol=1e-12)
    norms = truth.square().sum(1)
    assert (squares >= norms * (1 - 1e-12)).all()
    assert torch.allclose(squares, norms, rtol=1e-9, atol=1e-12)
    assert (spans**2 >= norms * (1 - 1e-12)).all()


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("few", [0, 16, 1000])  # places first; windows first, copied once or twice
@pytest.mark.parametrize("name", [*(n for n in LAYERS if "conv" in n), "wide windows"])
def test_windows_are_the_same_however_they_are_copied(name, few, rows, monkeypatch):
    monkeypatch.setattr(layers, "_FEW", few)
    monkeypatch.setattr(layers, "_TOGETHER", 1)
    make, shape = LAYERS.get(name, (lambda: nn.Conv2d(8, 3, 4, stride=2), (8, 7, 8)))
    torch.manual_seed(0)
    layer = make()
    model = Head(layer).double()
    x, y = rows_for(name, shape, 4 * rows, 1, torch.float64), torch.linspace(-2, 2, 4 * rows)
    assert layers._channels_last(layer, layer(x)) is (few > 0)
    lines, squares, _ = vectors_of(RecordedFactors(model, SUMMED), model, x, y, 4)
    truth = by_loop(model, x, y, 4)
    assert torch.allclose(lines, truth, rtol=1e-10, atol=1e-12)
    assert torch.allclose(squares, truth.square().sum(1), rtol=1e-9, atol=1e-12)


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", [*(n for n in LAYERS if "conv" in n), "same", "eight channels"])
def test_a_gpu_multiplies_shifted_places_and_has_the_same_vectors(name, kind, rows, monkeypatch):
    """The arithmetic of a GPU, on a CPU; the vector is the contribution in any precision."""
    monkeypatch.setattr(layers, "_COPIED", frozenset())
    others = {
        "same": (lambda: nn.Conv2d(2, 4, 3, padding="same", bias=False), (2, 6, 5)),
        "eight channels": (lambda: nn.Conv2d(8, 4, 3, padding=(0, 1)), (8, 6, 5)),
    }
    make, shape = (LAYERS | others)[name]
    torch.manual_seed(0)
    model = Head(make()).to(kind)
    x, y = rows_for(name, shape, 4 * rows, 1, kind), torch.linspace(-2, 2, 4 * rows)
    order = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    x = x if order is None else x.contiguous(memory_format=order)
    lines, squares, _ = vectors_of(RecordedFactors(model, SUMMED), model, x, y, 4)
    truth, norms = by_loop(model, x, y, 4), lines.square().sum(1)
    allowed = 1e-12 if kind == torch.float64 else 0.02 * float(truth.abs().max())
    assert torch.allclose(lines, truth, rtol=1e-10, atol=allowed)
    assert (squares >= norms * (1 - 1e-12)).all()
    assert torch.allclose(squares, norms, rtol=1e-3)


def sums_for(model, engine, x, y, *, micro, bound=1, chunk=0):
    return BatchSums(
        model,
        engine,
        RowTensors(x, y),
        groups=(ClipGroup(frozenset(model.parameters()), Clipping(bound=1), float(bound)),),
        micro=micro,
        normalized=False,
        device=CPU,
        chunk=chunk,
    )


def hard_rows(name, shape, count, kind):
    x = rows_for(name, shape, count, 3, torch.float32)
    if "embedding" in name:
        return torch.zeros_like(x) if kind == "repeated" else x
    flat = x.view(count, -1)
    if kind == "border":
        flat[:] = 0
        flat[:, [0, -1]] = 30.0
    elif kind == "huge":
        flat *= 1e15
    elif kind == "denormal":
        flat *= 1e-40
    elif kind == "repeated":
        flat[:] = flat[:, :1]
    elif kind == "cancelling":
        flat[:, 1::2] = -flat[:, 0 : flat.shape[1] - 1 : 2]
    return x


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("kind", ["border", "huge", "denormal", "repeated", "cancelling"])
def test_neighbors_differ_by_at_most_what_is_priced(name, kind):
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    model = Head(make())
    count, micro = 7, 3
    x, y = hard_rows(name, shape, count, kind), torch.full((count,), 50.0)
    engine = ModelEngine(RecordedFactors(model, SUMMED), (), int(np.prod(shape)))
    sums = sums_for(model, engine, x, y, micro=micro)
    one = PrivateSum(
        clipping=Clipping(bound=1),
        sigma=Fraction(1),
        units=8,
        coordinates=sum(p.numel() for p in model.parameters()),
        operations=micro * engine.positions + 12,
    )
    everyone = np.arange(count)[:, None]
    whole = one.grid.to_grid(sums.total(everyone).numpy())
    for gone in (0, 3, 6):  # all others keep their seats
        rest = np.where(everyone == gone, -1, everyone)
        part = one.grid.to_grid(sums.total(rest).numpy())
        moved = sum(int(v) ** 2 for v in whole - part)
        assert moved <= one.squared


@pytest.mark.parametrize("mode", ["replicate", "circular", "reflect"])
def test_other_padding_is_differentiated_example_by_example_and_stays_within_the_bound(mode):
    """Ghost norms of another library release 1.72 times the bound here."""
    torch.manual_seed(0)
    model = Head(nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode, bias=False))
    x = torch.zeros(1, 4, 5, 5)
    x[..., 0] = x[..., -1] = 30.0
    y = torch.full((1,), 50.0)
    engine = choose(model, SUMMED, x, y, units=1)
    assert mode in engine.layers[0]
    total = sums_for(model, engine, x, y, micro=1).total(np.array([[0]]))
    assert 0.99 < float(total.square().sum().sqrt()) <= 1


def test_a_norm_that_leaves_the_bias_out_breaks_the_bound():
    torch.manual_seed(0)
    model = Head(nn.Linear(1, 8))
    x, y = torch.full((1, 1), 1e-3), torch.full((1,), 50.0)
    parts = RecordedFactors(model, SUMMED).parts(x, y, torch.tensor([True]), 1)
    short = parts[0].g.double().square().sum() * parts[0].a.double().square().sum()
    totals = zeros_of(model)
    parts[0].add((1 / short.sqrt()).reshape(1), totals)
    assert sum(float(t.square().sum()) for t in totals.values()) > 2
    assert float(parts[0].squares) > 1000 * float(short)


@pytest.mark.parametrize("micro", [1, 3, 7])
def test_micro_batches_agree_within_the_slack(micro):
    torch.manual_seed(0)
    model = Head(nn.Linear(5, 4)).double()
    x, y = rows_for("", (5,), 20, 1, torch.float64), torch.linspace(-9, 9, 20)
    engine = ModelEngine(RecordedFactors(model, SUMMED), (), 1)
    rows = np.arange(20)[:, None]
    first = sums_for(model, engine, x, y, micro=20).total(rows)
    other = sums_for(model, engine, x, y, micro=micro).total(rows)
    one = PrivateSum(
        clipping=Clipping(bound=1), sigma=Fraction(1), coordinates=24, units=20, operations=32
    )
    assert float((first - other).square().sum().sqrt()) <= float(one.slack)


def test_padding_and_rows_that_are_not_finite_contribute_nothing():
    model = Head(nn.Linear(5, 4))
    x, y = rows_for("", (5,), 4, 1, torch.float32), torch.ones(4)
    engine = ModelEngine(RecordedFactors(model, SUMMED), (), 1)
    clean = sums_for(model, engine, x[:2], y[:2], micro=2).total(np.array([[0], [1]]))
    bad = x.clone()
    bad[2], bad[3, 0] = torch.nan, torch.inf
    sums = sums_for(model, engine, bad, y, micro=2)
    assert torch.equal(sums.total(np.array([[0], [1], [2], [3]])), clean)
    assert torch.equal(sums.total(np.zeros((0, 1), np.int64)), torch.zeros_like(clean))


class Restless(nn.Module):
    """Adds to the gradient of every row, whatever the objective makes of it."""

    def __init__(self, extra):
        super().__init__()
        self.layer, self.extra = nn.Linear(5, 4), extra

    def forward(self, x):
        found = self.layer(x)
        found.register_hook(lambda gradient: gradient + self.extra)
        return found


@pytest.mark.parametrize("extra", [1.0, torch.inf])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("chunk", [0, 32])
@pytest.mark.parametrize(
    "engine", [RecordedFactors, partial(ExampleGradients, one_by_one=True)], ids=["factors", "rows"]
)
def test_an_empty_place_adds_nothing_whatever_the_model_makes_of_it(engine, rows, chunk, extra):
    """A unit more takes a place: what that adds when it is empty would be moved, too."""
    model = Head(Restless(extra))
    x, y = rows_for("", (5,), 6, 1, torch.float32), torch.ones(6)
    found = ModelEngine(engine(model, SUMMED), (), rows)
    seated = np.full((4, rows), -1)
    seated[1:3, 0] = [0, 1]
    padded = sums_for(model, found, x, y, micro=4, chunk=chunk).total(seated)
    full = sums_for(model, found, x, y, micro=2, chunk=chunk).total(seated[1:3, :1])
    assert bool(full.any()) == (extra == 1)
    assert torch.allclose(padded, full, rtol=0, atol=1e-5)  # another shape may round otherwise


@pytest.mark.parametrize("block", [7, 50, 1 << 17])
def test_the_release_on_a_device_is_that_of_the_kernel(block, monkeypatch):
    monkeypatch.setattr(noisy_sum, "_BLOCK", block)
    one = PrivateSum(
        clipping=Clipping(bound=3), sigma=Fraction(2), coordinates=50, units=20, operations=32
    )
    total = np.random.default_rng(0).standard_normal(50) * 7
    noise = one.law.sample(50)
    given = torch.from_numpy(total).clone()
    found, sound = released(one, given, noise)
    assert found.tolist() == one.grid.from_grid(one.grid.to_grid(total) + noise).tolist()
    assert given.data_ptr() == found.data_ptr()  # no sum without noise is left
    refuse_unsound(sound)
    with pytest.raises(WrongKind):
        released(one, torch.zeros(49, dtype=torch.float64), noise)
    for value in (torch.nan, torch.inf, -1e30):
        bad = torch.from_numpy(total).clone()
        bad[7] = value
        found, sound = released(one, bad, noise)
        assert found.tolist() == one.grid.from_grid(noise).tolist()
        with pytest.raises(OutOfRange):
            refuse_unsound(sound)


# --- which way, and independence --------------------------------------------------------------


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(torch.tanh(self.layer(x)))


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x):
        return x * self.weight


class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        h = self.layer(x)
        return h - h.mean(0)


class SequenceFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x.view(-1, 2, 3).transpose(0, 1)).transpose(0, 1).flatten(1)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += x.sum().detach()
        return self.layer(x)


class Outside(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(x) + x @ self.layer.weight


def tried(model, units=4):
    check_model(model)
    shapes = RowShape((6,), torch.float32), RowShape((), torch.int64)
    objective = nn.functional.cross_entropy
    return try_model(model, objective, shapes=shapes, units=units, cap=units, rows=1).engine


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), "recorded"),
        (nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5), nn.Linear(5, 3)), "recorded"),
        (Twice(), "2 times"),
        (Bare(), "not among the proved"),
        (SequenceFirst(), "another order"),
        (nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6).eval()), "not among the proved"),
        (torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)), "one gradient"),
    ],
)
def test_models_are_recorded_or_differentiated_example_by_example(model, word):
    assert word in tried(model).layers[0]


@pytest.mark.parametrize(
    ("model", "error", "word"),
    [
        (Centered(), ExamplesMix, "layer"),
        (nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16)), ExamplesMix, "GroupNorm(8, 16)"),
        (Counting(), ExamplesMix, "seen"),
        (Outside(), LayerNotProvable, "outside its layer"),
        (nn.Linear(6, 3).requires_grad_(requires_grad=False), OutOfRange, "trainable"),
        ("a model", WrongKind, "Module"),
    ],
)
def test_models_that_mix_examples_are_refused_with_a_reason(model, error, word):
    with pytest.raises(error, match=word.replace("(", r"\(").replace(")", r"\)")):
        tried(model)


class Nothing(nn.Module):
    """Adds nothing, as long as all companions are ordinary."""

    def __init__(self, share):
        super().__init__()
        self.layer, self.share = nn.Linear(6, 3), share

    def forward(self, x):
        found = self.layer(x)
        return found + self.share * found.mean() * found


class CenteredDropout(nn.Dropout):
    def forward(self, x):
        return x - x.mean(0) if self.training else x


@pytest.mark.parametrize(
    "model",
    [Nothing(0.0), Nothing(1e-10), nn.Sequential(CenteredDropout(), nn.Linear(6, 3))],
)
def test_mixing_that_ordinary_companions_hide_is_found(model):
    with pytest.raises(ExamplesMix):
        tried(model)


@pytest.mark.parametrize("places", [1, 2])
@pytest.mark.parametrize(
    ("gradient", "value"), [(1e-200, 1e150), (1e-158, 1e153), (1e120, 1e-200), (1e-149, 1e152)]
)
@pytest.mark.parametrize("normalized", [False, True])
def test_factors_whose_squares_underflow_stay_within_the_bound(places, gradient, value, normalized):
    torch.manual_seed(0)
    layer = nn.Linear(4, 3, bias=False).double()
    a = torch.full((2, places, 4), value, dtype=torch.float64)
    g = torch.full((2, places, 3), gradient, dtype=torch.float64)
    (part,) = linear_parts(layer, a, g, 2)
    scales = Clipping(bound=1).scales(
        part.squares.numpy(), part.spans.numpy(), most=np.inf if normalized else 2.0**200
    )
    scales[1] = 0
    totals = zeros_of(layer)
    part.add(torch.from_numpy(scales), totals)
    assert float(totals[layer.weight].norm()) <= 1


def test_objectives_that_mix_examples_are_refused():
    outputs, targets = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])
    weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0, 1.0]))
    for bad in (weighted, lambda o, t: o.mean(0), lambda o, t: (o - o.mean()).square().sum(1)):
        with pytest.raises(NotPerExample):
            SummedObjective.tested(bad, outputs, targets)
    for good in ("mean", "sum", "none"):
        found = SummedObjective.tested(nn.CrossEntropyLoss(reduction=good), outputs, targets)
        truth = nn.functional.cross_entropy(outputs, targets, reduction="none")
        assert torch.allclose(found.each(outputs, targets), truth)


def hidden_weights(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, weight=torch.tensor([1.0, 1.0, 1000.0]))


@pytest.mark.parametrize(
    "given", [nn.functional.cross_entropy, nn.CrossEntropyLoss(), hidden_weights]
)
def test_no_target_changes_what_another_row_contributes(given):
    """Under a mean, ignored targets and heavy classes change the divisor of all others."""
    summed = SummedObjective.tested(given, torch.randn(4, 3), torch.tensor([0, 1, 1, 0]))
    outputs = torch.randn(4, 3)
    own = []
    for others in (0, 1, 2, -100):
        leaf = outputs.clone().requires_grad_()
        targets = torch.full((4,), others)
        targets[1] = 0
        (gradient,) = torch.autograd.grad(summed(leaf, targets), leaf)
        own.append(gradient[1])
    assert all(torch.equal(own[0], other) for other in own[1:])


@pytest.mark.parametrize(
    "given", [nn.functional.mse_loss, nn.functional.binary_cross_entropy_with_logits]
)
def test_known_objectives_are_those_of_single_rows(given):
    outputs, targets = torch.randn(5, 3), torch.rand(5, 3)
    each = SummedObjective.tested(given, outputs, targets).each(outputs, targets)
    single = [given(outputs[i : i + 1], targets[i : i + 1]) for i in range(5)]
    assert torch.allclose(each, torch.stack(single))


def test_hooks_are_gone_afterwards_and_gradients_untouched():
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    tried(model)
    for module, parameter in itertools.zip_longest(model.modules(), model.parameters()):
        assert not module._forward_hooks
        assert parameter is None or parameter.grad is None
