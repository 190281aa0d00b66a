"""The matrix of features and engines says what is asked, and what is refused."""

import pytest

from discreet.engines.backends import DONE, ENGINES, MATRIX, NEVER, SECTIONS, FeatureSupport, reason
from tests.engines.contract.cases import CASES
from tests.engines.contract.features import SCENES, to_try
from tests.engines.contract.matrix import answered_by


def features(cases):
    return {feature for asked in cases for feature in asked.features}


def test_the_matrix_is_whole():
    assert [*MATRIX] == [feature for part in SECTIONS.values() for feature in part]
    assert all(tuple(cells) == ENGINES for cells in MATRIX.values())


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


def test_only_what_is_missing_has_a_reason():
    assert reason("views", "DuckDB").startswith("a table is read only")
    assert reason("units named by floats", "Spark") == ""
    with pytest.raises(ValueError, match="no reason"):
        FeatureSupport(NEVER)
    with pytest.raises(ValueError, match="no reason"):
        FeatureSupport(DONE, "because")
