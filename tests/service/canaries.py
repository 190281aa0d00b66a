"""Rows with words that must never leave: as values, as names of people, as numbers."""

import pyarrow as pa

WORDS = [f"CANARY{number:04d}X{(number * 2654435761) % 2**32:08x}" for number in range(200)]
NUMBERS = [731_000_001 + 7_919 * number for number in range(200)]
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "100000"
[limits]
max_groups = 2
max_rows = 3
max_epsilon_per_question = "1"
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
[tables.visits.columns.cost]
type = "float"
low = 0
high = 100
"""


def table():
    return pa.table(
        {
            "patient": WORDS,
            "note": [f"note {word}" for word in WORDS],
            "visit": NUMBERS,
            "ward": ["AB"[number % 2] for number in range(200)],
            "cost": [float(number % 90) for number in range(200)],
        }
    )


def leaked(data):
    """Return the canaries in some bytes."""
    found = [word for word in WORDS if word.encode() in data or word.lower().encode() in data]
    return found + [str(number) for number in NUMBERS if str(number).encode() in data]
