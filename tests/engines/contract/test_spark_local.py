"""Spark in this process: the whole contract, with ANSI rules and without them."""

import pytest

from tests.engines.contract.cases import CASES, named, random_cases
from tests.engines.contract.checks import (
    check_agreement,
    check_closing,
    check_failure,
    check_own_order,
    check_quiet,
    check_refusals,
)
from tests.engines.contract.features import check_feature, to_try
from tests.engines.contract.matrix import answered_by
from tests.engines.contract.places import DuckDBPlace, SparkPlace
from tests.servers.spark import local_session

AGAIN = named(
    "all of them",
    "counts",
    "sums",
    "means",
    "values",
    "quantiles",
    "one group",
    "nobody and no group",
    "no listed group",
    "rows are units",
    "windows over units of 1000 bytes",
    *(f"two private tables {number}" for number in range(2)),
    *(f"the most frequent value {number}" for number in range(2)),
    *(f"counts that are read together {number}" for number in range(2)),
    *(f"a linked table {number}" for number in range(2)),
)
"""What others ask as well, together with more or about worse rows; a question takes Spark long."""
ONCE = [asked for asked in answered_by("Spark", CASES) if asked not in AGAIN]
WITHOUT_ANSI = named("everything", "poisoned", "expressions", "totals that need three limbs")


@pytest.fixture
def session():
    return local_session()


@pytest.fixture
def place(session):
    return SparkPlace(session)


@pytest.fixture
def without_ansi(session):
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", "false")
    yield
    session.conf.set("spark.sql.ansi.enabled", before)


def test_all_cases_agree(place):
    assert place.session.conf.get("spark.sql.ansi.enabled") == "true"
    check_agreement(place, ONCE)


def test_what_is_not_asked_again_needs_no_other_feature():
    done = answered_by("Spark", CASES)
    assert len(done) == len(ONCE) + len(AGAIN)
    assert {name for asked in ONCE for name in asked.features} == {
        name for asked in done for name in asked.features
    }


def test_cases_agree_without_ansi_rules(place, without_ansi):
    check_agreement(place, WITHOUT_ANSI)


def test_random_cases_agree_without_ansi_rules(place, without_ansi):
    check_agreement(place, random_cases(6))


@pytest.mark.slow
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_many_random_cases_agree(place, without_ansi, ansi):
    place.session.conf.set("spark.sql.ansi.enabled", ansi)
    check_agreement(place, [*answered_by("Spark", CASES), *random_cases(150, 11)])


def test_an_order_of_its_own(place):
    check_own_order(place, named("counts", "quantiles"))


def test_what_is_impossible_is_refused_before_anything_is_read(place):
    check_refusals(place)


def test_no_name_description_or_log_holds_a_value(place, caplog):
    check_quiet(place, caplog)


def test_a_failure_is_one_sentence(place, caplog):
    check_failure(place, caplog)


def test_an_engine_is_closed_for_good(place):
    check_closing(place)


def test_features_of_spark(place, tmp_path, subtests):
    """All in one test: were they shared out, Java would start in every process."""
    for feature in to_try("Spark"):
        with subtests.test(feature):
            check_feature(place, DuckDBPlace(), feature, tmp_path)
