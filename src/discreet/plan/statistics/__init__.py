"""What is counted of each unit: contribution bounds, fixed point, partition selection, layout.

Trust: public.
"""
