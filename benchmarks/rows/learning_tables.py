"""Tables of people with two classes, and private classifiers of them, ours and others'.

Every table has numbers with bounds and columns of categories, all of them declared.  Ours is fitted
with its defaults in a session of a Parquet file, with bounds and categories from a policy; others
get the same rows as arrays, numbers scaled to 0 and 1, and write the scores of the tested rows to a
file.  diffprivlib is fitted from the Parquet file, too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import discreet as dp
from benchmarks.peers.environment import Peers

EPSILONS: Final = ("0.1", "1")
DELTA: Final = "1e-5"
_NAMES: Final = [
    "age",
    "workclass",
    "weight",
    "education",
    "education_years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
_NUMBERS: Final = {
    "age": (17, 90),
    "education_years": (1, 16),
    "gain": (0, 20_000),
    "loss": (0, 3_000),
    "hours": (1, 99),
}
_LISTED: Final = [
    "workclass",
    "education",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "country",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Rows with declared bounds and categories, and a truth value that is learned."""

    name: str
    rows: pa.Table
    numbers: Mapping[str, tuple[int, int]]
    listed: Mapping[str, tuple[str, ...]]
    trained: int


def adults(folder: Path) -> People:
    """Read the UCI Adult table: both files as one."""
    rows = []
    for name in ("adult.data", "adult.test"):
        for line in (folder / name).read_text(encoding="ascii").splitlines():
            cells = [cell.strip() for cell in line.rstrip(".").split(",")]
            if len(cells) == len(_NAMES):
                rows.append(cells)
    columns = dict(zip(_NAMES, zip(*rows, strict=True), strict=True))
    made: dict[str, Any] = {"person": list(range(len(rows)))}
    made |= {name: [int(value) for value in columns[name]] for name in _NUMBERS}
    made |= {name: list(columns[name]) for name in _LISTED}
    made["label"] = [value == ">50K" for value in columns["income"]]
    listed = {name: tuple(sorted(set(columns[name]))) for name in _LISTED}
    return People(
        name="Adult", rows=pa.table(made), numbers=_NUMBERS, listed=listed, trained=39_073
    )


def made_up(count: int = 20_000) -> People:
    """Make people whose class follows a logistic law of five numbers and a column of six."""
    draw = np.random.default_rng(5)
    numbers = {f"x{place}": (0, 100) for place in range(5)}
    values = {name: draw.integers(0, 101, count) for name in numbers}
    group = draw.integers(0, 6, count)
    score = sum((2 - place) * (v - 50) / 25 for place, v in enumerate(values.values()))
    label = draw.random(count) < 1 / (1 + np.exp(-(score + (group - 2.5) / 2)))
    made = {"person": np.arange(count), **values, "g": [f"g{k}" for k in group], "label": label}
    listed = {"g": tuple(f"g{k}" for k in range(6))}
    return People(
        name="made up",
        rows=pa.table(made),
        numbers=numbers,
        listed=listed,
        trained=4 * count // 5,
    )


def policy(people: People) -> str:
    """Declare the bounds and the categories of a table."""
    lines = ["format = 1", 'unit = "person"', "[limits]", "max_rows = 1", "max_groups = 1"]
    for name, (low, high) in people.numbers.items():
        head = f"[tables.people.columns.{name}]"
        lines += [head, 'type = "integer"', f"low = {low}", f"high = {high}"]
    for name, listed in people.listed.items():
        values = ", ".join(f'"{value}"' for value in listed)
        lines += [f"[tables.people.columns.{name}]", 'type = "text"', f"categories = [{values}]"]
    end = ["[tables.people.columns.label]", 'type = "boolean"', "nullable = false"]
    return "\n".join([*lines, *end])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well one fit of ``rows`` people does on others, and its CPU seconds.

    ``from_table`` begins with a file and ``from_arrays`` with arrays in memory; ``opening`` is what
    a session takes that its fits share.
    """

    table: str
    rows: int
    epsilon: str
    library: str
    accuracy: float
    area: float
    from_table: float | None = None
    from_arrays: float | None = None
    opening: float | None = None


def best(fits: Sequence[Fit], what: str) -> float | None:
    """Return the least seconds of some fits, where they were measured."""
    found = [seconds for fit in fits if (seconds := getattr(fit, what)) is not None]
    return min(found, default=None)


Scores = NDArray[np.float64]
Seconds = dict[str, float]


def fits(people: People, others: Mapping[str, Peers], splits: int) -> Iterator[Fit]:
    """Fit each split by everybody in turn, at every epsilon."""
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(people.rows.num_rows)
        train, test = (people.rows.take(part) for part in np.split(order, [people.trained]))
        truth = np.array(test.column("label").to_pylist())
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            pq.write_table(train, folder / "train.parquet")
            _write_arrays(folder, people, train, test)
            for epsilon in EPSILONS:
                scores, seconds = _ours(people, folder, test, epsilon)
                yield _judged(people, (epsilon, "discreet"), scores, seconds, truth)
                for library, peers in others.items():
                    scores, seconds = _theirs(peers, people, folder, epsilon)
                    yield _judged(people, (epsilon, library), scores, seconds, truth)


def _ours(people: People, folder: Path, test: Any, epsilon: str) -> tuple[Scores, Seconds]:
    rows, begun = {"people": folder / "train.parquet"}, time.process_time()
    with dp.open(rows, policy=policy(people), test_mode=True) as session:
        opened = time.process_time()
        model = dp.models.LogisticRegression(epsilon=epsilon, delta=DELTA).fit(
            session.table("people"), label="label"
        )
        seconds = {"from_table": time.process_time() - opened, "opening": opened - begun}
    return np.asarray(model.decision_function(test)), seconds


def _write_arrays(folder: Path, people: People, train: Any, test: Any) -> None:
    """Write the rows as others want them."""
    parts = {}
    for name, rows in (("train", train), ("test", test)):
        parts[f"{name}_numbers"] = np.column_stack(
            [
                (np.clip(rows.column(n).to_numpy(), low, high) - low) / (high - low)
                for n, (low, high) in people.numbers.items()
            ]
        )
        parts[f"{name}_codes"] = np.column_stack(
            [
                [listed.index(value) for value in rows.column(n).to_pylist()]
                for n, listed in people.listed.items()
            ]
        )
        parts[f"{name}_labels"] = np.array(rows.column("label").to_pylist(), int)
    sizes = [len(listed) for listed in people.listed.values()]
    np.savez(folder / "rows.npz", sizes=sizes, **parts)


def _theirs(peers: Peers, people: People, folder: Path, epsilon: str) -> tuple[Scores, Seconds]:
    found = peers.ask(
        folder=str(folder),
        epsilon=float(epsilon),
        delta=float(DELTA),
        numbers=dict(people.numbers),
        listed=dict(people.listed),
    )
    scores: Scores = np.load(folder / "scores.npy")
    seconds = {"from_arrays": float(found["seconds"])}
    if "from_table" in found:
        seconds["from_table"] = float(found["from_table"])
    return scores, seconds


def _judged(
    people: People,
    key: tuple[str, str],
    scores: Scores,
    seconds: Seconds,
    truth: NDArray[np.bool_],
) -> Fit:
    ranks = scores.argsort(kind="stable").argsort(kind="stable") + 1.0
    hits = int(truth.sum())
    area = (ranks[truth].sum() - hits * (hits + 1) / 2) / (hits * (truth.size - hits))
    right = float(((scores > 0) == truth).mean())
    return Fit(
        table=people.name,
        rows=people.trained,
        epsilon=key[0],
        library=key[1],
        accuracy=right,
        area=float(area),
        **seconds,
    )
