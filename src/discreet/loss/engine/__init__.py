"""The engines that answer delta(eps) and eps(delta): closed forms, contour, lattice, moments.

Trust: kernel.
"""
