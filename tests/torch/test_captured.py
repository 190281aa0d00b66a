"""Graphs of kernels without a GPU: operations are recorded and repeated on the CPU.

The recorder does what CUDA does: it keeps every operation together with the tensors it has worked
on, and repeats it on these, whatever Python would do now.  Reading a number back to Python cannot
be recorded, as on a GPU.
"""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from discreet.torch.graphs import CapturedFactors, captured
from discreet.torch.layer_parts import zeros_of
from discreet.torch.loss_function import SummedObjective
from discreet.torch.per_example import ExampleGradients, RecordedFactors, choose, trainable_layers

CPU = torch.device("cpu")
GPU = torch.device("cuda")
UNITS = 6
cross_entropy = nn.functional.cross_entropy


class Operations(TorchDispatchMode):
    """Keeps every operation, its tensors and its results."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("a number is read back while a graph is recorded")
        result = func(*args, **(kwargs or {}))
        self.kept.append((func, args, kwargs or {}, result))
        return result

    def repeat(self):
        with torch.no_grad():
            for func, args, kwargs, result in self.kept:
                again = func(*args, **kwargs)
                for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)


class Recorder:
    """Records on the CPU; ``wrong`` spoils what is repeated."""

    def __init__(self, wrong=None, fails=False):
        self.wrong, self.fails, self.records, self.repeats = wrong, fails, 0, [0, 0]

    def __call__(self, device, first, second):
        assert device.type == "cpu"
        self.records += 1
        if self.fails:
            raise RuntimeError("this kernel cannot be recorded")
        tapes = []
        for work in (first, second):
            with torch.no_grad(), Operations() as tape:
                work()
            tapes.append(tape)
        return tuple(self.repeated(number, tape) for number, tape in enumerate(tapes))

    def repeated(self, number, tape):
        def work():
            self.repeats[number] += 1
            tape.repeat()
            if self.wrong is not None:
                self.wrong(number, tape)

        return work


def model_of(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv1d(2, 3, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(9, 5, bias=False),
        nn.LayerNorm(5),
        nn.Tanh(),
        nn.Linear(5, 3),
    )


def rows(seed, count=UNITS):
    stream = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 2, 4, generator=stream)
    return x, torch.randint(0, 3, (count,), generator=stream)


def both(model=None, **spoiled):
    model = model_of() if model is None else model
    eager = RecordedFactors(model, SummedObjective(cross_entropy))
    recorder = Recorder(**spoiled)
    return eager, CapturedFactors(eager, recorder), recorder


def added(model, parts, scales, *, drop=False):
    totals = zeros_of(model)
    with torch.no_grad():
        for part in parts:
            part.add(scales, totals, drop=drop)
    return torch.cat([value.flatten() for value in totals.values()])


def norms(parts):
    return sum(part.squares for part in parts), sum(part.spans for part in parts)


def check_same(eager, graphs, x, y, inside, *, drop=False, units=UNITS):
    """Compare graphs with what they replace, on one micro-batch."""
    parts, slow = graphs.parts(x, y, inside, units), eager.parts(x, y, inside, units)
    for fast, true in zip(norms(parts), norms(slow), strict=True):
        assert torch.allclose(fast, true, rtol=1e-12, atol=0, equal_nan=True)
        assert bool((fast[true.isfinite()] >= true[true.isfinite()]).all())  # never below
    scales = torch.linspace(0.1, 1.0, units, dtype=torch.float64)
    if drop:
        scales = torch.where(norms(slow)[0].isfinite(), scales, 0.0)
    one, other = (added(eager.model, found, scales, drop=drop) for found in (parts, slow))
    assert bool(one.isfinite().all())
    assert float(other.abs().max()) > 0
    assert torch.allclose(one, other, rtol=1e-12, atol=1e-14)
    return parts


def test_graphs_give_what_they_replace_for_any_rows_and_masks():
    eager, graphs, recorder = both()
    everything = torch.ones(UNITS, dtype=torch.bool)
    for seed in range(4):
        check_same(eager, graphs, *rows(seed), everything)
    assert (recorder.records, recorder.repeats[0]) == (1, 1 + 4)  # one to compare, then one each
    for gone in range(4):
        inside = everything.clone()
        inside[gone:] = torch.arange(gone, UNITS) % 2 == 0
        check_same(eager, graphs, *rows(9), inside)
    check_same(eager, graphs, *rows(10), everything)
    assert recorder.records == 1  # whole and padded ones have one graph: who sits where is private


def moved(model, x, y):
    model[0].weight.data = model[0].weight.data.clone()
    return x, y, UNITS


def frozen(model, x, y):
    model[3].weight.requires_grad_(False)
    return x, y, UNITS


def longer(_model, x, y):
    return torch.cat([x, x]), torch.cat([y, y]), 2 * UNITS


def by_pairs(_model, x, y):
    return x, y, UNITS // 2


@pytest.mark.parametrize("change", [moved, frozen, longer, by_pairs])
def test_graphs_are_recorded_again_where_anything_has_changed(change):
    eager, graphs, recorder = both()
    x, y = rows(1)
    everything = torch.ones(UNITS, dtype=torch.bool)
    check_same(eager, graphs, x, y, everything)
    x, y, units = change(eager.model, x, y)
    eager.layers = trainable_layers(eager.model)
    check_same(eager, graphs, x, y, torch.ones(len(x), dtype=torch.bool), units=units)
    assert recorder.records == 2


def norm_off(number, tape):
    """Spoil the last number of the first graph."""
    if number == 0:
        tape.kept[-1][3].mul_(1.01)


def sums_off(number, tape):
    if number == 1:
        tape.kept[-1][3].add_(1e-2)


@pytest.mark.parametrize(
    ("spoiled", "units"),
    [
        ({"wrong": norm_off}, UNITS),
        ({"wrong": sums_off}, UNITS),
        ({"fails": True}, UNITS),
    ],
    ids=["norm", "sums", "fails"],
)
def test_graphs_that_differ_or_fail_are_dropped(spoiled, units):
    eager, graphs, recorder = both(**spoiled)
    everything = torch.ones(UNITS, dtype=torch.bool)
    for seed in range(3):
        parts = check_same(eager, graphs, *rows(seed), everything, units=units)
        assert len(parts) == len(eager.parts(*rows(seed), everything, units))  # call by call
    assert recorder.records == 1  # it is not tried again for this shape


def test_a_hook_that_comes_later_is_called():
    eager, graphs, recorder = both()
    everything = torch.ones(UNITS, dtype=torch.bool)
    check_same(eager, graphs, *rows(1), everything)
    repeated, calls = list(recorder.repeats), []
    handle = eager.model[1].register_forward_hook(lambda *_: calls.append(1))
    graphs.parts(*rows(2), everything, UNITS)
    assert calls
    assert recorder.repeats == repeated
    handle.remove()
    check_same(eager, graphs, *rows(2), everything)
    assert recorder.repeats > repeated


def test_graphs_are_for_plain_models_with_known_objectives_on_a_gpu():
    model = model_of()
    x, y = rows(1)
    engine = choose(model, SummedObjective(cross_entropy), x, y, units=UNITS)
    assert isinstance(captured(model, engine, GPU).contributions, CapturedFactors)
    assert captured(model, engine, CPU) is engine
    own = choose(model, SummedObjective(lambda o, t: 2 * cross_entropy(o, t)), x, y, units=UNITS)
    assert captured(model, own, GPU) is own
    wary = nn.Sequential(nn.Flatten(), nn.Linear(8, 3), nn.Dropout())
    found = choose(wary, SummedObjective(cross_entropy), x, y, units=UNITS)
    assert captured(wary, found, GPU) is found
    each = type(engine)(ExampleGradients(model, SummedObjective(cross_entropy)), (), 1)
    assert captured(model, each, GPU) is each
