"""``discreet demo``: a guided tour.

Trust: public.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import JsonOption
from discreet.cli.reporting import reported, write_json
from discreet.demo.tour import PAGE, tour

__all__ = ["demo"]


def demo(
    *,
    page: Annotated[Path, typer.Option(help="Where to write the page of pictures.")] = Path(PAGE),
    as_json: JsonOption = False,
) -> None:
    """Take a guided tour on made-up data; needs no network, and takes a few seconds."""
    with reported(as_json=as_json):
        if not as_json:
            tour(page)
            return
        stops = [
            {"title": stop.title, "words": stop.words, "code": stop.code, "result": stop.result}
            for stop in tour(page, silent=True)
        ]
        write_json("demo", {"page": str(page), "stops": stops})
