"""Words with frequencies after Zipf, reports in bytes, and how many frequent words are found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local import Prefixes

BITS = 48
WORDS = 200_000
EXPONENT = 1.1
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One row: who is asked for what, and how."""

    people: int
    epsilon: int
    top: int
    step: int
    keep: int

    @property
    def name(self) -> str:
        """What the row is called."""
        return f"top {self.top}, step {self.step}, epsilon {self.epsilon}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a row found, on average over its runs."""

    search: Search
    precision: float
    recall: float
    """Weighted by rank: the most frequent word counts most."""
    certain: float
    missed: int
    """How many intervals of all runs do not hold the true share."""
    device_seconds: float
    """CPU time to make and pack one report."""
    analyst_seconds: float
    """CPU time to read all reports and to search."""
    bytes_each: float


def searches(people: int) -> Iterator[Search]:
    """Yield the rows."""
    for top, step in ((16, 12), (32, 12), (16, 16)):
        for epsilon in (1, 2, 4):
            yield Search(people=people, epsilon=epsilon, top=top, step=step, keep=top)


def population(people: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all words, the most frequent first, and how many people have each."""
    generator = np.random.default_rng(7)
    weights = 1 / np.arange(1, WORDS + 1) ** EXPONENT
    counts = generator.multinomial(people, weights / weights.sum())
    words = generator.integers(0, 1 << BITS, WORDS)
    order = np.argsort(-counts, kind="stable")
    return words[order], counts[order]


def run(search: Search, runs: int) -> Found:
    """Make all reports, send them as bytes, read them, and search; several times."""
    words, counts = population(search.people)
    people = words.repeat(counts)
    plan = Prefixes(
        bits=BITS, epsilon=search.epsilon, top=search.top, step=search.step, keep=search.keep
    )
    totals = dict.fromkeys(("precision", "recall", "certain", "device", "analyst", "bytes"), 0.0)
    missed = 0
    shares = dict(zip(words.tolist(), (counts / search.people).tolist(), strict=True))
    ranks = {int(word): search.top - rank for rank, word in enumerate(words[: search.top])}
    for _ in range(runs):
        start = time.process_time()
        sent = _reports(plan, people)
        middle = time.process_time()
        answer = plan.hitters(_read(plan, sent))
        totals["device"] += (middle - start) / search.people
        totals["analyst"] += time.process_time() - middle
        totals["bytes"] += sum(len(batch) for batch, _ in sent) / search.people
        found = [int(hitter.word) for hitter in answer]
        totals["precision"] += sum(word in ranks for word in found) / search.top
        totals["recall"] += sum(ranks.get(word, 0) for word in found) / sum(ranks.values())
        totals["certain"] += len(answer.certain)
        missed += sum(not h.low <= shares.get(int(h.word), 0) <= h.high for h in answer)
    mean = {name: total / runs for name, total in totals.items()}
    return Found(
        search=search,
        precision=mean["precision"],
        recall=mean["recall"],
        certain=mean["certain"],
        missed=missed,
        device_seconds=mean["device"],
        analyst_seconds=mean["analyst"],
        bytes_each=mean["bytes"],
    )


def _reports(plan: Prefixes, people: NDArray[Any]) -> list[tuple[bytes, int]]:
    batches = []
    for start in range(0, len(people), CHUNK):
        part = people[start : start + CHUNK]
        packed = plan.response.pack_batch(plan.response.run_each(part))
        batches.append((packed.tobytes(), len(part)))
    return batches


def _read(plan: Prefixes, sent: list[tuple[bytes, int]]) -> NDArray[np.int64]:
    response, kept = plan.response, []
    for batch, count in sent:
        reports, valid = response.unpack_batch(np.frombuffer(batch, np.uint8), count=count)
        assert valid.all()  # noqa: S101  nobody was hostile
        kept.append(reports)
    return response.tally(np.concatenate(kept))
