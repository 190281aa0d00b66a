"""``discreet serve``: a server for one site, or a check of its file; and its passwords.

Trust: public.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import pgwire, service, web
from discreet.cli.exit_codes import VIOLATION, errors_reported, tell, write_json
from discreet.cli.mcp_command import AskAboveOption, need_mcp
from discreet.cli.options import JsonOption, PortOption
from discreet.errors import WrongKind
from discreet.service.site import sql_address

if TYPE_CHECKING:  # one of the packages that may not be installed
    from fastapi import FastAPI


def serve(  # noqa: PLR0913  the options of the command
    site: Annotated[Path, typer.Argument(help="The site file, or a policy with [session].")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file, and what it names.")
    ] = False,
    port: PortOption = None,
    sql_port: Annotated[
        int | None,
        typer.Option(
            "--sql-port",
            min=0,
            max=65535,
            help="Let SQL clients connect at this port, by PostgreSQL's protocol, with tokens.",
        ),
    ] = None,
    agents: Annotated[
        bool, typer.Option("--agents", help="Let AI agents call, at /mcp, with tokens.")
    ] = False,
    ask_above: AskAboveOption = "0.2",
    as_json: JsonOption = False,
) -> None:
    """Serve tables to people who log in, and never hand out the data."""
    with errors_reported(as_json=as_json) as ending:
        found = service.read_site(site)
        if port is not None:
            found = replace(found, address=replace(found.address, port=port))
        if sql_port is not None:
            sql = found.sql_clients or sql_address(found.address)
            found = replace(found, sql_clients=replace(sql, port=sql_port))
        if check:
            findings = service.check_site(found)
            ending.code = VIOLATION if any(each.serious for each in findings) else ending.code
            if as_json:
                listed = [{"serious": each.serious, "words": each.words} for each in findings]
                write_json("site check", {"findings": listed})
            else:
                typer.echo("\n".join(map(str, findings)) or "the site can be served.")
            return
        if agents:
            need_mcp()
        with _packages():
            service.run_server(
                found,
                mount=partial(_mount, ask_above=ask_above if agents else None),
                ready=lambda url, known: _announce(site.name, found, url, known=known),
                log=sys.stderr,
            )


@contextmanager
def _packages() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError:
        raise WrongKind(
            what="a server needs packages that are not installed.",
            why="most people ask, and do not serve.",
            do="install them: pip install 'discreet[service]'.",
        ) from None


def _mount(server: FastAPI, counter: service.ServiceCounter, *, ask_above: str | None) -> None:
    """Load the pages when they are needed: meanwhile workers open the data."""
    web.mount(server, counter)
    pgwire.mount(server, counter)
    if ask_above is not None:
        from discreet import mcp  # noqa: PLC0415  an extra

        mcp.mount(server, ask_above=ask_above)


def _announce(name: str, site: service.Site, url: str, *, known: bool) -> None:
    tell(f"serving {', '.join(site.datasets)} at {url}\n")
    if site.sql_clients is not None:
        tell(f"SQL clients connect to {site.sql_clients.host}, port {site.sql_clients.port}\n")
    if not known:
        who = next(iter(site.people), "NAME")
        tell(f"nobody has a password yet; set one: discreet password {name} {who}\n")


def password(
    site: Annotated[Path, typer.Argument(help="The site file, or a policy with [session].")],
    name: Annotated[str, typer.Argument(help="Whose password: a name in the site file.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Set a person's password for a server; it is prompted for, and not shown."""
    with errors_reported(as_json=as_json):
        found = service.read_site(site)
        if name not in found.people:
            raise WrongKind(
                what="the site file does not name this person.",
                why="roles come from there, and nobody logs in without one.",
                do=f'add [people.NAME] with roles = ["analyst"], or use one of: '
                f"{', '.join(found.people) or 'none'}.",
            )
        if sys.stdin.isatty():
            text = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        else:
            text = sys.stdin.readline().rstrip("\n")
        with _packages():
            service.PasswordFile(found.passwords).put(name, text)
        if as_json:
            write_json("password", {"name": name, "file": str(found.passwords)})
        else:
            typer.echo(f"{name} has a password now, in {found.passwords.name}.")
