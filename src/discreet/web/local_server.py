"""The workbench of one person: a server that this machine alone reaches, and a browser.

Trust: kernel.  It listens on the loopback address, and answers to its own names alone.
"""

from __future__ import annotations

import getpass
import re
import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI

from discreet.errors import OutOfRange
from discreet.service import ServiceCounter
from discreet.service.credentials import new_secret
from discreet.service.http.server import stopped_by_signals
from discreet.service.site import ServerAddress, Site, read_site
from discreet.web import web_application
from discreet.web.dataset_pages import FirstRun
from discreet.web.desk import Desk

_HOST: Final = "127.0.0.1"
_ODD: Final = re.compile(r"[^a-z0-9_.-]")


@contextmanager
def local_application(path: Path, *, port: int) -> Iterator[FastAPI]:
    """Open the datasets of a policy or a site file, or else the wizard; close them later.

    Args:
        path: the file; the wizard writes it if it does not exist.
        port: where the application will listen.
    """
    person = _own_name()
    desk = Desk(None, secret=new_secret(), alone=person)

    def opened(policy: Path) -> str:
        site = _local_site(policy, person, port)
        desk.counter = ServiceCounter(site)
        return next(iter(site.datasets))

    first_run = None if path.exists() else FirstRun(policy=path.absolute(), opened=opened)
    if first_run is None:
        opened(path)
    hosts = tuple(f"{name}:{port}" for name in (_HOST, "localhost"))
    try:
        yield web_application(desk, hosts=hosts, first_run=first_run)
    finally:
        if desk.counter is not None:
            desk.counter.close()


def serve_workbench(path: Path, *, port: int = 0, browser: bool = True) -> None:
    """Serve until stopped; a port of 0 takes one that is free."""
    with stopped_by_signals(), socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except OSError:
            raise OutOfRange(
                what=f"port {port} is taken.",
                why="another program listens there, perhaps another workbench.",
                do="give --port 0 to take one that is free.",
            ) from None
        taken = listening.getsockname()[1]
        with local_application(path, port=taken) as app:
            url = f"http://{_HOST}:{taken}/"
            print(f"workbench on {url} (this machine alone); Ctrl+C stops it", flush=True)  # noqa: T201
            if browser:
                threading.Timer(0.5, webbrowser.open, [url]).start()
            settings = uvicorn.Config(app, log_level="warning", server_header=False)
            uvicorn.Server(settings).run(sockets=[listening])


def _local_site(policy: Path, person: str, port: int) -> Site:
    site = read_site(policy, loopback_person=person)
    return replace(site, address=ServerAddress(host=_HOST, port=port))


def _own_name() -> str:
    try:
        name = getpass.getuser().lower()
    except (KeyError, OSError):
        name = "you"
    return _ODD.sub("-", name)
