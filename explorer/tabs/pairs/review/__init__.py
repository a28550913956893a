"""Review: a person marks pairs keep, drop or unsure, and compares with a colleague."""
