"""Agents on a server: the tokens, roles and accounts of everybody else."""

from contextlib import asynccontextmanager
from functools import partial

import httpx
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from discreet.mcp import mount
from tests.mcp.agents import agent_of, run
from tests.service import served

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with served.serving(folder, mount=partial(mount, ask_above="0.0003")) as found:
        yield found


@asynccontextmanager
async def agent_with(server, token, **more):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with agent_of(transport, **more) as agent:
            yield agent


def test_an_agent_asks_with_a_token(server):
    async def story():
        async with agent_with(server, server.token("ana")) as agent:
            told = await agent.done("describe")
            assert set(told["datasets"]) == {"clinic"}
            before = (await agent.done("remaining"))["part"]
            plan = await agent.done("plan", question=COUNT, epsilon="0.5")
            assert plan["fits"]
            answer = await agent.done("ask", question=COUNT, epsilon="0.5")
            assert answer["receipt"]
            assert answer["rows"][0]["n_low"] < answer["rows"][0]["n"]
            again = await agent.done("ask", question=COUNT, epsilon="0.5")
            assert again["free"]
            assert (await agent.done("remaining"))["part"] < before
            listed = (await agent.done("releases"))["releases"]
            assert [each["question"] for each in listed[:1]] == [COUNT]
            refused = await agent.refused("ask", question=COUNT, epsilon="0.5", dataset="payroll")
            assert refused["code"] == "E006"

    run(story)


@pytest.mark.parametrize("person", [True, False])
def test_a_person_is_asked_on_a_server_too(server, person):
    question = COUNT.replace("n FROM", "yes FROM" if person else "no FROM")

    async def story():
        async with agent_with(server, server.token("ben"), person=person) as agent:
            refused, told = await agent.call("ask", question=question, epsilon=1)
            assert len(agent.asked_people) == 1, told
            assert refused is not person, told

    run(story)


def test_a_token_of_less_scope_can_do_less(server):
    async def story():
        async with agent_with(server, server.token("vic")) as agent:
            assert (await agent.refused("ask", question=COUNT, epsilon="0.5"))["code"] == "E602"

    run(story)


def test_calls_of_agents_are_counted_as_those_of_everybody(tmp_path):
    mounted = partial(mount, ask_above="0.5")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with served.serving(tmp_path, mount=mounted, calls_per_minute=5) as busy:
        known = {"Authorization": f"Bearer {busy.token('ana')}", "Accept": "application/json"}
        for headers, first in ((known, 200), ({"Authorization": "Bearer dsc_wrong"}, 401)):
            with httpx.Client(base_url=busy.url, headers=headers) as client:
                found = [client.post("/mcp", json=body).status_code for _ in range(9)]
            assert (found[0], found[-1]) == (first, 429)


def test_no_stream_stays_open(server):
    headers = {"Authorization": f"Bearer {server.token('ana')}", "Accept": "text/event-stream"}
    with httpx.stream("GET", f"{server.url}/mcp", headers=headers, timeout=20) as answer:
        assert answer.status_code == 405


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer dsc_wrong"}])
def test_nobody_gets_in_without_a_token(server, headers):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(f"{server.url}/mcp", json=body, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
