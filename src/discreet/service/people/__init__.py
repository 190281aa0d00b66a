"""People: who they are, what they may do, and how they show that it is them.

Trust: kernel.
"""
