"""What a person typed -> a model in memory: found, looked at before it is fetched, loaded."""
