"""Pairs: read alone or with what a model made of them; their lengths, rewards, slices, files."""
