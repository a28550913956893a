"""Try: a typed pair, its one-click edits, and the bias probe over a selection."""
