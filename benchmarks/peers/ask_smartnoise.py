"""SmartNoise SQL on pandas; runs inside its environment, started by ``environment.py``.

Each line of standard input is a request: the name of some work and the path of a Parquet file.  The
answer is the CPU time from the file to a table with noise, and what the library says it cost.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from importlib.metadata import version

import pyarrow.parquet as pq
import snsql

ROWS = 10
"""Rows of a person that count in all; the library does not limit groups."""
EPSILON, DELTA = 1.0, 1e-9
QUESTION = (
    "SELECT place, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM S.visits GROUP BY place"
)


def person(*, path: str) -> float:
    """Count, sum and mean by place, for people with many rows."""
    return answered(path, {"max_ids": ROWS, "person": {"type": "int", "private_id": True}})


def row(*, path: str) -> float:
    """Count, sum and mean by place, where each row is protected."""
    return answered(path, {"row_privacy": True, "person": {"type": "int"}})


def answered(path: str, more: dict[str, object]) -> float:
    """Answer from a file, and return the epsilon that was spent."""
    frame = pq.read_table(path).to_pandas()
    columns = {"place": {"type": "int"}, "amount": {"type": "float", "lower": 0.0, "upper": 100.0}}
    facts = {"": {"S": {"visits": {"rows": len(frame), **columns, **more}}}}
    privacy = snsql.Privacy(epsilon=EPSILON, delta=DELTA)
    reader = snsql.from_connection(frame, privacy=privacy, metadata=facts)
    reader.execute(QUESTION)
    return float(reader.odometer.spent[0])


WORK = {"person": person, "row": row}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(json.dumps({"versions": {"smartnoise-sql": version("smartnoise-sql")}}), flush=True)
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
