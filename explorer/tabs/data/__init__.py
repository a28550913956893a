"""The head of the page: which pairs are on screen, why not others, and how to open others."""
