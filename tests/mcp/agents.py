"""A policy for agents, and a client of the protocol's own package that calls the tools."""

import json
import os
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

from tests.first_hour import made_up

POLICY = """
format = 1
unit = "row"
[session]
data = { people = "people.csv" }
ledger = "people.ledger"
[budget]
epsilon = 20
delta = 1e-9
[tables.people]
size = { people = 7000, rows = 7000 }
[tables.people.columns]
wages = { type = "float", low = 0, high = 60 }
education = { type = "float", low = 5, high = 20, nullable = false }
age = { type = "integer", low = 16, high = 90, nullable = false }
sex = { type = "text", categories = ["Female", "Male"], nullable = false }
language = { type = "text", categories = ["English", "French", "Other"], nullable = false }
"""


def folder_of_people(folder, *, policy=POLICY):
    """Write a table and its policy."""
    made_up.write(folder / "people.csv", list(made_up.survey()))
    (folder / "policy.toml").write_text(policy)
    return folder


def command(folder, *options):
    """Return how a program starts ``discreet mcp`` on a folder."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "discreet.cli", "mcp", str(folder / "policy.toml"), *options],
        env=dict(os.environ),
        cwd=str(folder),
    )


class Agent:
    """Calls tools, and remembers what it was told and asked."""

    def __init__(self, client):
        self.client, self.asked_people = client, []

    async def call(self, tool, **arguments):
        """Return whether a tool refused, and what it answered."""
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text
        if result.is_error:
            try:
                return True, json.loads(text.partition(": ")[2])
            except ValueError:  # the protocol's own refusal, of arguments of the wrong type
                return True, {"refused": text}
        return False, json.loads(text)

    async def done(self, tool, **arguments):
        """Return what a tool answers that does not refuse."""
        refused, told = await self.call(tool, **arguments)
        assert not refused, told
        return told

    async def refused(self, tool, **arguments):
        """Return the refusal of a tool."""
        refused, told = await self.call(tool, **arguments)
        assert refused, told
        return told


@asynccontextmanager
async def agent_of(server, *, person=None):
    """Connect an agent; ``person`` says yes or no when the agent's program asks, if it can."""
    agent = Agent(None)

    async def elicited(_, params):
        agent.asked_people.append(params.message)
        return ElicitResult(action="accept", content={"spend": person})

    callback = {} if person is None else {"elicitation_callback": elicited}
    async with Client(server, **callback) as client:
        agent.client = client
        yield agent


def run(story):
    """Run an asynchronous story."""
    anyio.run(story)
