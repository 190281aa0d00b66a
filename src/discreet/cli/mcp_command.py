"""``discreet mcp``: an AI agent asks, within the budget of its own account.

Trust: public.
"""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.exit_codes import errors_reported
from discreet.cli.opened import open_inputs
from discreet.errors import WrongKind
from discreet.ledger import Ledger
from discreet.ledger.own_account import own_account

if TYPE_CHECKING:  # an extra
    from discreet.mcp import Desk

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
    analyst: options.AnalystOption = None,
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
            if (policy, limit, analyst) != (None, None, None):
                raise WrongKind("give --server alone: the server has its policy and its accounts.")
            transport = Transport(server, token=token, timeout=600, context=None)
            _serve(door.ServerDesk(door.calls_in_threads(transport.call)), ask_above)
            return
        project = options.command_inputs(policy=policy)
        project.named_ledger()
        with open_inputs(project, None, analyst) as session:
            ledger = session.ledger
            assert isinstance(ledger, Ledger)  # noqa: S101  it is named
            path = own_account(ledger, account, limit=limit, by="discreet mcp")
            own = session.charging(account=path, analyst=analyst)
            _serve(door.SessionDesk(own, ledger, account=path), ask_above)


def _serve(desk: Desk, ask_above: str) -> None:
    from discreet.mcp import AgentServer  # noqa: PLC0415  an extra

    # a thread that waits for stdin would outlive an interrupt; the ledger survives any end (T3)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    AgentServer(lambda _: desk, ask_above=ask_above).run("stdio")
