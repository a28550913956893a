"""Score: choose a model and pairs, follow a run, the list of runs, check it, publish it."""
