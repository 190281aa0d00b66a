"""``discreet mcp``: an AI agent asks, within the budget of its own account.

Trust: public.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.exit_codes import errors_reported
from discreet.cli.opened import open_inputs
from discreet.errors import WrongKind

AskAboveOption = Annotated[
    str,
    typer.Option(
        "--ask-above",
        help="A question above this part of the budget needs a person's consent; 1 asks nobody.",
    ),
]


def need_mcp() -> None:
    """Refuse if the package of the protocol is not installed."""
    if find_spec("mcp") is None:
        raise WrongKind(
            what="agents need a package that is not installed.",
            why="it speaks the Model Context Protocol.",
            do="install it: pip install 'discreet[agents]'.",
        )


def mcp(  # noqa: PLR0913  the options of the command
    policy: Annotated[str | None, typer.Argument(help="The policy of the owner.")] = None,
    *,
    account: Annotated[
        str,
        typer.Option("--account", help="The agent's own account; made at first use, by --limit."),
    ] = "agent",
    limit: Annotated[
        str | None,
        typer.Option("--limit", help="The epsilon that a new account may spend in total."),
    ] = None,
    ask_above: AskAboveOption = "0.2",
    server: options.ServerOption = None,
    token: options.TokenOption = None,
) -> None:
    """Let an AI agent ask over stdin and stdout, by the Model Context Protocol."""
    with errors_reported(as_json=False):
        need_mcp()
        from discreet import mcp as door  # noqa: PLC0415  an extra
        from discreet.service.client import Transport  # noqa: PLC0415

        if server is not None:
            if policy is not None or limit is not None:
                raise WrongKind("give --server alone: the server has its policy and its accounts.")
            transport = Transport(server, token=token, timeout=600, context=None)
            desk: door.Desk = door.ServerDesk(door.calls_in_threads(transport.call))
            door.agent_server(lambda _: desk, ask_above=ask_above).run("stdio")
            return
        project = options.command_inputs(policy=policy)
        project.named_ledger()
        with open_inputs(project, None, None) as session:
            desk = door.agent_desk(session, account=account, limit=limit, by="discreet mcp")
            door.agent_server(lambda _: desk, ask_above=ask_above).run("stdio")
