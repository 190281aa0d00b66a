"""The first run: what is declared of tables, the policy that it makes, and its ledger.

Trust: kernel.

    policy_proposal        tables without a policy: what is proposed, what their owner decides; the
                           new policy on disk, with the id of its ledger
    policy_questionnaire   what was said, the facts of columns as lines, and the policy they make
    column_notes           what the owner should see of a column, and what questions would be worth
"""
