"""Models: the leaderboard and its charts, and two or more models beside each other."""
