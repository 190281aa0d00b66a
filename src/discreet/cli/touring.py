"""``discreet demo``: a guided tour.

Trust: public.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.reporting import reported
from discreet.demo.tour import PAGE, tour

__all__ = ["demo"]


def demo(
    *,
    page: Annotated[Path, typer.Option(help="Where to write the page of pictures.")] = Path(PAGE),
) -> None:
    """Take a guided tour on made-up data; needs no network, and takes a few seconds."""
    with reported():
        tour(page)
