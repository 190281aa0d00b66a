"""The first run: what is declared of tables, the policy that it makes, and its ledger.

Trust: kernel.

    policy_proposal        tables without a policy: what is proposed, and what their owner decides
    policy_questionnaire   what was said, the facts of columns, and the policy that they make
    column_lines           what is declared of a column, as a line to read and to edit
    column_notes           what the owner should see of a column, and what questions would be worth
    policy_files           makes the ledger, and writes the policy with its id
"""
