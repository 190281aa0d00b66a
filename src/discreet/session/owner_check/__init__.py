"""The owner's check: which promises and declarations of a policy hold in the data.

Trust: kernel.  What stands here reads private tables and adds no noise: it is for the owner alone,
and no question, plan or answer may ever reach it.  It knows no ledger.

    checking     opens the tables, makes every check, and puts the report together
    counting     exact counts, computed by the engine that answers questions
    cells        column by column: bounds, categories, NULL, cells that could not be read
    owners       whose rows there are: constant columns, links, keys
    limits       rows and groups of a unit, against the limits of the policy
    spread       how a number is spread over units: quantiles, and what a limit cuts
    report       what was found, as text, HTML and JSON
"""

from discreet.session.owner_check.check_report import CheckReport, Finding
from discreet.session.owner_check.checker import check

__all__ = ["CheckReport", "Finding", "check"]
