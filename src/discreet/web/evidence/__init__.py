"""What the audit view shows: runs of the audit, their verdicts, proofs with tests, and versions.

Trust: public.
"""
