"""A refusal for budget says which limit, what is needed and left, and priced ways out."""

import json

import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet import errors
from discreet.cli.app import app
from discreet.service.http.problems import PROBLEM
from discreet.service.roles import Role
from tests.service import served
from tests.session import clinic

PLACE = "/v1/datasets/clinic"
SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
PARTS = ("scope", "account", "needed", "left", "ways_out")
POLICY = clinic.POLICY.replace('epsilon = "2"', 'epsilon = "1"')
ACCOUNTS = {"data/flu": "2", "data/flu/ana": "0.5", "data/tea": "0.5", "data/tea/ben": "2"}
REFUSED = {
    "ana": ("yours", "data/flu/ana"),
    "ben": ("purpose", "data/tea"),
    "cyd": ("dataset", "data"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served.serving(tmp_path_factory.mktemp("shortages"), policy=POLICY) as server:
        served.granted(server, "cyd", Role.ANALYST)
        sue = server.client("sue")
        for path, epsilon in ACCOUNTS.items():
            body = {"path": path, "budget": {"epsilon": epsilon}}
            assert sue.post(f"{PLACE}/accounts", json=body).status_code == 200
        for limit, name in ((20, "ana"), (30, "ben")):
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {limit}"  # noqa: S608
            body = {"question": sql, "epsilon": "0.25"}
            assert server.client(name).post(f"{PLACE}/queries", json=body).status_code == 200
        yield server


@pytest.fixture(params=list(REFUSED), scope="module")
def refused(request, server):
    """Somebody, what they have asked, and what they were told."""
    body = {"question": SQL, "epsilon": "0.75"}
    answer = server.client(request.param).post(f"{PLACE}/queries", json=body)
    assert answer.status_code == 402
    assert answer.headers["content-type"] == "application/problem+json"
    return request.param, answer.json()


def test_a_refusal_names_the_limit_and_what_is_left_of_it(server, refused):
    name, said = refused
    left = "0.5" if name == "cyd" else "0.25"
    assert (said["scope"], said["account"]) == REFUSED[name]
    assert (said["needed"], said["left"]) == ({"epsilon": "0.75"}, {"epsilon": left})
    wider, fewer, before, higher = said["ways_out"]
    assert wider["cost"] == fewer["cost"] == {"epsilon": left}
    assert wider["body"] == {"question": SQL, "epsilon": left}
    assert fewer["body"]["question"] == "SELECT COUNT(*) AS n FROM visits"
    assert (before["cost"], higher["cost"]) == ({}, said["needed"])
    assert all(way["change"][1:] in said["do"] for way in said["ways_out"])
    assert set(said) <= set(PROBLEM["properties"])


def test_every_way_out_can_be_taken(server, refused):
    name, said = refused
    client = server.client(name)
    wider, fewer, _, higher = said["ways_out"]
    for way in (wider, fewer):
        planned = client.post(f"{PLACE}/queries?dry_run=true", json=way["body"]).json()
        assert planned["standing"]["fits"]
        assert planned["errors"][-1]["words"] in way["change"]
    request = {**higher["body"], "reason": "flu"}
    assert client.post(f"{PLACE}/requests", json=request).status_code == 200
    assert dp.Budget(**higher["body"]["budget"]).limit[0] > 0


def test_it_is_told_the_same_by_a_connection_and_on_the_command_line(server, refused):
    name, said = refused
    connection = dp.connect(server.url, token=server.token(name))
    with connection, pytest.raises(errors.OverBudget) as caught:
        connection.ask(SQL, epsilon="0.75")
    assert caught.value.shortage == {part: said[part] for part in PARTS}
    where = [f"--server={server.url}", f"--token={server.token(name)}"]
    done = CliRunner().invoke(app, ["ask", SQL, "--epsilon=0.75", "--json", *where])
    assert done.exit_code == 3
    assert {part: json.loads(done.stdout)[part] for part in PARTS} == caught.value.shortage
    assert f"accept a wider ±: epsilon {said['left']['epsilon']} buys" in done.stderr


def test_the_table_builder_is_told_ways_out_too(server):
    with dp.connect(server.url, token=server.token("ana")) as connection:
        asked = connection.table("visits").group_by("region").count(name="n")
        with pytest.raises(errors.OverBudget) as caught:
            asked.ask(epsilon="0.75")
    wider, *others = caught.value.shortage["ways_out"]
    assert wider["body"]["question"]["value"][0] == "Question"
    assert len(others) == 2  # no text, so no text with fewer groups
    planned = server.client("ana").post(f"{PLACE}/queries?dry_run=true", json=wider["body"])
    assert planned.json()["standing"]["fits"]


def test_another_draw_is_offered_at_a_lower_price_and_not_with_fewer_groups(server):
    ana = server.client("ana")
    first = {"question": SQL, "epsilon": "0.125"}
    assert ana.post(f"{PLACE}/queries", json=first).status_code == 200
    forms = [first, {"question": SQL, "epsilon": "0.75"}]
    refused = ana.post(f"{PLACE}/remeasurements", json={"forms": forms})
    assert refused.status_code == 402
    assert refused.json()["scope"] == "yours"
    wider, *others = refused.json()["ways_out"]
    assert wider["body"] == {"question": SQL, "epsilon": "0.125"}
    assert len(others) == 2


def test_what_cannot_be_planned_for_nothing_is_refused_with_ways_without_prices(server):
    buying = {"question": SQL, "epsilon": "0.5", "limits_epsilon": "0.5"}
    refused = server.client("ana").post(f"{PLACE}/queries", json=buying)
    assert refused.status_code == 402
    assert "scope" not in refused.json()
    assert all(way["change"] for way in refused.json()["ways_out"])


def test_a_refusal_is_the_same_whatever_the_data(tmp_path):
    told = []
    for patients in (1, 40):
        folder = tmp_path / str(patients)
        folder.mkdir()
        table = clinic.visits(patients)
        policy = POLICY.replace('epsilon = "1"', 'epsilon = "0.5"')
        with served.serving(folder, policy=policy, table=table) as server:
            body = {"question": SQL, "epsilon": "0.75"}
            told.append(server.client("ana").post(f"{PLACE}/queries", json=body).text)
    assert told[0] == told[1]
    assert json.loads(told[0])["ways_out"][0]["cost"] == {"epsilon": "0.5"}


def test_the_document_of_the_calls_describes_it(server):
    described = server.client("ana").get("/v1/openapi.json").json()
    call = described["paths"][f"{PLACE.replace('clinic', '{dataset}')}/queries"]["post"]
    schema = call["responses"]["402"]["content"]["application/problem+json"]["schema"]
    (scope, _) = schema["properties"]["scope"]["anyOf"]
    assert scope["enum"] == ["yours", "purpose", "dataset"]
    assert schema == without_none(PROBLEM)


def without_none(described):
    """Leave out defaults of null, as OpenAPI does."""
    if not isinstance(described, dict):
        return described
    return {name: without_none(each) for name, each in described.items() if each is not None}
