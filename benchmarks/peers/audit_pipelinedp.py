"""Counts and sums of PipelineDP to be audited, in the environment ``ask_pipelinedp``.

Each line of standard input is a request: the name of an aggregate, rows of (person, place, amount),
and how many answers to draw.  Each draw goes through the whole engine, bounding included.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import pipeline_dp

ROWS, GROUPS, LARGEST = 2, 1, 10.0
"""Rows of a person that count in one group, the groups of a person, and the largest amount."""
METRICS = {"count": pipeline_dp.Metrics.COUNT, "sum": pipeline_dp.Metrics.SUM}


def answer(metric: str, rows: list[Any]) -> float:
    """Answer once, at epsilon 1, about one public group."""
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-9)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[METRICS[metric]],
        max_partitions_contributed=GROUPS,
        max_contributions_per_partition=ROWS,
        min_value=0.0,
        max_value=LARGEST,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    answers = engine.aggregate(rows, parameters, extractors, public_partitions=["A"])
    budget.compute_budgets()
    [(_, found)] = list(answers)
    return float(getattr(found, metric))


def main() -> None:
    """Answer until the input ends."""
    print(json.dumps({"versions": {"pipeline-dp": version("pipeline-dp")}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        drawn = [answer(request["mechanism"], request["data"]) for _ in range(request["n"])]
        print(json.dumps({"drawn": drawn}), flush=True)


if __name__ == "__main__":
    main()
