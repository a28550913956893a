"""A path or a Hub id -> a checked table of pairs, whatever shape its file has.

What a pair is worth, or who wins it, is not known here.
"""
