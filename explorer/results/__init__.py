"""Published, uploaded and own results: read, kept, joined to pairs, ranked on a board, in ensembles.

What one looks at of them is not known here.
"""
