"""The public endpoints, for programs and agents, and the JSON that they give."""
