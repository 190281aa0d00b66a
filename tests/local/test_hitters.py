"""Heavy hitters: the search, its intervals, and three teaching twins."""

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.local import Prefixes
from discreet.noise import KeyedEntropy
from discreet_course.heavy_hitters import bitstogram, succinct_histogram, tree_hist


def fixed(label="hitters"):
    return KeyedEntropy(key=bytes(32), label=label)


def zipf(people, *, words=2000, bits=24, seed=7):
    generator = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1) ** 1.1
    counts = generator.multinomial(people, weights / weights.sum())
    names = generator.choice(1 << bits, words, replace=False)
    order = np.argsort(-counts, kind="stable")
    return names[order], counts[order]


@pytest.mark.theorem("hitter-intervals")
def test_frequent_words_are_found_with_intervals_that_hold():
    names, counts = zipf(60_000)
    plan = Prefixes(bits=24, epsilon=4, top=8, step=10, pool=1 << 12)
    people = names.repeat(counts)
    truth = dict(zip(names.tolist(), (counts / len(people)).tolist(), strict=True))
    reports = plan.response.run_each(people, entropy=fixed())
    answer = plan.hitters(plan.response.tally(reports))
    found = [hitter.word for hitter in answer]
    assert len(set(found) & set(names[:8].tolist())) >= 6
    assert names[0] == found[0]
    assert len(answer.certain) >= 3
    for hitter in answer:
        assert hitter.low <= truth.get(hitter.word, 0) <= hitter.high
    assert sum(answer.people) == len(people)
    assert "are certain" in str(answer)
    assert "<table>" in answer._repr_html_()
    hostile = plan.hitters(plan.response.tally(reports), hostile=400)
    assert all(wide.low <= own.low for wide, own in zip(hostile, answer, strict=True))
    assert len(hostile.certain) < len(answer.certain)


def test_nothing_is_certain_at_a_small_epsilon():
    generator = np.random.default_rng(1)
    plan = Prefixes(bits=24, epsilon="0.25", top=8, step=12, pool=1 << 12)
    words = generator.integers(0, 1 << 24, 5000)
    tally = plan.response.tally(plan.response.run_each(words, entropy=fixed("uniform words")))
    answer = plan.hitters(tally)
    assert answer.certain == ()
    assert answer.about().startswith("Nothing is certain at this epsilon.")
    assert len(answer) == 8


def test_uniform_words_are_seldom_called_certain():
    generator = np.random.default_rng(2)
    plan = Prefixes(bits=16, epsilon=2, top=4, step=8, pool=1 << 10)
    wrong = 0
    for run in range(30):  # with a union over 1024 candidates; per value it would be most of them
        words = generator.integers(0, 1 << 16, 4000)
        reports = plan.response.run_each(words, entropy=fixed(f"uniform {run}"))
        answer = plan.hitters(plan.response.tally(reports))
        wrong += any(h.low > 2 / 4000 for h in answer)
    assert wrong <= 9  # expected at most 1.5, above 9 with a chance below 1e-5


def test_texts_are_found():
    plan = Prefixes(bits=64, epsilon=3, top=2, step=12, pool=1 << 11)
    texts = ["covid-19"] * 20_000 + ["weather"] * 12_000 + [f"rare {n}" for n in range(4000)]
    reports = plan.response.run_each(plan.words(texts), entropy=fixed())
    answer = plan.hitters(plan.response.tally(reports), texts=True)
    assert [hitter.word for hitter in answer] == ["covid-19", "weather"]


def test_words_longer_than_a_limb_are_found():
    plan = Prefixes(bits=96, epsilon=4, top=2, step=16, pool=1 << 11)
    texts = ["discreet one"] * 20_000 + ["discreet two"] * 12_000
    reports = plan.response.run_each(plan.words(texts), entropy=fixed())
    answer = plan.hitters(plan.response.tally(reports), texts=True)
    assert [hitter.word for hitter in answer] == ["discreet one", "discreet two"]


@pytest.mark.parametrize(
    "arguments", [{"bits": 0}, {"top": 0}, {"step": 0}, {"step": 30}, {"keep": 1}]
)
def test_searches_that_cannot_be_are_refused(arguments):
    with pytest.raises(DiscreetError):
        Prefixes(**({"bits": 16, "epsilon": 1, "top": 4, "step": 8} | arguments))


def test_tallies_of_others_and_of_nobody_are_refused():
    plan = Prefixes(bits=16, epsilon=1, top=4, step=8, pool=16)
    with pytest.raises(DiscreetError):
        plan.hitters(np.zeros(5, np.int64))
    with pytest.raises(DiscreetError):
        plan.hitters(plan.response.tally(np.empty(0, np.uint8)))


# Teaching twins


@pytest.mark.parametrize("find", [tree_hist, bitstogram, succinct_histogram])
def test_older_ways_find_one_frequent_word(find):
    words = np.r_[np.full(30_000, 0xB5), np.random.default_rng(1).integers(0, 256, 20_000)]
    found = find(words, bits=8, epsilon=4, entropy=fixed())
    assert found[0].word == 0xB5
    assert found[0].share == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("find", [tree_hist, bitstogram, succinct_histogram])
def test_older_ways_find_less(find):
    names, counts = zipf(60_000, bits=24)
    people = names.repeat(counts)
    plan = Prefixes(bits=24, epsilon=3, top=8, step=10, pool=1 << 12)
    reports = plan.response.run_each(people, entropy=fixed())
    ours = {hitter.word for hitter in plan.hitters(plan.response.tally(reports))}
    theirs = {found.word for found in find(people, bits=24, epsilon=3, entropy=fixed())[:8]}
    top = set(names[:8].tolist())
    assert len(ours & top) > len(theirs & top)
