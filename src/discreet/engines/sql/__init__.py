"""SQL for DuckDB: one small function for each node, and nothing that a row could make fail.

Trust: kernel.
"""
