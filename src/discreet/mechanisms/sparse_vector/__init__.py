"""The sparse vector technique: many threshold questions for the price of the few above.

Trust: public.
"""
