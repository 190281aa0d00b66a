"""Events of dp_accounting are read as the losses that it computes; its distributions bound ours."""

import dp_accounting
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

from discreet.errors import DiscreetError
from discreet.loss import (
    Approximate,
    GaussianDP,
    Laplace,
    Pure,
    ZeroConcentrated,
    from_dp_event,
    to_pld,
)

GAUSSIAN = dp_accounting.GaussianDpEvent(2.0)
EVENTS = {
    "gaussian": (GAUSSIAN, GaussianDP(mu="0.5")),
    "laplace": (dp_accounting.LaplaceDpEvent(1.5), Laplace(scale="1.5")),
    "nothing": (dp_accounting.NoOpDpEvent(), Pure(epsilon=0)),
    "concentrated": (dp_accounting.ZCDpEvent(0.125), ZeroConcentrated(rho="0.125")),
    "several": (
        dp_accounting.ComposedDpEvent([GAUSSIAN, dp_accounting.LaplaceDpEvent(4.0)]),
        GaussianDP(mu="0.5").compose(Laplace(scale=4)),
    ),
    "training": (
        dp_accounting.SelfComposedDpEvent(
            dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 100
        ),
        GaussianDP(mu=1).sampled(rate="0.01").power(100),
    ),
}
COUNTED = {  # what dp_accounting itself composes, with its distributions
    "gaussian": GAUSSIAN,
    "laplace": dp_accounting.LaplaceDpEvent(1.5),
    "discrete laplace": dp_event.DiscreteLaplaceDpEvent(0.5, 2),
    "several": EVENTS["several"][0],
    "training": EVENTS["training"][0],
}
DELTA = 1e-6
LOSSES = [
    GaussianDP(mu="0.5"),
    Laplace(scale=2),
    Pure(epsilon="0.75"),
    Approximate(epsilon="0.5", delta="1e-9"),  # with an infinite loss
]


@pytest.mark.parametrize("name", EVENTS)
def test_events_are_the_losses_of_their_mechanisms(name):
    event, loss = EVENTS[name]
    assert from_dp_event(event).interval(DELTA) == loss.interval(DELTA)


@pytest.mark.parametrize("name", COUNTED)
def test_dp_accounting_counts_nearly_the_same(name):
    event = COUNTED[name]
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(event)
    theirs, ours = accountant.get_epsilon(DELTA), from_dp_event(event).interval(DELTA)
    assert ours.low <= theirs * (1 + 1e-9)  # theirs is pessimistic
    assert theirs <= ours.high + 2e-3 * (1 + ours.high)


@pytest.mark.parametrize("loss", LOSSES)
def test_distributions_bound_the_loss_alone_and_composed(loss):
    exported = to_pld(loss, points=300)
    for times in (1, 4):
        theirs = exported if times == 1 else exported.self_compose(times)
        ours = loss.power(times)
        for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0):
            bracket = ours.delta_interval(epsilon)
            assert theirs.get_delta_for_epsilon(epsilon) >= bracket.low
        assert theirs.get_epsilon_for_delta(DELTA) <= ours.epsilon(DELTA) * 1.04 + 0.01


def test_a_distribution_of_asymmetric_losses_bounds_both_sides():
    loss = GaussianDP(mu=1).sampled(rate="0.1")
    exported = to_pld(loss, points=200)
    for epsilon in (0.1, 0.3, 0.6):
        assert exported.get_delta_for_epsilon(epsilon) >= loss.delta_interval(epsilon).low


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.NonPrivateDpEvent(),
        dp_accounting.UnsupportedDpEvent(),
        dp_accounting.SampledWithoutReplacementDpEvent(100, 10, GAUSSIAN),
        dp_accounting.GaussianDpEvent(0.0),
        dp_accounting.LaplaceDpEvent(float("nan")),
        dp_accounting.ZCDpEvent(0.125, 0.5),
        dp_event.RandomizedResponseDpEvent(0.4, 3),
        "an event",
        type("GaussianDpEvent", (), {})(),
    ],
    ids=lambda event: type(event).__name__,
)
def test_other_events_are_refused(event):
    with pytest.raises(DiscreetError):
        from_dp_event(event)


def test_a_loss_without_an_epsilon_is_not_exported():
    with pytest.raises(DiscreetError, match="lattice"):
        to_pld(GaussianDP(mu=100))
