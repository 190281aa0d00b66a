"""The first run: six questions about a table, the policy that they make, and its ledger.

Trust: kernel.

    policy_questionnaire   asks, and returns the policy
    policy_files           makes the ledger, and writes the policy with its id
"""

from discreet.session.first_run.policy_files import (
    HEADER,
    refuse_overwriting,
    with_ledger,
    write_policy,
)
from discreet.session.first_run.policy_questionnaire import (
    USUAL_GROUPS,
    Answers,
    Ask,
    policy_from,
    type_by_name,
)

__all__ = [
    "HEADER",
    "USUAL_GROUPS",
    "Answers",
    "Ask",
    "policy_from",
    "refuse_overwriting",
    "type_by_name",
    "with_ledger",
    "write_policy",
]
