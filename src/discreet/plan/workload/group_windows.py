"""Windows over groups: which of them can be answered.

Trust: public.  They are computed from what is released; which ones are refused is about what an
answer would mean.

Definition.  A window over groups looks at released numbers of all groups.  That says something
about the table only where the groups are those of the question, whatever the data is: where they
are public, and no condition on noisy numbers (HAVING) leaves some of them out.
"""

from __future__ import annotations

from discreet.errors import UnsupportedSQL
from discreet.plan.statistics.answer_layout import AnswerLayout
from discreet.query.source_text import pointed
from discreet.requests.engine_request import PublicGroups
from discreet.requests.table_schema import Product


def check_windows(layout: AnswerLayout, public: PublicGroups | None) -> None:
    """Refuse windows over groups that are not all shown."""
    span = layout.windows[0][1].span
    if public is None or isinstance(public, Product) or layout.having is not None:
        raise UnsupportedSQL(
            what=pointed("a window looks at groups of which some may not be shown.", span),
            why="its sums and ranks would be about the groups that noise happens to show.",
            do="make the groups public: list them with WHERE ... IN (...), or declare categories; "
            "and leave HAVING out. Or compute it from the answer, with release.map(...).",
        )
