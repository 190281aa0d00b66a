"""From noisy marginals to a model of the whole table, and from a model to rows.

Trust: public.  Everything in this room is post-processing of released numbers: a bug here costs
accuracy, never privacy.
"""
