"""The matrix of features and engines says what is asked, and what is refused."""

import pytest

from tests.engines.contract.cases import CASES
from tests.engines.contract.features import SCENES, to_try
from tests.engines.contract.matrix import DONE, ENGINES, MATRIX, answered_by


def features(cases):
    return {feature for asked in cases for feature in asked.features}


@pytest.mark.parametrize("engine", ENGINES)
def test_whatever_is_done_is_asked_and_all_else_is_tried(engine):
    asked = features(answered_by(engine, CASES))
    done = {feature for feature, on in MATRIX.items() if on[engine].mark is DONE}
    assert done <= asked | set(SCENES)
    assert set(MATRIX) - done <= set(to_try(engine))


def test_every_case_is_about_features_of_the_matrix():
    assert features(CASES) <= set(MATRIX)
    assert set(SCENES) <= set(MATRIX)
    assert len({asked.name for asked in CASES}) == len(CASES)
