"""Storage: trees, losses and mechanisms as JSON, and back.

Trust: public.
"""
