"""``discreet workbench``: pages for one person, on their own machine.

Trust: public.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from discreet import web
from discreet.cli.exit_codes import errors_reported
from discreet.cli.options import POLICY, PortOption
from discreet.errors import WrongKind


def workbench(
    policy: Annotated[
        Path, typer.Argument(help="A policy or a site file; a wizard writes it if it is not there.")
    ] = Path(POLICY),
    *,
    port: PortOption = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Plan, ask and keep the budget in a browser. No log-in: this machine alone reaches it."""
    with errors_reported(as_json=False):
        if find_spec("fastapi") is None or find_spec("uvicorn") is None:
            raise WrongKind(
                what="the workbench needs the extra 'service'.",
                why="its pages are served by FastAPI and uvicorn.",
                do="run pip install 'discreet[service]'.",
            )
        web.serve_workbench(policy, port=port or 0, browser=browser)
