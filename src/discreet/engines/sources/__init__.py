"""What can be opened as a table, and how its columns become values of our types.

Trust: kernel.
"""
