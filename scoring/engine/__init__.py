"""How pairs go through a model: tokens, packs, attention, log-probabilities.

Proven to the bit against one pair at a time; what rewards mean is not known here.
"""
