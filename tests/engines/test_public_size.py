"""The number of rows under replace: public where nothing hides a row, and counted by engines."""

import itertools
from dataclasses import replace

import pytest

import discreet as dp
from discreet.engines.engine import HashOrder
from discreet.errors import OutOfRange, WrongKind
from discreet.ledger.verify import verify_file
from discreet.mechanisms import Laplace
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Releases
from discreet.plan.pricing.release_composition import check_claims
from discreet.plan.pricing.release_parts import STILL
from discreet.plan.statistics import contribution_bounds as contribution_limits
from discreet.planner import plan
from discreet.query.sql.parse import read
from discreet.requests.table_schema import Schema
from discreet.units import Relation
from tests.engines.contract.cases import Asked
from tests.engines.contract.places import KeptDuckDBPlace, PostgresPlace, ReferencePlace, SparkPlace
from tests.plan.test_neighbors import leaves_of
from tests.servers.spark import local_session

ORDER = HashOrder(salt=5, portable=True)
POLICY = """
format = 1
unit = "row"
relation = "replace"
[tables.staff.columns]
who = {type = "integer"}
team = {type = "text", categories = ["A", "B"]}
pay = {type = "float", low = 20000, high = 200000, nullable = false}
age = {type = "integer", low = -5, high = 110}
"""
OTHER = '[tables.guests.columns]\nwho = {type = "integer"}\n'
PUBLIC = """
[tables.teams]
public = true
key = ["team"]
columns.team = {type = "text"}
"""
ALL = "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a, VAR_SAMP(pay) AS v FROM staff"
PAYS = (None, 20000.0, 200000.0, 65000.0, -1e300, float("inf"), float("nan"))
"""What no row may hold by the policy is in the tables as well."""


def planned(sql, *, text=POLICY, **price):
    policy = read_policy(text)
    return plan(
        read(sql),
        schema=Schema(policy.tables),
        policy=policy,
        unit=policy.unit,
        public_rows=lambda _: [("A",), ("B",)],
        **(price or {"epsilon": 1, "size": 1000}),
    )


def under(relation):
    return POLICY.replace('"replace"', f'"{relation}"')


def totals(place, request, pays):
    """Answer with an engine: the number of units, and every total."""
    policy = read_policy(POLICY)
    rows = [{"who": 7, "team": "A", "pay": pay, "age": None} for pay in pays]
    types = {each.name: {c.name: c.type for c in each.columns} for each in policy.tables}
    asked = place.taken(
        Asked(
            name="size",
            request=request,
            rows={"staff": rows},
            types=types,
            known=Schema(policy.tables),
        )
    )
    found = place.answer(asked, ORDER)
    return {name: each[0] for name, each in {"units": found["units"], **found["totals"]}.items()}


def check_replaced(place, found, sizes, request=None, held=PAYS):
    """Compare all tables of some sizes that differ in one row with what is claimed."""
    claims = {name: leaf.replaced for name, leaf in leaves_of(found).items()}
    assert claims["units"] == 0
    for size in sizes:
        rest = {
            pays: totals(place, request or found.request, pays)
            for pays in itertools.combinations_with_replacement(held, size)
        }
        for (one, left), (other, right) in itertools.combinations(rest.items(), 2):
            common = list(other)
            alike = sum(pay in common and not common.remove(pay) for pay in one)
            if alike == size - 1:
                for name, claim in claims.items():
                    assert abs(left[name] - right[name]) <= claim, (name, one, other)


@pytest.mark.theorem("always-there")
@pytest.mark.parametrize(
    ("place", "sizes", "held"),
    [(ReferencePlace(), (1, 2, 3), PAYS), (KeptDuckDBPlace(), (1, 2), PAYS[::2])],
    ids=["reference", "duckdb"],
)
def test_a_replaced_row_moves_no_number_of_rows_and_no_sum_too_far(place, sizes, held):
    """That pay is never NULL is planted: a row in three has none, or one that is out of bounds."""
    check_replaced(place, planned(ALL), sizes, held=held)


def test_nor_on_postgres(postgres):
    check_replaced(PostgresPlace(postgres), planned(ALL), (1,))


def test_nor_on_spark():
    check_replaced(SparkPlace(local_session()), planned(ALL), (1,))


def test_a_twin_that_drops_rows_is_caught():
    """An engine that leaves rows without pay out does not count what the plan says is public."""
    dropping = planned(ALL + " WHERE pay IS NOT NULL").request.relation
    found = planned(ALL)
    with pytest.raises(AssertionError):
        check_replaced(ReferencePlace(), found, (2,), replace(found.request, relation=dropping))


HIDING = [
    ALL + " WHERE team = 'A'",
    ALL + " WHERE 1 = 1 AND pay IS NOT NULL",
    "SELECT team, COUNT(*) AS n, AVG(pay) AS a FROM staff GROUP BY team",
    "SELECT COUNT(*) AS n FROM staff AS s JOIN teams AS t ON s.team = t.team",
    "SELECT COUNT(*) AS n FROM (SELECT pay FROM staff WHERE pay > 30000) AS t",
]


@pytest.mark.theorem("always-there")
@pytest.mark.parametrize("sql", HIDING)
def test_a_wrong_belief_that_nothing_hides_a_row_is_refused(sql, monkeypatch):
    text = POLICY + PUBLIC
    honest = planned(sql, text=text)
    assert honest.price.epsilon == 1
    assert not any(noise.distances.always for noise in honest.noises)
    monkeypatch.setattr(contribution_limits, "_all_rows_count", lambda *_: True)
    with pytest.raises(OutOfRange, match="priced for less than one person can move it"):
        planned(sql, text=text)


def test_a_claim_about_anything_but_the_number_of_rows_is_refused():
    found = planned(ALL)
    far = GroupSensitivity(low=-(2**40), high=2**40, groups=1, available=1, always=True)
    wrong = tuple(
        replace(noise, distances=far) if noise.measure == "sum" else noise for noise in found.noises
    )
    check_claims(found.request, Releases(noises=found.noises))
    with pytest.raises(OutOfRange):
        check_claims(found.request, Releases(noises=wrong))


@pytest.mark.parametrize("relation", ["add_remove", "either"])
def test_where_rows_come_and_go_their_number_costs_as_before(relation):
    found = planned("SELECT COUNT(*) AS n FROM staff", text=under(relation), epsilon=1)
    assert found.price.epsilon == 1
    assert found.noises[0].mechanism == Laplace(scale=1)


def test_where_a_row_of_another_table_may_take_its_place_it_costs_as_before():
    assert planned("SELECT COUNT(*) AS n FROM staff", text=POLICY + OTHER).price.epsilon == 1
    assert planned("SELECT COUNT(*) AS n FROM staff", text=POLICY + PUBLIC).price.epsilon == 0


def test_people_may_have_no_rows_so_that_their_number_costs_as_before():
    text = POLICY.replace('"row"', '"who"').replace("[tables", "[limits]\nmax_rows = 1\n[tables", 1)
    assert planned("SELECT COUNT(*) AS n FROM staff", text=text).price.epsilon == 1


def moved(found):
    """How far one row moves the sum, in the units of the answer."""
    (noise,) = (noise for noise in found.noises if noise.measure == "sum")
    (estimate,) = found.estimates
    return noise.distances.moved(Relation.REPLACE) * estimate.estimator.step


def test_sums_move_by_the_range_and_not_by_the_larger_bound():
    found, before = (
        planned("SELECT SUM(pay) AS s FROM staff", text=each) for each in (POLICY, under("either"))
    )
    assert moved(found) == pytest.approx(180_000, rel=1e-3)
    assert moved(before) == pytest.approx(200_000, rel=1e-3)


def test_means_spend_nothing_on_their_count():
    sql = "SELECT AVG(pay) AS a FROM staff"
    found, before = (planned(sql, text=each) for each in (POLICY, under("either")))
    assert found.price.epsilon == before.price.epsilon == 1
    assert before.predicted[0].half_width > 2 * found.predicted[0].half_width


@pytest.mark.parametrize(
    "price",
    [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": "1e-6"}, {"error": {"n": 1}}],
    ids=str,
)
def test_the_number_of_all_rows_is_free(price):
    found = planned("SELECT COUNT(*) AS n, COUNT(pay) AS p FROM staff", **price)
    assert not found.price.epsilon
    assert found.price.rho == 0
    assert [each.half_width for each in found.predicted] == [0, 0]
    assert "a public number that costs nothing" in str(found.details)
    assert found.noises[0].mechanism == Laplace(scale=STILL)


def test_whether_somebody_has_an_age_is_not_public():
    found = planned("SELECT COUNT(age) AS n FROM staff")
    assert found.price.epsilon == 1


def test_an_error_that_is_asked_for_is_kept_without_a_share_for_the_count():
    found = planned("SELECT AVG(pay) AS a, COUNT(*) AS n FROM staff", error={"a": 900}, size=1000)
    assert found.predicted[0].half_width <= 900
    assert found.price.epsilon < 1
    with pytest.raises(WrongKind, match="what they are about is public"):
        planned("SELECT AVG(pay) AS a, COUNT(*) AS n FROM staff", error={"n": 5}, size=1000)


def test_a_free_answer_is_charged_recorded_and_verified(tmp_path):
    file, ledger = tmp_path / "staff.csv", tmp_path / "staff.ledger"
    lines = [f"{who},A,{20_000 + 360 * who},30" for who in range(500)]
    file.write_text("\n".join(["who,team,pay,age", *lines]) + "\n")
    with dp.open(file, policy=POLICY, budget=dp.Budget(epsilon=1), ledger=ledger) as session:
        assert (
            session.ask("SELECT COUNT(*) AS n FROM staff", epsilon=1).to_arrow()["n"][0].as_py()
            == 500
        )
        answer = session.ask(ALL, epsilon=1).to_arrow()
        assert answer["n"][0].as_py() == 500
        assert session.ask("SELECT COUNT(*) AS n FROM staff", epsilon=1).replayed
    assert verify_file(ledger).ok
