"""Pictures of explanations, as SVG text with its numbers in words.

Trust: public.
"""
