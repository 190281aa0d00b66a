"""Agents: a server of the Model Context Protocol, through which a program asks within a budget.

Trust: public.  The limit is in the ledger, not in a prompt: an agent holds an account, and what an
account does not have cannot be spent, whatever a text tells the agent to do (T1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used: the package of the protocol is an extra
    from discreet.mcp.desks import Desk, ServerDesk, SessionDesk, calls_in_threads
    from discreet.mcp.http_door import mount
    from discreet.mcp.tools import AgentServer

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
