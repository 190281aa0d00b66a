"""Role x call: every cell of the matrix, generated from the table of calls."""

import pytest

import discreet.service.http.app  # noqa: F401  fills the table of calls
from discreet.service.http.route_table import ROUTES
from discreet.service.roles import PERMISSIONS, Permission, Role
from tests.service import served
from tests.service.served import granted
from tests.session import clinic

WHO = {
    Role.OWNER: "olga",
    Role.STEWARD: "sue",
    Role.ANALYST: "ana",
    Role.AUDITOR: "aud",
    Role.VIEWER: "vic",
}
BODIES = {
    "query": {"question": clinic.COUNT, "epsilon": "0.5"},
    "remeasure": {
        "forms": [
            {"question": clinic.COUNT, "epsilon": "0.5"},
            {"question": clinic.COUNT, "epsilon": "0.25"},
        ]
    },
    "reopen": {"key": "no such key", "reason": "none"},
    "open_account": {"path": "data/somebody"},
    "request_raise": {"account": "data", "budget": {"epsilon": "3000"}, "reason": "more"},
    "decide": {"approve": False},
    "make_token": {"scope": ["schema"]},
    "put_person": {"roles": ["viewer"]},
    "set_password": {"secret": "0" * 64, "password": served.PASSWORD},
    "login": {"name": "nobody", "password": "wrong password"},
    "verify": {"receipts": []},
}
REFUSED = {401, 403}
CALLS = [pytest.param(each, id=f"{each.method} {each.path}") for each in ROUTES]


def made(client, each):
    path = each.path.format(
        dataset="clinic", job="0" * 32, entry=1, number=999, prefix="nothing", name="newcomer"
    )
    return client.request(each.method, path, json=BODIES.get(each.handler.__name__))


@pytest.fixture(scope="module")
def clients(clinic_server):
    made = {role: clinic_server.client(name) for role, name in WHO.items()}
    return {**made, None: clinic_server.client()}


@pytest.mark.parametrize("role", [*Role, None], ids=lambda role: role.value if role else "nobody")
@pytest.mark.parametrize("each", CALLS)
def test_every_cell(clients, role, each):
    answer = made(clients[role], each)
    name = each.handler.__name__
    if each.public:
        assert answer.status_code not in {401, 500}
        assert (answer.status_code == 403) == (name == "login")
    elif role is None:
        assert answer.status_code == 401
    else:
        allowed = each.permission is None or each.permission in PERMISSIONS[role]
        if name == "query":  # without dry_run it asks
            allowed = Permission.ASK in PERMISSIONS[role]
        if name in {"make_token", "revoke_token"}:  # a token makes and ends no other
            allowed = False
        assert (answer.status_code not in REFUSED) == allowed, answer.text
    assert answer.status_code != 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail", "do", "ways_out"} <= set(answer.json())
        assert answer.json()["status"] == answer.status_code


@pytest.mark.parametrize("scope", list(Permission), ids=lambda scope: scope.value)
def test_a_token_does_no_more_than_its_scope(clinic_server, scope):
    person = next(name for role, name in WHO.items() if scope in PERMISSIONS[role])
    client = clinic_server.client(token=clinic_server.token(person, scope=[scope]))
    for each in ROUTES:
        if each.public or each.permission is None or each.handler.__name__ == "query":
            continue
        answer = made(client, each)
        assert (answer.status_code != 403) == (each.permission is scope), each.path
    asked = client.post("/v1/datasets/clinic/queries", json=BODIES["query"])
    assert asked.status_code == 403  # asking takes the permissions to plan and to ask
    client.close()


def test_every_call_is_in_the_table(clinic_server):
    listed = {(each.method, each.path) for each in ROUTES}
    described = clinic_server.client().get("/v1/openapi.json").json()["paths"]
    assert {(m.upper(), path) for path, verbs in described.items() for m in verbs} == listed


def test_who_may_not_see_a_dataset_is_told_that_there_is_none(clinic_server):
    server = clinic_server
    granted(server, "eve", Role.ANALYST, datasets=["other"])
    eve = server.client("eve")
    assert eve.get("/v1/datasets").json() == {"datasets": []}
    for path in ("clinic", "nothing"):
        answer = eve.post(f"/v1/datasets/{path}/queries", json=BODIES["query"])
        assert answer.status_code == 404
        assert answer.json()["detail"] == "there is no such dataset here."


def test_jobs_are_known_to_whoever_began_them(clinic_server):
    ana, ben = clinic_server.client("ana"), clinic_server.client("ben")
    sent = ana.post(
        "/v1/datasets/clinic/queries", json=BODIES["query"], headers={"Prefer": "respond-async"}
    )
    place = sent.headers["location"]
    assert sent.status_code == 202
    assert ben.get(place).status_code == 404
    assert ben.delete(place).status_code == 404
    assert ana.get(place).status_code in {200, 202}
