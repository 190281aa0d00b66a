"""``discreet serve``: a server for one site, or a check of its file.

Trust: public.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import service, web
from discreet.cli.exit_codes import VIOLATION, errors_reported, tell, write_json
from discreet.cli.options import JsonOption
from discreet.errors import WrongKind

if TYPE_CHECKING:  # one of the packages that may not be installed
    from fastapi import FastAPI


def serve(
    site: Annotated[Path, typer.Argument(help="The site file, or a policy with [session].")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file, and what it names.")
    ] = False,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Listen on this port.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve tables to people who log in, and never hand out the data."""
    with errors_reported(as_json=as_json) as ending:
        found = service.read_site(site)
        if port is not None:
            found = replace(found, address=replace(found.address, port=port))
        if check:
            findings = service.check_site(found)
            ending.code = VIOLATION if any(each.serious for each in findings) else ending.code
            if as_json:
                listed = [{"serious": each.serious, "words": each.words} for each in findings]
                write_json("site check", {"findings": listed})
            else:
                typer.echo("\n".join(map(str, findings)) or "the site can be served.")
            return
        try:
            service.run_server(
                found,
                mount=_mount_pages,
                ready=lambda url, secret: _announce(found, url, secret),
                log=sys.stderr,
            )
        except ModuleNotFoundError:
            raise WrongKind(
                what="a server needs packages that are not installed.",
                why="most people ask, and do not serve.",
                do="install them: pip install 'discreet[service]'.",
            ) from None


def _mount_pages(server: FastAPI, counter: service.ServiceCounter) -> None:
    """Load the pages when they are needed: meanwhile workers open the data."""
    web.mount(server, counter)


def _announce(site: service.Site, url: str, secret: str | None) -> None:
    tell(f"serving {', '.join(site.datasets)} at {url}\n")
    if secret is not None:
        tell(f"nobody has a password yet; the owner sets one here, once: {url}/welcome/{secret}\n")
