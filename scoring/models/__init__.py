"""What a person typed -> a model in memory: found, looked at before it is fetched, loaded.

How rewards are read from it is known to its family (`scoring.families`).
"""
