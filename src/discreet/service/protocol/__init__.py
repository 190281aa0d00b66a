"""The protocol: questions, plans and answers as plain JSON, and problems with ways out.

Trust: kernel.
"""
