"""SQL text to questions.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.
"""
