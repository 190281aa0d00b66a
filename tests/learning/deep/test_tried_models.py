"""The model that runs is the one that was tried; nothing stays untried without a word."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ExamplesMix, LayerNotProvable, OtherRun, TooImprecise
from discreet.learning.deep.trial import Unit, shares_apart
from tests.learning.deep.small_runs import X, Y, run_of


class Tempered(nn.Module):
    """Outputs are divided by a temperature that is learned: one number, without a dimension."""

    def __init__(self):
        super().__init__()
        self.layer, self.temperature = nn.Linear(6, 2), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.layer(x) / self.temperature


def test_a_single_number_is_trained(ledger):
    torch.manual_seed(0)
    model = Tempered()
    run = run_of(ledger, model, clip=1000)
    assert run.plan.one.coordinates == 1 + 12 + 2
    total = run._stepper.sums.total(np.array([[3]]))
    value = functional.cross_entropy(model(X[3:4]), Y[3:4])
    each = torch.autograd.grad(value, list(model.parameters()))
    truth = torch.cat([g.double().reshape(-1) for g in each]) / 1000
    assert torch.allclose(total, truth, rtol=1e-5, atol=1e-10)
    before = model.temperature.item()
    assert run.fit(bar=False).taken == 3
    assert model.temperature.item() != before


@pytest.mark.parametrize("moved", [1e-3, 1e-170, 5e-324])
@pytest.mark.parametrize("norm", [0.0, 1e-200, 1.0, 1e300])
def test_every_difference_counts_however_small(norm, moved):
    weight, bias = (nn.Parameter(torch.zeros(1, dtype=torch.float64)) for _ in range(2))
    whole = {weight: torch.full((1,), norm, dtype=torch.float64), bias: torch.zeros(1).double()}
    other = whole | {bias: torch.full((1,), moved, dtype=torch.float64)}
    groups = (frozenset({weight, bias}),)
    one, another = Unit(whole, [norm]), Unit(other, [norm])
    assert shares_apart(groups, one, one) == (0.0, 0.0)
    assert shares_apart(groups, one, another)[0] >= max(moved / norm if norm else math.inf, 5e-324)
    assert shares_apart(groups, one, Unit(whole, [math.nan]))[1] == math.inf
    assert shares_apart(groups, one, Unit(whole | {bias: whole[bias] / 0}, [norm]))[0] == math.inf


# --- the model that runs is the one that was tried --------------------------------------------


def after_a_step(run, change):
    """Take a step, change the model, and take another one."""
    for place, _ in enumerate(run.gradients()):
        run.optimizer.step()
        if place == 0:
            change(run)


class Changeable(nn.Module):
    """A model with a buffer, a frozen layer, a plain tensor, a flag and a list of its weights."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6).requires_grad_(False), nn.Linear(6, 2)
        self.register_buffer("share", torch.zeros(()))
        self.plain, self.warm = torch.ones(2), True
        self.weights = [self.last.weight]  # changes in each step, as it should

    def forward(self, x):
        h = self.last(self.first(x.nan_to_num(0, 0, 0).clamp(-9, 9))) * self.plain
        mixed = h - h.mean(0)
        return h + self.share * mixed if self.warm else mixed


CHANGES = {
    "a buffer": (lambda m: m.share.fill_(1.0), "tensor 'share'"),
    "another buffer": (lambda m: setattr(m, "share", torch.ones(())), "tensor 'share'"),
    "a frozen weight": (lambda m: m.first.weight.mul_(2), r"tensor 'first\.weight'"),
    "a plain tensor": (lambda m: m.plain.add_(1), "tensor 'plain'"),
    "a flag": (lambda m: setattr(m, "warm", False), "attribute 'warm'"),
    "a new attribute": (lambda m: setattr(m.last, "seen", 1), r"attribute 'last\.seen'"),
    "a forward": (lambda m: setattr(m.last, "forward", m.first.forward), r"'last\.forward'"),
    "a class": (lambda m: setattr(m.last, "__class__", nn.Bilinear), "hook of module 'last'"),
    "a hook": (
        lambda m: m.last.register_forward_hook(lambda _m, _x, y: y - y.mean(0)),
        "hook of module 'last'",
    ),
    "a hook before": (
        lambda m: m.register_forward_pre_hook(lambda _m, x: x),
        "a hook of the model",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_after_planning_is_refused_before_a_row_is_read(ledger, change, monkeypatch):
    run = run_of(ledger, Changeable())
    written, named = CHANGES[change]

    def changed(run):
        written(run.model)
        monkeypatch.setattr(run._sums, "total", None)  # nothing is computed any more

    with torch.no_grad(), pytest.raises(OtherRun, match=named):
        after_a_step(run, changed)


def test_a_hook_on_all_modules_is_refused(ledger):
    run = run_of(ledger, Changeable())
    handle = nn.modules.module.register_module_forward_hook(lambda _m, _x, _y: None)
    try:
        with pytest.raises(OtherRun, match="a hook of the model"):
            run.fit(bar=False)
    finally:
        handle.remove()
    assert run.fit(bar=False).taken == 3


def test_values_that_come_back_are_no_change(ledger):
    run = run_of(ledger, Changeable())
    share = run.model.share.clone()

    def rewritten(run):
        run.model.load_state_dict(run.model.state_dict())
        run.model.share.fill_(1.0)
        run.model.share = share
        run.model.first.weight.data = run.model.first.weight.data.clone()
        handle = run.model.register_forward_hook(lambda _m, _x, _y: None)
        handle.remove()

    with torch.no_grad():
        after_a_step(run, rewritten)
    assert run.report.taken == 3


def test_a_checkpoint_with_other_frozen_values_is_refused_before_more_is_charged(ledger, tmp_path):
    torch.manual_seed(0)
    first = run_of(ledger, Changeable(), folder=tmp_path / "kept", name="a")
    for _ in zip(range(2), first.gradients(), strict=False):
        first.optimizer.step()
    spent = sum(entry["kind"] == "charge" for entry in ledger.entries())
    torch.manual_seed(1)
    again = Changeable()
    with pytest.raises(OtherRun, match=r"'first\.weight', which is not trained"):
        run_of(ledger, again, folder=tmp_path / "kept", name="a").fit(bar=False)
    assert sum(entry["kind"] == "charge" for entry in ledger.entries()) == spent
    again.load_state_dict(first.model.state_dict())
    assert run_of(ledger, again, folder=tmp_path / "kept", name="a").fit(bar=False).taken == 3


# --- weights that nothing is contributed to ----------------------------------------------------


class Branch(nn.Module):
    """A second branch in which examples mix, behind something."""

    def __init__(self, join):
        super().__init__()
        self.a, self.b, self.join = nn.Linear(6, 2), nn.Linear(6, 2), [join]
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        clean = x.nan_to_num(0, 0, 0).clamp(-1e4, 1e4)
        return self.a(clean) + self.join[0](self.b(clean))


def test_a_shake_that_is_not_finite_is_made_smaller(ledger):
    with pytest.raises(ExamplesMix, match=r"'b\.weight'"):
        run_of(ledger, Branch(lambda z: z * z.mean(0) * torch.sqrt(z + 1e-3)))
    run_of(ledger, Branch(lambda z: z * z * torch.sqrt(z + 1e-3)))  # of single rows


SILENT = {
    "left out": lambda z: 0 * (z - z.mean(0)),
    "never finite": lambda z: torch.where(z != 0, math.nan, 0 * z),
    "saturated": lambda z: (z - z.mean(0)) * torch.sigmoid(z - 500),
}


@pytest.mark.parametrize("join", SILENT)
def test_weights_that_nothing_is_contributed_to_are_refused(ledger, join):
    with pytest.raises(LayerNotProvable, match=r"'b\.weight'.*however"):
        run_of(ledger, Branch(SILENT[join]))


def test_masks_that_examples_share_behind_zeros_are_found(ledger):
    class Masked(Branch):
        def __init__(self):
            super().__init__(lambda z: z * self.masks(torch.ones(len(z), 2))[:1])
            self.masks = nn.Dropout(0.5)

    with pytest.raises(ExamplesMix, match=r"masks of other examples.*'b\.weight'"):
        run_of(ledger, Masked())


# --- tokens -----------------------------------------------------------------------------------


class Trimmed(nn.Module):
    """Cuts a batch to its longest row, or adds up all rows; one token is padding."""

    def __init__(self, padding, *, trim, count=12):
        super().__init__()
        self.table, self.last = nn.Embedding(count, 3), nn.Linear(3, 2)
        self.padding, self.trim = padding, trim

    def forward(self, x):
        if self.trim:
            x = x[:, : int((x != self.padding).sum(1).max().clamp(min=1))]
        return self.last(self.table(x).mean(1))


@pytest.mark.parametrize("padding", [0, 1, 2, 3, 11])
def test_rows_that_are_cut_to_the_longest_one_are_found(ledger, padding):
    tokens = torch.randint(0, 12, (40, 5), generator=torch.Generator().manual_seed(1))
    refused = (ExamplesMix, TooImprecise, LayerNotProvable)
    with pytest.raises(refused, match=r"beside it|more positions"):
        run_of(ledger, Trimmed(padding, trim=True), data=(tokens, Y))
    assert run_of(ledger, Trimmed(padding, trim=False), data=(tokens, Y)).plan.seats


class OneHot(nn.Module):
    """Tokens without an embedding; a sixth one is no token."""

    def __init__(self, padding):
        super().__init__()
        self.last, self.padding = nn.Linear(5, 2), padding

    def forward(self, x):
        found = self.last(functional.one_hot(x, 5).float())
        return found * (1 + (x == self.padding).any())


def test_tokens_without_an_embedding_are_tried_as_far_as_they_go(ledger):
    tokens = torch.randint(0, 5, (40,), generator=torch.Generator().manual_seed(1))
    with pytest.raises((ExamplesMix, TooImprecise), match="beside it"):
        run_of(ledger, OneHot(3), data=(tokens, Y))
    run_of(ledger, OneHot(-1), data=(tokens, Y))


class Peaked(nn.Module):
    """Outputs over the largest number that was seen, which no instance keeps."""

    seen = {"largest": 1e3}  # noqa: RUF012  memory in a class, as it must not be

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x):
        self.seen["largest"] = max(self.seen["largest"], float(x.detach().abs().max()))
        return self.layer(x) / self.seen["largest"]


class PeakedObjective:
    """An objective over the largest one so far."""

    def __init__(self):
        self.largest = 10.0

    def __call__(self, outputs, targets):
        found = functional.cross_entropy(outputs, targets, reduction="none")
        self.largest = max(self.largest, float(found.detach().max()))
        return (found / self.largest).sum()


@pytest.mark.parametrize("kind", ["class", "objective"])
def test_a_memory_of_earlier_rows_is_found_where_rows_are_alone(ledger, kind, monkeypatch):
    """With one unit in a micro-batch nobody sits beside it, but others come before it."""
    monkeypatch.setitem(Peaked.seen, "largest", 1e3)  # and given back
    torch.manual_seed(0)
    model = Peaked() if kind == "class" else nn.Linear(6, 2)
    changed = {"objective": PeakedObjective()} if kind == "objective" else {}
    with pytest.raises((ExamplesMix, TooImprecise)):
        run_of(ledger, model, micro_batch=1, **changed)


class Held(nn.Module):
    """A flag and a function of the class, a long array, and a tensor without a counter."""

    mixes = False

    def __init__(self):
        super().__init__()
        self.layer, self.long = nn.Linear(6, 2), np.zeros(9000)
        with torch.inference_mode():
            self.kept = {"gate": torch.zeros(1)}

    def scaled(self, x):
        return x

    def forward(self, x):
        return self.layer(self.scaled(x))


def written(model):
    with torch.inference_mode():
        model.kept["gate"].fill_(1)


@pytest.mark.parametrize(
    "change",
    [
        lambda patch, model: patch.setattr(Held, "mixes", True),
        lambda patch, model: patch.setattr(Held, "scaled", lambda self, x: x - x.mean(0)),
        lambda patch, model: model.long.__setitem__(8000, 1.0),
        lambda patch, model: written(model),
    ],
    ids=["flag", "function", "array", "inference"],
)
def test_what_classes_long_arrays_and_uncounted_tensors_hold_stays(ledger, change, monkeypatch):
    torch.manual_seed(0)
    model = Held()
    run = run_of(ledger, model)
    loop = run.steps()
    next(loop)
    change(monkeypatch, model)
    with pytest.raises(OtherRun, match="not what it was at planning"):
        next(loop)


def test_complex_weights_are_refused_by_name(ledger):
    model = nn.Linear(6, 2)
    model.phase = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    with pytest.raises(LayerNotProvable, match="'phase' holds complex numbers"):
        run_of(ledger, model)


class Noting:
    """An objective that notes the largest one, once it is awake."""

    def __init__(self):
        self.awake, self.largest = SimpleNamespace(now=False), 0.0  # the first is not looked into

    def __call__(self, outputs, targets):
        found = functional.cross_entropy(outputs, targets)
        if self.awake.now:
            self.largest = max(self.largest, float(found.detach()))
        return found


def test_what_an_objective_notes_of_private_rows_ends_the_run(ledger, monkeypatch):
    torch.manual_seed(0)
    noting = Noting()
    run = run_of(ledger, nn.Linear(6, 2), micro_batch=1, objective=noting)
    noting.awake.now, told = True, []
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
    with pytest.raises(OtherRun, match="attribute of its objective"):
        run.fit(bar=False)
    assert told == []
    assert [entry["kind"] for entry in ledger.entries()][-1] == "fail"


def test_views_that_note_private_rows_end_the_run(ledger, monkeypatch):
    class Shifted:
        def __init__(self):
            self.awake, self.seen = SimpleNamespace(now=False), []

        def __call__(self, row):
            if self.awake.now:
                self.seen.append(float(row[0]))
            return row + 1

    torch.manual_seed(0)
    shifted, told = Shifted(), []
    run = run_of(ledger, nn.Linear(6, 2), views=2, augment=shifted)
    shifted.awake.now = True
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
    with pytest.raises(OtherRun, match="or augment"):
        run.fit(bar=False)
    assert told == []
