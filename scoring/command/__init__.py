"""`python -m scoring`: arguments, a run by one process or several, and its report."""
