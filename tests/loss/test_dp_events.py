"""Events of dp_accounting are read as the losses that it computes."""

import dp_accounting
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

from discreet.errors import DiscreetError
from discreet.loss import (
    GaussianDP,
    Laplace,
    Pure,
    ZeroConcentrated,
    from_dp_event,
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
