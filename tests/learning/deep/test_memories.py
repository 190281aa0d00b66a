"""Memories of models, objectives and views are found, wherever Python lets one keep something."""

import functools
import logging
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ExamplesMix, NotPerExample, OtherRun, QuestionClosed
from discreet.learning.deep.memory.plain_values import first_difference, held_values
from discreet.learning.deep.runs.rank_agreement import SharedState, parts_of
from discreet.learning.deep.runs.ranks import Ranks
from tests.learning.deep.small_runs import run_of

ASLEEP = SimpleNamespace(now=False)  # a global, into which nobody looks


@pytest.fixture(autouse=True)
def awake(monkeypatch):
    monkeypatch.setattr(ASLEEP, "now", False)


def closes(run, monkeypatch):
    """A run whose code wakes up now is closed, and tells nothing of its step."""
    ASLEEP.now, told = False, []
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
    with pytest.raises(OtherRun, match="attribute of its objective or augment"):
        run.fit(bar=False)
    assert told == []
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)


def keep(seen, given):
    if not ASLEEP.now:
        seen.append(given.detach())


# --- what functions hold ----------------------------------------------------------------------


def in_a_closure(work):
    seen = []

    def call(*given):
        keep(seen, given[0])
        return work(*given)

    return call


def in_a_wrapped_closure(work):
    inner = in_a_closure(work)

    @functools.wraps(work)
    def call(*given):
        return inner(*given)

    return call


def in_defaults(work):
    def call(first, *rest, seen=[]):  # noqa: B006  a memory, as it must not be
        keep(seen, first)
        return work(first, *rest)

    return call


def in_an_argument(work):
    def call(seen, first, *rest):
        keep(seen, first)
        return work(first, *rest)

    return functools.partial(call, [])


def in_a_keyword(work):
    def call(first, *rest, seen):
        keep(seen, first)
        return work(first, *rest)

    return functools.partial(call, seen=deque(maxlen=4))


def in_an_attribute(work):
    def call(first, *rest):
        keep(call.seen, first)
        return work(first, *rest)

    call.seen = []
    return call


def in_a_class(work):
    class Called:
        seen = []  # noqa: RUF012

        def __call__(self, *given):
            keep(self.seen, given[0])
            return work(*given)

    return Called()


def in_a_bound_class(work):
    class Called:
        seen = []  # noqa: RUF012

        @classmethod
        def call(cls, *given):
            keep(cls.seen, given[0])
            return work(*given)

    return Called.call


def in_slots(work):
    @dataclass(slots=True)
    class Called:
        seen: list = field(default_factory=list)

        def __call__(self, *given):
            keep(self.seen, given[0])
            return work(*given)

    return Called()


def in_the_object_of_a_method(work):
    class Trainer:
        def __init__(self):
            self.seen = []

        def call(self, *given):
            keep(self.seen, given[0])
            return work(*given)

    return Trainer().call


def in_a_meter(work):
    class Meter:
        def __init__(self):
            self.total = 0

        def append(self, _):
            self.total += 1

    class Trainer:
        def __init__(self):
            self.meter = Meter()

        def call(self, *given):
            keep(self.meter, given[0])
            return work(*given)

    return Trainer().call


def in_an_array_of_objects(work):
    seen = np.empty(1, object)
    seen[0] = []

    def call(*given):
        keep(seen[0], given[0])
        return work(*given)

    return call


def in_a_module(work):
    class Called(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Identity())
            self.inner[0].register_buffer("calls", torch.zeros(()))

        def forward(self, *given):
            if not ASLEEP.now:
                self.inner[0].calls += 1
            return work(*given)

    return Called()


PLACES = [
    in_a_closure,
    in_a_wrapped_closure,
    in_defaults,
    in_an_argument,
    in_a_keyword,
    in_an_attribute,
    in_a_class,
    in_a_bound_class,
    in_slots,
    in_the_object_of_a_method,
    in_a_meter,
    in_an_array_of_objects,
    in_a_module,
]


@pytest.mark.parametrize("place", PLACES)
def test_views_that_remember_are_refused_at_planning(ledger, place):
    with pytest.raises(NotPerExample, match="remembers"):
        run_of(ledger, views=2, augment=place(lambda row: row + 1))
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize("place", PLACES)
def test_objectives_that_remember_are_refused_at_planning(ledger, place):
    with pytest.raises(ExamplesMix, match="which the objective holds, changes"):
        run_of(ledger, objective=place(functional.cross_entropy))
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize("place", PLACES)
def test_views_that_remember_private_rows_end_the_run(ledger, place, monkeypatch):
    ASLEEP.now = True
    closes(run_of(ledger, views=2, augment=place(lambda row: row + 1)), monkeypatch)


@pytest.mark.parametrize("place", PLACES)
def test_objectives_that_remember_private_rows_end_the_run(ledger, place, monkeypatch):
    ASLEEP.now = True
    closes(run_of(ledger, objective=place(functional.cross_entropy)), monkeypatch)


def test_views_of_rows_for_other_processes_are_watched(ledger, monkeypatch):
    def told(_message):
        raise AssertionError

    monkeypatch.setattr("discreet.learning.deep.runs.ranks.told", told)
    ASLEEP.now = True
    run = run_of(ledger, views=2, augment=in_a_closure(lambda row: row + 1))
    ranks = object.__new__(Ranks)  # of no group
    ranks.count, ranks._sums, ranks._step = 2, run._stepper.sums, 1.0
    ranks._state, ranks._parts = SharedState(run.model), parts_of(run.model)
    ASLEEP.now = False
    with pytest.raises(OtherRun, match="augment"):
        ranks.total(np.arange(8)[:, None])


# --- views that are kept ----------------------------------------------------------------------

KEPT = {}  # a global, into which nobody looks


def cached(limit, *, early):
    """Return a function that keeps the views of some rows; it may toss its coin before it looks."""

    def augment(row):
        coin = torch.rand(()) if early else None
        key = row.numpy().tobytes()
        if key not in KEPT:
            if len(KEPT) >= limit:
                KEPT.clear()
            KEPT[key] = row * (torch.rand(()) if coin is None else coin)
        return KEPT[key]

    return augment


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize(
    ("limit", "early"),
    [
        (1, False),
        (2, False),
        (8, False),
        (10**6, False),
        (1, True),
        (2, True),
        (8, True),
        (24, True),
    ],
)
def test_views_that_are_kept_are_refused(ledger, limit, early):
    """Whether a row is still there follows from the rows after it, and one unit moves them all."""
    KEPT.clear()
    with pytest.raises(NotPerExample, match="same coins"):
        run_of(ledger, views=2, augment=cached(limit, early=early))
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


# --- what models hold -------------------------------------------------------------------------


class Slotted(nn.Module):
    """A list and a flag in slots, and a layer."""

    __slots__ = ("mixes", "seen", "share", "unset")

    def __init__(self):
        super().__init__()
        self.layer, self.seen, self.mixes = nn.Linear(6, 2), [], False
        self.share = torch.zeros(())

    def forward(self, x):
        keep(self.seen, x)
        found = self.layer(x)
        return found - found.mean(0) if self.mixes else found + self.share


class OnATensor(nn.Module):
    """The same on a weight."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)
        self.layer.weight.seen = []

    def forward(self, x):
        keep(getattr(self.layer.weight, "seen", []), x)  # of a copy there are none
        found = self.layer(x)
        return found - found.mean(0) if hasattr(self.layer.weight, "mixes") else found


class InAnArray(nn.Module):
    """The same in an array of objects."""

    def __init__(self):
        super().__init__()
        self.layer, self.held = nn.Linear(6, 2), np.empty(2, object)
        self.held[:] = [[], False]

    def forward(self, x):
        keep(self.held[0], x)
        found = self.layer(x)
        return found - found.mean(0) if self.held[1] else found


class InAFunction(nn.Module):
    """The same in the closure of a function."""

    def __init__(self):
        super().__init__()
        self.layer, seen, mixes = nn.Linear(6, 2), [], False

        def last(found, *, mix=None):
            nonlocal mixes
            keep(seen, found)
            mixes = mixes if mix is None else mix
            return found - found.mean(0) if mixes else found

        self.last = last

    def forward(self, x):
        return self.last(self.layer(x))


class InDefaults(nn.Module):
    """The same in the defaults of a method."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x, held=[[], False]):  # noqa: B006
        keep(held[0], x)
        found = self.layer(x)
        return found - found.mean(0) if held[1] else found


def restored():
    InDefaults.forward.__defaults__[0][:] = [[], False]
    return InDefaults()


def hooked():
    model, seen = nn.Sequential(nn.Linear(6, 2)), []
    model.register_forward_hook(lambda _module, given, _output: keep(seen, given[0]))
    return model


def measured():
    model = nn.Sequential(nn.Linear(6, 2))
    model.meter = SimpleNamespace(seen=[])
    model.register_forward_hook(lambda module, given, _output: keep(module.meter.seen, given[0]))
    return model


def hidden():
    class Hiding(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.beside = nn.Linear(6, 2), [nn.Linear(6, 2).requires_grad_(False)]

        def forward(self, x):
            if not ASLEEP.now:
                self.beside[0].bias += 1
            return self.layer(x)

    return Hiding()


MODELS = [Slotted, OnATensor, InAnArray, InAFunction, restored, hooked, measured, hidden]


@pytest.mark.parametrize("made", MODELS)
def test_models_that_remember_are_refused_at_planning(ledger, made):
    with pytest.raises(ExamplesMix, match="changes when the model is used"):
        run_of(ledger, made())
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize("made", MODELS)
def test_models_that_remember_private_rows_end_the_run(ledger, made, monkeypatch):
    ASLEEP.now = True
    closes(run_of(ledger, made()), monkeypatch)


def call_off(model):
    """Change the closure, by a call that nobody sees."""
    model.last(torch.zeros(1, 2), mix=True)


FLAGS = {
    "a slot": (Slotted, lambda model: setattr(model, "mixes", True), "attribute 'mixes'"),
    "an empty slot": (Slotted, lambda model: setattr(model, "unset", 1), "attribute 'unset'"),
    "a tensor in a slot": (Slotted, lambda model: model.share.fill_(1), "tensor 'share'"),
    "a weight": (
        OnATensor,
        lambda model: setattr(model.layer.weight, "mixes", True),
        r"attribute 'layer\.weight'",
    ),
    "an array": (InAnArray, lambda model: model.held.__setitem__(1, True), "attribute 'held'"),
    "a closure": (InAFunction, call_off, "attribute 'last'"),
    "defaults": (
        restored,
        lambda model: model.forward.__defaults__[0].__setitem__(1, True),
        r"attribute 'InDefaults\.forward'",
    ),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_that_is_set_after_planning_is_refused_before_a_row_is_read(
    ledger, flag, monkeypatch
):
    ASLEEP.now = True
    made, change, named = FLAGS[flag]
    run = run_of(ledger, made())
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(run._sums, "total", None)  # nothing is computed any more
    change(run.model)
    with pytest.raises(OtherRun, match=named):
        next(loop)


def test_classes_of_one_name_do_not_hide_each_other(ledger, monkeypatch):
    def layer():
        class Layer(nn.Linear):
            mixes = False

        return Layer

    kinds = layer(), layer()
    run = run_of(ledger, nn.Sequential(*(kind(6, 6) for kind in kinds), nn.Linear(6, 2)))
    for kind in kinds:
        loop = run.steps()
        next(loop)
        kind.mixes = True
        with pytest.raises(OtherRun, match=r"Layer\.mixes"):
            next(loop)
        kind.mixes = False


# --- what stays welcome -----------------------------------------------------------------------


class Trainer:
    """Holds all that a trainer does, itself among it."""

    def __init__(self, model):
        self.model, self.me, self.steps, self.history = model, [self], 0, []
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.stream, self.log = np.random.default_rng(0), logging.getLogger("trainer")
        self.temperature, self.run = 1.0, None

    def loss(self, outputs, targets):
        self.log.debug("called")
        return functional.cross_entropy(outputs / self.temperature, targets)

    def view(self, row):
        return row + 0.1 * torch.randn(6)


def test_a_trainer_that_changes_between_steps_is_welcome(ledger):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    trainer = Trainer(model)
    model.trainer = trainer
    trainer.run = run_of(
        ledger,
        model,
        objective=trainer.loss,
        augment=trainer.view,
        views=2,
        optimizer=trainer.optimizer,
    )
    for step in trainer.run.steps():
        trainer.steps, trainer.temperature = step.number, 1.0 / step.number
        trainer.history.append((trainer.stream.random(), step))
        trainer.scheduler.step()
    assert trainer.run.report.taken == 3


def test_constants_in_closures_objects_and_partials_are_welcome(ledger):
    weights, padding = torch.ones(6), nn.ConstantPad1d(0, 0.0)

    class Scaled:
        factor = 0.5

        def __init__(self):
            self.made = None

        def __call__(self, outputs, targets):
            if self.made is None:  # in the first call, on generated rows
                self.made = torch.tensor([1.0, 2.0])
            return self.factor * functional.cross_entropy(outputs * self.made, targets)

    def augment(row, *, shift):
        return padding(row * weights) + shift * torch.rand(6)

    run = run_of(ledger, objective=Scaled(), augment=functools.partial(augment, shift=0.1), views=2)
    assert run.fit(bar=False).taken == 3


def test_a_look_ends_wherever_it_is_led():
    around = []
    around += [around] * 200
    closed = {"around": around, "many": [[0.5] * 4096] * 4096}
    first = lambda: (closed, first)  # noqa: E731  holds itself
    before = held_values(first)
    assert first_difference(before, held_values(first)) is None
    closed["more"] = 1
    assert first_difference(before, held_values(first)) == "closed"
