"""Pairs: the table of them, where it comes from, what narrows, sums up and exports it.

What models made of pairs is not known here.
"""
