"""The workbench: pages on which people plan, ask, look after budgets, and check the record.

Trust: public.  A page shows public facts of tables, entries of ledgers and released answers, and
nothing else of any data.

    desk               what pages need of the counter of a server
    pages              all pages as routes of one web application
    rendering          templates, with everything escaped, under a strict content security policy
    visits             who looks at a page, and which forms are accepted
    query_pages        plan, dry run and ask; answer_pages, budget_pages, record_pages follow
    dummy_twin         answers about generated tables that follow from the policy alone
    question_builder   clicks as SQL, and a question as Python, SQL and curl
    dataset_pages      datasets, and the wizard that writes the policy

The pages need the extra ``service``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used: only the workbench needs a web framework
    from discreet.web.desk import Desk, Visitor
    from discreet.web.local_server import serve_workbench
    from discreet.web.pages import mount, web_application


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
