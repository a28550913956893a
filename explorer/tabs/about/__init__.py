"""What the data is, which of it is shown, and choosing other data."""
