"""Scoring on this server: what with and on what, the queue, runs as they go and as they are stored.

Results of other models are not known here.
"""
