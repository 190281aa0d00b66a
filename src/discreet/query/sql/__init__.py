"""SQL text to questions.

Trust: kernel.
"""
