"""What models, objectives and functions of views keep from one call to the next.

Trust: kernel.
"""
