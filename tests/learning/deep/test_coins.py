"""Coins of dropout and views: those of one unit do not tell of another."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from discreet.learning.deep.augmentation import ViewedRows
from discreet.learning.deep.batch_sums import BatchSums, RowTensors
from discreet.learning.deep.choice import choose
from discreet.learning.deep.coins import kept_streams, set_streams, stream_words
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.runs.step_sums import StepSums
from discreet.learning.deep.training_data import clip_groups, normalized_groups
from discreet.learning.side_counts import SideCounts
from discreet.noise.entropy import ByteSource

CPU = torch.device("cpu")
SEATS, MICRO = 8, 4
cross_entropy = nn.functional.cross_entropy


class Replayed(ByteSource):
    """The same bytes for the same number, in the order in which they are asked for."""

    def __init__(self, number):
        self.stream = np.random.default_rng(number)

    def _fill(self, out):
        out[:] = self.stream.bytes(len(out))


# --- streams ----------------------------------------------------------------------------------


def tossed(words, count=700):
    """Return what the streams of PyTorch, Python and NumPy give."""
    with kept_streams(CPU):
        set_streams(CPU, words)
        return (
            torch.empty(count, dtype=torch.int32).random_().tolist(),
            [random.getrandbits(31) for _ in range(count)],
            np.random.randint(0, 2**31, count).tolist(),  # noqa: NPY002  what others call
        )


def test_the_whole_state_of_pytorch_is_what_was_drawn():
    words = stream_words(1, Replayed(1))[0]
    known = np.random.RandomState()
    known.set_state(("MT19937", words[:624], 624))
    truth = np.frombuffer(known.bytes(4 * 2000), np.uint32) & 0x7FFFFFFF
    assert tossed(words, 2000)[0] == truth.tolist()


@pytest.mark.parametrize("word", [1, 2, 311, 623, 624, 900, 1247, 1248, 1500, 1871])
@pytest.mark.parametrize("bit", [0, 31])
def test_every_word_of_every_stream_counts(word, bit):
    """Seeds of 32 bits, which PyTorch cuts longer ones to, would give the same coins."""
    words = stream_words(1, Replayed(2))[0]
    before = tossed(words)
    words[word] ^= np.uint32(1 << bit)
    after = tossed(words)
    assert [a == b for a, b in zip(before, after, strict=True)] == [
        stream != word // 624 for stream in range(3)
    ]


def test_no_normal_number_is_left_of_the_stream_before():
    words = stream_words(1, Replayed(3))[0]
    with kept_streams(CPU):
        set_streams(CPU, words)
        first = torch.randn(3)
        torch.randn(1)  # half of a pair is kept
        set_streams(CPU, words)
        assert torch.equal(first, torch.randn(3))


# --- who sits elsewhere -----------------------------------------------------------------------


class Bare(nn.Module):
    """A weight outside of layers: each example has a gradient of its own, by vmap."""

    def __init__(self):
        super().__init__()
        self.weight, self.masks = nn.Parameter(torch.ones(2, 6)), nn.Dropout(0.5)

    def forward(self, x):
        return self.masks(x) @ self.weight.T


class Recurrent(nn.Module):
    """One row after another, each of which takes as many coins as it likes."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.GRU(6, 3, batch_first=True), nn.Linear(3, 2)
        self.masks = nn.Dropout(0.5)

    def forward(self, x):
        for _ in range(1 + int(x.abs().sum() * 3) % 4):
            x = x + self.masks(x)
        return self.last(self.layer(x[:, None])[0][:, 0])


MODELS = {
    "recorded": lambda: nn.Sequential(nn.Linear(6, 9), nn.Dropout(0.5), nn.Linear(9, 2)),
    "by vmap": Bare,
    "row by row": Recurrent,
}


def shifted(row):
    """Take a number of coins that depends on the row, from all three streams."""
    for _ in range(1 + int(row.abs().sum() * 3) % 4):
        row = row * (1 + torch.rand(6))
        row = row + random.random() + float(np.random.rand())  # noqa: NPY002, S311
    return row


def seen(kind, *, views, micro):
    """Return a function that adds up seats, and returns what was known of each of them."""
    torch.manual_seed(0)
    model = MODELS[kind]()
    x = torch.randn(SEATS, 6, generator=torch.Generator().manual_seed(1))
    y = torch.arange(SEATS) % 2
    rows = RowTensors(x, y)
    count = micro * max(1, views)
    objective = SummedObjective(cross_entropy)
    engine = choose(model, objective, x[:1].repeat(count, 1), y[:1].repeat(count), units=micro)
    if kind == "row by row":
        assert engine.contributions.one_by_one

    def lines(seats, number, skipped=0):
        source = rows
        if views:
            source = ViewedRows(rows, views, shifted, replayed(number, skipped))
        found, original = [], engine.contributions.parts

        def parts(*given):
            made = original(*given)
            each = [line.detach().clone() for part in made for line in part.lines()]
            found.append([[line[unit] for line in each] for unit in range(micro)])
            return made

        groups = normalized_groups(model, clip_groups(model, 1), views=max(1, views))
        sums = BatchSums(
            model, engine, source, groups=groups, micro=micro, normalized=False, device=CPU
        )
        engine.contributions.parts = parts
        try:
            StepSums(sums, SideCounts(()), objective).total(
                np.array(seats)[:, None], entropy=replayed(-number, skipped)
            )
        finally:
            engine.contributions.parts = original
        return [unit for micro_batch in found for unit in micro_batch]

    return lines


def replayed(number, skipped):
    """Return replayed bytes, without those of some micro-batches of one unit."""
    entropy = Replayed(abs(number) + (1000 if number < 0 else 0))
    stream_words(skipped, entropy)
    return entropy


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("views", [0, 2])
@pytest.mark.parametrize("kind", MODELS)
def test_coins_of_a_seat_are_the_same_whoever_sits_elsewhere(kind, views):
    """Given all random words, the others contribute the same, bit by bit: no law is needed."""
    lines = seen(kind, views=views, micro=MICRO)
    everyone = [0, 1, -1, 2, 3, 4, 5, -1]
    whole = lines(everyone, 7)
    for seat in (0, 1, 3, 4, 6):
        without = [-1 if place == seat else row for place, row in enumerate(everyone)]
        rest = lines(without, 7)
        taken = [place for place, row in enumerate(without) if row >= 0]
        assert all(same(whole[place], rest[place]) for place in taken)
    other = lines(everyone, 8)
    assert not all(same(whole[place], other[place]) for place in (0, 1, 3, 4, 5, 6))


@pytest.mark.theorem("augmented-views")
@pytest.mark.parametrize("views", [0, 2])
@pytest.mark.parametrize("kind", MODELS)
def test_micro_batches_of_one_unit_have_coins_of_their_own(kind, views):
    """There are no seats; each unit takes as many random words as any other one."""
    lines = seen(kind, views=views, micro=1)
    whole = lines([0, 1, 2, 3], 7)
    rest = lines([1, 2, 3], 7, skipped=1)  # the words of the first are not drawn
    assert all(same(one, other) for one, other in zip(whole[1:], rest, strict=True))
    assert len({tuple(float(line.double().sum()) for line in unit) for unit in whole}) == 4
