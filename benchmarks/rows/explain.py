"""What ``benchmarks/explain.py`` times: explanations and labels, beside reading the ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import discreet as dp
from benchmarks.measure import Race, timed
from benchmarks.report import OURS
from discreet.accounting import Leaf
from discreet.explain import explain, label_of, verify_label
from discreet.ledger import Ledger
from discreet.release import Release

ENTRIES = 10**4
READING = "reading"
"""The reference: all entries of the ledger are read once, and nothing is computed."""
ONE, AGAIN, LABEL, VERIFY = "one release", "the ledger", "its label", "verify the label"

_POLICY = """
format = 1
unit = "row"
[tables.visits.columns]
ward = { type = "text", categories = ["A", "B"] }
"""


@contextmanager
def filled(entries: int) -> Iterator[Ledger]:
    """Open a ledger with this many charges, of five hundred mechanisms."""
    with tempfile.TemporaryDirectory() as folder:
        budget = dp.Budget(epsilon=1000, delta="1e-6")
        with Ledger.open(Path(folder) / "some.ledger", unit=dp.row(), budget=budget) as ledger:
            for number in range(entries):
                laplace = dp.mechanisms.Laplace(scale=1000 + number % 200)
                gaussian = dp.mechanisms.Gaussian(sigma=1000 + number % 300)
                ledger.charge(Leaf(laplace if number % 2 else gaussian), key=str(number))
            yield ledger


def answers(count: int) -> list[Release]:
    """Ask different questions, so that no explanation was worked out before."""
    table = pa.table({"ward": ["A", "B"]})
    with dp.open({"visits": table}, policy=_POLICY, test_mode=True) as session:
        text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
        return [session.ask(text, rho=f"0.0{number + 1:03d}") for number in range(count)]


def races(ledger: Ledger, rounds: int) -> Iterator[Race]:
    """Yield a row for each thing that is explained."""
    fresh = iter(answers(rounds + 1))
    label = label_of(ledger).to_json()
    work = {
        ONE: lambda: explain(next(fresh)),
        AGAIN: lambda: explain(ledger, audience="auditor"),
        LABEL: lambda: label_of(ledger),
        VERIFY: lambda: verify_label(label, ledger),
    }
    for name, explained in work.items():
        contenders = {
            OURS: timed(explained, units=1),
            READING: timed(lambda: list(ledger.entries()), units=1),
        }
        yield Race(kind=name, name=name, contenders=contenders, unit="ms")
