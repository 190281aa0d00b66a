"""Rows that ought to break an answer.

One person has a row with a value that no sensible table holds.  With and without that person, every
question must be answered, or refused, in the same words; an answer must have the same columns,
types, groups and number of rows; and the totals may not move further than the noise is scaled to.
"""

from datetime import date

from discreet.errors import DiscreetError
from tests.audit.clinic import QUESTIONS, moves, rehearsed, row_of, totals_of, visits

_LETTERS = 1_000_000
POISONS = {
    "NaN": {"cost": float("nan")},
    "infinity": {"cost": float("inf")},
    "minus infinity": {"cost": float("-inf")},
    "1e308": {"cost": 1e308},
    "the smallest float": {"cost": 5e-324},
    "NULL everywhere": {"cost": None, "age": None, "note": None, "day": None, "ward": None},
    "nobody's row": {"patient": None},
    "the largest integer": {"age": 2**63 - 1, "patient": 2**63 - 1},
    "the smallest integer": {"age": -(2**63)},
    "zero": {"age": 0, "cost": 0.0},
    "a million letters": {"note": "A1" * (_LETTERS // 2)},
    "a long number": {"note": "9" * 400},
    "no date": {"note": "2025-02-30"},
    "a far date": {"note": "99999-12-31", "day": date.max},
    "the first date": {"day": date.min},
    "controls": {"note": "\x00\x01\n'\"; DROP TABLE visits; --", "ward": "Z'"},
    "other letters": {"note": "\U0001f600\u202e\ufeffé", "ward": "Ａ"},
}
"""Changes of an ordinary row, by what is bad about them."""

_FEW = ("NaN", "1e308", "NULL everywhere", "the largest integer", "a million letters")


def test_poisoned_rows_change_no_word_of_an_answer(found, quick):
    """Rows with impossible values change no word of an answer, and move no total too far."""
    chosen = {name: POISONS[name] for name in _FEW} if quick else POISONS
    questions = QUESTIONS[1::2] if quick else QUESTIONS
    plain = _seen(visits(), questions)
    wrong = []
    for name, change in chosen.items():
        poisoned = _seen(visits(30, row_of(30, **change)), questions)
        for question, first, other in zip(questions, plain, poisoned, strict=True):
            if first[0] != other[0]:
                wrong.append(f"{name} changes what is told by {question}")
            if any(moved.too_far for moved in moves(first[1], first[2], other[2])):
                wrong.append(f"{name} moves {question} too far")
    found.attack(
        f"{len(chosen)} poisons, {len(chosen) * len(questions)} answers",
        wrong,
        not_covered="files that cannot be read at all",
    )


def _seen(table, questions):
    """Ask all questions about a table, and keep what is told, and the totals behind it."""
    seen = []
    with rehearsed(table) as session:
        for question in questions:
            plan = session.plan(question, epsilon=1)
            seen.append((outcome(session, question), plan, totals_of(session, plan)))
    return seen


def outcome(session, question, **price):
    """Return all that an answer tells apart from its numbers: its form, or the error."""
    try:
        release = session.ask(question, **(price or {"epsilon": 1}))
    except DiscreetError as error:
        return "refused", str(error)
    except Exception as error:  # noqa: BLE001  (what escapes is told too)
        return "escaped", f"{type(error).__name__}: {error}"
    table = release.to_arrow()
    columns = tuple(f"{field.name}: {field.type}" for field in table.schema)
    keys = [name for name in ("ward",) if name in table.column_names]
    return "answer", len(release), columns, tuple(str(table.column(name)) for name in keys)
