"""What an agent can do with the tools, through the protocol's own client and a real process."""

import json
import signal
import subprocess
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import OtherLedger
from discreet.ledger.own_account import own_account
from tests.mcp.agents import POLICY, agent_of, command, folder_of_people, run

ALL = "SELECT COUNT(*) AS n FROM people"
COUNT = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"

LISTED = POLICY + '[who]\nanalysts = ["claude"]\n'


@pytest.fixture
def people(tmp_path):
    return folder_of_people(tmp_path)


def test_a_count_takes_three_calls_and_says_what_a_person_wants_to_know(people):
    async def story():
        async with agent_of(command(people, "--account", "claude", "--limit", "1")) as agent:
            listed = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
            assert set(listed) == {"describe", "plan", "ask", "remaining", "releases", "explain"}
            assert listed["ask"].annotations.destructive_hint
            assert all(listed[name].annotations.read_only_hint for name in set(listed) - {"ask"})

            told = await agent.done("describe")
            (table,) = told["datasets"]["data"]["tables"].items()
            assert table[0] == "people"
            sex = next(each for each in table[1]["columns"] if each["name"] == "sex")
            assert sex["categories"] == ["Female", "Male"]
            assert "COUNT(*)" in told["sql"]

            plan = await agent.done("plan", question=COUNT, epsilon="0.1")
            assert plan["price"] == {"epsilon": "0.1"}
            assert plan["share_of_budget"] == "10 %"
            assert plan["fits"] is True
            assert set(plan["expected_error"]) == {"n"}
            assert len(plan["expect"]) == 1
            assert (await agent.done("remaining"))["part"] == 1.0  # a plan spends nothing

            answer = await agent.done("ask", question=COUNT, epsilon="0.1")
            for row in answer["rows"]:
                assert row["n_low"] <= row["n"] <= row["n_high"]
                assert 3000 < row["n"] < 4000
            assert answer["receipt"]
            assert "is right about 52 times in 100" in answer["odds"]
            assert (await agent.done("remaining"))["part"] == 0.9

            again = await agent.done("ask", question=COUNT, epsilon=0.1)
            assert (again["rows"], again["free"]) == (answer["rows"], True)
            assert (await agent.done("remaining"))["part"] == 0.9
            (known,) = (await agent.done("releases"))["releases"]
            assert known["question"] == COUNT
            assert "guess" in (await agent.done("explain", entry=known["entry"]))["text"]

    run(story)


def test_an_account_is_made_once_and_its_limit_holds(people):
    async def story():
        options = ("--account", "claude", "--limit", "0.3", "--ask-above", "1")
        async with agent_of(command(people, *options)) as agent:
            await agent.done("ask", question=COUNT, epsilon="0.2")
        async with agent_of(command(people, "--account", "claude", "--ask-above", "1")) as agent:
            told = await agent.refused(
                "ask", question="SELECT COUNT(*) AS n FROM people", epsilon=2
            )
            assert "account data/claude" in told["refused"]
            assert told["code"] == "E301"
            way = next(each for each in told["ways_out"] if each.get("tool") == "ask")
            assert way["cost"] == {"epsilon": "0.1"}
            answer = await agent.done(way["tool"], **way["arguments"])  # as it is
            assert 6000 < answer["rows"][0]["n"] < 8000
            assert (await agent.done("remaining"))["part"] == 0.0

    run(story)


def test_a_limit_that_is_not_on_record_is_refused(tmp_path):
    """Also that of the first account."""
    folder = folder_of_people(tmp_path)
    with dp.open(policy=folder / "policy.toml") as session:
        budget = {}
        for account, limit in (("claude", "0.5"), ("claude", 0.5), ("data", 20)):
            path = own_account(session.ledger, account, limit=limit, by="olga")
            budget[path] = session.ledger.left(account=path).budget.promise.epsilon_bound
        assert budget == {"data/claude": Fraction(1, 2), "data": 20}
        for account, limit in (("claude", "0.1"), ("claude", "5"), ("data", "0.5")):
            with pytest.raises(OtherLedger, match="is not its limit"):
                own_account(session.ledger, account, limit=limit, by="olga")
        raised = dp.Budget(epsilon=1, delta="1e-9")
        people = {"by": "olga", "approved_by": "sue"}
        session.ledger.raise_limit("data/claude", budget=raised, reason="more", **people)
        own_account(session.ledger, "claude", limit=1, by="olga")
        with pytest.raises(OtherLedger, match="which is epsilon 1 at delta 1e-09"):
            own_account(session.ledger, "claude", limit="0.5", by="olga")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--account", "claude"), 2, "no limit for a new one"),
        (("--limit", "1"), 4, "nobody is named"),
        (("--limit", "1", "--analyst", "eve"), 4, "this analyst is not named"),
    ],
)
def test_an_agent_needs_a_limit_and_a_name_if_analysts_are_listed(people, options, code, said):
    if "--limit" in options:
        (people / "policy.toml").write_text(LISTED)
    started = command(people, *options)
    ended = subprocess.run(
        [started.command, *started.args], capture_output=True, text=True, check=False, input=""
    )
    assert ended.returncode == code
    assert said in ended.stderr


def test_an_agent_may_be_one_of_the_analysts_that_a_policy_lists(people):
    (people / "policy.toml").write_text(LISTED)

    async def story():
        async with agent_of(command(people, "--limit", "9", "--analyst", "claude")) as agent:
            assert (await agent.done("ask", question=COUNT, epsilon="0.1"))["receipt"]

    run(story)


def test_an_unreadable_answer_is_refused_with_a_price_that_would_do(people):
    small = "SELECT COUNT(*) AS n FROM people WHERE age = 30"

    async def story():
        async with agent_of(command(people, "--limit", "9", "--ask-above", "1")) as agent:
            told = await agent.refused("ask", question=small, epsilon="0.001")
            (way,) = told["ways_out"]
            answer = await agent.done(way["tool"], **way["arguments"])
            assert answer["price"] == way["cost"]

    run(story)


@pytest.mark.parametrize(("person", "spent"), [(True, 0.5), (False, 0.0), (None, 0.0)])
def test_above_a_part_of_the_budget_a_person_is_asked(people, person, spent):
    async def story():
        options = ("--account", "claude", "--limit", "1", "--ask-above", "0.2")
        async with agent_of(command(people, *options), person=person) as agent:
            refused, told = await agent.call("ask", question=COUNT, epsilon="0.5")
            assert refused is (person is not True)
            if person is None:
                assert "cannot ask one" in told["why"]
            else:
                assert [json.dumps(COUNT) in each for each in agent.asked_people] == [True]
                assert "50 %" in agent.asked_people[0]
            assert 1 - (await agent.done("remaining"))["part"] == spent
            await agent.done("ask", question=COUNT, epsilon="0.1")  # below it nobody is asked

    run(story)


def test_a_part_of_the_budget_is_that_of_the_people_who_pay(people):
    """What others have spent before hides nothing of what a question about some people costs."""
    of_men = "SELECT COUNT(*) AS n FROM people WHERE sex = 'Male'"
    of_women = of_men.replace("Male", "Female")

    async def story():
        options = ("--account", "claude", "--limit", "1", "--ask-above", "0.6")
        async with agent_of(command(people, *options)) as agent:
            await agent.done("ask", question=of_men, epsilon="0.6")
            plan = await agent.done("plan", question=of_women, epsilon="0.8")
            assert plan["share_of_budget"] == "80 %"
            told = await agent.refused("ask", question=of_women, epsilon="0.8")
            assert "80 % of the budget" in told["refused"]

    run(story)


def test_what_cannot_be_answered_is_said_in_words(people):
    async def story():
        async with agent_of(command(people, "--limit", "9")) as agent:
            for question, said in (
                ("SELECT * FROM people", "single rows"),
                ("SELECT wages FROM people", "single rows"),
                ("DROP TABLE people", ""),
                ("SELECT COUNT(*) AS n FROM nobody", "nobody"),
            ):
                told = await agent.refused("ask", question=question, epsilon="0.1")
                assert said in told["refused"]
                assert told["do"]
            assert "epsilon" in (await agent.refused("ask", question=COUNT))["refused"]
            assert (await agent.refused("explain", entry=999))["code"] == "E002"
            told = await agent.refused("plan", question=COUNT, epsilon="0.1", dataset="payroll")
            assert told["code"] == "E503"
            assert (await agent.done("remaining"))["part"] == 1.0

    run(story)


def test_the_page_about_sql_tells_the_truth(people):
    async def story():
        async with agent_of(command(people, "--limit", "9")) as agent:
            page = (await agent.client.read_resource("discreet://sql")).contents[0].text
            for aggregate in (
                "COUNT(*)",
                "COUNT(wages)",
                "COUNT(DISTINCT sex)",
                "COUNT_IF(age > 20)",
                "SUM(age)",
                "AVG(age)",
                "VARIANCE(age)",
                "STDDEV(age)",
                "MEDIAN(age)",
                "APPROX_QUANTILES(age, 4)",
                "MODE(sex)",
                "AVG(LEAST(GREATEST(wages, 0), 100))",
            ):
                assert aggregate.partition("(")[0] in page
                question = ALL.replace("COUNT(*)", aggregate)
                await agent.done("plan", question=question, epsilon="0.5")
            label = (await agent.client.read_resource("discreet://label/data")).contents[0].text
            assert label.startswith("Privacy label")

    run(story)


def test_an_interrupt_ends_it_while_its_client_still_listens(people):
    start = command(people, "--limit", "1")
    about = {"name": "agent", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    line = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([start.command, *start.args], text=True, **pipes) as agent:
        agent.stdin.write(json.dumps(line) + "\n")
        agent.stdin.flush()
        assert "serverInfo" in agent.stdout.readline()
        agent.send_signal(signal.SIGINT)
        try:
            assert agent.wait(20) == -signal.SIGINT
        finally:
            agent.kill()
        assert agent.stderr.read() == ""
