"""PipelineDP without a cluster; runs inside its environment, started by ``environment.py``.

Each line of standard input is a request: the name of some work and the path of a Parquet file.  The
answer is the CPU time from the file to a list of answers with noise.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import pipeline_dp
import pyarrow.parquet as pq

ROWS, GROUPS = 5, 10
"""Rows of a person that count in one group, and the groups of a person."""
EPSILON, DELTA = 1.0, 1e-9
METRICS = [pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM, pipeline_dp.Metrics.MEAN]


def person(*, path: str) -> int:
    """Count, sum and mean by place, for people with many rows."""
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    return answered(path, extractors, groups=GROUPS, rows=ROWS)


def row(*, path: str) -> int:
    """Count, sum and mean by place, where each row is protected and no bounding is needed."""
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=lambda row: row[1], value_extractor=lambda row: row[2]
    )
    return answered(path, extractors, groups=1, rows=1, contribution_bounds_already_enforced=True)


def answered(
    path: str, extractors: pipeline_dp.DataExtractors, *, groups: int, rows: int, **more: bool
) -> int:
    """Answer from a file, and return how many groups there are."""
    table = pq.read_table(path, columns=["person", "place", "amount"])
    data = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=METRICS,
        max_partitions_contributed=groups,
        max_contributions_per_partition=rows,
        min_value=0.0,
        max_value=100.0,
        **more,
    )
    answers = engine.aggregate(data, parameters, extractors)
    budget.compute_budgets()
    return len(list(answers))


WORK = {"person": person, "row": row}


def main() -> None:
    """Answer until the input ends."""
    print(json.dumps({"versions": {"pipeline-dp": version("pipeline-dp")}}), flush=True)
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
        print(json.dumps({"seconds": spent, "value": value}), flush=True)


if __name__ == "__main__":
    main()
