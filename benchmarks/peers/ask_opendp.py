"""OpenDP on Polars; runs inside its environment, started by ``environment.py``.

Each line of standard input is a request: the name of some work and its parameters.  The answer to
``person`` and ``row`` is the CPU time of one answer, from a Parquet file to a table with noise.
The answer to ``noise`` is what the library would add: the law, the scale and the threshold.
The answer to ``quantiles`` is one quantile for each of some tables, and to ``quantile_lists`` a
list for each, in the way that OpenDP offers for many: a tree of counts that is made consistent.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import warnings
from importlib.metadata import version

import opendp.prelude as dp
import polars as pl

ROWS, GROUPS = 5, 10
"""Rows of a person that count in one group, and the groups of a person."""
EPSILON, DELTA = 1.0, 1e-9
LARGEST = 10**8
"""A public bound on the number of rows, which sums of floats need."""


def person(*, path: str) -> pl.DataFrame:
    """Count, sum and mean by place, for people with many rows."""
    unit = dp.unit_of(contributions=1, identifier=pl.col("person"))
    return answered(truncated(asking(pl.scan_parquet(path), unit), GROUPS, ROWS))


def row(*, path: str) -> pl.DataFrame:
    """Count, sum and mean by place, where each row is protected."""
    return answered(asking(pl.scan_parquet(path), dp.unit_of(contributions=1)))


def asking(data: pl.LazyFrame, unit: object, loss: object = None) -> dp.Context:
    """Begin a question that may spend everything."""
    return dp.Context.compositor(
        data=data,
        privacy_unit=unit,
        privacy_loss=loss or dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=[], max_length=LARGEST),
            dp.polars.Margin(by=["place"], max_length=LARGEST, max_groups=10**4),
        ],
    ).query()


def truncated(query: dp.Context, groups: int, rows: int) -> dp.Context:
    """Limit what one person adds; keep="sample" fails in this release for a single key."""
    return query.truncate_per_group(rows, by=["place"]).truncate_num_groups(
        groups, by=["place"], keep="first"
    )


def answered(query: dp.Context) -> pl.DataFrame:
    """Release the count and the sum, and divide them."""
    total = pl.col("amount").fill_null(0.0).fill_nan(0.0).dp.sum(bounds=(0.0, 100.0))
    found = query.group_by("place").agg(dp.len(signed=True).alias("n"), total.alias("s"))
    return found.release().collect().with_columns(a=pl.col("s") / pl.col("n"))


def noise(*, outputs: list[str], groups: int, keys: int | None, price: dict[str, float]) -> object:
    """Say which noise a question on whole numbers from 0 to 100 would get, one row a person."""
    data = pl.LazyFrame(schema={"person": pl.Int64, "place": pl.Int64, "amount": pl.Int64})
    unit = dp.unit_of(contributions=1, identifier=pl.col("person"))
    query = truncated(asking(data, unit, dp.loss_of(**price)), groups, 1)
    offered = {
        "n": dp.len(signed=True).alias("n"),
        "s": pl.col("amount").fill_null(0).dp.sum((0, 100)).alias("s"),
    }
    query = query.group_by("place").agg(*(offered[name] for name in outputs))
    if keys is not None:
        query = query.with_keys(pl.LazyFrame({"place": list(range(keys))}))
    return query.summarize().to_dicts()


@functools.cache
def rho(*, epsilon: float, delta: float) -> float:
    """Return the rho that the library converts to a price in epsilon and delta."""
    space = dp.atom_domain(T=int), dp.absolute_distance(T=float)

    def fits(scale: float) -> bool:
        law = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale))
        return law.map(1.0).epsilon(delta) <= epsilon

    return 1 / (2 * dp.binary_search(fits, bounds=(0.01, 1e6)) ** 2)


def quantiles(*, tables: list[list[int]], level: float, places: int) -> list[int]:
    """Choose a quantile of each table, among whole numbers, at epsilon 1; rows come and go."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def selection(scale: float) -> dp.Measurement:
        law = dp.max_divergence()
        return space >> dp.m.then_private_quantile(law, list(range(places)), level, scale)

    scale = dp.binary_search(lambda scale: selection(scale).map(1) <= 1, bounds=(0.01, 100.0))
    select = selection(scale)
    return [int(select(table)) for table in tables]


def quantile_draws(  # noqa: PLR0913  one question
    *, values: list[int], level: float, places: int, moved: int, epsilon: float, draws: int
) -> list[int]:
    """Choose a quantile of one table again and again, where so many rows come and go together."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def selection(scale: float) -> dp.Measurement:
        law = dp.max_divergence()
        return space >> dp.m.then_private_quantile(law, list(range(places)), level, scale)

    scale = dp.binary_search(
        lambda scale: selection(scale).map(moved) <= epsilon, bounds=(0.001, 10000.0)
    )
    select = selection(scale)
    return [int(select(values)) for _ in range(draws)]


def quantile_lists(
    *, tables: list[list[int]], levels: list[float], places: int
) -> list[list[float]]:
    """Read all levels from one tree of noisy counts, at epsilon 1; rows come and go."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    branches = dp.t.choose_branching_factor(size_guess=len(tables[0]))
    counted = (
        space
        >> dp.t.then_count_by_categories(list(range(places)), null_category=False)
        >> dp.t.then_b_ary_tree(leaf_count=places, branching_factor=branches)
    )

    def noisy(scale: float) -> dp.Measurement:
        return counted >> dp.m.then_laplace(scale)

    scale = dp.binary_search(lambda scale: noisy(scale).map(1) <= 1, bounds=(0.01, 1000.0))
    edges = [float(edge) for edge in range(places + 1)]
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branches)
    ask = noisy(scale) >> consistent >> dp.t.make_quantiles_from_counts(edges, alphas=levels)
    return [[float(each) for each in ask(table)] for table in tables]


WORK = {
    "person": person,
    "row": row,
    "noise": noise,
    "rho": rho,
    "quantiles": quantiles,
    "quantile draws": quantile_draws,
    "quantile_lists": quantile_lists,
}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")  # defaults that will change
    dp.enable_features("contrib")
    print(json.dumps({"versions": {p: version(p) for p in ("opendp", "polars")}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        work = WORK[request.pop("work")]
        start = time.process_time()
        try:
            value = work(**request)
        except Exception as failure:  # noqa: BLE001  whatever it is, the row says it
            print(json.dumps({"why": f"{type(failure).__name__}: {failure}"[:300]}), flush=True)
            continue
        spent = time.process_time() - start
        shown = None if isinstance(value, pl.DataFrame) else value
        print(json.dumps({"seconds": spent, "value": shown}), flush=True)


if __name__ == "__main__":
    main()
