"""Engines in this process and on a PostgreSQL server: the whole contract."""

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
from tests.engines.contract.places import DuckDBPlace, PostgresPlace, ReferencePlace

DUCKDB = DuckDBPlace()


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def place(request):
    return (
        DUCKDB if request.param == "duckdb" else PostgresPlace(request.getfixturevalue("postgres"))
    )


def test_all_cases_agree(place):
    check_agreement(place, answered_by(place.engine, CASES))


def test_random_cases_agree(place):
    check_agreement(place, random_cases(20))


@pytest.mark.slow
def test_many_random_cases_agree(place):
    check_agreement(place, random_cases(600, 11))


def test_orders_of_their_own(place):
    check_own_order(place, named("counts", "one group", "keys of all types"))


def test_what_is_impossible_is_refused_before_anything_is_read(place):
    check_refusals(place)


def test_no_name_description_or_log_holds_a_value(place, caplog):
    check_quiet(place, caplog)


def test_a_failure_is_one_sentence(place, caplog):
    check_failure(place, caplog)


def test_an_engine_is_closed_for_good(place):
    check_closing(place)


@pytest.mark.parametrize("feature", to_try("DuckDB"))
def test_features_of_duckdb(feature, tmp_path):
    check_feature(DUCKDB, DUCKDB, feature, tmp_path)


@pytest.mark.parametrize("feature", to_try("PostgreSQL"))
def test_features_of_postgres(postgres, feature, tmp_path):
    check_feature(PostgresPlace(postgres), DUCKDB, feature, tmp_path)


@pytest.mark.parametrize("feature", to_try("reference"))
def test_features_of_the_reference(feature, tmp_path):
    check_feature(ReferencePlace(), DUCKDB, feature, tmp_path)


def test_the_reference_agrees_with_itself():
    check_agreement(ReferencePlace(), answered_by("reference", CASES))
