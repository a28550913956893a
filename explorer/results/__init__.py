"""Published, uploaded and own results: read, kept, joined to pairs, ranked, put into ensembles.

What one looks at of them is not known here.
"""
