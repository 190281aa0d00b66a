"""The first run: what is declared of a table, the policy that it makes, and its ledger.

Trust: kernel.

    column_lines           what is declared of a column, as a line to read and to edit
    policy_questionnaire   the policy that answers and accepted proposals make
    policy_files           makes the ledger, and writes the policy with its id
"""

from discreet.session.first_run.policy_files import (
    refuse_overwriting,
    with_ledger,
    write_policy,
)
from discreet.session.first_run.policy_questionnaire import Answers, policy_from, type_by_name

__all__ = [
    "Answers",
    "policy_from",
    "refuse_overwriting",
    "type_by_name",
    "with_ledger",
    "write_policy",
]
