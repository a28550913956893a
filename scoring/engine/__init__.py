"""How pairs go through a model, to the bit as one at a time; what rewards mean is not known."""
