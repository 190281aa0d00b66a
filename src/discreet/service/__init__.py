"""The service: analysts ask through a server, and never hold the data.

Trust: kernel.

One process serves HTTP, writes the ledgers and knows people; worker processes hold the data, plan,
read and draw noise.  What pages and calls use, all of it free of any web framework:

- ``read_site(path)`` reads a TOML file into a frozen ``Site`` (datasets, people, address, limits);
  ``read_site(path, loopback_person="you")`` is the mode without log-in, on this machine alone.
- ``ServiceCounter(site)`` opens it.  It has

  - ``directory`` (``people``, ``find``, ``check_password``, ``passwords``), ``logins``
    (``begin(person) -> cookie``, ``find(cookie) -> Login`` with ``caller`` and ``csrf``, ``end``),
    ``tokens`` (``make``, ``find``, ``of``, ``revoke``), ``rates``, ``log``; ``loopback_caller()``
    returns the caller of the mode without log-in;
  - verbs, each with the caller first: ``datasets``, ``schema``, ``policy``; ``plan``, ``ask``
    (with further forms: remeasure), ``begin`` / ``job`` / ``due`` / ``result`` / ``cancel`` for
    questions in the background, ``asked`` (own questions, whose ``forms`` replay for free);
    ``explain``, ``label``, ``release``; ``history``, ``receipt``, ``verify``, ``closed``,
    ``reopen``; ``budget``, ``account_of``, ``open_account``, ``requests``, ``request``,
    ``decide``; ``security_log``.

- A question is a ``QuestionDocument`` of :mod:`discreet.documents`, as are plans and answers.
- ``Planned.plan`` and ``Answered.release`` are the plan and the release of the worker, for pages.
- ``run_server(site, mount=None)`` serves it; ``create_app(counter, mount=None)`` returns the
  FastAPI application; ``mount(app, counter)`` adds pages to it.  ``app.state.counter`` is the
  counter; ``caller_of(request)`` of ``discreet.service.http.route_table`` says who calls, by
  token or by the cookie ``discreet``.
- Refusals are errors of this package; after a charge, ``TryAgain`` is the only one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used: a client needs no server, and no FastAPI
    from discreet.service.client import ServerConnection, connect
    from discreet.service.counter import ServiceCounter
    from discreet.service.directory import PasswordFile
    from discreet.service.http.app import create_app
    from discreet.service.http.server import run_server
    from discreet.service.roles import Caller, Grant, Permission, Role
    from discreet.service.site import Site, read_site
    from discreet.service.site_check import SiteFinding, check_site


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
