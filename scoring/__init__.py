"""Scoring preference pairs with reward models; runs alone on a GPU machine."""
