"""Streams that come one value at a time: the same sums as at once, and no way to misuse a run."""

import copy
import itertools
import os
import pickle
import threading

import numpy as np
import pytest

from discreet.continual import BinaryTreeCounter, FactorizedCounter
from discreet.continual.sum_tails import depth, digits, height, lowest
from discreet.errors import EntropyCopied, NotExact, OutOfRange, TooLarge, WrongKind
from discreet.mechanisms import Gaussian, Laplace
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.refined_tree import RefinedTreeCounter
from tests.mechanisms.contract import Script, scripted_noise
from tests.noise.laws import stream

KINDS = [NoisyPrefixes, NoisyBits, BinaryTreeCounter, RefinedTreeCounter, FactorizedCounter]
BITS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1]


def made(kind, **plan):
    return kind(**{"length": len(BITS), "noise": Gaussian(sigma=3), **plan})


by_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def fed(counter, values, noise):
    """Feed values to a run whose noise is given."""
    with scripted_noise():
        return np.array([*map(counter.start(entropy=Script(noise)).add, values)])


@by_kind
def test_values_one_by_one_give_the_same_sums_as_all_at_once(kind):
    counter = made(kind)
    started = counter.start(entropy=stream("one by one"))
    one_by_one = [started.add(value) for value in BITS]
    assert counter.run(BITS, entropy=stream("one by one")).tolist() == one_by_one
    assert started.latest == one_by_one[-1]
    assert started.finished
    assert (started.time, started.left) == (len(BITS), 0)


@by_kind
@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 11])
def test_without_noise_the_sums_are_exact(kind, length):
    counter = made(kind, length=length, bound=3)
    values = [3 * value for value in BITS[:length]]
    found = fed(counter, values, [0] * counter.draws)
    assert found == pytest.approx(np.cumsum(values))


@by_kind
def test_noise_moves_sums_by_what_the_counter_says(kind):
    counter = made(kind)
    noise = stream(kind.__name__).words(counter.draws, 5).astype(np.int64) - 16
    found = fed(counter, BITS, noise.tolist()) - np.cumsum(BITS)
    assert found == pytest.approx(counter.errors(noise.reshape(1, -1))[0])


@by_kind
def test_the_variance_is_that_of_the_weights(kind):
    counter = made(kind)
    weights = counter.errors(np.eye(counter.draws, dtype=np.int64)).astype(float)
    unit = 2.0 ** getattr(counter, "bits", 0)
    expected = ((weights * unit) ** 2).sum(axis=0)
    assert expected == pytest.approx([float(spread) for spread in counter.spreads()])
    assert counter.spreads()[4] == counter.spread(prefix=5)
    assert counter.variance(prefix=5).nearest() == pytest.approx(9 * expected[4], rel=1e-6)


@by_kind
def test_a_sum_does_not_depend_on_what_comes_later(kind):
    counter = made(kind)
    noise = list(range(counter.draws))
    other = [*BITS[:5], *(1 - value for value in BITS[5:])]
    assert fed(counter, BITS, noise)[:5].tolist() == fed(counter, other, noise)[:5].tolist()


@by_kind
def test_a_run_takes_no_more_values_than_were_planned(kind):
    started = made(kind, length=2).start()
    started.add(1)
    started.add(1)
    with pytest.raises(OutOfRange, match="all of its 2 values"):
        started.add(1)


@by_kind
def test_a_value_outside_the_bound_is_refused_and_not_shown(kind):
    started, messages = made(kind).start(), set()
    for value in (2, -1, 10**30):
        with pytest.raises(OutOfRange) as caught:
            started.add(value)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert started.time == 0
    started.add(1)  # nothing was spoilt


@pytest.mark.parametrize(
    ("value", "error"), [(0.5, NotExact), (True, WrongKind), ("1", WrongKind), (None, WrongKind)]
)
def test_a_value_that_is_no_integer_is_refused(value, error):
    with pytest.raises(error):
        made(BinaryTreeCounter).start().add(value)


def test_the_future_cannot_be_read():
    started = made(BinaryTreeCounter).start()
    with pytest.raises(OutOfRange, match="no value was added yet"):
        _ = started.latest
    started.add(1)
    assert isinstance(started.latest, int)


def test_a_run_cannot_be_copied_or_stored():
    started = made(BinaryTreeCounter).start()
    started.add(1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(EntropyCopied):
            copied(started)
    assert "1 of 11" in repr(started)


def test_a_run_cannot_be_continued_in_a_forked_process():
    started = made(NoisyBits).start()
    child = os.fork()
    if child == 0:  # pragma: no cover  (another process)
        try:
            started.add(1)
        except EntropyCopied:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_interrupt_amid_a_value_ends_the_run(monkeypatch):
    started = made(BinaryTreeCounter).start()
    started.add(1)

    def interrupted(value, noise):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(started._steps), "step", lambda self, value, noise: interrupted(0, 0))
    with pytest.raises(KeyboardInterrupt):
        started.add(1)
    monkeypatch.undo()
    assert started.finished
    with pytest.raises(OutOfRange, match="interrupted"):
        started.add(1)


def test_threads_may_share_a_run():
    counter = made(NoisyPrefixes, length=400, noise=Laplace(scale="1/1000"))
    started, sums = counter.start(), []
    threads = [
        threading.Thread(target=lambda: sums.extend(started.add(1) for _ in range(100)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == list(range(1, 401))


def test_a_run_is_charged_once_and_before_anything_is_drawn():
    counter, charged = made(NoisyBits), []
    started = counter.start(charge=charged.append)
    for value in BITS:
        started.add(value)
    assert charged == [counter.loss()]

    def refuse(loss):
        raise OutOfRange(what="no.", why="no.", do="no.")

    class Untouched:
        def words(self, count, width):
            raise AssertionError("something was drawn")

        bits = words

    with pytest.raises(OutOfRange):
        counter.start(charge=refuse, entropy=Untouched())


def test_plans_that_make_no_sense_are_refused():
    for kind, plan, error in [
        (NoisyBits, {"length": 0}, OutOfRange),
        (NoisyBits, {"length": 2.0}, WrongKind),
        (NoisyBits, {"bound": 0}, OutOfRange),
        (NoisyBits, {"bound": 2**62}, TooLarge),
        (NoisyBits, {"noise": 3}, WrongKind),
        (FactorizedCounter, {"noise": Laplace(scale=2)}, WrongKind),
        (FactorizedCounter, {"band": 0}, OutOfRange),
        (FactorizedCounter, {"band": 12}, OutOfRange),
        (FactorizedCounter, {"bits": 31}, OutOfRange),
        (FactorizedCounter, {"bound": 2**50}, TooLarge),
    ]:
        with pytest.raises(error):
            made(kind, **plan)
    with pytest.raises(OutOfRange):
        made(NoisyBits).run(BITS[:-1])
    with pytest.raises(OutOfRange):
        made(NoisyBits).error(confidence=0.9, prefix=12)


def test_the_law_of_a_blend_is_refused():
    with pytest.raises(WrongKind):
        made(RefinedTreeCounter).reference_pmf(BITS)


def test_sums_that_no_measurement_leads_to_have_no_chance():
    law = FactorizedCounter(length=2, noise=Gaussian(sigma=1), bits=2).reference_pmf([1, 0])
    assert law((1.0, 1.0)).low > 0
    assert law((1.0, 1.01)).high == 0


@pytest.mark.theorem("refined-tree")
@pytest.mark.parametrize("h", range(6))
def test_no_linear_estimate_of_a_block_is_better_than_the_refined_one(h):
    size = 1 << h
    widths = [1 << inside for inside in range(h + 1)]
    nodes = [
        [start <= at < start + width for at in range(size)]
        for width in widths
        for start in range(0, size, width)
    ]
    best = (np.linalg.pinv(np.array(nodes, dtype=float)).sum(axis=0) ** 2).sum()
    counter = RefinedTreeCounter(length=size, noise=Laplace(scale=1))
    assert float(counter.spread(prefix=size)) == pytest.approx(best)


def test_memory_grows_like_the_logarithm_of_the_length():
    counter = BinaryTreeCounter(length=1 << 20, noise=Laplace(scale=1))
    started = counter.start()
    for _ in range(1000):
        started.add(1)
    assert len(started._steps._exact) == len(started._steps._noisy) == 21
    banded = FactorizedCounter(length=1 << 14, noise=Gaussian(sigma=1), band=8)
    assert banded.start()._steps._values.shape == (8,)


def blocks_of(position, length):
    """Return the ends t of all blocks (height(t), t) that hold a position, up to a length."""
    ends = []
    while position <= length:
        ends.append(position)
        position += lowest(position)
    return ends


@pytest.mark.theorem("dyadic-blocks")
@pytest.mark.parametrize("length", [*range(1, 34), 100, 127, 128, 129])
def test_blocks_cover_every_prefix_once_and_every_position_seldom(length):
    for t in range(1, length + 1):
        covered = [range(end - lowest(end) + 1, end + 1) for end in digits(t)]
        assert sorted(itertools.chain(*covered)) == list(range(1, t + 1))
        assert lowest(t) == 1 << height(t)
        holding = [end for end in range(1, length + 1) if end - lowest(end) < t <= end]
        assert blocks_of(t, length) == holding
        assert len({height(end) for end in holding}) == len(holding) <= depth(length)
    assert len(blocks_of(1, length)) == depth(length) == len(bin(length)) - 2


def test_sums_beyond_64_bits_stop_at_their_ends():
    counter = NoisyBits(length=3, noise=Laplace(scale=2**50), bound=2**60)
    found = fed(counter, [2**60] * 3, [2**63 - 1, 2**63 - 1, -(2**63)])
    assert found.tolist() == [2**63 - 1] * 3
