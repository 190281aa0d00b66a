"""Which cases an engine answers, as the matrix has it."""

from discreet.engines.backends import DONE, MATRIX


def answered_by(engine, cases):
    """Return the cases all of whose features an engine has."""
    return [
        asked
        for asked in cases
        if all(MATRIX[feature][engine].mark is DONE for feature in asked.features)
    ]
