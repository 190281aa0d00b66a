"""Files.

Trust: public.
"""
