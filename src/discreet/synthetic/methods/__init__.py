"""Methods that make synthetic tables: what each selects, measures and infers.

Trust: kernel.
"""
