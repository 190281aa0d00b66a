"""Made-up hospital visits, the same on every machine.

Trust: public.  Nobody in this table exists; its numbers come from mixing counters.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["POLICY", "REGIONS", "WARDS", "visits"]

REGIONS: Final = ("north", "south", "east", "west")
WARDS: Final = ("cardiology", "maternity", "orthopedics", "pediatrics", "surgery")
_COSTS: Final = (620, 480, 390, 210, 840)
_PATIENTS: Final = 4000
_MOST: Final = 8

POLICY: Final = """\
format = 1
unit = "patient"                    # all visits of a patient are protected together

[budget]
epsilon = "1"                       # what all answers together may cost anybody

[limits]
max_groups = 3                      # a patient counts in at most 3 wards
max_rows = 4                        # and with at most 4 visits in each
max_epsilon_per_question = "0.5"

[tables.visits.columns.region]
type = "text"
categories = ["north", "south", "east", "west"]
constant = true                     # nobody lives in two regions

[tables.visits.columns.ward]
type = "text"
categories = ["cardiology", "maternity", "orthopedics", "pediatrics", "surgery"]

[tables.visits.columns.cost]
type = "float"
low = "0"
high = "2000"
nullable = false
"""

Words = NDArray[np.uint64]


def visits(patients: int = _PATIENTS) -> pa.Table:
    """Return the visits of so many patients.

    >>> visits(3).column_names
    ['patient', 'region', 'ward', 'cost']
    >>> visits(3).equals(visits(3))
    True
    """
    who = np.arange(1, patients + 1, dtype=np.uint64)
    times = 1 + np.minimum(_mixed(who, 1) % 5, _mixed(who, 2) % _MOST).astype(np.int64)
    patient = np.repeat(who, times)
    visit = np.arange(patient.size, dtype=np.uint64)
    home = np.minimum(_mixed(patient, 3) % 5, 3)  # one region has more people than the others
    favorite = _mixed(patient, 4) % 7 % 5
    ward = np.where(_mixed(visit, 5) % 3 == 0, _mixed(visit, 6) % 5, favorite).astype(np.int64)
    spread = 50 + (_mixed(visit, 7) % 101 + _mixed(visit, 8) % 101).astype(np.int64) // 2
    cost = np.array(_COSTS)[ward] * spread / 100.0
    return pa.table(
        {
            "patient": patient.astype(np.int64),
            "region": pa.array(np.array(REGIONS)[home.astype(np.int64)]),
            "ward": pa.array(np.array(WARDS)[ward]),
            "cost": cost,
        }
    )


def _mixed(counter: Words, stream: int) -> Words:
    """Mix counters until no pattern is left to see (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        word = counter * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            stream * 0xD1342543DE82EF95 % 2**64
        )
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
