"""How long it takes from arrays, or from a table, to a fitted model, ours beside diffprivlib's.

Everybody gets the same arrays, bounds and classes.  Ours includes the plan, the charge, exact noise
and the record, at a price that was not asked for before, so that no plan is remembered.  Epsilons
are 10**-4 apart: noise is planned to 14 bits, and closer ones would share what is known of it.

* ``discreet``: paid from a ledger in a file, as it is used;
* ``in memory``: the same with a rehearsal of a ledger, which tells what the file costs;
* ``session``: from a Parquet file by a session, whose engine bounds the rows of each unit first.

diffprivlib is fitted from arrays, and from the same Parquet file as the session: ``their table``.

Time is CPU time, best of several turns.  Waiting for a disk is no CPU time, and is told apart.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from benchmarks.measure import Race, timed
from benchmarks.peers.environment import Peers
from discreet import models
from discreet.session import Rehearsal

SIZES: Final = (1_000, 16_000, 100_000)
COLUMNS: Final = 11
KIND: Final = "fit"
THEIRS: Final = "diffprivlib"
THEIR_TABLE: Final = "their table"
_NAMES: Final = tuple(f"x{place}" for place in range(COLUMNS))
_TARGETS: Final = {"binary": (0, 1), "classes": (0, 1, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A model that both libraries have, and what it learns."""

    name: str
    model: Callable[..., Any]
    target: str | None
    options: tuple[tuple[str, Any], ...] = ()


KINDS: Final = (
    Kind(name="LogisticRegression", model=models.LogisticRegression, target="binary"),
    Kind(name="SoftmaxRegression", model=models.SoftmaxRegression, target="classes"),
    Kind(name="LinearRegression", model=models.LinearRegression, target="number"),
    Kind(name="GaussianNB", model=models.GaussianNB, target="classes"),
    Kind(name="KMeans", model=models.KMeans, target=None, options=(("n_clusters", 5),)),
    Kind(name="PCA", model=models.PCA, target=None, options=(("n_components", 3),)),
)


def made_arrays(count: int) -> dict[str, Any]:
    """Return rows between -1 and 1, and what is learned about them."""
    draw = np.random.default_rng(count)
    x = draw.uniform(-1, 1, (count, COLUMNS))
    slope = np.linspace(-2, 2, COLUMNS)
    score = x @ slope + draw.normal(size=count) / 2
    return {
        "x": x,
        "binary": (score > 0).astype(np.int64),
        "classes": np.digitize(score, [-1, 1]).astype(np.int64),
        "number": np.clip(score, -5, 5),
    }


_PRICES = (f"1.{place:04d}" for place in itertools.count())


def _made(kind: Kind, ledger: object) -> Any:
    """Return a model at a price of its own."""
    more: dict[str, Any] = dict(kind.options)
    if kind.target in _TARGETS:
        more["classes"] = _TARGETS[kind.target]
    if kind.target == "number":
        more["target_bounds"] = (-5, 5)
    price = {"epsilon": next(_PRICES), "delta": "1e-5", "bounds": (-1, 1)}
    return kind.model(**price, **more, ledger=ledger)


def _policy(target: str) -> str:
    lines = ["format = 1", 'unit = "person"', "[limits]", "max_rows = 1", "max_groups = 1"]
    for name in _NAMES:
        lines += [f"[tables.rows.columns.{name}]", 'type = "float"', "low = -1", "high = 1"]
    head = "[tables.rows.columns.label]"
    if target == "number":
        return "\n".join([*lines, head, 'type = "float"', "low = -5", "high = 5"])
    listed = ", ".join(map(str, _TARGETS[target]))
    return "\n".join([*lines, head, 'type = "integer"', f"categories = [{listed}]"])


def _written(folder: Path, target: str, arrays: dict[str, Any]) -> Path:
    """Write the table of people that both are fitted on, once."""
    count = len(arrays["x"])
    path = folder / f"{count}-{target}.parquet"
    if not path.exists():
        columns = dict(zip(_NAMES, arrays["x"].T, strict=True))
        pq.write_table(
            pa.table({"person": np.arange(count), **columns, "label": arrays[target]}), path
        )
    return path


def _in_session(kind: Kind, path: Path, stack: ExitStack) -> Callable[[], object]:
    policy = _policy(kind.target or "number")
    session = stack.enter_context(dp.open({"rows": path}, policy=policy, test_mode=True))

    def fit() -> object:
        model = kind.model(epsilon=next(_PRICES), delta="1e-5", **dict(kind.options))
        if kind.target is None:
            return model.fit(session.table("rows"), columns=list(_NAMES))
        return model.fit(session.table("rows"), label="label")

    return fit


def races(peers: Peers | None) -> Iterator[Race]:
    """Return a race for each model and size."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        budget = dp.Budget(epsilon=10**6, delta="0.5")
        ledger = stack.enter_context(
            dp.ledger.Ledger.open(f"{folder}/fits.ledger", unit=dp.row(), budget=budget)
        )
        for count in SIZES:
            arrays = made_arrays(count)
            place = folder / f"{count}.npz"
            np.savez(place, **arrays)
            for kind in KINDS:
                target = None if kind.target is None else arrays[kind.target]
                path = _written(folder, kind.target or "number", arrays)
                contenders = {
                    "discreet": _fit(kind, arrays["x"], target, ledger),
                    "in memory": _fit(kind, arrays["x"], target, Rehearsal()),
                    "session": timed(_in_session(kind, path, stack), units=1),
                }
                if peers is not None:
                    contenders[THEIRS] = peers.contender(
                        fit=kind.name, arrays=str(place), target=kind.target, epsilon=1.0
                    )
                    contenders[THEIR_TABLE] = peers.contender(
                        fit=kind.name,
                        table=str(path),
                        target=kind.target,
                        label=None if kind.target is None else "label",
                        numbers=dict.fromkeys(_NAMES, (-1, 1)),
                        epsilon=1.0,
                    )
                name = f"{kind.name}, {count:,} rows"
                yield Race(kind=KIND, name=name, contenders=contenders, unit="ms", size=count)


def _fit(kind: Kind, x: Any, target: Any, ledger: object) -> Callable[[], float]:
    return timed(lambda: _made(kind, ledger).fit(x, target), units=1)


def waits(fits: int = 20) -> float:
    """Return the median seconds that a fit waits for its ledger's disk."""
    found = []
    arrays = made_arrays(SIZES[0])
    with tempfile.TemporaryDirectory() as folder:
        budget = dp.Budget(epsilon=10**6, delta="0.5")
        with dp.ledger.Ledger.open(f"{folder}/w.ledger", unit=dp.row(), budget=budget) as ledger:
            for _ in range(fits):
                begun, used = time.perf_counter(), time.process_time()
                _made(KINDS[0], ledger).fit(arrays["x"], arrays["binary"])
                wall, cpu = time.perf_counter() - begun, time.process_time() - used
                found.append(wall - cpu)
    return median(found)
