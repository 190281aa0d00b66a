"""The first run: the declarations of tables, the policy made from them, and its ledger.

Trust: kernel.

    policy_proposal        tables without a policy: the proposal, their owner's decisions; the
                           new policy on disk, with the id of its ledger
    policy_questionnaire   the answers, the facts of columns as lines, and the policy they make
    column_notes           what the owner should see of a column, and what questions would be worth
"""
