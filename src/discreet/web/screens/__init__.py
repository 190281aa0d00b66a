"""Screens: one file for each part of the workbench, with the routes of its pages.

Trust: public.
"""
