"""DP-SGD: many noisy sums of clipped gradients, each on a fresh Poisson sample.

Trust: kernel.

Definition (Abadi et al. 2016).  In each of ``steps`` steps every record enters the sample by itself
with chance ``rate``.  The gradients of the sample are clipped to an L2 norm of at most C and added
up, Gaussian noise with a standard deviation of ``sigma`` C is added, and the sum is released.  What
the next step does may depend on all sums so far.

One step moves the sum by at most C where a record is added or removed, so it is a Gaussian with mu
= 1/sigma on a sample (key ``poisson-sampling``), and the steps compose (key ``dominating-pair``).
The figures hold for samples that are drawn like that.  A shuffled pass over the data in batches of
a fixed size is another mechanism, which may lose more (Chua et al. 2024).
"""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.tree.leaf import Leaf
from discreet.accounting.tree.node import Repeat
from discreet.accounting.tree.processing import Sampled
from discreet.errors import OutOfRange
from discreet.exact import positive
from discreet.loss import GaussianDP, PrivacyLoss, least_scale, most_repeats
from discreet.loss.parameters import checked_count, checked_delta, checked_rate


def dp_sgd(*, rate: object, sigma: object, steps: int) -> Repeat:
    """Return the tree of a training run, for the accountant, a budget or a ledger.

    Args:
        rate: the chance with which a record enters the sample of a step.
        sigma: the standard deviation of the noise, over the norm to which gradients are clipped.
        steps: how many sums are released.

    >>> from discreet.accounting import account
    >>> run = dp_sgd(rate="0.01", sigma=1, steps=1000)
    >>> print(run)
    1000 times
    └── Sampled at rate 1/100
        └── one noisy sum of clipped gradients: GaussianDP(mu=1)
    >>> round(account(run, relation="add_remove").epsilon(delta=1e-5), 4)
    1.8282
    """
    mu = 1 / positive(sigma, name="sigma")
    one = Leaf(GaussianDP(mu=mu), name="one noisy sum of clipped gradients")
    return Repeat(Sampled(one, rate=checked_rate(rate)), checked_count(steps, name="steps", low=0))


def dp_sgd_sigma(*, rate: object, steps: int, epsilon: object, delta: object) -> Fraction:
    """Return the least sigma of a training run that loses at most (epsilon, delta).

    To 24 significant bits: the run with the sigma that is returned is certified, and with the next
    smaller one of that length it is not.

    >>> float(dp_sgd_sigma(rate="0.01", steps=1000, epsilon=2, delta=1e-5))
    0.9591015577316284
    """
    _refuse_pure(delta)
    count = checked_count(steps, name="steps")
    return least_scale(
        lambda sigma: _one_step(rate, sigma).power(count), epsilon=epsilon, delta=delta
    )


def dp_sgd_steps(*, rate: object, sigma: object, epsilon: object, delta: object) -> int:
    """Return the most steps of a training run that loses at most (epsilon, delta).

    >>> dp_sgd_steps(rate="0.01", sigma=1, epsilon=2, delta=1e-5)
    1202
    """
    _refuse_pure(delta)
    one = _one_step(rate, positive(sigma, name="sigma"))
    return most_repeats(one, epsilon=epsilon, delta=delta)


def _one_step(rate: object, sigma: Fraction) -> PrivacyLoss:
    return GaussianDP(mu=1 / sigma).sampled(rate=checked_rate(rate))


def _refuse_pure(delta: object) -> None:
    if checked_delta(delta) == 0:
        raise OutOfRange(
            what="delta is 0.",
            why="Gaussian noise never gives pure privacy, however much of it there is.",
            do="give a delta above 0, far below one over the number of records.",
        )
