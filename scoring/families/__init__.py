"""One way of turning pairs into rewards a file."""
