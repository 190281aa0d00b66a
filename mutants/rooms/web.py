"""Mutants of the room ``web``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_VISITS: Final = "discreet/web/visits.py"
_RENDERING: Final = "discreet/web/rendering.py"
_SECURITY: Final = "tests/web/test_security.py"
_ESCAPING: Final = "tests/web/test_escaping.py"

MUTANTS: Final = (
    Mutant(
        name="a form without a token is ours",
        file=_VISITS,
        old="    if not hmac.compare_digest(token.encode(), visitor.csrf.encode()):",
        new="    if token and not hmac.compare_digest(token.encode(), visitor.csrf.encode()):",
        why="Another site sends a form in somebody's name, and spends the budget.",
        caught_by=(f"{_SECURITY}::test_a_form_without_the_token_does_nothing",),
    ),
    Mutant(
        name="what a browser says of the origin of a form is not heard",
        file=_VISITS,
        old="    if other or site not in",
        new="    if other and site not in",
        why="A token that leaked is enough for another site.",
        caught_by=(f"{_SECURITY}::test_a_form_from_another_site_is_refused_even_with_the_token",),
    ),
    Mutant(
        name="pages show texts as they are",
        file=_RENDERING,
        old="        autoescape=True,\n",
        new="        autoescape=False,\n",
        why="A category or a reason becomes part of a page, and asks in its reader's name.",
        caught_by=(f"{_ESCAPING}::test_whatever_a_template_shows_is_escaped",),
        fast=True,
    ),
    Mutant(
        name="pages run scripts that are written in them",
        file=_RENDERING,
        old="script-src 'self'; style-src",
        new="script-src 'self' 'unsafe-inline'; style-src",
        why="The second wall behind escaping is gone.",
        caught_by=(f"{_ESCAPING}::test_a_page_runs_no_script_but_our_files",),
    ),
    Mutant(
        name="a downloaded answer stays in a cache",
        file=_RENDERING,
        old='    headers = {**HEADERS, "Content-Disposition": f\'attachment; filename="{name}"\'}\n',
        new='    headers = {"Content-Disposition": f\'attachment; filename="{name}"\'}\n',
        why="Whoever sits at the machine next reads what they may not see.",
        caught_by=(f"{_ESCAPING}::test_every_response_is_kept_by_nobody",),
    ),
)
