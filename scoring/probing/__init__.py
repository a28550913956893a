"""What moves a reward: token by token, and by one-click edits of a response."""
