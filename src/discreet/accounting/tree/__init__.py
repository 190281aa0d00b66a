"""Trees of releases: leaves, how they belong together, and what a leaf costs.

Trust: public.
"""
