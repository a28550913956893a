"""Arithmetic on outcomes: scores by a rule, intervals, paired tests, ties, difficulty, margins.

Where outcomes come from, and how they are shown, is not known here.
"""
